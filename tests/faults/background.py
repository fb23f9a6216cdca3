"""Clients that run in the background of a test, and access to a database from outside of the service."""

import collections
import contextlib
import itertools
import pathlib
import sqlite3
import threading
import time
import urllib.request

from harness import Account, FaultyService, create_key


class Saves:
    """Saves numbered pages from several threads until the block ends, and records the outcome of each."""

    def __init__(self, account: Account, threads: int = 4, first: int = 1, **fields: object) -> None:
        self.account = account
        self.fields = fields
        self.acknowledged: dict[int, str] = {}
        self.statuses: collections.Counter[int] = collections.Counter()
        self.refusals_without_wait = 0
        self._numbers = itertools.count(first)
        self._ended = threading.Event()
        self._threads = [threading.Thread(target=self._save_on, daemon=True) for _ in range(threads)]

    def __enter__(self) -> "Saves":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _save_on(self) -> None:
        while not self._ended.is_set():
            number = next(self._numbers)
            status, body, headers = self.account.save(number, **self.fields)
            self.statuses[status] += 1
            if status == 201:
                self.acknowledged[number] = body["data"]["bookmark"]["bookmarkId"]
            elif status and "retry-after" not in headers:
                self.refusals_without_wait += 1
            elif status == 0:
                # No process listens: the service was killed or is stopping. The pause keeps the threads from spinning.
                self._ended.wait(0.01)

    def missing(self, account: Account | None = None) -> list[int]:
        """Acknowledged pages that the service does not have."""
        reader = account or self.account
        return [number for number, bookmark in sorted(self.acknowledged.items())
                if reader.rest("GET", f"/v1/bookmarks/{bookmark}")[0] != 200]


def database_file(service: FaultyService) -> pathlib.Path:
    return pathlib.Path(service.settings["data_dir"]) / "carrel.db"


@contextlib.contextmanager
def opened(file: pathlib.Path):
    """A connection of another process, outside of any transaction."""
    connection = sqlite3.connect(file, isolation_level=None, timeout=30)
    try:
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def read_transaction(file: pathlib.Path):
    """A read transaction that stays open: the write-ahead log cannot be checkpointed past its snapshot."""
    with opened(file) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM bookmark").fetchone()
        yield connection
        connection.rollback()


def assert_rows_are_whole(connection: sqlite3.Connection) -> None:
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def saved_numbers(connection: sqlite3.Connection) -> set[int]:
    """The numbers of the pages that a database has."""
    return {int(url.rsplit("/", 1)[1]) for (url,) in connection.execute("SELECT url FROM bookmark")}


def key_with(account: Account, *scopes: str) -> str:
    """The secret of a new key of an account with these scopes."""
    return create_key(account.service, account.email, "more", scopes)


def make_jobs_due(service: FaultyService) -> None:
    """Makes every waiting job due now."""
    with opened(database_file(service)) as connection:
        connection.execute("UPDATE job SET run_at = 0 WHERE state = 'queued'")


def timed(request, *arguments: object) -> tuple[float, tuple]:
    """The seconds until the response, and the response."""
    began = time.monotonic()
    answer = request(*arguments)
    return time.monotonic() - began, answer


def metric(service: FaultyService, name: str) -> float:
    """The value of a metric, which is named with its labels; 0 if it does not exist yet."""
    with urllib.request.urlopen(f"http://127.0.0.1:{service.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return next((float(line.rsplit(" ", 1)[1]) for line in lines if line.rsplit(" ", 1)[0] == name), 0.0)


def resident_mib(service: FaultyService) -> float:
    return service.memory()["VmRSS"]
