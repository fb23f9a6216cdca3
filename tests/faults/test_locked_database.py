"""Another process locks the database: writes wait and are then refused, reads continue, and the log is checkpointed later."""

import contextlib
import os
import pathlib
import threading
import time

from background import Saves, database_file, metric, opened, read_transaction, timed
from harness import Account, FaultyService, Ledger, eventually, started
from stubs import Gate, Site, serving

# A read that waits for the lock takes as long as the busy timeout, five seconds.
MAX_READ_SECONDS = 3
MAX_LOCK_SECONDS = 30
MAX_STOP_SECONDS = 30
# Each of them alone would wait for the lock as long as the busy timeout.
RUNNING_JOBS = 10
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


def test_stop_while_database_is_locked_ends_in_time(carrel: str, tmp_path: pathlib.Path) -> None:
    """Nothing is written by then: the jobs run again after the next start (rows 10, 36)."""
    with serving(Site()) as site:
        site.gate = gate = Gate()
        settings = {"fetch__allow_private": "127.0.0.0/8", "ingest__fetches": RUNNING_JOBS + 2}
        service = started(carrel, tmp_path, **settings)
        account, bookmarks = Account(service), []
        for host in range(2, RUNNING_JOBS + 2):
            status, body, _ = account.rest("POST", "/v1/bookmarks", {"url": f"http://127.0.0.{host}:{site.port}/"})
            assert status == 201
            bookmarks.append(body["data"]["bookmark"]["bookmarkId"])
        eventually(lambda: gate.waiting == RUNNING_JOBS)

        with write_lock(database_file(service)):
            # A row of the activity and a count, which cannot be written.
            assert account.rest("GET", "/v1/user")[0] == 200
            began = time.monotonic()
            service.process.terminate()
            status = service.process.wait(4 * MAX_STOP_SECONDS)
            seconds = time.monotonic() - began

        assert status == 0 and seconds < MAX_STOP_SECONDS, (status, seconds)
        site.gate = None
        gate.is_open.set()
        service.start()
        for bookmark in bookmarks:
            path = f"/v1/bookmarks/{bookmark}"
            eventually(lambda path=path: account.rest("GET", path)[1]["data"]["bookmark"]["status"] == "ready", 60)
        print(f"the end took {seconds:.1f} s while the database was locked")


def test_readiness_is_answered_while_database_is_locked(service: FaultyService) -> None:
    """No request waits for the test write (row 10)."""
    with write_lock(database_file(service)):
        eventually(lambda: service.readiness()[1]["storage"] == "busy")
        for _ in range(20):
            seconds, (status, body) = timed(service.readiness)
            assert status == 200 and body["storage"] == "busy" and seconds < MAX_READ_SECONDS, (status, body, seconds)

    eventually(lambda: service.readiness()[1]["storage"] == "ok")


def test_writes_are_checked_while_nobody_asks(service: FaultyService) -> None:
    """A row is written every few seconds, and /readyz is not requested (row 5)."""
    value = "SELECT value FROM service_state WHERE name LIKE 'round_trip%'"
    with opened(database_file(service)) as connection:
        first = eventually(lambda: connection.execute(value).fetchone())
        eventually(lambda: connection.execute(value).fetchone() != first, 15)


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
    print(f"{len(statuses)} changes of one row, all acknowledged, next to {len(commits)} commits of another process")


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
