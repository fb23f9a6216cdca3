"""Speed of search in 10,000 passages of one user, and the cost of indexing them.

    python3.11 tests/bench/search.py --carrel target/release/carrel --models ~/.cache/carrel/models

The script fills a library through `carrel import` until its index has --passages passages: first without models, then, in
another folder, with them. A page has six abstracts of the retrieval sets, which is the length of an article. Passages per
CPU-second count the service and its children, from the import until every document is ready. Then the script sends the queries
of the sets through GET /rest/v2/search, by one client, and by four and by eight concurrent ones. It prints milliseconds as the client sees
them, and CPU-milliseconds of the service for each search.
"""

import itertools
import json
import pathlib
import statistics
import threading
import time

from service import Reader, arguments, machine, say, serving

SETS = ("scifact", "cranfield")
PORTION = 500
ABSTRACTS_PER_PAGE = 6
SEARCHES = 1000
CLIENTS = (1, 4, 8)


def lines_of(file: pathlib.Path):
    with file.open(encoding="utf8") as lines:
        yield from map(json.loads, lines)


def saves(data: pathlib.Path):
    """Pages of six neighbouring abstracts. After the last abstract the pages start again, each one abstract later than before."""
    abstracts = [row for name in SETS for row in lines_of(data / "retrieval" / name / "corpus.jsonl") if row["text"]]
    for first in range(ABSTRACTS_PER_PAGE):
        for at in range(first, len(abstracts), ABSTRACTS_PER_PAGE):
            some = abstracts[at:at + ABSTRACTS_PER_PAGE]
            title, text = some[0]["title"] or "Untitled", "\n\n".join(row["text"] for row in some)
            yield {"url": f"https://corpus.example/{at}", "title": title, "text": text}


def fill(reader: Reader, data: pathlib.Path, min_passages: int) -> dict:
    """Imports portions until the index holds enough."""
    service, rows, count = reader.service, saves(data), 0
    before, began = service.cpu_seconds(), time.perf_counter()
    while (missing := min_passages - service.await_index()) > 0:
        file = service.folder / "portion.jsonl"
        # A page has five or six passages: towards the end the portions become small.
        some = list(itertools.islice(rows, max(1, min(PORTION, missing // 7))))
        file.write_text("".join(json.dumps(row) + "\n" for row in some))
        count += len(some)
        report = reader.import_file(file)
        assert report["created"] == len(some) > 0, report
    reader.await_library()
    cpu, wall, passages = service.cpu_seconds() - before, time.perf_counter() - began, service.passages()
    return {"documents": count, "passages": passages, "cpu_seconds": round(cpu, 1), "wall_seconds": round(wall, 1),
            "passages_per_cpu_second": round(passages / cpu, 1), **service.memory()}


def search_all(reader: Reader, queries: list[str], durations_ms: list[float], degraded: list[object]) -> None:
    for query in queries:
        began = time.perf_counter()
        found = reader.data("GET", "/rest/v2/search", q=query[:500], limit=8)
        durations_ms.append((time.perf_counter() - began) * 1000)
        degraded.append(found["degraded"])


def ask(reader: Reader, queries: list[str], clients: int) -> dict:
    measured: list[float] = []
    degraded: list[object] = []
    readers = [reader.another() for _ in range(clients)]
    shares = [queries[at::clients] for at in range(clients)]
    before = reader.service.cpu_seconds()
    threads = [threading.Thread(target=search_all, args=(*each, measured, degraded)) for each in zip(readers, shares)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu = (reader.service.cpu_seconds() - before) * 1000 / len(measured)
    at = statistics.quantiles(measured, n=100, method="inclusive")
    return {"clients": clients, "searches": len(measured), "lexical_only": sum(kind is not None for kind in degraded),
            "ms_p50": round(at[49], 2), "ms_p99": round(at[98], 2), "cpu_ms_each": round(cpu, 2)}


def measure(program: str, data: pathlib.Path, min_passages: int, name: str, **settings: object) -> None:
    rows = [row["text"] for set_name in SETS for row in lines_of(data / "retrieval" / set_name / "queries.jsonl")]
    queries = list(itertools.islice(itertools.cycle(rows), SEARCHES))
    with serving(program, **settings) as service:
        if settings:
            service.await_model()
        reader = service.reader()
        say(fill=name, **fill(reader, data, min_passages))
        # A warm-up that is not counted.
        ask(reader, queries[:50], 1)
        for clients in CLIENTS:
            say(search=name, **ask(reader, queries, clients))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--passages", type=int, default=10_000)
    args = parser.parse_args()
    machine()
    measure(args.carrel, args.data, args.passages, "without models")
    if args.models:
        measure(args.carrel, args.data, args.passages, "with models", models__dir=args.models)
    machine()
