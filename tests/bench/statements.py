"""The statements that operations of the service cannot do without, through Python's sqlite3: the baseline of growth.py, and of the token
exchange in assistants.py.

They run on the SQLite file of a stopped service, which they change. A list is one statement that reads 50 rows with the text columns and
tags that the service returns; a write is one transaction, with the triggers of the file, that is on the disk before the next one begins.
They check no key, no limit and no request, write no JSON and no activity, and make no work that follows. Their CPU-time includes that of
Python, some microseconds a row. An operation without an entry here has no baseline.

They are written as one would by hand, so the service may take less: it has more statements for a filter, among which it chooses.
"""

import contextlib
import hashlib
import pathlib
import secrets
import statistics
import time

from deliveries import ENTRIES as DELIVERED
from library import OF_DOCUMENT, WORDS, Family, Library, columns, raw_id, sqlite3
from service import say

# Finds the bookmarks before it reads them: so it sorts ids.
LIST = """
    SELECT b.*, d.*, (SELECT json_group_array(name) FROM bookmark_tag WHERE bookmark_id = b.id AND user_id = ?1),
        (SELECT json_group_array(hex(collection_id)) FROM collection_bookmark WHERE bookmark_id = b.id AND user_id = ?1),
        (SELECT body FROM note WHERE bookmark_id = b.id AND user_id = ?1)
    FROM (SELECT b.id AS found FROM {source} WHERE b.user_id = ?1 AND b.deleted_at IS NULL AND {filter} ORDER BY {order} LIMIT 50)
    CROSS JOIN bookmark b ON b.id = found CROSS JOIN document d ON d.id = b.document_id"""
NEWEST = "b.saved_at DESC, b.id DESC"
# Without statistics SQLite would read all bookmarks in the order of the list.
OF_TYPE = "bookmark b INDEXED BY bookmark_type_saved"
OF_TAG = "bookmark_tag t CROSS JOIN bookmark b ON b.id = t.bookmark_id"
OF_COLLECTION = "collection_bookmark c CROSS JOIN bookmark b ON b.id = c.bookmark_id"
OF_TITLES = "title_search s CROSS JOIN title_search_row r ON r.number = s.rowid / 2 CROSS JOIN bookmark b ON b.id = r.bookmark_id"
DOCUMENT = """
    SELECT d.*, b.saved_at, (SELECT json_group_array(name) FROM bookmark_tag WHERE bookmark_id = b.id AND user_id = ?1),
        (SELECT json_group_array(json_array(text, note)) FROM highlight WHERE bookmark_id = b.id AND user_id = ?1),
        (SELECT body FROM note WHERE bookmark_id = b.id AND user_id = ?1),
        (SELECT group_concat(text, '') FROM (
            SELECT text FROM chunk WHERE document_id = d.id AND version = d.version ORDER BY start_offset))
    FROM document d LEFT JOIN bookmark b ON b.id = d.bookmark_id WHERE d.id = ?2 AND d.user_id = ?1"""
ENTRIES_PAGE = "SELECT * FROM entry WHERE user_id = ?1 AND {} ORDER BY sorted_at DESC, id DESC LIMIT 50"
# The conditions are spelled out as in the partial indexes `job_user_pending` and `document_failed`.
WORK = """
    SELECT j.*, d.title, (SELECT pending_jobs FROM account_count WHERE user_id = ?1) FROM (
        SELECT * FROM job INDEXED BY job_user_pending
        WHERE user_id = ?1 AND state = 'queued' AND state IN ('queued', 'running') AND makes_document = 1
        ORDER BY priority, run_at LIMIT 50) j
    JOIN document d ON d.id = j.subject"""
FAILED = """
    SELECT * FROM document
    WHERE user_id = ?1 AND hidden_at IS NULL AND (status = 'failed' OR error IS NOT NULL) AND has_pending_job = 0
    ORDER BY updated_at DESC, id DESC LIMIT 50"""
# The condition is spelled out as in the partial index `project_item_source`.
CONTEXT = """
    SELECT i.*, d.* FROM project_item i CROSS JOIN document d ON d.id = i.document_id
    WHERE i.user_id = ?1 AND i.project_id = ?2 AND i.is_visible AND i.kind <> 'note'
    ORDER BY i.pinned DESC, i.added_at DESC, i.id LIMIT 300"""


