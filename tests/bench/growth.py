"""What each operation costs in small and in large libraries.

    python3.11 tests/bench/growth.py --carrel target/release/carrel [--bookmarks 2000 20000 200000] [--count 200] [--only NAME ...]

One client calls each operation --count times, one call after the other on one connection; every write is of another row. For each
library and operation the script prints CPU-microseconds of the service for a call, milliseconds as the client sees them (median and
99th percentile), and statements and fallbacks of direct reads for a call. The service's work while nobody asks is measured before and
subtracted. A save has a text of 120 words: its CPU-time includes what follows until the text is found, its milliseconds do not. Saves that
follow one another share writes to the index, because the service claims their jobs 100 ms apart or more: so the CPU-time of `save` is
that of one of many. `save, single` is one save every 200 ms, which shares nothing; the service's work in the pauses is subtracted too. The
passages of the library are not in the index: search is measured in a library with --indexed, for which the index is built first.

`deliver 200 entries` is a fetch of a feed that has as many new entries; its CPU-time includes what follows until they are found. `work,
backlog` and `work, failed` are the first page of the work list and of its failed documents in another copy of the library, as after an
outage: nine of ten documents of bookmarks have a job that waits for another attempt, half of which failed at the first one, and the tenth
has failed without a job; before these jobs as many wait as there are entries, which are about no document of the list.

The baseline of an operation is the statement or the transaction that it cannot do without, through Python's sqlite3 on the same file after
the service has stopped (statements.py): `statement_cpu_us` and `statement_ms_p50`, and the ratio of the CPU-time of the service to it,
`cpu_to_statement`.

At the end a table has the CPU-time, its ratio to the baseline and the 99th percentile of each operation in each library, and the ratio of
the CPU-time in the last library to that in the first one: 1 for an operation that costs the same.

The exchange of tokens needs the package httpx, and is left out without it.
"""

import contextlib
import itertools
import pathlib
import statistics
import time

import statements
from deliveries import ENTRIES, SETTINGS, deliveries
from imports import Browser
from library import FAR_MS, WORDS, Library, add_arguments, copied, serving_library, sqlite3
from service import Reader, Service, arguments, machine, say, serving_at

IDLE_SECONDS = 10
# The work after a start, such as the check of the database, takes a second of CPU-time in the largest library.
START_SECONDS = 15
WARM_UP = 10
# Operations of which fewer calls are made: these, after one that is not counted.
FEWER_CALLS = {f"deliver {ENTRIES} entries": 5}
# Seconds from one call of an operation to the next, if calls do not follow each other at once.
INTERVALS = {"save, single": 0.2}
LIST = "/rest/v1/bookmarks"
# Parts of the names of metrics that count the work of the database.
COUNTED = ("statement", "direct_read")


