"""Speed of search in 1,000 to 100,000 passages of one user, the cost of indexing them, and the size of their index.

    cargo build --release --bin carrel --example raw_search
    python3.11 tests/bench/search.py --carrel target/release/carrel --models ~/.cache/carrel/models \
        [--passages 1000 10000 100000] [--clients 1 4 8] [--others 1000] [--raw]

The script fills a library through `carrel import` until its index has --passages passages: first without models, then, in
another folder, with them. A page has six abstracts of the retrieval sets, which is the length of an article. Passages per
CPU-second count the service and its children, from the import until every document is ready. Then the script sends the queries
of the sets through GET /rest/v2/search, by one client and by --clients concurrent ones. It prints milliseconds as the client sees
them, and CPU-milliseconds of the service for each search.

It does so three times, in one table: with this account alone in the index (`accounts` 1); after a second one has --others passages, at
once and again once the service has counted the words of the first (`accounts` 2, `counted`); and with each filter of a tag, of archived
bookmarks and of a period (`filter`), where a fifth of the pages has the tag `common` and a fiftieth the tag `rare`, a third is archived,
and a tenth was saved in the period.

Then it stops the service and prints the disk space of the index, in all and for each passage, and its ratio to the bytes of the texts
that it has (`index_to_text`). Metadata are passages too. In a small library most of it is what the engine allocates for any index.

With --raw raw_search runs the same queries on a copy of that index with the engine alone, without the frequencies of the user's words
and then with them (`corpus`). The index has the passages of both accounts. For each number of clients and of accounts the ratios of the
service to the engine are printed, of CPU-time (`cpu_to_engine`) and of the median (`p50_to_engine`), and the difference of their
CPU-time (`cpu_ms_over_engine`): the goal is 1 ms without models. With models the service embeds the query too, which the engine does not.
"""

