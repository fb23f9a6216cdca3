"""Fills a library with as many bookmarks as wanted, for the measurements of what grows with a library.

    python3.11 tests/bench/library.py --carrel target/release/carrel --library ~/.cache/carrel/libraries [--bookmarks 20000] [--indexed]

The service saves one bookmark of each kind, follows one feed and creates one collection. Then it is stopped, and their rows are copied
within its SQLite file under other ids, texts and times. So the script knows no columns but those that it varies, and triggers keep the
counts. Each run makes the same library: 3 tags a bookmark of up to 10,000 tags, every 50th bookmark with a text of 12,000 characters, a
note and a highlight, half of the bookmarks in collections, half as many entries as bookmarks, and half as many lines of activity. Each
of 20 projects has a twentieth of the bookmarks, 5,000 at most. No
feed is due. The passages are not in the index, unless --indexed lets the service index them all.

Libraries are kept in a folder of --library for each schema, and measured on copies. Prints the seconds that filling took, and what the
library contains.

Triggers fill the index of titles, which SQLite before 3.43 cannot write to. If Python's own is older, install pysqlite3-binary.
"""

import contextlib
import dataclasses
import hashlib
import http.server
import itertools
import json
import pathlib
import random
import subprocess
import threading
import time

try:
    import pysqlite3 as sqlite3
except ImportError:
    import sqlite3

from service import UNLIMITED, Reader, Service, arguments, folder, free_port, machine, say, serving_at

LONG_CHARS = 12_000
LONG_EVERY = 50
MAX_TAGS, COMMON_TAGS, TOPIC_TAGS = 10_000, 20, 500
ENTRIES_PER_FEED = 200
MAX_ENTRIES = 100_000
PROJECTS, MAX_ITEMS = 20, 5_000
FIRST_SAVED_MS = 1_750_000_000_000
FAR_MS = 4_000_000_000_000
BATCH = 2_000
SAMPLES = 200

# Marks in the texts of the first rows. Those of words and numbers are as long as what replaces them, so that offsets stay right.
WORD_MARKS = [f"qqzzaa{number:02}" for number in range(12)]
NUMBER_MARK, HOST_MARK, COLLECTION_MARK = "qqzznumb", "qqzzhost", "qqzzcoll"
TAG_MARKS = ["qqzztag1", "qqzztag2", "qqzztag3"]
SENTENCE = "In the {} of the old library a reader found the {} that nobody had opened for a hundred years, and wrote a note about it."
SYLLABLES = "ba de fi go hu ka le mi no pu ra se ti vo za ce du fa ge ho".split()

# The tables whose rows belong to a bookmark or an entry, each with the column that names it.
OF_DOCUMENT = ("chunk", "rendition", "source")
OF_BOOKMARK = ("bookmark_tag", "collection_bookmark", "highlight", "note")


def vocabulary() -> list[str]:
    """Words of eight letters."""
    words = ["".join(four) for four in itertools.product(SYLLABLES, SYLLABLES[:10], SYLLABLES[10:], SYLLABLES[5:10])]
    random.Random(23).shuffle(words)
    return words[:5_000]


WORDS = vocabulary()


def marked_text(chars: int) -> str:
    """A text of this length whose every other word is a mark."""
    marks, text = itertools.cycle(WORD_MARKS), ""
    while len(text) < chars:
        text += SENTENCE.format(next(marks), next(marks)) + ("\n\n" if len(text) % 5 == 0 else " ")
    return text[:chars - 1].rstrip() + "." * (chars - len(text[:chars - 1].rstrip()))


def uuid7(millis: int, salt: str, number: int, nth: int) -> bytes:
    """An id of this time, the same in each run."""
    rest = bytearray(hashlib.blake2b(f"{salt} {number} {nth}".encode(), digest_size=10).digest())
    rest[0], rest[2] = 0x70 | rest[0] & 0x0F, 0x80 | rest[2] & 0x3F
    return millis.to_bytes(6, "big") + bytes(rest)


