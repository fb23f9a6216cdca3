"""A feed that has 200 new entries whenever it is fetched, and the delivery of them; used by growth.py."""

import contextlib
import http.server
import itertools
import threading
import time

from library import SENTENCE, WORDS
from service import Reader

ENTRIES = 200
# The settings of a service that may fetch the feed.
SETTINGS = {"fetch__allow_private": "127.0.0.0/8"}
POLL_SECONDS = 0.02


class GrowingFeed(http.server.BaseHTTPRequestHandler):
    """Responds with other entries each time. Each has a text of about 100 words."""

    fetches = itertools.count()

    def do_GET(self) -> None:
        fetch = next(self.fetches)
        items = "".join(self.item(fetch * ENTRIES + number) for number in range(ENTRIES))
        body = f"<rss version='2.0'><channel><title>A growing feed</title>{items}</channel></rss>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @staticmethod
    def item(number: int) -> str:
        words = [WORDS[(number * 131 + at * 7) % len(WORDS)] for at in range(8)]
        text = " ".join(SENTENCE.format(first, second) for first, second in zip(words[::2], words[1::2]))
        return (f"<item><title>Entry {number}</title><link>https://entries.example/{number}</link><guid>growing {number}</guid>"
                f"<description>{text}</description></item>")

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def deliveries(reader: Reader):
    """A function that lets the service fetch the feed, and waits until its entries are listed."""
    host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GrowingFeed)
    threading.Thread(target=host.serve_forever, daemon=True).start()
    try:
        feed = reader.data("POST", "/rest/v1/feeds", {"url": f"http://127.0.0.1:{host.server_port}/"})["feed"]["feedId"]
        await_entries(reader, feed, ENTRIES)

        def deliver(_: int) -> None:
            wanted = count_entries(reader, feed) + ENTRIES
            reader.ask("POST", f"/rest/v1/feeds/{feed}/refresh")
            await_entries(reader, feed, wanted)

        yield {f"deliver {ENTRIES} entries": deliver}
    finally:
        host.shutdown()


def count_entries(reader: Reader, feed: str) -> int:
    return reader.data("GET", f"/rest/v1/feeds/{feed}")["feed"]["entryCount"]


def await_entries(reader: Reader, feed: str, count: int) -> None:
    while count_entries(reader, feed) < count:
        time.sleep(POLL_SECONDS)
