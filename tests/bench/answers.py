"""Quality of the embedded answerer, and the overhead of a question without the time of the model.

    python3.11 tests/bench/answers.py --carrel target/release/carrel --models ~/.cache/carrel/models

The library is the abstracts that judge the first fifty claims of SciFact, and others up to --documents. Asks these claims
and counts those that are answered, the verified citations, the citations of an abstract that judges the claim, and the verified
quotes that equal the document's text at their offsets. Then asks as many queries of Cranfield, which is about wings, and
counts the answers that the library holds nothing. Then asks the claims again with an endpoint that answers at once, and
reports the milliseconds that the client measures, less those of the endpoint.
"""

import http.server
import itertools
import json
import pathlib
import statistics
import threading
import time

from search import lines_of
from service import Reader, Service, arguments, machine, say, serving

QUESTIONS = 50


def claims(data: pathlib.Path) -> dict[str, tuple[str, set[str]]]:
    """Returns the first claims, with the abstracts that judge them."""
    folder = data / "retrieval/scifact"
    judged: dict[str, set[str]] = {}
    for row in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        claim, abstract, score = row.split("\t")
        if int(score) > 0:
            judged.setdefault(claim, set()).add(abstract)
    rows = [row for row in lines_of(folder / "queries.jsonl") if row["_id"] in judged]
    return {row["_id"]: (row["text"], judged[row["_id"]]) for row in rows[:QUESTIONS]}


def fill(reader: Reader, data: pathlib.Path, wanted: set[str], documents: int) -> None:
    """Saves the wanted abstracts, and others."""
    rows = sorted(lines_of(data / "retrieval/scifact/corpus.jsonl"), key=lambda row: row["_id"] not in wanted)
    file = reader.service.folder / "abstracts.jsonl"
    saves = [{"url": address(row["_id"]), "title": row["title"], "text": row["text"]} for row in rows[:documents]]
    file.write_text("".join(json.dumps(save) + "\n" for save in saves))
    reader.take(file)
    ready = sum(bookmark["status"] == "ready" for bookmark in reader.await_library())
    say(documents=ready, passages=reader.service.passages())


def address(abstract: str) -> str:
    return f"https://corpus.example/{abstract}"


def ask(reader: Reader, question: str) -> tuple[dict, float]:
    began = time.perf_counter()
    answer = reader.data("POST", "/rest/v2/ask", {"question": question})
    return answer, (time.perf_counter() - began) * 1000


def stands(reader: Reader, citation: dict) -> bool:
    """Whether the document has the quote at its offsets."""
    start, end = citation["quoteStart"], citation["quoteEnd"]
    page = reader.data("GET", f"/rest/v2/documents/{citation['documentId']}", offset=0, maxChars=20_000)
    return page["text"][start:end] == citation["quote"]


def answers(reader: Reader, asked: dict[str, tuple[str, set[str]]]) -> None:
    answered, right, times, citations = 0, 0, [], []
    for text, judged in asked.values():
        answer, took = ask(reader, text)
        times.append(took)
        citations += answer["citations"]
        answered += bool(answer["citations"])
        right += any(citation["url"] in map(address, judged) for citation in answer["citations"])
    verified = [citation for citation in citations if citation["verified"]]
    say(questions=len(asked), answered=answered, cites_a_judging_abstract=right, citations=len(citations),
        verified=len(verified), share=round(len(verified) / max(1, len(citations)), 3),
        quotes_that_stand=sum(stands(reader, citation) for citation in verified), model=answer["model"], **quantiles(times))


def refusals(reader: Reader, data: pathlib.Path) -> None:
    rows = itertools.islice(lines_of(data / "retrieval/cranfield/queries.jsonl"), QUESTIONS)
    told = [ask(reader, row["text"])[0]["passagesRead"] == 0 for row in rows]
    say(foreign_questions=len(told), told_not_in_the_library=sum(told))


def quantiles(times: list[float]) -> dict[str, float]:
    at = statistics.quantiles(times, n=100, method="inclusive")
    return {"ms_p50": round(at[49], 1), "ms_p95": round(at[94], 1)}


class Endpoint(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint that answers at once, and records how long it takes."""

    protocol_version = "HTTP/1.1"
    had: list[float] = []

    def do_POST(self) -> None:
        began = time.perf_counter()
        self.rfile.read(int(self.headers["Content-Length"]))
        said = {"index": 0, "message": {"role": "assistant", "content": "The library says so [1]."}, "finish_reason": "stop"}
        body = json.dumps({"model": "at-once", "choices": [said], "usage": {"total_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.had.append((time.perf_counter() - began) * 1000)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def measure_overhead(service: Service, reader: Reader, asked: dict[str, tuple[str, set[str]]]) -> None:
    """Asks the same library through an endpoint."""
    endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    service.stop()
    service.settings |= {"ai.chat.url": f"http://127.0.0.1:{endpoint.server_address[1]}/v1", "ai.chat.model": "at-once"}
    service.start()
    service.await_model()
    reader = reader.another()
    for text, _ in itertools.islice(asked.values(), 5):
        ask(reader, text)
    Endpoint.had.clear()
    times = [ask(reader, text)[1] for text, _ in asked.values()]
    beside = [whole - had for whole, had in zip(times, Endpoint.had)]
    say(asked=len(beside), beside_the_model=quantiles(beside), of_it_all=quantiles(times))
    endpoint.shutdown()


def measure(program: str, data: pathlib.Path, documents: int, name: str, **settings: object) -> None:
    say(measure=name)
    asked = claims(data)
    wanted = set().union(*(judged for _, judged in asked.values()))
    with serving(program, plans__pro__answers_per_month=1_000_000, **settings) as service:
        if settings:
            service.await_model()
        reader = service.reader()
        fill(reader, data, wanted, documents)
        answers(reader, asked)
        refusals(reader, data)
        if settings:
            measure_overhead(service, reader, asked)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=5_183)
    given = parser.parse_args()
    machine()
    measure(given.carrel, given.data, given.documents, "without models")
    if given.models:
        measure(given.carrel, given.data, given.documents, "with models", models__dir=given.models)
    machine()
