"""Pages and feeds that the service processes per minute, from a server on the same machine.

    cargo build --release --bin carrel
    python3.11 tests/bench/local.py --carrel target/release/carrel [--pages 600] [--feeds 300]

The pages are the real ones of the extraction set, repeated under different URLs, imported by `carrel import`; the
feeds have twenty entries each, imported as OPML. Each URL is on a different host (127.0.x.y), so that the limits of one host do
not slow the others. The script prints pages and feeds per minute until the last one is ready, the CPU-milliseconds of each, how
many a bare script reads per minute from the same server one after the other, and the ratio of the two.
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
            body, content_type = self.server.pages[int(number) % len(self.server.pages)], "text/html; charset=utf-8"
        else:
            body, content_type = feed(int(number)), "application/rss+xml"
        self.send_response(200)
        self.send_header("Content-Type", content_type)
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
    """URLs per minute of a client that reads them one after the other and discards the bodies."""
    began = time.perf_counter()
    for url in urls:
        host, path = url.removeprefix("http://").split("/", 1)
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("GET", f"/{path}")
        connection.getresponse().read()
        connection.close()
    return len(urls) * 60 / (time.perf_counter() - began)


def wait_until(is_done) -> None:
    while not is_done():
        time.sleep(0.25)


def import_text(service: Service, email: str, format: str, text: str) -> None:
    report = service.cli("import", "--user", email, "--format", format, "-", stdin=text)
    if report["skippedRows"]:
        raise RuntimeError(f"{report}")


def measure(service: Service, kind: str, urls: list[str], start, is_done) -> None:
    before, began = service.cpu_seconds(), time.perf_counter()
    start()
    wait_until(is_done)
    seconds = time.perf_counter() - began
    rate, bare_rate = len(urls) * 60 / seconds, bare(urls[:200])
    cpu = (service.cpu_seconds() - before) / len(urls)
    say(**{kind: len(urls), "a_minute": round(rate), "cpu_ms_each": round(cpu * 1000, 1), "bare_a_minute": round(bare_rate),
           "ratio": round(rate / bare_rate, 4)})


def main() -> None:
    parser = arguments(__doc__, models=False)
    parser.add_argument("--pages", type=int, default=600, metavar="N")
    parser.add_argument("--feeds", type=int, default=300, metavar="N")
    args = parser.parse_args()
    machine()
    files = sorted(pathlib.Path(args.data).glob("extraction/**/*.html"))[:200]
    site = Site([path.read_bytes() for path in files])
    with folder() as at:
        service = Service(args.carrel, at, UNLIMITED | {"fetch.allow_private": "127.0.0.0/8"})
        service.start()
        try:
            run(service, site, args)
        finally:
            service.stop()


def run(service: Service, site: Site, args) -> None:
    reader = service.reader()
    pages = addresses(site, "page", args.pages)
    lines = "\n".join(json.dumps({"url": url}) for url in pages)

    def are_pages_ready() -> bool:
        return all(one["status"] in ("ready", "failed") for one in reader.bookmarks())

    measure(service, "pages", pages, lambda: import_text(service, reader.email, "jsonl", lines), are_pages_ready)
    feeds = addresses(site, "feed", args.feeds)
    outlines = "".join(f'<outline text="F" xmlUrl="{url}"/>' for url in feeds)
    opml = f'<opml version="2.0"><body>{outlines}</body></opml>'

    def are_feeds_fetched() -> bool:
        listed, cursor = [], {}
        while True:
            page = reader.data("GET", "/rest/v1/feeds", limit=100, **cursor)
            listed += page["feeds"]
            if not page.get("nextCursor"):
                break
            cursor = {"cursor": page["nextCursor"]}
        return len(listed) == len(feeds) and all(one["lastFetchedAt"] for one in listed)

    measure(service, "feeds", feeds, lambda: import_text(service, reader.email, "opml", opml), are_feeds_fetched)


if __name__ == "__main__":
    main()