def reads(reader: Reader, library: Library) -> dict:
    """Functions that read; each gets the number of the call."""
    def get(path: str, **query: object):
        return lambda _: reader.ask("GET", path, **query)

    def get_of(path: str, name: str, values: list, **query: object):
        return lambda number: reader.ask("GET", path, limit=50, **{name: values[number % len(values)]}, **query)

    documents, projects = library.long_documents, library.projects
    lists = {f"list {order}": get(LIST, sort=order) for order in ("-savedAt", "savedAt", "title", "updatedAt", "-updatedAt")}
    flags = {f"list {name}={value}": get(LIST, **{name: value}) for name, value in (
        ("favorite", "true"), ("archived", "true"), ("unread", "true"), ("unread", "false"), ("contentType", "pdf"),
        ("contentType", "audio"))}
    return {
        "document": lambda number: reader.ask("GET", f"/rest/v2/documents/{documents[number % len(documents)]}", maxChars=12_000),
        "bookmark": lambda number: reader.ask("GET", f"{LIST}/{library.bookmark_ids[number % len(library.bookmark_ids)]}"),
        **lists, **flags,
        "list by common tag": get_of(LIST, "tag", library.tags["common"]),
        "list by common tag, favourites, archived": get_of(LIST, "tag", library.tags["common"], favorite="true", archived="true"),
        "list by common tag and title": get_of(LIST, "tag", library.tags["common"], sort="title"),
        "list by rare tag": get_of(LIST, "tag", library.tags["rare"]),
        "list by collection": get_of(LIST, "collectionId", library.collections),
        "list by q, a word": get_of(LIST, "q", WORDS),
        "list by q, a part of a word": get_of(LIST, "q", [word[1:6] for word in WORDS]),
        "list by q, two parts of words": get_of(LIST, "q", [f"{word[1:5]} {other[1:5]}" for word, other in zip(WORDS, WORDS[1:])]),
        "list by q, no match": get(LIST, q="nothing has this word"),
        "list by q, two letters": get(LIST, q="zq"),
        "list by tag and collection": lambda number: reader.ask(
            "GET", LIST, limit=50, tag=library.tags["common"][number % len(library.tags["common"])],
            collectionId=library.collections[number % len(library.collections)]),
        "list by q and title": get(LIST, q="page", sort="title"),
        "list since, with deleted": get(LIST, updatedSince="2025-06-20T00:00:00Z", includeDeleted="true"),
        "list of a month by change": get(LIST, savedAfter="2025-03-01T00:00:00Z", savedBefore="2025-04-01T00:00:00Z", sort="-updatedAt"),
        "list, favourites by title": get(LIST, favorite="true", sort="title"),
        "tags": get("/rest/v1/tags"),
        "collections": get("/rest/v1/collections"),
        "feeds": get("/rest/v1/feeds"),
        "entries": get("/rest/v1/entries"),
        "entries of a feed": get_of("/rest/v1/entries", "feedId", library.feeds),
        "entries, unread": get("/rest/v1/entries", unread="true"),
        "entries, starred": get("/rest/v1/entries", starred="true"),
        "projects": get("/rest/v2/projects"),
        "project context": lambda number: reader.ask("GET", f"/rest/v2/projects/{projects[number % len(projects)]}/context"),
        "account": get("/rest/v1/user"),
        "usage": get("/rest/v2/usage"),
        "exists": lambda number: reader.ask("GET", f"{LIST}/exists", url=f"https://nowhere.example/{number}"),
    }


def pages_of(browser: Browser) -> dict:
    """Functions that read what only the web app shows."""
    return {"activity": lambda _: browser.ask("GET", "/app/api/activity"), "work": lambda _: browser.ask("GET", "/app/api/work")}


def writes(reader: Reader, library: Library) -> dict:
    """Functions that write."""
    ids, entries, saved = library.bookmark_ids, library.entry_ids, []

    def save(number: int) -> None:
        words = " ".join(WORDS[(number * 131 + at * 7) % len(WORDS)] for at in range(120))
        page = {"url": f"https://new.example/{time.monotonic_ns()}", "text": words, "tags": ["common 01", "topic 001"]}
        saved.append(reader.data("POST", LIST, page)["bookmark"]["bookmarkId"])

    def change(fields):
        return lambda number: reader.ask("PATCH", f"{LIST}/{ids[number % len(ids)]}", fields(number))

    def change_entry(fields):
        return lambda number: reader.ask("PATCH", f"/rest/v1/entries/{entries[number % len(entries)]}", fields(number))

    def delete(_: int) -> None:
        reader.ask("DELETE", f"{LIST}/{saved.pop()}")

    def mark_feed(number: int) -> None:
        reader.ask("POST", "/rest/v1/entries/read", {"feedId": library.feeds[number % len(library.feeds)]})

    return {
        "save": save,
        "save, single": save,
        "change tags": change(lambda number: {"tags": [f"changed {number}", "common 02"]}),
        "change favourite": change(lambda number: {"favorite": number % 2 == 0}),
        "mark entry read": change_entry(lambda number: {"read": number % 2 == 0}),
        "star entry": change_entry(lambda number: {"starred": number % 2 == 0}),
        "mark feed read": mark_feed,
        "delete": delete,
    }


