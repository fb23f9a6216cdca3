"""Duration and memory of the export of a whole library, and of the import of its archive into another account.

    cargo build --release --bin carrel
    python3.11 tests/bench/exports.py --carrel target/release/carrel [--bookmarks 20000] [--library ~/.cache/carrel/libraries]

The library is one of library.py, with half as many entries of feeds as bookmarks. It is exported, downloaded and imported through
/app/api, as a browser does. The script prints for both the seconds until the archive is packed or the report is complete, CPU-milliseconds
of the service and its children for a bookmark, and the peak of their memory together less that before; for the export also the seconds of
the download and the length of the archive; for the import also the seconds until no further passages are put into the index
(`all_found_s`), which `cpu_ms_each` includes.

The baselines are Python programs on the same data: one reads the same rows from the SQLite file, a query for each document, and packs
them into an archive like that of the service; the other reads the service's archive into two SQLite tables with one commit. The ratios
are those of the CPU-time and of the seconds: `cpu_to_plain`, `seconds_to_plain`. The baseline of the import makes no passages and no
index of titles, and nothing that it reads is found by words.
"""

import base64
import io
import json
import pathlib
import time
import zipfile

from imports import Browser, Peak
from library import Library, add_arguments, serving_library, sqlite3
from service import Service, arguments, machine, say

POLL_SECONDS = 0.02
# The index is complete when it has not grown for so long.
STILL_SECONDS = 5
TABLES = ("collection", "feed", "entry", "bookmark", "bookmark_tag", "collection_bookmark", "highlight", "note")


class Measurement:
    """The time, the CPU-time and the memory that the service uses from here on."""

    def __init__(self, service: Service) -> None:
        self.service, self.peak = service, Peak(service)
        self.memory, self.cpu, self.began = service.memory()["VmRSS"], service.cpu_seconds(), time.perf_counter()
        self.peak.start()

    def seconds(self) -> float:
        return round(time.perf_counter() - self.began, 2)

    def figures(self, bookmarks: int) -> dict[str, float]:
        """CPU-time and memory until now. Ends the measurement."""
        cpu = self.service.cpu_seconds() - self.cpu
        self.peak.ended.set()
        self.peak.join()
        return {"cpu_ms_each": round(cpu * 1000 / bookmarks, 3), "grew_mib": round(self.peak.all - self.memory, 1)}


def poll(browser: Browser, path: str, name: str) -> dict:
    """Waits until an export or import has ended; returns it."""
    while (found := browser.ask("GET", path)[name])["status"] not in ("done", "failed"):
        time.sleep(POLL_SECONDS)
    if found["status"] == "failed":
        raise RuntimeError(f"{path}: {found}")
    return found


def measure_export(service: Service, library: Library) -> tuple[dict, bytes]:
    """The figures, and the archive."""
    browser, measured = Browser(service, library.email), Measurement(service)
    export = browser.ask("POST", "/app/api/exports", b"{}", "application/json")["export"]["id"]
    poll(browser, f"/app/api/exports/{export}", "export")
    packed = measured.seconds()
    browser.connection.request("GET", f"/app/api/exports/{export}/file", headers={"Cookie": browser.cookie})
    answer = browser.connection.getresponse()
    archive = answer.read()
    assert answer.status == 200, answer.status
    downloaded = round(measured.seconds() - packed, 2)
    return {"packed_s": packed, "downloaded_s": downloaded, "mib": round(len(archive) / (1 << 20), 1),
            **measured.figures(library.bookmarks)}, archive


def measure_import(service: Service, library: Library, archive: bytes) -> dict:
    reader = service.reader()
    browser, measured = Browser(service, reader.email), Measurement(service)
    an_import = browser.begin(archive, "library.zip")
    found = poll(browser, f"/app/api/imports/{an_import}", "import")
    report_seconds = measured.seconds()
    grown_at, passages = report_seconds, service.passages()
    while measured.seconds() - grown_at < STILL_SECONDS:
        time.sleep(0.2)
        if (now := service.passages()) != passages:
            grown_at, passages = measured.seconds(), now
    figures = measured.figures(library.bookmarks)
    states = [bookmark["status"] for bookmark in reader.bookmarks()]
    return {"report_s": report_seconds, "all_found_s": grown_at, **figures, "created": found["report"]["created"],
            "saved": len(states), "ready": states.count("ready")}