import datetime
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
# The service counts words when it looks whether the index can be packed, every 30 seconds.
COUNT_SECONDS = 40
FIRST_DAY, DAYS = datetime.date(2020, 1, 1), 1000
PERIOD_END = FIRST_DAY + datetime.timedelta(days=DAYS // 10)
IN_PERIOD = {"savedBefore": f"{PERIOD_END}T00:00:00Z"}
FILTERS = {
    "common tag": {"tag": "common"}, "rare tag": {"tag": "rare"}, "archived": {"archived": "true"},
    "not archived": {"archived": "false"}, "period": IN_PERIOD, "common tag in period": {"tag": "common"} | IN_PERIOD,
}


def lines_of(file: pathlib.Path):
    with file.open(encoding="utf8") as lines:
        yield from map(json.loads, lines)


def saves(data: pathlib.Path):
    """Pages of six neighbouring abstracts. After the last abstract the pages start again, each one abstract later than before; after six
    rounds with abstracts that are further and further apart. So there is no end of different pages."""
    abstracts = [row for name in SETS for row in lines_of(data / "retrieval" / name / "corpus.jsonl") if row["text"]]
    pages = itertools.count()
    for turn in itertools.count():
        step, first = turn // ABSTRACTS_PER_PAGE + 1, turn % ABSTRACTS_PER_PAGE
        for at in range(first, len(abstracts), ABSTRACTS_PER_PAGE):
            some = [abstracts[(at + nth * step) % len(abstracts)] for nth in range(ABSTRACTS_PER_PAGE)]
            title, text = some[0]["title"] or "Untitled", "\n\n".join(row["text"] for row in some)
            page = next(pages)
            tags = [name for name, each in (("common", 5), ("rare", 50)) if page % each == 0]
            saved = FIRST_DAY + datetime.timedelta(days=page * 7 % DAYS)
            yield {"url": f"https://corpus.example/{step}/{at}", "title": title, "text": text, "tags": tags, "archived": page % 3 == 0,
                   "savedAt": f"{saved}T12:00:00Z"}


def fill(reader: Reader, data: pathlib.Path, min_passages: int) -> dict:
    """Imports portions until the index holds enough, of all accounts."""
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


def search_all(reader: Reader, queries: list[str], filters: dict, durations_ms: list[float], degraded: list[object]) -> None:
    for query in queries:
        began = time.perf_counter()
        found = reader.data("GET", "/rest/v2/search", q=query[:500], limit=8, **filters)
        durations_ms.append((time.perf_counter() - began) * 1000)
        degraded.append(found["degraded"])


def ask(reader: Reader, queries: list[str], clients: int, **filters: str) -> dict:
    measured: list[float] = []
    degraded: list[object] = []
    readers = [reader.another() for _ in range(clients)]
    shares = [queries[at::clients] for at in range(clients)]
    before = reader.service.own_cpu_seconds()
    threads = [threading.Thread(target=search_all, args=(*each, filters, measured, degraded)) for each in zip(readers, shares)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu = (reader.service.own_cpu_seconds() - before) * 1000 / len(measured)
    at = statistics.quantiles(measured, n=100, method="inclusive")
    return {"clients": clients, "searches": len(measured), "lexical_only": sum(kind is not None for kind in degraded),
            "ms_p50": round(at[49], 2), "ms_p99": round(at[98], 2), "cpu_ms_each": round(cpu, 2)}


def size(service, passages: int) -> dict:
    """The disk space of the index of a stopped service with this number of passages. Files may have holes, so their blocks are counted
    and not their lengths."""
    files = (service.folder / "data/index").rglob("*")
    index = sum(file.stat().st_blocks * 512 for file in files if file.is_file())
    database = sqlite3.connect(service.folder / "data/carrel.db")
    [[text]] = database.execute("SELECT sum(length(CAST(text AS BLOB))) FROM chunk")
    database.close()
    return {"index_mib": round(index / (1 << 20), 1), "index_bytes_a_passage": round(index / passages),
            "text_mib": round(text / (1 << 20), 1), "index_to_text": round(index / text, 2)}


def ask_engine(service, program: str, email: str, queries: list[str], clients: list[int]):
    """Runs the queries on a copy of the index of a stopped service; returns the figures of each run."""
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
        filled = fill(reader, args.data, min_passages)
        say(fill=name, **filled)
        found = {}

        def search(accounts: int, counted: bool) -> None:
            # A warm-up that is not counted.
            ask(reader, queries[:50], 1)
            for clients in args.clients:
                found[clients, accounts] = ask(reader, queries, clients)
                say(search=name, passages=min_passages, accounts=accounts, counted=counted, **found[clients, accounts])

        search(1, counted=False)
        both = fill(service.reader(), args.data, filled["passages"] + args.others)
        search(2, counted=False)
        time.sleep(COUNT_SECONDS)
        search(2, counted=True)
        for kind, filters in FILTERS.items():
            ask(reader, queries[:50], 1, **filters)
            for clients in args.clients:
                say(search=name, passages=min_passages, accounts=2, filter=kind, **ask(reader, queries, clients, **filters))
        service.stop()
        say(size=name, passages=both["passages"], **size(service, both["passages"]))
        if args.raw:
            for engine in ask_engine(service, args.raw_search, reader.email, queries, args.clients):
                for accounts in (1, 2):
                    compared = compare(found[engine["clients"], accounts], engine)
                    say(engine=name, passages=min_passages, accounts=accounts, **engine, **compared)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--passages", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--others", type=int, default=1_000, help="passages of a second account")
    parser.add_argument("--raw", action="store_true", help="also run the queries with the engine alone")
    parser.add_argument("--raw-search", default="target/release/examples/raw_search", metavar="PROGRAM")
    args = parser.parse_args()
    machine()
    for count in args.passages:
        measure(args, count, "without models")
        if args.models:
            measure(args, count, "with models", models__dir=args.models)
    machine()