def exchanges(service: Service, library: Library) -> dict:
    """A function that exchanges a refresh token; none without httpx."""
    try:
        import httpx
        from assistants import connect
    except ImportError:
        say(left_out="token exchange", because="httpx is not installed")
        return {}
    base = f"http://127.0.0.1:{service.port}"
    client, token = connect(base, library.email)
    http, kept = httpx.Client(), {"token": token}

    def refresh(_: int) -> None:
        answer = http.post(f"{base}/oauth/token", data={
            "grant_type": "refresh_token", "refresh_token": kept["token"], "client_id": client})
        kept["token"] = answer.json()["refresh_token"]

    return {"token exchange": refresh}


def searches(reader: Reader) -> dict:
    return {"search": lambda number: reader.ask(
        "GET", "/rest/v2/search", q=f"{WORDS[number % 500]} {WORDS[number * 7 % 500]} library", limit=8)}


def idle_cpu(service: Service) -> float:
    """CPU-seconds a second while nobody asks, after the work of the start."""
    time.sleep(START_SECONDS)
    before = service.own_cpu_seconds()
    time.sleep(IDLE_SECONDS)
    return (service.own_cpu_seconds() - before) / IDLE_SECONDS


def work_follows(name: str) -> bool:
    """Whether a call leaves work to the service."""
    return name in ("save", "save, single", *FEWER_CALLS)


def calls_of(args, name: str) -> tuple[int, int]:
    """The numbers of calls of an operation that are not counted and that are."""
    if name in FEWER_CALLS:
        return 1, min(args.count, FEWER_CALLS[name])
    # Each deletion needs a save.
    return (1, args.count - 1) if name == "delete" else (WARM_UP, args.count)


def measure(service: Service, name: str, work, warm_up: int, count: int, idle: float) -> dict:
    """Calls the function, and waits for the work that it leaves."""
    numbers = itertools.count()
    for _ in range(warm_up):
        work(next(numbers))
    if work_follows(name):
        service.await_index()
    counters, cpu, began, times = service.metrics(*COUNTED), service.own_cpu_seconds(), time.perf_counter(), []
    for call in range(count):
        time.sleep(max(0, began + call * INTERVALS.get(name, 0) - time.perf_counter()))
        called = time.perf_counter()
        work(next(numbers))
        times.append((time.perf_counter() - called) * 1000)
    if work_follows(name):
        service.await_index()
    used = service.own_cpu_seconds() - cpu - idle * (time.perf_counter() - began)
    at = statistics.quantiles(times, n=100, method="inclusive")
    after = service.metrics(*COUNTED)
    each = {counter: round((value - counters.get(counter, 0)) / count, 1) for counter, value in after.items()
            if not counter.endswith(("_bucket", "_sum"))}
    return {"cpu_us": round(used * 1e6 / count), "ms_p50": round(at[49], 2), "ms_p99": round(at[98], 2), **each}


def is_wanted(args, name: str) -> bool:
    return not args.only or name in args.only or (name == "save" and "delete" in args.only)


def measure_all(args, service: Service, bookmarks: int, operations: dict) -> dict[str, dict]:
    """The figures of the operations by name."""
    figures, idle = {}, idle_cpu(service)
    say(bookmarks=bookmarks, idle_cpu_ms_a_second=round(idle * 1000, 2), **service.memory())
    for name, work in operations.items():
        if is_wanted(args, name):
            figures[name] = measure(service, name, work, *calls_of(args, name), idle)
            say(bookmarks=bookmarks, operation=name, **figures[name])
    return figures


def measure_statements(args, service: Service, library: Library, figures: dict[str, dict]) -> None:
    """Stops the service, and adds the baselines to the figures."""
    service.stop()
    with statements.statements(service.folder, library) as baselines:
        for name, found in figures.items():
            if name in baselines:
                warm_up, count = calls_of(args, name)
                found |= statements.measure(baselines[name], count, warm_up)
                found["cpu_to_statement"] = round(found["cpu_us"] / max(1, found["statement_cpu_us"]), 2)
                shown = ("statement_cpu_us", "statement_ms_p50", "cpu_to_statement")
                say(bookmarks=library.bookmarks, operation=name, **{figure: found[figure] for figure in shown})