def text_id(raw: bytes) -> str:
    digits = raw.hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def raw_id(text: str) -> bytes:
    return bytes.fromhex(text.replace("-", ""))


class Family:
    """Rows that belong together, as the service wrote them. A copy of them has other ids, texts and values."""

    def __init__(self, name: str, database: sqlite3.Connection, *found: tuple[str, str, bytes]) -> None:
        self.name, self.rows, self.ids = name, [], []
        for table, column, value in found:
            names = columns(database, table)
            if not names:
                continue
            listed = ", ".join(f'"{name}"' for name in names)
            for row in database.execute(f'SELECT {listed} FROM "{table}" WHERE {column} = ?', [value]):
                row = dict(zip(names, row))
                if isinstance(row.get("id"), bytes):
                    self.ids.append(row["id"])
                self.rows.append((table, [(name, cell, marks_in(cell)) for name, cell in row.items()]))
        if not self.rows:
            raise RuntimeError(f"no rows of {name}")

    @property
    def tables(self) -> set[str]:
        return {table for table, _ in self.rows}

    def copy(self, number: int, millis: int, texts: dict[str, str], values: dict[str, object], links: dict[bytes, bytes],
             without: tuple[str, ...] = ()):
        """The rows of a copy, each with its table. `values` are by `column` or `table.column`; `links` are other ids to replace."""
        ids = links | {old: uuid7(millis, self.name, number, nth) for nth, old in enumerate(self.ids)}
        for table, cells in self.rows:
            if table in without:
                continue
            row = []
            for column, cell, marks in cells:
                if column in values:
                    cell = values[column]
                elif f"{table}.{column}" in values:
                    cell = values[f"{table}.{column}"]
                elif isinstance(cell, bytes):
                    cell = ids.get(cell, cell)
                for mark in marks:
                    cell = cell.replace(mark, texts[mark])
                row.append(cell)
            yield table, row

    def new_id(self, number: int, millis: int, table: str) -> bytes:
        """The id of the row of a table in a copy."""
        old = next(cell for name, cells in self.rows if name == table for column, cell, _ in cells if column == "id")
        return uuid7(millis, self.name, number, self.ids.index(old))


def columns(database: sqlite3.Connection, table: str) -> list[str]:
    """The columns of a table that can be written; none if there is no such table."""
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


def marks_in(cell: object) -> list[str]:
    marks = [*WORD_MARKS, NUMBER_MARK, HOST_MARK, COLLECTION_MARK, *TAG_MARKS]
    return [mark for mark in marks if isinstance(cell, str) and mark in cell]


class Writer:
    """Inserts rows in batches."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database, self.rows, self.count = database, {}, 0

    def add(self, copies) -> None:
        for table, row in copies:
            self.rows.setdefault(table, []).append(row)
        self.count += 1
        if self.count % BATCH == 0:
            self.flush()

    def flush(self) -> None:
        for table, rows in self.rows.items():
            places = ", ".join("?" * len(rows[0]))
            names = ", ".join(f'"{name}"' for name in columns(self.database, table))
            self.database.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({places})', rows)
        self.database.commit()
        self.rows = {}


@dataclasses.dataclass
class Library:
    """What the measurements must know of a library. Ids are texts; the lists are samples."""

    bookmarks: int
    email: str
    rest_key: str
    mcp_key: str
    entries: int = 0
    passages: int = 0
    long_documents: list[str] = dataclasses.field(default_factory=list)
    bookmark_ids: list[str] = dataclasses.field(default_factory=list)
    entry_ids: list[str] = dataclasses.field(default_factory=list)
    collections: list[str] = dataclasses.field(default_factory=list)
    feeds: list[str] = dataclasses.field(default_factory=list)
    projects: list[str] = dataclasses.field(default_factory=list)
    tags: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def reader(self, service: Service) -> Reader:
        return Reader(service, self.email, self.rest_key)


def sample(values: list, count: int = SAMPLES) -> list:
    """Values from all parts of a list."""
    return values[::max(1, len(values) // count)][:count]


class FeedHost(http.server.BaseHTTPRequestHandler):
    """Serves the one feed that is followed."""

    def do_GET(self) -> None:
        item = (f"<item><title>An entry on {WORD_MARKS[0]} {NUMBER_MARK}</title><link>https://{HOST_MARK}.example/{NUMBER_MARK}</link>"
                f"<guid>{NUMBER_MARK}</guid><description>{marked_text(500)}</description></item>")
        body = f"<rss version='2.0'><channel><title>A feed on {WORD_MARKS[1]}</title>{item}</channel></rss>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/rss+xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def feed_host():
    """The URL of a feed with one entry."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", free_port()), FeedHost)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/{NUMBER_MARK}"
    finally:
        server.shutdown()


