"""Duration and memory of the import of a Netscape file with many rows, until its rows are listed and found.

    cargo build --release --bin carrel
    python3.11 tests/bench/imports.py --carrel target/release/carrel [--rows 25000]

The script sends the file to POST /app/api/imports as a browser does. It prints the seconds until the first and the last row are
found by a word of their titles, until the report is complete, and of the undo; CPU-milliseconds of the service and its children for a
row until then; and the service's memory: its peak meanwhile less its memory before. The hosts of the pages do not resolve, and the
service tries to fetch them meanwhile. The baseline reads the same file with Python's html.parser into one SQLite table with one
commit; the ratio is the time of the report to that of the baseline.
"""

import html.parser
import http.client
import json
import pathlib
import sqlite3
import threading
import time
import urllib.parse

from service import PASSWORD, UNLIMITED, Service, arguments, children, folder, machine, say

BOUNDARY = "a-boundary-that-no-row-holds"


def bookmark_file(rows: int) -> bytes:
    """The file: folders of a hundred rows, each row with tags and every tenth with a note."""
    lines = ["<!DOCTYPE NETSCAPE-Bookmark-file-1>", "<TITLE>Bookmarks</TITLE>", "<H1>Bookmarks</H1>", "<DL><p>"]
    for row in range(rows):
        if row % 100 == 0:
            lines.append(f"<DT><H3>Folder {row // 100}</H3><DL><p>")
        lines.append(
            f'<DT><A HREF="https://page{row}.bench.invalid/an/article/{row}" ADD_DATE="{1_500_000_000 + row}" '
            f'TAGS="tag{row % 50},more">An article about subject{row} and what came of it</A>')
        if row % 10 == 0:
            lines.append(f"<DD>Note {row}")
        if row % 100 == 99 or row == rows - 1:
            lines.append("</DL><p>")
    return "\n".join([*lines, "</DL><p>\n"]).encode()


class Browser:
    """A user of the web app."""

    def __init__(self, service: Service, email: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=600)
        self.cookie = ""
        body = json.dumps({"email": email, "password": PASSWORD}).encode()
        self.ask("POST", "/app/api/session", body, "application/json")

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "") -> dict:
        headers = {"Cookie": self.cookie} | ({"Content-Type": kind} if kind else {})
        self.connection.request(method, path, body=body, headers=headers)
        answer = self.connection.getresponse()
        self.cookie = (answer.getheader("Set-Cookie") or self.cookie).split(";")[0]
        envelope = json.loads(answer.read())
        if not envelope["success"]:
            raise RuntimeError(f"{method} {path}: {envelope}")
        return envelope["data"]

    def begin(self, file: bytes, name: str = "b.html") -> str:
        """Starts the import of a file; returns its id."""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        body = head + file + f"\r\n--{BOUNDARY}--\r\n".encode()
        kind = f"multipart/form-data; boundary={BOUNDARY}"
        return self.ask("POST", "/app/api/imports", body, kind)["import"]["id"]

    def found(self, words: str) -> bool:
        query = urllib.parse.urlencode({"q": words, "limit": 1})
        return bool(self.ask("GET", f"/app/api/library/bookmarks?{query}")["bookmarks"])


class Peak(threading.Thread):
    """The peak memory of the service and its children together, in MiB."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self.service, self.ended = service, threading.Event()
        self.own = self.all = 0.0

    def run(self) -> None:
        while not self.ended.wait(0.02):
            own, rest = self.service.memory()["VmRSS"], sum(map(resident, children(self.service.process.pid)))
            self.own, self.all = max(self.own, own), max(self.all, own + rest)


def resident(pid: int) -> float:
    """MiB of a process; 0 if it has ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def measure(service: Service, rows: int, file: bytes) -> dict[str, float]:
    reader = service.reader()
    browser = Browser(service, reader.email)
    before, cpu, peak = service.memory()["VmRSS"], service.cpu_seconds(), Peak(service)
    peak.start()
    began, figures = time.perf_counter(), {}
    an_import = browser.begin(file)
    figures["sent"] = time.perf_counter() - began
    # The words are unique: no other title has `subject0`.
    waits = {"first_visible": "subject0 ", "last_visible": f"subject{rows - 1} "}
    while "report" not in figures:
        for name, words in list(waits.items()):
            if browser.found(words):
                figures[name] = time.perf_counter() - began
                del waits[name]
        shown = browser.ask("GET", f"/app/api/imports/{an_import}")["import"]
        if shown["report"] and not waits:
            figures["report"] = time.perf_counter() - began
            figures["created"] = shown["report"]["created"]
            figures["cpu_ms_each"] = (service.cpu_seconds() - cpu) * 1000 / rows
        # Each look takes time of the service that is measured.
        time.sleep(0.02)
    peak.ended.set()
    peak.join()
    began = time.perf_counter()
    browser.ask("POST", f"/app/api/imports/{an_import}/undo", b"{}", "application/json")
    while browser.ask("GET", f"/app/api/imports/{an_import}")["import"]["status"] != "undone":
        time.sleep(0.1)
    figures["undone"] = time.perf_counter() - began
    figures |= {"grew_mib": round(peak.own - before, 1), "peak_with_children_mib": round(peak.all, 1)}
    return {name: round(value, 2) for name, value in figures.items()}


class Links(html.parser.HTMLParser):
    """Parses the file in the bare script."""

    def __init__(self) -> None:
        super().__init__()
        self.rows, self.open = [], False

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            named = dict(attrs)
            self.rows.append([named.get("href"), "", named.get("tags"), named.get("add_date")])
        self.open = tag == "a"

    def handle_data(self, data):
        if self.open:
            self.rows[-1][1] += data


def bare(at: pathlib.Path, file: bytes) -> float:
    """The seconds of the baseline."""
    began = time.perf_counter()
    links = Links()
    links.feed(file.decode())
    rows = sqlite3.connect(at / "bare.db")
    rows.execute("CREATE TABLE bookmark (url TEXT UNIQUE, title TEXT, tags TEXT, at INTEGER)")
    rows.executemany("INSERT OR IGNORE INTO bookmark VALUES (?, ?, ?, ?)", links.rows)
    rows.commit()
    return time.perf_counter() - began


def main() -> None:
    parser = arguments(__doc__, data=False, models=False)
    parser.add_argument("--rows", type=int, default=25_000, metavar="N", help="rows of the file")
    args = parser.parse_args()
    machine()
    file = bookmark_file(args.rows)
    with folder() as at:
        service = Service(args.carrel, at, UNLIMITED)
        service.start()
        try:
            ours = measure(service, args.rows, file)
        finally:
            service.stop()
        bare_seconds = bare(at, file)
    say(rows=args.rows, mib=round(len(file) / (1 << 20), 1), **ours)
    say(bare_seconds=round(bare_seconds, 2), ratio=round(ours["report"] / bare_seconds, 1))


if __name__ == "__main__":
    main()