def run(args, bookmarks: int) -> dict[str, dict]:
    settings = {"oauth__registrations_per_hour": 1_000, "plans__pro__mcp_per_day": 1_000_000_000} | SETTINGS
    with contextlib.ExitStack() as stack:
        service, library = stack.enter_context(serving_library(args.carrel, args.library, bookmarks, indexed=args.indexed, **settings))
        reader, browser = library.reader(service), Browser(service, library.email)
        operations = reads(reader, library) | pages_of(browser)
        operations |= (searches(reader) if args.indexed else {}) | exchanges(service, library) | writes(reader, library)
        if any(is_wanted(args, name) for name in FEWER_CALLS):
            operations |= stack.enter_context(deliveries(reader))
        figures = measure_all(args, service, bookmarks, operations)
        measure_statements(args, service, library, figures)
    return figures | (run_backlog(args, bookmarks) if any(is_wanted(args, name) for name in backlog_pages(None)) else {})


def backlog_pages(browser: Browser) -> dict:
    """Functions that read the work list of a library with a backlog."""
    return {"work, backlog": lambda _: browser.ask("GET", "/app/api/work"),
            "work, failed": lambda _: browser.ask("GET", "/app/api/work?stage=failed")}


def run_backlog(args, bookmarks: int) -> dict[str, dict]:
    with copied(args.carrel, args.library, bookmarks, args.indexed) as (home, library):
        add_backlog(home)
        with serving_at(args.carrel, home) as service:
            browser = Browser(service, library.email)
            work = browser.ask("GET", "/app/api/work")
            say(bookmarks=bookmarks, waiting=work["waiting"], failed=work["failed"])
            figures = measure_all(args, service, bookmarks, backlog_pages(browser))
            measure_statements(args, service, library, figures)
    return figures


def add_backlog(home: pathlib.Path) -> None:
    """Gives the documents of bookmarks a job that waits for its second attempt, after the end of the measurement, and lets them fail: every
    tenth without a job, and half of the others. The documents of entries get more urgent jobs that the list does not show."""
    database = sqlite3.connect(home / "data/carrel.db")
    insert = ("INSERT INTO job (id, user_id, kind, subject, state, track, priority, run_at, attempts, error, created_at) "
              "SELECT randomblob(16), user_id, ?, id, 'queued', ?, ?, ?, 1, 'the page is not reached', created_at FROM document WHERE ")
    # Track 0 is that of pages and 1 that of the library, priority 10 that of imports.
    database.execute(f"{insert} bookmark_id IS NOT NULL AND rowid % 10 > 0", ["fetch_page", 0, 10, FAR_MS])
    database.execute(f"{insert} entry_id IS NOT NULL", ["remove_from_index", 1, 0, FAR_MS])
    database.execute("UPDATE document SET status = 'failed', error = 'the page does not exist' "
                     "WHERE bookmark_id IS NOT NULL AND rowid % 10 < 5")
    database.commit()
    database.close()


def table(found: dict[int, dict[str, dict]]) -> None:
    """Prints the operations with their figures in each library, as Markdown."""
    sizes = list(found)
    print("| operation |", *(f"CPU us {size:,} |" for size in sizes), *(f"to statement {size:,} |" for size in sizes),
          *(f"p99 ms {size:,} |" for size in sizes), "growth |")
    print("|---|" + "---|" * (3 * len(sizes) + 1))
    for name in found[sizes[0]]:
        rows = [found[size][name] for size in sizes]
        growth = rows[-1]["cpu_us"] / max(1, rows[0]["cpu_us"])
        print(f"| {name} |", *(f"{row['cpu_us']:,} |" for row in rows), *(f"{row.get('cpu_to_statement', '-')} |" for row in rows),
              *(f"{row['ms_p99']} |" for row in rows), f"{growth:.2f} |", flush=True)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 2_000, 20_000, 200_000)
    parser.add_argument("--count", type=int, default=200, help="calls of each operation")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these operations")
    parser.add_argument("--indexed", action="store_true", help="libraries whose passages are in the index, with search")
    measured = parser.parse_args()
    machine()
    table({size: run(measured, size) for size in measured.bookmarks})
    machine()
