"""Time to first byte, CPU-time, bytes and own assets of the pages of the web app, in a library of realistic size.

    cargo build --release --bin carrel
    python3.11 tests/bench/pages.py --carrel target/release/carrel [--bookmarks 20000] [--requests 200] [--lighthouse]

The library is one of library.py with its passages in the index. Each page is requested over one connection that stays open, without
compression. Printed are for each page: the median and the 99th percentile of the time to the first byte of the response in milliseconds
(`first_ms`, `first_p99_ms`), CPU-microseconds of the service for a page, the bytes of the page, the own assets that its HTML and their
imports and stylesheets name (`assets`, each counted once), and the bytes of those assets as sent without compression and with gzip.

The baseline is the sign-in page, which reads no data of a user and is measured first: `first_to_signin` and `cpu_to_signin` are the ratios
to it. The last line has the bytes of all assets that any of the pages uses.

`--lighthouse` opens home, library, reader and search in Chromium too, and prints what lighthouse.mjs prints of them.
"""

import gzip
import http.client
import pathlib
import re
import statistics
import subprocess
import time
import urllib.parse

from imports import Browser
from library import Library, add_arguments, serving_library
from service import PASSWORD, Service, arguments, machine, say

WARM_UP_REQUESTS = 10
# The pages that are opened in a browser.
OPENED_PAGES = ("home", "library", "reader", "search")
# What HTML, modules and stylesheets name: links, sources, imports at start, and `url(...)`.
NAMED = re.compile(r"""(?:href="|src="|from\s*"|import\s*"|url\(["']?)([^"')#]+)""")
IS_ASSET = re.compile(r"\.(?:js|css|svg|woff2|png)$")


class Pages:
    """A signed-in browser that requests pages."""

    def __init__(self, service: Service, email: str) -> None:
        browser = Browser(service, email)
        self.service, self.connection, self.cookie = service, browser.connection, browser.cookie
        self.assets: dict[str, bytes] = {}

    def request(self, path: str, headers: dict[str, str]) -> tuple[float, bytes]:
        """The seconds until the first byte of a successful response, and its body."""
        began = time.perf_counter()
        self.connection.request("GET", path, headers=headers)
        answer = self.connection.getresponse()
        first = time.perf_counter() - began
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status}")
        return first, body

    def measure(self, path: str, requests: int, signed_in: bool = True) -> dict:
        headers = {"Cookie": self.cookie} if signed_in else {}
        for _ in range(WARM_UP_REQUESTS):
            _, body = self.request(path, headers)
        cpu, times = self.service.own_cpu_seconds(), []
        for _ in range(requests):
            times.append(self.request(path, headers)[0])
        cpu = self.service.own_cpu_seconds() - cpu
        used = self.used_assets(path, body.decode())
        contents = [self.assets[name] for name in used]
        return {"first_ms": round(statistics.median(times) * 1000, 2), "first_p99_ms": round(statistics.quantiles(times, n=100)[98] * 1000, 2),
                "cpu_us": round(cpu * 1e6 / requests), "bytes": len(body), "assets": len(used),
                "asset_bytes": sum(map(len, contents)), "asset_gzip_bytes": sum(len(gzip.compress(content)) for content in contents)}

    def used_assets(self, page: str, text: str) -> set[str]:
        """The paths of the assets that a page loads without any action of the user."""
        found, unread = set(), [(page, text)]
        while unread:
            base, text = unread.pop()
            for name in NAMED.findall(text):
                path = urllib.parse.urljoin(base, name)
                if path in found or not path.startswith("/") or not IS_ASSET.search(path):
                    continue
                found.add(path)
                if path not in self.assets:
                    self.assets[path] = self.request(path, {})[1]
                if path.endswith((".js", ".css")):
                    unread.append((path, self.assets[path].decode()))
        return found


def paths_of(library: Library) -> dict[str, str]:
    """The pages that are measured."""
    tag = urllib.parse.quote(f'"{library.tags["common"][0]}"')
    return {
        "home": "/", "library": "/library", "library by tag": f"/library?q=tag:{tag}", "library cards": "/library?view=cards",
        "collection": f"/collections/{library.collections[0]}", "tags": "/tags",
        "reader": f"/read/{library.long_documents[0]}", "highlights": "/highlights", "feeds": "/feeds?show=all",
        "search": "/search?q=library", "project": f"/projects/{library.projects[0]}", "activity": "/settings/activity",
        "keys": "/settings/keys", "usage": "/settings/usage"}


def open_in_browser(service: Service, library: Library) -> None:
    """Prints the scores of pages in a browser."""
    paths = paths_of(library)
    script = pathlib.Path(__file__).with_name("lighthouse.mjs")
    base = f"http://127.0.0.1:{service.port}"
    opened = [paths[name] for name in OPENED_PAGES]
    subprocess.run(["node", script, base, library.email, PASSWORD, *opened], check=True)


def measure(args, bookmarks: int) -> None:
    with serving_library(args.carrel, args.library, bookmarks, indexed=True) as (service, library):
        pages = Pages(service, library.email)
        plain = pages.measure("/sign-in", args.requests, signed_in=False)
        say(bookmarks=bookmarks, page="sign-in", **plain)
        for name, path in paths_of(library).items():
            figures = pages.measure(path, args.requests)
            ratios = {f"{short}_to_signin": round(figures[figure] / plain[figure], 2)
                      for short, figure in (("first", "first_ms"), ("cpu", "cpu_us"))}
            say(bookmarks=bookmarks, page=name, **figures, **ratios)
        say(all_assets=len(pages.assets), all_bytes=sum(map(len, pages.assets.values())))
        if args.lighthouse:
            open_in_browser(service, library)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 20_000)
    parser.add_argument("--requests", type=int, default=200, metavar="N", help="of each page")
    parser.add_argument("--lighthouse", action="store_true", help="open some pages in Chromium too")
    measured = parser.parse_args()
    machine()
    for count in measured.bookmarks:
        measure(measured, count)
    machine()
