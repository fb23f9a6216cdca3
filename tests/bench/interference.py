"""How concurrent work slows a client down: searches and saves during sign-ins, while PDFs are parsed, and while many feeds are due.

    python3.11 tests/bench/interference.py --carrel target/release/carrel [--data FOLDER] [--feeds 5000] [--searches 1000] [--pdfs 1]

One client searches a library of 200 pages and saves a small page after every ten searches, on one connection: alone, with four
sign-ins a second, with clients that upload a PDF of 117 pages again and again, with both, and with feeds that all became due at
the same time, each on another host that takes two seconds to answer. Printed are milliseconds as the client sees them, and the ratios
of each phase to the client alone in the same run; for the feeds also the number of concurrent fetches, in total and of one host. The
client alone is measured before and in between. Clients and the hosts of the feeds share the machine with the service.
"""

import asyncio
import contextlib
import http.client
import itertools
import json
import multiprocessing
import pathlib
import threading
import time
import urllib.parse

from connections import percentiles
from service import PASSWORD, Reader, Service, arguments, free_port, machine, say, serving

PAGES = 200
PAGE_WORDS = 1_500
SEARCHES_PER_SAVE = 10
SIGN_INS_PER_SECOND = 4
PDF = "pdf/GeoTopo-komprimiert.pdf"
HOST_SECONDS = 2
RSS = "<rss version='2.0'><channel><title>A feed</title><item><title>An entry</title><guid>1</guid></item></channel></rss>"


class Load:
    """Repeats work in separate threads until the block ends; each call gets a new number."""

    def __init__(self, work, threads: int = 1, pause: float = 0.0) -> None:
        self.work, self.pause, self.ended = work, pause, threading.Event()
        self.numbers, self.done, self.failures = itertools.count(), 0, []
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def run(self) -> None:
        while not self.ended.is_set():
            began = time.perf_counter()
            try:
                self.work(next(self.numbers))
                self.done += 1
            except (RuntimeError, OSError, http.client.HTTPException) as failure:
                self.failures.append(str(failure)[:120])
            self.ended.wait(max(0.0, self.pause - (time.perf_counter() - began)))

    def __enter__(self) -> "Load":
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()


def sign_in(reader: Reader) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", reader.service.port, timeout=120)
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{reader.service.port}"}
    connection.request("POST", "/app/api/session", json.dumps({"email": reader.email, "password": PASSWORD}), headers)
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise RuntimeError(f"sign-in: {answer.status}")


def upload(reader: Reader, pdf: bytes, number: int) -> None:
    """Uploads the PDF and waits until it is parsed. Appended bytes make each upload a different file."""
    reader = reader.another()
    body = pdf + f"\n% {number}\n".encode()
    ticket = reader.data("POST", "/rest/v2/uploads", {"filename": "a.pdf", "contentType": "application/pdf", "bytes": len(body)})
    put = urllib.parse.urlsplit(ticket["putUrl"])
    connection = http.client.HTTPConnection(put.hostname, put.port, timeout=120)
    connection.request("PUT", f"{put.path}?{put.query}", body, {"Content-Type": "application/pdf"})
    connection.getresponse().read()
    reader.ask("POST", f"/rest/v2/uploads/{ticket['uploadId']}/complete")
    while (status := reader.data("GET", f"/rest/v2/uploads/{ticket['uploadId']}")["status"]) != "ready":
        if status == "failed":
            raise RuntimeError("the PDF could not be read")
        time.sleep(0.1)


def fill(reader: Reader) -> None:
    for number in range(PAGES):
        words = " ".join(f"word{(number * 31 + step) % 5_000}" for step in range(PAGE_WORDS))
        reader.ask("POST", "/rest/v1/bookmarks", {"url": f"https://bench.example/{number}", "text": words})
    reader.service.await_index()


def client(reader: Reader, searches: int, pages: itertools.count) -> dict:
    searched, saved = [], []
    for number in range(searches):
        began = time.perf_counter()
        reader.ask("GET", "/rest/v2/search", q=f"word{number * 7 % 5_000} word{number % 5_000}", limit=8)
        searched.append((time.perf_counter() - began) * 1000)
        if number % SEARCHES_PER_SAVE == 0:
            began = time.perf_counter()
            page = {"url": f"https://saved.example/{next(pages)}", "text": "A heron in the reeds."}
            reader.ask("POST", "/rest/v1/bookmarks", page)
            saved.append((time.perf_counter() - began) * 1000)
    (search_p50, search_p99), (save_p50, save_p99) = percentiles(searched), percentiles(saved)
    return {"search_ms_p50": search_p50, "search_ms_p99": search_p99, "save_ms_p50": save_p50, "save_ms_p99": save_p99}