def open_database(home: pathlib.Path) -> sqlite3.Connection:
    """The database of a stopped service, whose commits are on the disk when they return."""
    database = sqlite3.connect(home / "data/carrel.db")
    database.executescript("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON")
    return database


def owner_of(database: sqlite3.Connection, email: str) -> bytes:
    [[user]] = database.execute('SELECT id FROM "user" WHERE email = ?', [email])
    return user


def reads(database: sqlite3.Connection, library: Library) -> dict:
    """Functions that read, by the names of operations; each gets the number of the call."""
    user = owner_of(database, library.email)

    def statement(sql: str, *values: list):
        """A statement whose parameters are the user and one of each of these values."""
        return lambda number: database.execute(sql, [user, *(some[number % len(some)] for some in values)]).fetchall()

    def listed(*values: list, source: str = "bookmark b", filter: str = "1", order: str = NEWEST):
        return statement(LIST.format(source=source, filter=filter, order=order), *values)

    ids, documents, collections, feeds, projects = (list(map(raw_id, some)) for some in (
        library.bookmark_ids, library.long_documents, library.collections, library.feeds, library.projects))
    common, rare, parts = library.tags["common"], library.tags["rare"], [word[1:6] for word in WORDS]
    of_tag = {"source": OF_TAG, "filter": "t.user_id = ?1 AND t.name = ?2"}
    of_title = {"source": OF_TITLES, "filter": "s.title_search MATCH ?2 AND instr(lower(b.url || ' ' || b.title), ?3)",
                "order": "r.saved_at DESC, b.id DESC"}
    return {
        "document": statement(DOCUMENT, documents),
        "bookmark": statement(LIST.format(source="bookmark b", filter="b.id = ?2", order="b.id"), ids),
        "list -savedAt": listed(),
        "list savedAt": listed(order="b.saved_at, b.id"),
        "list title": listed(order="b.title_key, b.id"),
        "list updatedAt": listed(order="b.updated_at, b.id"),
        "list -updatedAt": listed(order="b.updated_at DESC, b.id DESC"),
        "list favorite=true": listed(filter="b.favorite = 1"),
        "list archived=true": listed(filter="b.archived = 1"),
        "list unread=true": listed(filter="b.progress < 1"),
        "list unread=false": listed(filter="b.progress >= 1"),
        "list contentType=pdf": listed(source=OF_TYPE, filter="b.content_type = 'pdf'"),
        "list contentType=audio": listed(source=OF_TYPE, filter="b.content_type = 'audio'"),
        "list by common tag": listed(common, **of_tag, order="t.saved_at DESC, t.bookmark_id DESC"),
        "list by common tag, favourites, archived": listed(
            common, source=OF_TAG, filter=f"{of_tag['filter']} AND b.favorite = 1 AND b.archived = 1",
            order="t.saved_at DESC, t.bookmark_id DESC"),
        "list by common tag and title": listed(common, **of_tag, order="t.title_key, t.bookmark_id"),
        "list by rare tag": listed(rare, **of_tag, order="t.saved_at DESC, t.bookmark_id DESC"),
        "list by collection": listed(collections, source=OF_COLLECTION, filter="c.collection_id = ?2 AND c.user_id = ?1",
                                     order="c.saved_at DESC, c.bookmark_id DESC"),
        "list by q, a word": listed(list(map(trigrams, WORDS)), WORDS, **of_title),
        "list by q, a part of a word": listed(list(map(trigrams, parts)), parts, **of_title),
        "list, favourites by title": listed(filter="b.favorite = 1", order="b.title_key, b.id"),
        "tags": statement("SELECT * FROM tag_count WHERE user_id = ?1 ORDER BY name LIMIT 50"),
        "collections": statement("SELECT * FROM collection LEFT JOIN collection_count USING (user_id) "
                                 "WHERE user_id = ?1 AND collection_id = id ORDER BY name LIMIT 50"),
        "feeds": statement("SELECT f.*, s.*, n.* FROM feed f JOIN feed_source s ON s.id = f.source_id "
                           "JOIN feed_count n ON n.user_id = f.user_id AND n.feed_id = f.id WHERE f.user_id = ?1 ORDER BY f.id LIMIT 50"),
        "entries": statement(ENTRIES_PAGE.format("1")),
        "entries of a feed": statement(ENTRIES_PAGE.format("feed_id = ?2"), feeds),
        "entries, unread": statement(ENTRIES_PAGE.format("read = 0")),
        "entries, starred": statement(ENTRIES_PAGE.format("starred = 1")),
        "projects": statement("SELECT * FROM project JOIN project_count USING (user_id) "
                              "WHERE user_id = ?1 AND status = 'active' AND project_id = id ORDER BY updated_at DESC, id DESC LIMIT 50"),
        "project context": statement(CONTEXT, projects),
        "account": statement('SELECT * FROM "user" JOIN account_count ON user_id = id WHERE id = ?1'),
        "exists": statement("SELECT id FROM bookmark WHERE user_id = ?1 AND normalized_url = ?2 AND deleted_at IS NULL",
                            [f"nowhere.example/{number}" for number in range(100)]),
        "activity": statement("SELECT * FROM activity WHERE user_id = ?1 ORDER BY id DESC LIMIT 50"),
        "work": statement(WORK),
        "work, backlog": statement(WORK),
        "work, failed": statement(FAILED),
    }


