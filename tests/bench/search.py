"""Speed of search in 10,000 passages of one user, and the cost of indexing them.

    cargo build --release --bin carrel --example raw_search
    python3.11 tests/bench/search.py --carrel target/release/carrel --models ~/.cache/carrel/models [--passages 10000 100000] \
        [--clients 1 4 8] [--raw]

The script fills a library through `carrel import` until its index has --passages passages: first without models, then, in
another folder, with them. A page has six abstracts of the retrieval sets, which is the length of an article. Passages per
CPU-second count the service and its children, from the import until every document is ready. Then the script sends the queries
of the sets through GET /rest/v2/search, by one client and by --clients concurrent ones. It prints milliseconds as the client sees
them, and CPU-milliseconds of the service for each search. With --raw the service is stopped, and raw_search runs the same queries on a
copy of its index with the engine alone, without the frequencies of the user's words and then with them (`corpus`), as the service
does. For each number of clients the ratios of the service to the engine are printed, of CPU-time (`cpu_to_engine`) and of the median
(`p50_to_engine`), and the difference of their CPU-time (`cpu_ms_over_engine`): the goal is 1 ms without models. With models the service
embeds the query too, which the engine does not.
"""

import itertools
import json
import pathlib
import sqlite3
import statistics
import subprocess
import threading
import time

from service import Reader, arguments, machine, say, serving

SETS = ("scifact", "cranfield")
PORTION = 500
ABSTRACTS_PER_PAGE = 6
SEARCHES = 1000


def lines_of(file: pathlib.Path):
    with file.open(encoding="utf8") as lines:
        yield from map(json.loads, lines)


def saves(data: pathlib.Path):
    """Pages of six neighbouring abstracts. After the last abstract the pages start again, each one abstract later than before; after six
    rounds with abstracts that are further and further apart. So there is no end of different pages."""
    abstracts = [row for name in SETS for row in lines_of(data / "retrieval" / name / "corpus.jsonl") if row["text"]]
    for turn in itertools.count():
        step, first = turn // ABSTRACTS_PER_PAGE + 1, turn % ABSTRACTS_PER_PAGE
        for at in range(first, len(abstracts), ABSTRACTS_PER_PAGE):
            some = [abstracts[(at + nth * step) % len(abstracts)] for nth in range(ABSTRACTS_PER_PAGE)]
            title, text = some[0]["title"] or "Untitled", "\n\n".join(row["text"] for row in some)
            yield {"url": f"https://corpus.example/{step}/{at}", "title": title, "text": text}


def fill(reader: Reader, data: pathlib.Path, min_passages: int) -> dict:
    """Imports portions until the index holds enough."""
    service, rows, count = reader.service, saves(data), 0
    before, began = service.cpu_seconds(), time.perf_counter()
    while (missing := min_passages - service.await_index()) > 0:
        file = service.folder / "portion.jsonl"
        # A page has five or six passages: towards the end the portions become small.
        some = list(itertools.islice(rows, max(1, min(max(PORTION, missing // 20), missing // 7))))
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


def ask_engine(service, program: str, email: str, queries: list[str], clients: list[int]):
    """Stops the service and runs the queries on a copy of its index; returns the figures of each run."""
    service.stop()
    index, file = service.folder / "index-copy", service.folder / "queries"
    subprocess.run(["cp", "-a", "--reflink=auto", service.folder / "data/index", index], check=True)
    file.write_text("".join(" ".join(query.split())[:500] + "\n" for query in queries))
    database = sqlite3.connect(service.folder / "data/carrel.db")
    [[user]] = database.execute('SELECT lower(hex(id)) FROM "user" WHERE email = ?', [email])
    database.close()
    user = "-".join((user[:8], user[8:12], user[12:16], user[16:20], user[20:]))
    for count in clients:
        for corpus in ([], ["--corpus"]):
            command = [program, index, user, file, str(count), *corpus]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            yield {"clients": count, "corpus": bool(corpus), **json.loads(done.stdout)}


def compare(service: dict, engine: dict) -> dict:
    """The figures of the service for one number of clients in relation to those of the engine."""
    cpu, engine_cpu = service["cpu_ms_each"], engine["raw_cpu_ms_each"]
    return {"cpu_to_engine": round(cpu / engine_cpu, 2), "p50_to_engine": round(service["ms_p50"] / engine["raw_ms_p50"], 2),
            "cpu_ms_over_engine": round(cpu - engine_cpu, 2)}


def measure(args, min_passages: int, name: str, **settings: object) -> None:
    rows = [row["text"] for set_name in SETS for row in lines_of(args.data / "retrieval" / set_name / "queries.jsonl")]
    queries = list(itertools.islice(itertools.cycle(rows), SEARCHES))
    with serving(args.carrel, **settings) as service:
        if settings:
            service.await_model()
        reader = service.reader()
        say(fill=name, **fill(reader, args.data, min_passages))
        # A warm-up that is not counted.
        ask(reader, queries[:50], 1)
        found = {}
        for clients in args.clients:
            found[clients] = ask(reader, queries, clients)
            say(search=name, passages=min_passages, **found[clients])
        if args.raw:
            for engine in ask_engine(service, args.raw_search, reader.email, queries, args.clients):
                say(engine=name, passages=min_passages, **engine, **compare(found[engine["clients"]], engine))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[10_000])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--raw", action="store_true", help="also run the queries with the engine alone")
    parser.add_argument("--raw-search", default="target/release/examples/raw_search", metavar="PROGRAM")
    args = parser.parse_args()
    machine()
    for count in args.passages:
        measure(args, count, "without models")
        if args.models:
            measure(args, count, "with models", models__dir=args.models)
    machine()
