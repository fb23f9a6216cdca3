"""Pages and feeds a minute, from a server on the same machine.

    cargo build --release --bin carrel
    python3.11 tests/bench/local.py --carrel target/release/carrel [--pages 600] [--feeds 300]

The pages are the real ones of the extraction set, repeated under different URLs, imported by `carrel import`; the
feeds have twenty entries each, imported as OPML, each at a different host (127.0.x.y). Printed are pages and feeds a minute
until the last one is ready, the processor seconds of one, and how many a bare script reads from the same server one after the
other, with the ratio of the two.
"""

import http.client
import http.server
import json
import pathlib
import threading
import time

from service import UNLIMITED, Service, arguments, folder, free_port, machine, say


class Site(http.server.ThreadingHTTPServer):
    """Serves pages and feeds at every loopback address."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, pages: list[bytes]) -> None:
        super().__init__(("0.0.0.0", free_port()), Answer)
        self.pages = pages
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        _, kind, number = self.path.split("/", 2)
        if kind == "page":
            body, said = self.server.pages[int(number) % len(self.server.pages)], "text/html; charset=utf-8"
        else:
            body, said = feed(int(number)), "application/rss+xml"
        self.send_response(200)
        self.send_header("Content-Type", said)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def feed(number: int) -> bytes:
    words = "Herons stand in the reeds and wait for fish, for a long time and without a move. " * 6
    items = "".join(
        f"<item><title>Entry {n} of {number}</title><link>http://x.invalid/{number}/{n}</link><guid>{number}-{n}</guid>"
        f"<description>{words}</description></item>" for n in range(20))
    return f'<rss version="2.0"><channel><title>Feed {number}</title>{items}</channel></rss>'.encode()


def addresses(site: Site, kind: str, count: int) -> list[str]:
    return [f"http://127.0.{n // 250}.{n % 250 + 1}:{site.server_port}/{kind}/{n}" for n in range(count)]


def bare(urls: list[str]) -> float:
    """The number that a reader which discards everything reads in a minute."""
    began = time.perf_counter()
    for url in urls:
        host, path = url.removeprefix("http://").split("/", 1)
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", f"/{path}")
        connection.getresponse().read()
        connection.close()
    return len(urls) * 60 / (time.perf_counter() - began)


def until(done) -> None:
    while not done():
        time.sleep(0.25)


def brought(service: Service, email: str, format: str, text: str) -> None:
    said = service.cli("import", "--user", email, "--format", format, "-", given=text)
    if said["skippedLines"]:
        raise RuntimeError(f"{said}")


def measure(service: Service, kind: str, urls: list[str], bring, done) -> None:
    before, began = service.cpu_seconds(), time.perf_counter()
    bring()
    until(done)
    seconds = time.perf_counter() - began
    rate, alone = len(urls) * 60 / seconds, bare(urls[:200])
    cpu = (service.cpu_seconds() - before) / len(urls)
    say(**{kind: len(urls), "a_minute": round(rate), "cpu_ms_each": round(cpu * 1000, 1), "bare_a_minute": round(alone),
           "ratio": round(rate / alone, 4)})


def main() -> None:
    parser = arguments(__doc__, models=False)
    parser.add_argument("--pages", type=int, default=600, metavar="N")
    parser.add_argument("--feeds", type=int, default=300, metavar="N")
    asked = parser.parse_args()
    machine()
    kept = sorted(pathlib.Path(asked.data).glob("extraction/**/*.html"))[:200]
    site = Site([path.read_bytes() for path in kept])
    with folder() as at:
        service = Service(asked.carrel, at, UNLIMITED | {"fetch.allow_private": "127.0.0.0/8"})
        service.start()
        try:
            run(service, site, asked)
        finally:
            service.stop()


def run(service: Service, site: Site, asked) -> None:
    reader = service.reader()
    pages = addresses(site, "page", asked.pages)
    lines = "\n".join(json.dumps({"url": url}) for url in pages)

    def read() -> bool:
        return all(one["status"] in ("ready", "failed") for one in reader.bookmarks())

    measure(service, "pages", pages, lambda: brought(service, reader.email, "jsonl", lines), read)
    feeds = addresses(site, "feed", asked.feeds)
    outlines = "".join(f'<outline text="F" xmlUrl="{url}"/>' for url in feeds)
    opml = f'<opml version="2.0"><body>{outlines}</body></opml>'

    def fetched() -> bool:
        listed, cursor = [], {}
        while True:
            page = reader.data("GET", "/rest/v1/feeds", limit=100, **cursor)
            listed += page["feeds"]
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        return len(listed) == len(feeds) and all(one["lastFetchedAt"] for one in listed)

    measure(service, "feeds", feeds, lambda: brought(service, reader.email, "opml", opml), fetched)


if __name__ == "__main__":
    main()