def ratios(phase: dict, alone: dict) -> dict:
    return {f"{name}_ratio": round(phase[name] / alone[name], 2) for name in alone}


class FeedHosts:
    """Feeds on loopback addresses, served by a separate process: each address is a host."""

    def __init__(self, count: int) -> None:
        self.count, self.port = count, free_port()
        self.at_once, self.at_one_host, self.fetched = (multiprocessing.Value("i", 0) for _ in range(3))
        self.process = multiprocessing.Process(target=lambda: asyncio.run(self.serve()), daemon=True)

    def urls(self) -> list[str]:
        return [f"http://127.1.{number // 250}.{number % 250 + 1}:{self.port}/feed" for number in range(self.count)]

    async def serve(self) -> None:
        self.open: dict[str, int] = {}
        server = await asyncio.start_server(self.answer, "0.0.0.0", self.port)
        await server.serve_forever()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = writer.get_extra_info("sockname")[0]
        self.open[host] = self.open.get(host, 0) + 1
        self.at_once.value = max(self.at_once.value, sum(self.open.values()))
        self.at_one_host.value = max(self.at_one_host.value, self.open[host])
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(HOST_SECONDS)
            kind = f"HTTP/1.1 200 OK\r\nContent-Type: application/rss+xml\r\nContent-Length: {len(RSS)}\r\nConnection: close\r\n\r\n"
            writer.write((kind + RSS).encode())
            await writer.drain()
            self.fetched.value += 1
        self.open[host] -= 1
        writer.close()

    def __enter__(self) -> "FeedHosts":
        self.process.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.join()


def follow_all(reader: Reader, urls: list[str]) -> int:
    outlines = "".join(f'<outline type="rss" text="a feed" xmlUrl="{url}"/>' for url in urls)
    opml = f'<opml version="2.0"><head><title>x</title></head><body>{outlines}</body></opml>'
    return reader.data("POST", "/rest/v1/feeds/opml", {"opml": opml})["new"]


def load(name: str, reader: Reader, pdf: bytes, pdfs: int) -> Load:
    if name == "sign-ins":
        return Load(lambda _: sign_in(reader), pause=1 / SIGN_INS_PER_SECOND)
    # Different numbers in each phase: a file that exists already is not parsed again.
    phase = time.monotonic_ns()
    return Load(lambda number: upload(reader, pdf, phase + number), threads=pdfs)


def measure(service: Service, pdf: bytes, pdfs: int, searches: int, feeds: int) -> None:
    reader, other, pages = service.reader(), service.reader(), itertools.count()
    fill(reader)
    client(reader, searches // 5, pages)
    alone = client(reader, searches, pages)
    say(load="none", **alone)
    for name, loads in (("sign-ins", ["sign-ins"]), ("PDFs", ["PDFs"]), ("sign-ins and PDFs", ["sign-ins", "PDFs"])):
        with contextlib.ExitStack() as stack:
            begun = [stack.enter_context(load(one, other, pdf, pdfs)) for one in loads]
            phase = client(reader, searches, pages)
        say(load=name, done=[one.done for one in begun], failed=[one.failures[:3] for one in begun], **phase,
            **ratios(phase, alone))
    again = client(reader, searches, pages)
    say(load="none, again", **again, **ratios(again, alone))
    with FeedHosts(feeds) as hosts:
        new = follow_all(other, hosts.urls())
        while hosts.fetched.value == 0:
            time.sleep(0.1)
        before = hosts.fetched.value
        phase = client(reader, searches, pages)
        say(load="due feeds", feeds=new, fetched_meanwhile=hosts.fetched.value - before, fetches_at_once=hosts.at_once.value,
            fetches_at_one_host=hosts.at_one_host.value, **phase, **ratios(phase, alone))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    parser = arguments(__doc__, models=False)
    parser.add_argument("--feeds", type=int, default=5_000)
    parser.add_argument("--searches", type=int, default=1_000, help="of each phase")
    parser.add_argument("--pdfs", type=int, default=1, help="clients that upload PDFs at the same time")
    args = parser.parse_args()
    file = pathlib.Path(args.data) / PDF
    machine()
    with serving(args.carrel, fetch__allow_private="127.0.0.0/8", plans__pro__library_bytes=1 << 40) as running:
        measure(running, file.read_bytes(), args.pdfs, args.searches, args.feeds)
    machine()
