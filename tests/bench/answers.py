"""Quality of answers without a chat model, and the overhead of a question without the time of the model.

    python3.11 tests/bench/answers.py --carrel target/release/carrel --models ~/.cache/carrel/models

First a library of the texts of --library (see check_set.py) is asked the questions of its answers.jsonl. Of those with an answer the
script counts which are answered, from the right document alone, with the right one first, and with the sentence that has the fact; of
those without one how many are declined, by each of the two sentences that say so.

Then a library has the abstracts that judge the first fifty claims of SciFact, and further abstracts up to --documents. The script
asks these claims. It counts the answered and the declined claims, those answered from an abstract that judges the claim, the verified
citations, and the verified quotes that equal the document's text at their offsets. It then asks as many queries of Cranfield, which is
about aerodynamics, and counts the declined ones. With --models it asks the claims again with a chat endpoint that responds immediately,
and reports the milliseconds that the client measures less those of the endpoint.
"""

import http.server
import itertools
import json
import pathlib
import statistics
import threading
import time

from search import lines_of
from service import CHECKOUT, Reader, Service, arguments, machine, say, serving

QUESTIONS = 50
NOTHING_FOUND = "There is nothing about this in your library."
NO_DIRECT_ANSWER = "No sentence answers this directly; closest:"


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


def fill(reader: Reader, saves: list[dict]) -> None:
    """Imports these pages, and waits until they are indexed."""
    file = reader.service.folder / "pages.jsonl"
    file.write_text("".join(json.dumps(save) + "\n" for save in saves))
    reader.import_file(file)
    ready = sum(bookmark["status"] == "ready" for bookmark in reader.await_library())
    say(documents=ready, passages=reader.service.passages())


def abstracts(data: pathlib.Path, wanted: set[str], documents: int) -> list[dict]:
    """The wanted abstracts first, then others up to this number."""
    rows = sorted(lines_of(data / "retrieval/scifact/corpus.jsonl"), key=lambda row: row["_id"] not in wanted)
    return [{"url": url_of(row["_id"]), "title": row["title"], "text": row["text"]} for row in rows[:documents]]


def url_of(abstract: str) -> str:
    return f"https://corpus.example/{abstract}"


def ask(reader: Reader, question: str) -> tuple[dict, float]:
    """The answer, and the milliseconds until it arrived."""
    began = time.perf_counter()
    answer = reader.data("POST", "/rest/v2/ask", {"question": question})
    return answer, (time.perf_counter() - began) * 1000


def is_exact_quote(reader: Reader, citation: dict) -> bool:
    """Whether the document has the quote at its offsets."""
    start, end = citation["quoteStart"], citation["quoteEnd"]
    page = reader.data("GET", f"/rest/v2/documents/{citation['documentId']}", offset=0, maxChars=20_000)
    return page["text"][start:end] == citation["quote"]


def is_declined(answer: dict) -> bool:
    """Whether the answer says that there is none."""
    return answer["answer"] == NOTHING_FOUND or answer["answer"].startswith(NO_DIRECT_ANSWER)


def declined(answers: list[dict]) -> dict[str, int]:
    """How many of the answers decline the question, by each of the two sentences."""
    nothing_found = sum(answer["answer"] == NOTHING_FOUND for answer in answers)
    return {"declined": sum(map(is_declined, answers)), "nothing_found": nothing_found,
            "no_direct_answer": sum(answer["answer"].startswith(NO_DIRECT_ANSWER) for answer in answers)}


def cited_urls(answer: dict) -> list[str]:
    """The URLs of the cited documents, in the order of the citations."""
    return [citation["url"] for citation in answer["citations"]]


def from_right_document(answers: list[tuple[dict, set[str]]]) -> dict[str, int]:
    """How many questions are answered at all, with a right document first, and from right ones alone; and how many of those that are
    declined show one. Each answer comes with the URLs of the right documents."""
    given = [(cited_urls(answer), right) for answer, right in answers if not is_declined(answer)]
    closest = [(cited_urls(answer), right) for answer, right in answers if is_declined(answer)]
    return {"answered": len(given), "right_document_first": sum(bool(urls) and urls[0] in right for urls, right in given),
            "right_document_alone": sum(bool(urls) and right.issuperset(urls) for urls, right in given),
            "declined_but_shows_it": sum(not right.isdisjoint(urls) for urls, right in closest)}


def measure_answers(reader: Reader, questions: dict[str, tuple[str, set[str]]]) -> None:
    answers, times = [], []
    for text, judged in questions.values():
        answer, ms = ask(reader, text)
        times.append(ms)
        answers.append((answer, set(map(url_of, judged))))
    citations = [citation for answer, _ in answers for citation in answer["citations"]]
    verified = [citation for citation in citations if citation["verified"]]
    say(questions=len(questions), **from_right_document(answers), citations=len(citations), verified=len(verified),
        share=round(len(verified) / max(1, len(citations)), 3),
        quotes_that_stand=sum(is_exact_quote(reader, citation) for citation in verified), model=answers[0][0]["model"],
        **quantiles(times))


