"""Resident memory before, at the peak of, and after each of several loads: whether memory comes back.

    python3.11 tests/bench/memory_load.py --carrel target/release/carrel [--against OTHER_PROGRAM]

Figures are MiB of the process without its children (VmRSS). "after" is read 20 seconds after the load has ended. With
--against the same loads run on another program, such as one with another allocator, and the ratio of the figures is printed.
"""

import concurrent.futures
import http.client
import json
import threading
import time

from service import PASSWORD, Reader, arguments, machine, say, serving

SETTLED_SECONDS = 20
SAVES = 300
SAVE_CHARS = 60_000
SEARCHES = 500
READS = 3_000
LARGE_BODIES = 8
LARGE_BODY_CHARS = 12_000_000
SIGN_INS = 40
REFUSED: list[str] = []


def save(reader: Reader, number: int, chars: int) -> None:
    words = " ".join(f"word{number * 7919 + step}" for step in range(chars // 11))
    reader.another().ask("POST", "/rest/v1/bookmarks", {"url": f"https://bench.example/{number}", "text": words})


def saves(reader: Reader) -> None:
    for number in range(SAVES):
        save(reader, number, SAVE_CHARS)
    reader.service.await_index()


def searches(reader: Reader) -> None:
    with concurrent.futures.ThreadPoolExecutor(SEARCHES) as pool:
        list(pool.map(lambda number: attempt(reader, f"word{number}"), range(SEARCHES)))


def attempt(reader: Reader, word: str) -> None:
    try:
        reader.another().ask("GET", "/rest/v2/search", q=word, limit=20)
    except (RuntimeError, OSError, http.client.HTTPException) as refused:
        REFUSED.append(str(refused)[:80])


def reads(reader: Reader) -> None:
    documents = [bookmark["documentId"] for bookmark in reader.bookmarks()]
    for number in range(READS):
        reader.ask("GET", f"/rest/v2/documents/{documents[number % len(documents)]}", maxChars=20000)


def large_bodies(reader: Reader) -> None:
    with concurrent.futures.ThreadPoolExecutor(LARGE_BODIES) as pool:
        for number in range(LARGE_BODIES):
            pool.submit(save, reader, 10_000 + number, LARGE_BODY_CHARS)


def sign_ins(reader: Reader) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: sign_in(reader), range(SIGN_INS)))


def sign_in(reader: Reader) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", reader.service.port, timeout=120)
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{reader.service.port}"}
    connection.request("POST", "/app/api/session", json.dumps({"email": reader.email, "password": PASSWORD}), headers)
    connection.getresponse().read()


class Peak:
    """The highest VmRSS while it is open."""

    def __init__(self, service) -> None:
        self.service, self.highest, self.done = service, 0.0, threading.Event()

    def __enter__(self) -> "Peak":
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.done.wait(0.05):
            self.highest = max(self.highest, self.service.memory()["VmRSS"])

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()


def measure(program: str) -> list[dict]:
    found = []
    with serving(program, plans__pro__library_bytes=1 << 40) as service:
        reader = service.reader()
        for load in (saves, searches, reads, sign_ins, large_bodies):
            before = service.memory()["VmRSS"]
            REFUSED.clear()
            began = time.perf_counter()
            with Peak(service) as peak:
                load(reader)
            took = time.perf_counter() - began
            time.sleep(SETTLED_SECONDS)
            figures = {"load": load.__name__, "seconds": round(took, 1), "refused": len(REFUSED), "before": before, "peak": peak.highest,
                       "after": service.memory()["VmRSS"]}
            say(program=program, **figures)
            found.append(figures)
    return found


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    parser.add_argument("--against", metavar="PROGRAM", help="another program, measured in the same run")
    asked = parser.parse_args()
    machine()
    ours = measure(asked.carrel)
    if asked.against:
        for one, other in zip(ours, measure(asked.against), strict=True):
            say(load=one["load"], **{f"{name}_ratio": round(one[name] / other[name], 2) for name in ("peak", "after")})
