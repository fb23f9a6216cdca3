"""Another process locks the database: writes wait and are then refused, reads continue, and the log is checkpointed later."""

import contextlib
import os
import pathlib
import threading
import time

from background import Saves, database_file, metric, opened, read_transaction, timed
from harness import Account, FaultyService, Ledger, eventually

# A read that waits for the lock takes as long as the busy timeout, five seconds.
MAX_READ_SECONDS = 3
MAX_LOCK_SECONDS = 30
PATCH_SECONDS = float(os.environ.get("CARREL_FAULT_PATCH_SECONDS", "2"))
LOG_MIB = int(os.environ.get("CARREL_FAULT_LOG_MIB", "8"))
# Above this size the service logs a warning.
WARNED_MIB = 256
# After a checkpoint SQLite truncates the log to this size.
KEPT_MIB = 64
MIB = 1 << 20


@contextlib.contextmanager
def write_lock(file: pathlib.Path):
    with opened(file) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.rollback()


def test_locked_database_refuses_writes_and_serves_reads(service: FaultyService) -> None:
    """Writes wait for the lock and are refused with 503 (row 10)."""
    account = Account(service)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(2)
    eventually(lambda: account.finds("word1"))

    with write_lock(database_file(service)), Saves(account, first=1000) as saves:
        mixed = threading.Thread(target=ledger.mixed_load, args=(1,))
        mixed.start()
        end = time.monotonic() + MAX_LOCK_SECONDS
        while saves.statuses[503] < 4:
            assert time.monotonic() < end, "no save was refused"
            for path in ("/v2/search?q=word1", "/v1/bookmarks", "/v1/user"):
                seconds, (status, _, _) = timed(account.rest, "GET", path)
                assert status == 200 and seconds < MAX_READ_SECONDS, (path, status, seconds)
        assert not saves.acknowledged
    mixed.join()

    assert set(saves.statuses) <= {201, 503} and saves.refusals_without_wait == 0, saves.statuses
    # Refused writes leave nothing behind, and work continues at once.
    before = len(ledger.answers)
    ledger.mixed_load(1)
    assert 503 not in ledger.answers[before:]
    assert ledger.faults() == [] and saves.missing() == []


def test_write_waits_for_a_short_lock(service: FaultyService) -> None:
    """A lock that ends in time delays the write (row 10)."""
    account, answers = Account(service), []
    save = threading.Thread(target=lambda: answers.append(account.save(1)))

    with write_lock(database_file(service)):
        save.start()
        save.join(1)
        assert save.is_alive(), answers
    save.join()

    assert [status for status, _, _ in answers] == [201]


@contextlib.contextmanager
def other_writer(file: pathlib.Path):
    """Another process that commits all the time. The service alone would not show the fault: one connection of it writes."""
    commits, ended = [], threading.Event()

    def write() -> None:
        with opened(file) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            while not ended.wait(0.002):
                commits.append(connection.execute("UPDATE job SET run_at = run_at + 1 WHERE state = 'done'").rowcount)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield commits
    finally:
        ended.set()
        writer.join()


def test_concurrent_changes_of_one_row_are_all_kept(service: FaultyService) -> None:
    """No change fails because another wrote between its read and its write (row 11)."""
    account = Account(service)
    bookmark = account.save(1)[1]["data"]["bookmark"]["bookmarkId"]
    eventually(lambda: account.finds("word1"))
    end = time.monotonic() + PATCH_SECONDS
    statuses = []

    def change() -> None:
        while time.monotonic() < end:
            body = {"favorite": True, "progress": 0.5, "tags": ["a", "b"]}
            statuses.append(account.rest("PATCH", f"/v1/bookmarks/{bookmark}", body)[0])

    threads = [threading.Thread(target=change) for _ in range(50)]
    with other_writer(database_file(service)) as commits:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert set(statuses) == {200}, {status: statuses.count(status) for status in set(statuses)}
    assert len(commits) > 20 and all(commits), "the other process committed no changes"
    print(f"{len(statuses)} changes of one row, all acknowledged, beside {len(commits)} commits of another process")


def test_log_is_checkpointed_after_a_long_reader(service: FaultyService) -> None:
    """The write-ahead log is truncated when the reader has ended (row 12)."""
    account = Account(service)
    file = database_file(service)
    log = file.with_name("carrel.db-wal")
    text = {"text": "a heron in the reeds " * 5000}

    with read_transaction(file) as reader, Saves(account, threads=2, **text) as saves:
        eventually(lambda: log.stat().st_size > LOG_MIB * MIB, 120)
        assert reader.execute("SELECT count(*) FROM bookmark").fetchone() == (0,)
        assert eventually(lambda: metric(service, "carrel_database_log_bytes") > LOG_MIB * MIB)
    grown = log.stat().st_size

    # The same amount again fits into the space that the log already has.
    with Saves(account, threads=2, first=10_000, **text) as more:
        eventually(lambda: len(more.acknowledged) >= len(saves.acknowledged), 120)
    assert log.stat().st_size < grown + 6 * MIB
    for done in (saves, more):
        assert set(done.statuses) == {201} and done.missing() == []


def test_unusually_large_log_is_reported_until_its_checkpoint(service: FaultyService) -> None:
    """A warning and a metric tell of it (row 12)."""
    account = Account(service)
    file = database_file(service)
    log = file.with_name("carrel.db-wal")
    assert account.save(1)[0] == 201

    with read_transaction(file):
        # A hole at the end of the log: SQLite knows how many frames are valid, and does not restart a log that has a reader.
        os.truncate(log, (WARNED_MIB + 1) * MIB)
        eventually(lambda: "the write-ahead log of the database is growing" in service.log())
        assert metric(service, "carrel_database_log_bytes") > WARNED_MIB * MIB
        assert "the write-ahead log of the database was checkpointed" not in service.log()

    with Saves(account, first=2, text="a heron in the reeds " * 5000) as saves:
        eventually(lambda: "the write-ahead log of the database was checkpointed" in service.log(), 60)
    assert log.stat().st_size <= KEPT_MIB * MIB
    assert set(saves.statuses) == {201} and saves.missing() == []