def trigrams(word: str) -> str:
    """The query of the index of titles for a part of a text."""
    return " AND ".join(f'"{word[at:at + 3]}"' for at in range(len(word) - 2))


def writes(database: sqlite3.Connection, library: Library) -> dict:
    """Functions that write, each with one transaction."""
    user, copies = owner_of(database, library.email), Copies(database)
    ids, entries, feeds = (list(map(raw_id, some)) for some in (library.bookmark_ids, library.entry_ids, library.feeds))
    short = [row[0] for row in database.execute(
        "SELECT bookmark_id FROM document "
        "WHERE user_id = ? AND bookmark_id IS NOT NULL AND total_chars BETWEEN 600 AND 800 LIMIT 5", [user])]

    def transaction(*statements: tuple[str, list]):
        """Statements with the parameters user, one of the ids, and the number of the call."""
        def run(number: int) -> None:
            for sql, some in statements:
                database.execute(sql, {"user": user, "id": some[number % len(some)], "number": number})
            database.commit()
        return run

    def save(number: int) -> None:
        copies.bookmark(short[number % len(short)])
        database.commit()

    def deliver(number: int) -> None:
        for at in range(DELIVERED):
            copies.entry(entries[(number + at) % len(entries)])
        database.commit()

    tag = ("INSERT INTO bookmark_tag (bookmark_id, name, user_id, saved_at, flags, title_key) "
           "SELECT id, {}, user_id, saved_at, flags, title_key FROM bookmark WHERE id = :id")
    return {
        "save": save,
        "save, single": save,
        "change tags": transaction(
            ("DELETE FROM bookmark_tag WHERE bookmark_id = :id AND user_id = :user", ids), (tag.format("'new ' || :number"), ids),
            (tag.format("'common 02'"), ids), ("UPDATE bookmark SET updated_at = updated_at + 1 WHERE id = :id", ids)),
        "change favourite": transaction(
            ("UPDATE bookmark SET favorite = :number % 2, updated_at = updated_at + 1 WHERE id = :id AND user_id = :user", ids)),
        "mark entry read": transaction(("UPDATE entry SET read = :number % 2 WHERE id = :id AND user_id = :user", entries)),
        "star entry": transaction(("UPDATE entry SET starred = :number % 2 WHERE id = :id AND user_id = :user", entries)),
        "mark feed read": transaction(("UPDATE entry SET read = 1 WHERE feed_id = :id AND user_id = :user AND read = 0", feeds)),
        "delete": transaction(("UPDATE bookmark SET deleted_at = 1 WHERE id = :id AND user_id = :user", ids)),
        f"deliver {DELIVERED} entries": deliver,
        **exchanges(database),
    }