def create_first(program: str, home: pathlib.Path, bookmarks: int) -> tuple[Library, dict[str, str]]:
    """Lets the service create one of each thing; returns the library and the ids of those things."""
    with feed_host() as feed_url, serving_at(program, home, fetch__allow_private="127.0.0.0/8") as service:
        reader = service.reader()
        mcp = service.cli("key", "create", "--user", reader.email, "--kind", "mcp", "--name", "bench")["secret"]
        first = {"collection": reader.data("POST", "/rest/v1/collections", {"name": COLLECTION_MARK})["collection"]["collectionId"]}
        for kind, chars in (("short", 700), ("long", LONG_CHARS)):
            page = {"url": f"https://{HOST_MARK}.example/{kind}/{NUMBER_MARK}", "text": marked_text(chars), "tags": TAG_MARKS,
                    "title": f"{kind} page on {WORD_MARKS[0]} and {WORD_MARKS[1]} {NUMBER_MARK}",
                    "collectionIds": [first["collection"]], **({"notes": f"Compare {WORD_MARKS[2]}."} if kind == "long" else {})}
            first[kind] = reader.data("POST", "/rest/v1/bookmarks", page)["bookmark"]["bookmarkId"]
        first["feed"] = reader.data("POST", "/rest/v1/feeds", {"url": feed_url})["feed"]["feedId"]
        reader.await_library()
        mark = {"text": marked_text(LONG_CHARS)[:49], "startOffset": 0, "endOffset": 49}
        reader.ask("POST", f"/rest/v1/bookmarks/{first['long']}/highlights", mark)
        first["entry"] = reader.data("GET", "/rest/v1/entries")["entries"][0]["entryId"]
        # The activity is written in batches, half a second apart.
        time.sleep(2)
    return Library(bookmarks, reader.email, reader.secret, mcp), first


def families(database: sqlite3.Connection, first: dict[str, str]) -> dict[str, Family]:
    """The rows of the things that the service created."""
    def documents_of(column: str, owner: bytes) -> list[bytes]:
        return [row[0] for row in database.execute(f"SELECT id FROM document WHERE {column} = ?", [owner])]

    def with_texts(column: str, owner: bytes) -> list[tuple[str, str, bytes]]:
        found = [("document", column, owner)]
        return found + [(table, "document_id", one) for one in documents_of(column, owner) for table in OF_DOCUMENT]

    found = {}
    for kind in ("short", "long"):
        owner = raw_id(first[kind])
        of_bookmark = [(table, "bookmark_id", owner) for table in OF_BOOKMARK]
        found[kind] = Family(kind, database, *with_texts("bookmark_id", owner), ("bookmark", "id", owner), *of_bookmark)
    found["collection"] = Family("collection", database, ("collection", "id", raw_id(first["collection"])))
    feed = raw_id(first["feed"])
    [[source]] = database.execute("SELECT source_id FROM feed WHERE id = ?", [feed])
    found["feed"] = Family("feed", database, ("feed_source", "id", source), ("feed", "id", feed))
    entry = raw_id(first["entry"])
    found["entry"] = Family("entry", database, *with_texts("entry_id", entry), ("entry", "id", entry))
    [[line]] = database.execute("SELECT id FROM activity LIMIT 1")
    found["activity"] = Family("activity", database, ("activity", "id", line))
    return found


