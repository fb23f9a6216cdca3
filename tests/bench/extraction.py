"""Quality of extraction: F1 over the saved web pages of the data folder, through the service.

    python3.11 tests/bench/extraction.py --carrel target/release/carrel

The script serves the pages from this machine, unchanged and without a charset in the header. It saves each by its URL, waits
until all are processed, reads the documents' texts in pages, and scores them with score.py of the data folder. It also prints
the reasons of failed pages, the CPU-milliseconds of the service for each page, and F1 over each fifth of the sites, which shows
whether the rules fit only some sites. With `--least F1` it fails if F1 is lower.
"""

import collections
import http.server
import json
import pathlib
import sys
import threading
import urllib.parse
import zlib

from quality import score
from service import Reader, arguments, machine, say, serving


class Pages(http.server.BaseHTTPRequestHandler):
    """Serves every URL with the file of its name."""

    folder: pathlib.Path

    def do_GET(self) -> None:
        try:
            content = (self.folder / pathlib.Path(self.path).name).read_bytes()
        except OSError:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


def text_of(reader: Reader, document: str) -> str:
    text, offset = "", 0
    while offset is not None:
        page = reader.data("GET", f"/rest/v2/documents/{document}", offset=offset, maxChars=20_000)
        text, offset = text + page["text"], page["nextOffset"]
    return text


def fifths(data: pathlib.Path, truth: dict, texts: dict, folder: pathlib.Path) -> list[float]:
    """F1 over each fifth of the sites. All pages of a site are in the same fifth, chosen by a hash of its host."""
    found = []
    for number in range(5):
        # Python's own hash of a string differs from run to run; CRC-32 gives the same fifths in every run.
        members = [url for url in truth if zlib.crc32(urllib.parse.urlsplit(url).netloc.encode()) % 5 == number]
        files = [folder / f"{name}-{number}.json" for name in ("truth", "texts")]
        for file, complete in zip(files, (truth, texts), strict=True):
            file.write_text(json.dumps({url: complete[url] for url in members if url in complete}))
        found.append(round(score(data, "extraction", *files)["f1"], 3))
    return found


def measure(program: str, data: pathlib.Path) -> float:
    truth_file = data / "extraction/truth.json"
    truth = json.loads(truth_file.read_text("utf8"))
    Pages.folder = data / "extraction/pages"
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    with serving(program, fetch__allow_private="127.0.0.1/32") as service:
        reader, texts, reasons = service.reader(), {}, collections.Counter()
        before = service.cpu_seconds()
        base = f"http://127.0.0.1:{web.server_port}"
        original_urls = {f"{base}/{pathlib.Path(row['file']).name}": url for url, row in truth.items()}
        for served_url in original_urls:
            reader.ask("POST", "/rest/v1/bookmarks", {"url": served_url})
        for bookmark in reader.await_library():
            texts[original_urls[bookmark["url"]]] = text_of(reader, bookmark["documentId"])
            if bookmark["status"] == "failed":
                reasons[str(bookmark["error"])] += 1
        cpu = service.cpu_seconds() - before
        file = service.folder / "texts.json"
        file.write_text(json.dumps(texts))
        found = score(data, "extraction", truth_file, file)
        say(extraction=found, fifths=fifths(data, truth, texts, service.folder), failed=reasons, cpu_ms_a_page=round(cpu * 1000 / len(original_urls), 1))
    web.shutdown()
    return found["f1"]


if __name__ == "__main__":
    parser = arguments(__doc__, models=False)
    parser.add_argument("--least", type=float, default=0.0)
    args = parser.parse_args()
    machine()
    f1 = measure(args.carrel, args.data)
    machine()
    if f1 < args.least:
        sys.exit(f"extraction: F1 {f1} is less than {args.least}")
