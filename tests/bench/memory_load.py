"""Memory before, at the peak of, and after each of several loads: whether it is released, and how a client is served meanwhile.

    python3.11 tests/bench/memory_load.py --carrel target/release/carrel [--load NAME ...] [--against OTHER_PROGRAM]

Figures are MiB of the process without its children: VmRSS is all resident memory, RssAnon the anonymous part. "after" is read 20
seconds after the load has ended. Each load has a new service, which has served one search and one sign-in before: its memory then is the
baseline, and `..._peak_to_before` and `..._after_to_before` are the ratios to it. An `after_to_before` of 1 means that all that the load
took was released. A client of another account saves small pages before and during the loads of stalled connections; its ratio compares
the medians. With --against the same loads run on another program, such as one with another allocator, and the ratios of the memory are
printed.

Loads: 300 saves of 60,000 characters; 500 concurrent searches over 300 documents, compared with the same searches one by one; 3,000
reads; 40 concurrent sign-ins; 8 bodies of 12 MB; 4,300 connections without a key that stall in a body, from one address, from five,
before the first byte of it, and on a route that refuses them; nine stalled bodies of 30 MB of one key; 1,000 clients that request a
document of 20,000 characters 100 times and never read.
"""

import concurrent.futures
import http.client
import json
import threading
import time

from connections import close_all, connect, count_open, count_reset, head, open_all, percentiles, raise_file_limit, saving_client
from service import PASSWORD, Reader, arguments, machine, say, serving

SETTLED_SECONDS = 20
SAVES = 300
SAVE_CHARS = 60_000
SEARCHES = 500
READS = 3_000
LARGE_BODIES = 8
LARGE_BODY_CHARS = 12_000_000
SIGN_INS = 40
STALLED = 4_300
STALLED_SECONDS = 25
STALLED_BODIES = 9
STALLED_BODY_BYTES = 30 << 20
SLOW_READERS = 1_000
FIRST_READERS = 100
PIPELINED = 100
WRITE_TIMEOUT_SECONDS = 20
FIGURES = ("VmRSS", "RssAnon")