def as_text(cell: object) -> object:
    return base64.b64encode(cell).decode() if isinstance(cell, bytes) else cell


def plain_export(database: sqlite3.Connection, email: str) -> bytes:
    """Packs the rows of an account."""
    [[user]] = database.execute('SELECT id FROM "user" WHERE email = ?', [email])
    database.row_factory = sqlite3.Row
    packed, lines = io.BytesIO(), []
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in TABLES:
            for row in database.execute(f'SELECT * FROM "{table}" WHERE user_id = ?', [user]):
                lines.append(json.dumps({"kind": table} | {name: as_text(row[name]) for name in row.keys()}))
        archive.writestr("library.jsonl", "\n".join(lines))
        documents = database.execute("SELECT id, title, url, version FROM document WHERE user_id = ?", [user])
        for document, title, url, version in documents.fetchall():
            passages = database.execute(
                "SELECT text, start_offset, end_offset FROM chunk WHERE document_id = ? AND version = ? ORDER BY start_offset",
                [document, version])
            packed_document = {"title": title, "url": url, "passages": [list(row) for row in passages]}
            archive.writestr(f"documents/{document.hex()}.json", json.dumps(packed_document))
    return packed.getvalue()


def plain_import(file: pathlib.Path, archive: bytes) -> None:
    """Reads the archive of the service into two tables."""
    database = sqlite3.connect(file)
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE record (id TEXT PRIMARY KEY, kind TEXT, content TEXT)")
    database.execute("CREATE TABLE document (name TEXT PRIMARY KEY, title TEXT, text TEXT)")
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        records = [json.loads(line) for line in files.read("library.jsonl").splitlines()]
        rows = [(record.get("id"), record["kind"], json.dumps(record)) for record in records]
        database.executemany("INSERT OR IGNORE INTO record VALUES (?, ?, ?)", rows)
        for name in files.namelist():
            if name.startswith("documents/") and name.endswith(".json"):
                document = json.loads(files.read(name))
                text = "".join(passage["text"] for passage in document["passages"])
                database.execute("INSERT INTO document VALUES (?, ?, ?)", (name, document["title"], text))
    database.commit()
    database.close()


def timed(work) -> tuple[object, float, float]:
    """The result of a baseline, its seconds and its CPU-seconds."""
    cpu, began = time.process_time(), time.perf_counter()
    result = work()
    return result, time.perf_counter() - began, time.process_time() - cpu


def compare(ours: dict, seconds_name: str, seconds: float, cpu: float, bookmarks: int) -> dict:
    """The figures of a baseline, and the ratios to them."""
    cpu_ms = cpu * 1000 / bookmarks
    return {"plain_s": round(seconds, 2), "plain_cpu_ms_each": round(cpu_ms, 3), "cpu_to_plain": round(ours["cpu_ms_each"] / cpu_ms, 2),
            "seconds_to_plain": round(ours[seconds_name] / seconds, 2)}


def measure(args, bookmarks: int) -> None:
    with serving_library(args.carrel, args.library, bookmarks) as (service, library):
        exported, archive = measure_export(service, library)
        database = sqlite3.connect(service.folder / "data/carrel.db")
        packed, seconds, cpu = timed(lambda: plain_export(database, library.email))
        database.close()
        say(bookmarks=bookmarks, work="export", **exported, **compare(exported, "packed_s", seconds, cpu, bookmarks),
            plain_mib=round(len(packed) / (1 << 20), 1))
        imported = measure_import(service, library, archive)
        _, seconds, cpu = timed(lambda: plain_import(service.folder / "plain.db", archive))
        say(bookmarks=bookmarks, work="import", **imported, **compare(imported, "report_s", seconds, cpu, bookmarks))


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 20_000)
    measured = parser.parse_args()
    machine()
    for count in measured.bookmarks:
        measure(measured, count)
    machine()