class Copies:
    """Inserts copies of the rows of bookmarks and entries."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database, self.families, self.count = database, {}, time.time_ns()

    def bookmark(self, bookmark: bytes) -> None:
        self.insert(bookmark, "bookmark_id", ("bookmark", "id", bookmark), ("bookmark_tag", "bookmark_id", bookmark))

    def entry(self, entry: bytes) -> None:
        self.insert(entry, "entry_id", ("entry", "id", entry))

    def insert(self, owner: bytes, column: str, *found: tuple[str, str, bytes]) -> None:
        """Inserts the documents whose column has this owner, with their texts, and the other rows."""
        if owner not in self.families:
            documents = self.database.execute(f"SELECT id FROM document WHERE {column} = ?", [owner]).fetchall()
            texts = [(table, "document_id", document) for [document] in documents for table in OF_DOCUMENT]
            # Reading the rows is not part of the write, so each family is read once, in the calls that are not counted.
            self.families[owner] = Family("copy", self.database, ("document", column, owner), *texts, *found)
        self.count += 1
        values = {"normalized_url": f"copy.example/{self.count}", "key_hash": hashlib.sha256(str(self.count).encode()).digest()}
        for table, row in self.families[owner].copy(self.count, time.time_ns() // 1_000_000, {}, values, {}):
            names = ", ".join(f'"{name}"' for name in self.columns(table))
            self.database.execute(f'INSERT INTO "{table}" ({names}) VALUES ({", ".join("?" * len(row))})', row)

    def columns(self, table: str) -> list[str]:
        if table not in self.families:
            self.families[table] = columns(self.database, table)
        return self.families[table]


def exchanges(database: sqlite3.Connection) -> dict:
    """A function that exchanges a refresh token for a pair; none in a database without a grant."""
    grants = database.execute("SELECT id, token_family, scopes FROM oauth_grant LIMIT 1").fetchall()
    if not grants:
        return {}
    grant, kept = grants[0], {}

    def insert(kind: str) -> str:
        token = secrets.token_urlsafe(32)
        database.execute("INSERT INTO oauth_token (hash, grant_id, token_family, kind, scopes, issued_at, expires_at) "
                         "VALUES (?, ?, ?, ?, ?, 1, 2)", [hashlib.sha256(token.encode()).digest(), *grant[:2], kind, grant[2]])
        return token

    def refresh(_: int) -> None:
        digest = hashlib.sha256(kept["token"].encode()).digest()
        database.execute("SELECT * FROM oauth_token t JOIN oauth_grant g ON g.id = t.grant_id WHERE t.hash = ?", [digest]).fetchall()
        spent = database.execute("UPDATE oauth_token SET state = 'used' WHERE hash = ? AND state = 'issued'", [digest])
        assert spent.rowcount == 1
        insert("access")
        kept["token"] = insert("refresh")
        database.commit()

    kept["token"] = insert("refresh")
    database.commit()
    return {"token exchange": refresh}


def measure(work, count: int, warm_up: int) -> dict[str, float]:
    """CPU-microseconds, and the median and mean milliseconds, of one call."""
    for number in range(warm_up):
        work(number)
    cpu, times = time.process_time(), []
    for number in range(warm_up, warm_up + count):
        began = time.perf_counter()
        work(number)
        times.append((time.perf_counter() - began) * 1000)
    cpu = time.process_time() - cpu
    return {"statement_cpu_us": round(cpu * 1e6 / count), "statement_ms_p50": round(statistics.median(times), 3),
            "statement_ms_mean": round(statistics.mean(times), 3)}


@contextlib.contextmanager
def statements(home: pathlib.Path, library: Library):
    """All functions by the names of operations, on the database of a stopped service; none if Python's SQLite cannot write to the
    index of titles, as library.py says."""
    if sqlite3.sqlite_version_info < (3, 43):
        say(left_out="statements", because=f"SQLite {sqlite3.sqlite_version} cannot write to the index of titles: install pysqlite3-binary")
        yield {}
        return
    database = open_database(home)
    try:
        yield reads(database, library) | writes(database, library)
    finally:
        database.close()