def save(reader: Reader, number: int, chars: int) -> None:
    words = " ".join(f"word{number * 7919 + step}" for step in range(chars // 11))
    reader.another().ask("POST", "/rest/v1/bookmarks", {"url": f"https://bench.example/{number}", "text": words})


def fill(reader: Reader) -> None:
    for number in range(SAVES):
        save(reader, number, SAVE_CHARS)
    reader.service.await_index()


def saves(reader: Reader) -> dict:
    fill(reader)
    return {}


def searches(reader: Reader) -> dict:
    """Concurrent searches. The ratio compares the time until the last answer with the time of the same searches one by one."""
    began = time.perf_counter()
    for number in range(SEARCHES):
        reader.ask("GET", "/rest/v2/search", q=f"word{number * 7919}", limit=20)
    one_by_one = time.perf_counter() - began
    # Without the barrier the first threads would have their results before the last ones exist.
    start = threading.Barrier(SEARCHES)
    with concurrent.futures.ThreadPoolExecutor(SEARCHES) as pool:
        began = time.perf_counter()
        durations_ms = list(pool.map(lambda number: search(reader.another(), f"word{number * 7919}", start), range(SEARCHES)))
        at_once = time.perf_counter() - began
    answered = [ms for ms in durations_ms if ms is not None]
    p50, p99 = percentiles(answered)
    return {"refused": SEARCHES - len(answered), "one_by_one_seconds": round(one_by_one, 2), "at_once_seconds": round(at_once, 2),
            "at_once_ratio": round(at_once / one_by_one, 2), "ms_p50": p50, "ms_p99": p99}


def search(reader: Reader, word: str, start: threading.Barrier) -> float | None:
    """Milliseconds; `None` if it was refused."""
    start.wait()
    began = time.perf_counter()
    try:
        reader.ask("GET", "/rest/v2/search", q=word, limit=20)
    except (RuntimeError, OSError, http.client.HTTPException):
        return None
    return (time.perf_counter() - began) * 1000


def reads(reader: Reader) -> dict:
    documents = [bookmark["documentId"] for bookmark in reader.bookmarks()]
    for number in range(READS):
        reader.ask("GET", f"/rest/v2/documents/{documents[number % len(documents)]}", maxChars=20000)
    return {}


def large_bodies(reader: Reader) -> dict:
    with concurrent.futures.ThreadPoolExecutor(LARGE_BODIES) as pool:
        saved = [pool.submit(save, reader, 10_000 + number, LARGE_BODY_CHARS) for number in range(LARGE_BODIES)]
    return {"refused": sum(one.exception() is not None for one in saved)}


def sign_ins(reader: Reader) -> dict:
    """Each sign-in is of another account: at most five concurrent attempts of one account are checked."""
    accounts = [reader.service.reader() for _ in range(SIGN_INS)]
    with concurrent.futures.ThreadPoolExecutor(SIGN_INS) as pool:
        began = time.perf_counter()
        statuses = list(pool.map(sign_in, accounts))
        at_once = time.perf_counter() - began
    return {"refused": sum(status != 200 for status in statuses), "at_once_seconds": round(at_once, 2)}


def sign_in(reader: Reader) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", reader.service.port, timeout=120)
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{reader.service.port}"}
    connection.request("POST", "/app/api/session", json.dumps({"email": reader.email, "password": PASSWORD}), headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status


def stalled_one_address(reader: Reader) -> dict:
    return stalled(reader, ["127.0.1.1"], "/app/api/session", announced=8_000, sent=4_000)


def stalled_five_addresses(reader: Reader) -> dict:
    return stalled(reader, [f"127.0.1.{last}" for last in range(1, 6)], "/app/api/session", announced=8_000, sent=4_000)


def stalled_before_their_bodies(reader: Reader) -> dict:
    """Requests whose body never begins. A body uses its sender's share once its first byte has arrived, and these stay open until
    they time out."""
    return stalled(reader, [f"127.0.1.{last}" for last in range(1, 6)], "/app/api/session", announced=8_000, sent=0)


def stalled_refused_route(reader: Reader) -> dict:
    """Requests without a key, which are refused before the body is read."""
    return stalled(reader, [f"127.0.1.{last}" for last in range(1, 6)], "/rest/v1/bookmarks", announced=30 << 20, sent=16 << 10)


def stalled(reader: Reader, addresses: list[str], path: str, announced: int, sent: int) -> dict:
    service, figures = reader.service, {}
    begun = head(service, "POST", path, Content_Type="application/json", Content_Length=announced) + b" " * sent
    with saving_client(service, figures):
        opened = open_all(service, addresses, STALLED, begun)
        figures |= {"opened": len(opened), "stalled": count_open(opened)}
        time.sleep(STALLED_SECONDS)
        figures["stalled_at_the_end"] = count_open(opened)
        close_all(opened)
    return figures


def stalled_bodies_of_a_key(reader: Reader) -> dict:
    service, figures = reader.service, {}
    begun = head(service, "POST", "/rest/v1/bookmarks", Authorization=f"Bearer {reader.secret}", Content_Type="application/json",
                 Content_Length=STALLED_BODY_BYTES + 1)
    with saving_client(service, figures):
        opened = [connect(service) for _ in range(STALLED_BODIES)]
        whole = sum(send_body(connection, begun) for connection in opened)
        figures |= {"opened": len(opened), "sent_whole": whole, "stalled": count_open(opened)}
        time.sleep(STALLED_SECONDS)
        close_all(opened)
    return figures


def send_body(connection, begun: bytes) -> bool:
    """Whether the service accepted all but the last byte."""
    try:
        connection.sendall(begun)
        for _ in range(STALLED_BODY_BYTES >> 20):
            connection.sendall(b" " * (1 << 20))
    except OSError:
        return False
    return True


def slow_readers(reader: Reader) -> dict:
    """Memory for 1,000 slow readers, and how many the service has closed after its write timeout. The memory of each reader is the
    difference between 100 and 1,000 of them: the first ones also fill caches that do not grow with the readers."""
    service = reader.service
    save(reader, 0, SAVE_CHARS)
    service.await_index()
    document = reader.bookmarks()[0]["documentId"]
    path = f"/rest/v2/documents/{document}?maxChars=20000"
    requests = head(service, "GET", path, Authorization=f"Bearer {reader.secret}") * PIPELINED
    opened = open_readers(service, requests, FIRST_READERS)
    await_idle(service)
    first = service.memory()
    opened += open_readers(service, requests, SLOW_READERS - FIRST_READERS)
    blocked_seconds = await_idle(service)
    during, closed_before = service.memory(), count_reset(opened)
    time.sleep(WRITE_TIMEOUT_SECONDS + 5)
    closed, deadline = count_reset(opened), service.memory()
    close_all(opened)
    grown_kib = (during["RssAnon"] - first["RssAnon"]) * 1024
    return {"blocked_seconds": blocked_seconds, "closed_before": closed_before, "closed": closed,
            **{f"{figure}_blocked": during[figure] for figure in FIGURES},
            **{f"{figure}_past_deadline": deadline[figure] for figure in FIGURES},
            "anon_kib_each": round(grown_kib / (SLOW_READERS - FIRST_READERS), 1)}


def open_readers(service, requests: bytes, count: int) -> list:
    opened = []
    for _ in range(count):
        # The kernel buffers little of the responses, so that the service itself has to hold them.
        opened.append(connect(service, receive_buffer=4096))
        opened[-1].sendall(requests)
    return opened


def await_idle(service) -> float:
    """Seconds until the service is nearly idle."""
    began, used = time.perf_counter(), service.cpu_seconds()
    while True:
        time.sleep(2)
        now = service.cpu_seconds()
        if now - used < 0.1:
            return round(time.perf_counter() - began, 1)
        used = now


# The loads by name, and whether each needs a filled library.
LOADS = {
    "saves": (saves, False),
    "searches": (searches, True),
    "reads": (reads, True),
    "sign_ins": (sign_ins, False),
    "large_bodies": (large_bodies, False),
    "stalled_one_address": (stalled_one_address, False),
    "stalled_five_addresses": (stalled_five_addresses, False),
    "stalled_before_their_bodies": (stalled_before_their_bodies, False),
    "stalled_refused_route": (stalled_refused_route, False),
    "stalled_bodies_of_a_key": (stalled_bodies_of_a_key, False),
    "slow_readers": (slow_readers, False),
}


class Peak:
    """Records the peak memory until the block ends."""

    def __init__(self, service) -> None:
        self.service, self.highest, self.done = service, service.memory(), threading.Event()

    def __enter__(self) -> "Peak":
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.done.wait(0.05):
            now = self.service.memory()
            self.highest = {name: max(self.highest[name], now[name]) for name in now}

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def measure(program: str, names: list[str]) -> list[dict]:
    return [measure_load(program, name, *LOADS[name]) for name in names]


def measure_load(program: str, name: str, load, is_filled: bool) -> dict:
    with serving(program, plans__pro__library_bytes=1 << 40, server__write_timeout_seconds=WRITE_TIMEOUT_SECONDS) as service:
        reader = service.reader()
        if is_filled:
            fill(reader)
        reader.ask("GET", "/rest/v2/search", q="heron", limit=1)
        sign_in(reader)
        time.sleep(SETTLED_SECONDS / 4)
        before, began = service.memory(), time.perf_counter()
        with Peak(service) as peak:
            more = load(reader)
        seconds = time.perf_counter() - began
        time.sleep(SETTLED_SECONDS)
        after = service.memory()
    figures = {"load": name, "seconds": round(seconds, 1), **more}
    for figure in FIGURES:
        figures |= {f"{figure}_before": before[figure], f"{figure}_peak": peak.highest[figure], f"{figure}_after": after[figure]}
        for when, size in (("peak", peak.highest[figure]), ("after", after[figure])):
            figures[f"{figure}_{when}_to_before"] = round(size / before[figure], 2)
    say(program=program, **figures)
    return figures


def table(found: list[dict]) -> None:
    columns = [f"{figure}_{when}" for figure in FIGURES for when in ("before", "peak", "peak_to_before", "after", "after_to_before")]
    print("| load | seconds | refused |", *(f"{column} |" for column in columns))
    print("|---|" + "---|" * (len(columns) + 2))
    for row in found:
        refused = row.get("refused", row.get("client_refused", "-"))
        print(f"| {row['load']} | {row['seconds']} | {refused} |", *(f"{row[column]} |" for column in columns), flush=True)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    parser.add_argument("--against", metavar="PROGRAM", help="another program, measured in the same run")
    parser.add_argument("--load", action="append", choices=LOADS, help="only this load; may be given again")
    args = parser.parse_args()
    raise_file_limit()
    machine()
    wanted = args.load or list(LOADS)
    ours = measure(args.carrel, wanted)
    others = measure(args.against, wanted) if args.against else []
    for one, other in zip(ours, others, strict=bool(others)):
        ratios = {f"{figure}_{when}_ratio": round(one[f"{figure}_{when}"] / other[f"{figure}_{when}"], 2)
                  for figure in FIGURES for when in ("peak", "after")}
        say(load=one["load"], **ratios)
    table(ours)
    machine()