def words_of(number: int) -> dict[str, str]:
    """What replaces the marks in the copy of this number."""
    some = random.Random(number).choices(WORDS, k=len(WORD_MARKS))
    return dict(zip(WORD_MARKS, some)) | {NUMBER_MARK: f"{number:08}", HOST_MARK: f"site{number % 1_000}"}


# No passage of a copy is in the index.
NOT_INDEXED = {
    "document.indexed_version": 0,
    "document.indexed_points": 0,
    "document.has_metadata_point": 0,
    "document.unindexed_since": None,
    "document.indexed_at": None,
}


def fill(database: sqlite3.Connection, library: Library, first: dict[str, str]) -> None:
    """Copies the rows of the service."""
    if sqlite3.sqlite_version_info < (3, 43):
        raise SystemExit(f"SQLite {sqlite3.sqlite_version} cannot write to the index of titles: install pysqlite3-binary")
    database.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA foreign_keys = OFF")
    found, writer = families(database, first), Writer(database)
    collections, links = add_collections(writer, found["collection"], library), raw_id(first["collection"])
    add_bookmarks(writer, found, library, collections, links)
    add_entries(writer, found, library, raw_id(first["feed"]))
    add_projects(database, library)
    now = time.time_ns() // 1_000_000
    for number in range(library.bookmarks // 2):
        at = now - number * 5_000
        writer.add(found["activity"].copy(number, at, words_of(0), {"at": at}, {}))
    writer.flush()
    database.execute("UPDATE feed_source SET next_fetch_at = ?", [FAR_MS])
    database.commit()
    warn_of_other_tables(database, found, first)
    [[library.passages]] = database.execute("SELECT count(*) FROM chunk")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def add_collections(writer: Writer, family: Family, library: Library) -> list[bytes]:
    added = []
    for number in range(max(20, library.bookmarks // 1_000)):
        at = FIRST_SAVED_MS + number
        writer.add(family.copy(number, at, {COLLECTION_MARK: f"Shelf {number}"}, {"created_at": at, "updated_at": at}, {}))
        added.append(family.new_id(number, at, "collection"))
    library.collections = [text_id(one) for one in sample(added)]
    return added


def add_bookmarks(writer: Writer, found: dict[str, Family], library: Library, collections: list[bytes], collection: bytes) -> None:
    tags = max(COMMON_TAGS, min(MAX_TAGS, library.bookmarks // 2) - COMMON_TAGS - TOPIC_TAGS)
    ids, long_documents = [], []
    for number in range(library.bookmarks):
        family, at = found["long" if number % LONG_EVERY == 0 else "short"], FIRST_SAVED_MS + number * 60_000
        named = [f"common {number * 7 % COMMON_TAGS:02}", f"topic {number * 31 % TOPIC_TAGS:03}", f"rare {number * 97 % tags:05}"]
        favorite, archived, is_read = number % 20 == 0, number % 10 == 0, number % 3 == 0
        values = NOT_INDEXED | {
            "saved_at": at, "created_at": at, "updated_at": at, "added_at": at, "favorite": favorite, "archived": archived,
            "progress": 1.0 if is_read else 0.25, "flags": 4 * favorite + 2 * archived + (not is_read)}
        if number % 50 == 1:
            values["content_type"] = "pdf"
        texts = words_of(number) | dict(zip(TAG_MARKS, named))
        links = {collection: collections[number // 2 % len(collections)]}
        without = ("collection_bookmark",) if number % 2 else ()
        writer.add(family.copy(number, at, texts, values, links, without))
        ids.append(family.new_id(number, at, "bookmark"))
        if number % LONG_EVERY == 0:
            long_documents.append(uuid7(at, family.name, number, text_document(family)))
    writer.flush()
    library.bookmark_ids = [text_id(one) for one in sample(ids)]
    library.long_documents = [text_id(one) for one in sample(long_documents)]
    library.tags = {"common": [f"common {number:02}" for number in range(COMMON_TAGS)],
                    "rare": [f"rare {number:05}" for number in sample(list(range(tags)))]}


def text_document(family: Family) -> int:
    """Which of the ids of a bookmark's rows is that of its text: the note on it is a document too."""
    document = next(cell for table, cells in family.rows if table == "bookmark" for column, cell, _ in cells if column == "document_id")
    return family.ids.index(document)


def add_entries(writer: Writer, found: dict[str, Family], library: Library, feed: bytes) -> None:
    library.entries = min(MAX_ENTRIES, library.bookmarks // 2)
    feeds, entries = [], []
    for number in range(max(10, library.entries // ENTRIES_PER_FEED)):
        at = FIRST_SAVED_MS + number
        texts = words_of(number) | {NUMBER_MARK: f"feed{number:04}"}
        writer.add(found["feed"].copy(number, at, texts, {"created_at": at, "next_fetch_at": FAR_MS}, {}))
        feeds.append(found["feed"].new_id(number, at, "feed"))
    for number in range(library.entries):
        at = FIRST_SAVED_MS + number * 60_000
        values = NOT_INDEXED | {
            "created_at": at, "sorted_at": at, "entry.published_at": at, "updated_at": at, "read": number % 3 != 0,
            "starred": number % 40 == 0, "key_hash": hashlib.sha256(f"entry {number}".encode()).digest()}
        texts = words_of(number) | {HOST_MARK: f"news{number % 1_000}"}
        writer.add(found["entry"].copy(number, at, texts, values, {feed: feeds[number % len(feeds)]}))
        entries.append(found["entry"].new_id(number, at, "entry"))
    writer.flush()
    library.feeds, library.entry_ids = ([text_id(one) for one in sample(some)] for some in (feeds, entries))


def add_projects(database: sqlite3.Connection, library: Library) -> None:
    """Adds projects whose items are bookmarks, every fiftieth of them pinned. Triggers set whether they are visible."""
    bookmarks = database.execute("SELECT user_id, document_id, saved_at FROM bookmark ORDER BY id").fetchall()
    for number in range(PROJECTS):
        at = FIRST_SAVED_MS + number
        project, items = uuid7(at, "project", number, 0), bookmarks[number::PROJECTS][:MAX_ITEMS]
        database.execute("INSERT INTO project (id, user_id, name, instructions, status, created_at, updated_at) "
                         "VALUES (?, ?, ?, '', 'active', ?, ?)", [project, bookmarks[0][0], f"Project {number}", at, at])
        database.executemany(
            "INSERT INTO project_item (id, user_id, project_id, kind, object_id, document_id, role, pinned, added_at) "
            "VALUES (?, ?, ?, 'bookmark', ?, ?, 'source', ?, ?)",
            ([uuid7(saved, f"item {number}", nth, 0), user, project, document, document, nth % 50 == 0, saved]
             for nth, (user, document, saved) in enumerate(items)))
        library.projects.append(text_id(project))
    database.commit()


def warn_of_other_tables(database: sqlite3.Connection, found: dict[str, Family], first: dict[str, str]) -> None:
    """Names the tables that have rows of the first bookmarks and entries, but none of their copies: the schema has changed."""
    filled = set().union(*(family.tables for family in found.values()))
    for [table] in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'").fetchall():
        owners = {"bookmark_id", "document_id", "entry_id"} & set(columns(database, table))
        for column in owners if table not in filled else ():
            [[rows]] = database.execute(f'SELECT count(DISTINCT {column}) FROM "{table}"')
            if 0 < rows <= len(first):
                say(warning=f"{table} has no rows of the copies")


def build(program: str, home: pathlib.Path, bookmarks: int, indexed: bool) -> None:
    """Fills a library in an empty folder."""
    library, first = create_first(program, home, bookmarks)
    database = sqlite3.connect(home / "data/carrel.db")
    try:
        fill(database, library, first)
    finally:
        database.close()
    if indexed:
        with serving_at(program, home) as service:
            service.cli("reindex")
            await_passages(service, library.passages)
            # The metadata passages are no chunks, so their number is not known.
            service.await_index()
    (home / "library.json").write_text(json.dumps(dataclasses.asdict(library)))


def await_passages(service: Service, count: int) -> None:
    """Waits until the index has as many passages, and exits if it stops growing for two minutes."""
    last, since = service.passages(), time.monotonic()
    while last < count:
        if time.monotonic() - since > 120:
            raise RuntimeError(f"the index stays at {last} of {count} passages")
        time.sleep(1)
        now = service.passages()
        if now != last:
            last, since = now, time.monotonic()


def schema(program: str) -> str:
    """A short name of the tables that the program creates."""
    with folder() as home:
        Service(program, home, UNLIMITED).cli("migrate")
        database = sqlite3.connect(home / "data/carrel.db")
        rows = database.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").fetchall()
        database.close()
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:8]


def cached(program: str, libraries: pathlib.Path, bookmarks: int, indexed: bool) -> pathlib.Path:
    """The folder of a library, which is filled if it does not exist."""
    home = libraries.expanduser() / f"{bookmarks}-{schema(program)}{'-indexed' if indexed else ''}"
    if not (home / "library.json").exists():
        # A folder without that file was not completed.
        subprocess.run(["rm", "-rf", home], check=True)
        home.mkdir(parents=True)
        began = time.perf_counter()
        build(program, home, bookmarks, indexed)
        say(filled=bookmarks, indexed=indexed, seconds=round(time.perf_counter() - began, 1))
    return home


def described(home: pathlib.Path) -> Library:
    return Library(**json.loads((home / "library.json").read_text()))


@contextlib.contextmanager
def copied(program: str, libraries: pathlib.Path, bookmarks: int, indexed: bool = False):
    """A copy of a library in a temporary folder, which may be changed: its folder and what it contains."""
    home = cached(program, libraries, bookmarks, indexed)
    with folder() as copy:
        subprocess.run(["cp", "-a", "--reflink=auto", home / "data", copy / "data"], check=True)
        yield copy, described(home)


@contextlib.contextmanager
def serving_library(program: str, libraries: pathlib.Path, bookmarks: int, indexed: bool = False, **settings: object):
    """A running service on a copy of a library, and what it contains."""
    with copied(program, libraries, bookmarks, indexed) as (home, library), serving_at(program, home, **settings) as service:
        yield service, library


def add_arguments(parser, *counts: int) -> None:
    """The arguments of measurements on libraries."""
    parser.add_argument("--library", type=pathlib.Path, default="~/.cache/carrel/libraries", metavar="FOLDER",
                        help="where filled libraries are kept")
    parser.add_argument("--bookmarks", type=int, nargs="+", default=list(counts), metavar="N", help="of each library")


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 2_000, 20_000, 200_000)
    parser.add_argument("--indexed", action="store_true", help="with the passages in the index")
    args = parser.parse_args()
    machine()
    for wanted in args.bookmarks:
        at = cached(args.carrel, args.library, wanted, args.indexed)
        contents = dataclasses.asdict(described(at))
        sizes = {name: len(value) if isinstance(value, (list, dict)) else value for name, value in contents.items()}
        say(folder=str(at), mib=round((at / "data/carrel.db").stat().st_size / (1 << 20)),
            **{name: size for name, size in sizes.items() if "key" not in name and name != "email"})