def measure_refusals(reader: Reader, data: pathlib.Path) -> None:
    """Asks questions on a subject that the library does not have."""
    rows = itertools.islice(lines_of(data / "retrieval/cranfield/queries.jsonl"), QUESTIONS)
    answers = [ask(reader, row["text"])[0] for row in rows]
    say(foreign_questions=len(answers), **declined(answers))


def measure_library(program: str, library: pathlib.Path, **settings: object) -> None:
    """Asks the questions of a set of texts."""
    rows = list(lines_of(library / "corpus.jsonl"))
    urls = {row["_id"]: row["metadata"]["url"] for row in rows}
    # A save with a state has no text.
    texts = [row for row in rows if "state" not in row["metadata"]]
    questions = list(lines_of(library / "answers.jsonl"))
    with serving(program, plans__pro__answers_per_month=1_000_000, **settings) as service:
        if settings:
            service.await_model()
        reader = service.reader()
        fill(reader, [{"url": urls[row["_id"]], "title": row["title"], "text": row["text"]} for row in texts])
        answers = [(question, ask(reader, question["text"])[0]) for question in questions]
        answerable = [(question, answer) for question, answer in answers if question["document"] is not None]
        others = [answer for question, answer in answers if question["document"] is None]
        has_fact = sum(question["fact"] in answer["answer"] and not is_declined(answer) for question, answer in answerable)
        right = [(answer, {urls[question["document"]]}) for question, answer in answerable]
        say(answerable=len(answerable), **from_right_document(right), with_the_fact=has_fact)
        say(unanswerable=len(others), **declined(others))
        for question, answer in answerable:
            if is_declined(answer) or cited_urls(answer)[:1] != [urls[question["document"]]]:
                say(missed=question["_id"], cited=cited_urls(answer), declined=is_declined(answer))


def quantiles(times: list[float]) -> dict[str, float]:
    at = statistics.quantiles(times, n=100, method="inclusive")
    return {"ms_p50": round(at[49], 1), "ms_p95": round(at[94], 1)}


class Endpoint(http.server.BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint that responds immediately, and records how long each response takes."""

    protocol_version = "HTTP/1.1"
    durations_ms: list[float] = []

    def do_POST(self) -> None:
        began = time.perf_counter()
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "message": {"role": "assistant", "content": "The library says so [1]."}, "finish_reason": "stop"}
        body = json.dumps({"model": "at-once", "choices": [choice], "usage": {"total_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.durations_ms.append((time.perf_counter() - began) * 1000)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def measure_overhead(service: Service, reader: Reader, questions: dict[str, tuple[str, set[str]]]) -> None:
    """Asks the same claims of the same library through a chat endpoint, after a restart with its URL."""
    endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    service.stop()
    service.settings |= {"ai.chat.url": f"http://127.0.0.1:{endpoint.server_address[1]}/v1", "ai.chat.model": "at-once"}
    service.start()
    service.await_model()
    reader = reader.another()
    # The first questions also fill caches and open connections; they are not counted.
    for text, _ in itertools.islice(questions.values(), 5):
        ask(reader, text)
    Endpoint.durations_ms.clear()
    # One after another, so that each response of the endpoint belongs to the question at the same place.
    times = [ask(reader, text)[1] for text, _ in questions.values()]
    overheads = [total - in_endpoint for total, in_endpoint in zip(times, Endpoint.durations_ms)]
    say(asked=len(overheads), beside_the_model=quantiles(overheads), of_it_all=quantiles(times))
    endpoint.shutdown()


def measure(program: str, data: pathlib.Path, documents: int, name: str, **settings: object) -> None:
    say(measure=name)
    questions = claims(data)
    wanted = set().union(*(judged for _, judged in questions.values()))
    with serving(program, plans__pro__answers_per_month=1_000_000, **settings) as service:
        if settings:
            service.await_model()
        reader = service.reader()
        fill(reader, abstracts(data, wanted, documents))
        measure_answers(reader, questions)
        measure_refusals(reader, data)
        if settings:
            measure_overhead(service, reader, questions)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=5_183)
    parser.add_argument("--library", type=pathlib.Path, default=CHECKOUT / "tests/quality/library", metavar="FOLDER",
                        help="texts and questions about them")
    args = parser.parse_args()
    machine()
    for name, settings in {"without models": {}, "with models": {"models__dir": args.models}}.items():
        if name == "without models" or args.models:
            say(measure=name, library=args.library.name)
            measure_library(args.carrel, args.library, **settings)
            measure(args.carrel, args.data, args.documents, name, **settings)
    machine()
