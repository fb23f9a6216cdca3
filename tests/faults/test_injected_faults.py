"""Single calls on the database fail under a mixed load: acknowledged writes are kept, and work continues (row 5).

SQLite writes with pwrite64, syncs with fsync, and truncates only at three moments: at the end of a checkpoint, which starts
every 1000 pages; when the write-ahead log has grown over 64 MiB; and when a connection is opened or closed as the first or the last
one. Many truncations are reached in the first way only; test_file_calls.py fails those of the last one.
"""

import contextlib
import os
import pathlib
import random
import sqlite3

import pytest
from background import Saves, assert_rows_are_whole, database_file, opened, read_transaction
from harness import Account, FaultyService, eventually
from injector import ALWAYS, Injector
from load import Load

# A call is chosen among the first 200 calls of a kind after the rule is set. All of them are tried in 200 rounds.
CALLS_PER_KIND = 200
ROUNDS = min(int(os.environ.get("CARREL_FAULT_ROUNDS", "12")), CALLS_PER_KIND)
CALLS = [(call, error) for call in ("pwrite64", "fsync", "ftruncate") for error in ("ENOSPC", "EIO")]
# `journal_size_limit` of the service.
LOG_LIMIT = 64 << 20
# Every n-th round uses the command line while the service runs; after every n-th round the service is killed and restarted.
CLI_EVERY, RESTART_EVERY = 10, 50


def failing_calls(call: str, seed: str) -> list[int]:
    """The number of the call that fails in each round, counted over all threads from the start of the round."""
    if call == "ftruncate":
        # Each checkpoint truncates the file once and in the same way: successive checkpoints fail.
        return [1] * ROUNDS
    return sorted(random.Random(seed).sample(range(1, CALLS_PER_KIND + 1), ROUNDS))


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, injector: Injector, request):
    service = FaultyService(carrel, tmp_path)
    service.extra = injector.environment()
    if "ftruncate" in request.node.name:
        make_small_pages(tmp_path / "data")
    service.start()
    yield service
    service.kill()


def make_small_pages(folder: pathlib.Path) -> None:
    """SQLite truncates its file at the end of a checkpoint, which starts every 1000 pages. Small pages make it more frequent."""
    folder.mkdir(mode=0o700)
    with contextlib.closing(sqlite3.connect(folder / "carrel.db")) as database:
        database.executescript("PRAGMA page_size = 512; PRAGMA journal_mode = WAL; CREATE TABLE t (n); DROP TABLE t")
    (folder / "carrel.db").chmod(0o600)


def restart(service: FaultyService, load: Load) -> None:
    service.kill()
    service.start()
    load.verify(everything=True)


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_acknowledged_writes_survive_one_failed_call(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
    """One process meets all failures of a combination, one after the other (row 5)."""
    load = Load(service, accounts=2)
    load.rechecks_credentials = False
    if call == "ftruncate":
        load.descriptions, load.description_bytes = 40, 100_000
    chosen, reached = failing_calls(call, load.seed), []
    for number, when in enumerate(chosen, 1):
        load.with_cli = number % CLI_EVERY == 2
        injector.arm(service.process.pid, call, error, when)
        load.run_until(lambda: injector.failed)
        if injector.failed:
            reached.append(when)
        injector.disarm()

        load.verify()
        assert service.process.poll() is None
        if number % RESTART_EVERY == 0:
            restart(service, load)
        if load.found():
            break
    restart(service, load)

    summarize(f"{len(reached)} of {len(chosen)} calls reached and failed, {describe(call, chosen)}; {load.summary()}")
    assert load.found() == {}, f"round {number}, call {when}"
    assert reached == chosen


def describe(call: str, chosen: list[int]) -> str:
    if call == "ftruncate":
        return "of successive checkpoints"
    return f"all of the first {CALLS_PER_KIND}" if len(chosen) == CALLS_PER_KIND else f"numbers {chosen}"


def test_reads_that_failed_for_a_while_stop_writes_until_verified(service: FaultyService, injector: Injector) -> None:
    """Covers the fault table (rows 5, 41)."""
    account = Account(service)
    with Saves(account) as saves:
        eventually(lambda: len(saves.acknowledged) >= 10)
        # SQLite reports a failed read as damage.
        injector.arm(service.process.pid, "pread64", "EIO", 1, ALWAYS)
        eventually(lambda: service.readiness()[1]["storage"] == "damaged")
        injector.disarm()
        assert service.readiness()[0] == 503
    assert set(saves.statuses) == {201, 503} and saves.refusals_without_wait == 0, saves.statuses
    lines = len(service.log().splitlines())

    eventually(lambda: service.readiness()[1]["storage"] == "ok", 60)

    log = service.log()
    assert "no damage was found, and writes continue" in log
    # Writes that are refused in the background are not logged one by one.
    assert len(log.splitlines()) < lines + 10, log
    assert account.save(9000)[0] == 201
    assert saves.missing() == []
    service.kill()
    service.start()
    assert saves.missing() == []


def test_want_of_file_handles_is_not_told_as_a_full_disk(service: FaultyService, injector: Injector) -> None:
    """Covers the fault table (row 5)."""
    account = Account(service)
    assert account.save(1)[0] == 201
    # After the failed write the connection is replaced. SQLite tries to open the file for reading alone then, and that succeeds.
    injector.arm(service.process.pid, "pwrite64", "EIO", 1, open_error="EMFILE")
    answers = [account.save(number) for number in range(2, 8)]
    injector.disarm()

    for status, body, headers in answers:
        assert (status, body["error"]["code"]) == (503, "OVERLOADED") and "retry-after" in headers, body
    assert "RLIMIT_NOFILE" in service.log()
    eventually(lambda: account.save(9)[0] == 201)


@pytest.mark.parametrize(("call", "error"), [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync", "EIO")])
def test_work_continues_once_calls_stop_failing(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
    """Covers the fault table (row 5)."""
    load = Load(service)
    for when in (1, 40):
        injector.arm(service.process.pid, call, error, when, ALWAYS)
        load.run_until(lambda: injector.failed > 20)
        assert injector.failed > 20
        injector.disarm()

        load.verify()
        assert load.found() == {}, f"from call {when} on"
    restart(service, load)

    summarize(load.summary())
    assert load.found() == {}


@pytest.mark.parametrize(("call", "error"), [("fsync", "EIO"), ("pwrite64", "EIO"), ("pwrite64", "ENOSPC")])
def test_failed_commit_of_a_group_loses_nothing_acknowledged(
        service: FaultyService, injector: Injector, call: str, error: str) -> None:
    """Saves that wait for the writer share a commit, and all of them are refused when it fails (row 5)."""
    account = Account(service)
    with Saves(account, threads=8) as saves:
        for when in range(1, 2 * ROUNDS, 2):
            eventually(lambda least=len(saves.acknowledged) + 16: len(saves.acknowledged) >= least)
            injector.arm(service.process.pid, call, error, when, part="carrel.db-wal")
            eventually(lambda: injector.failed)
            injector.disarm()
        eventually(lambda least=len(saves.acknowledged) + 16: len(saves.acknowledged) >= least)
    assert saves.statuses[500] == 0, saves.statuses
    assert set(saves.statuses) - {201}, "no save met a failed commit"

    assert saves.missing() == []
    service.kill()
    service.start()
    assert saves.missing() == []
    with opened(database_file(service)) as connection:
        assert_rows_are_whole(connection)


def test_failed_truncation_of_a_long_log_loses_nothing(service: FaultyService, injector: Injector, summarize) -> None:
    """The log is truncated to its limit by the first write after everything in it was checkpointed (row 5)."""
    load, log = Load(service), database_file(service).with_name("carrel.db-wal")
    load.descriptions, load.description_bytes = 40, 100_000
    with read_transaction(database_file(service)):
        load.run_until(lambda: log.stat().st_size > LOG_LIMIT, 120)
    grown = log.stat().st_size
    injector.arm(service.process.pid, "ftruncate", "EIO", 1, part="carrel.db-wal")

    load.run_until(lambda: injector.failed)
    failed = injector.failed
    injector.disarm()
    load.verify()
    restart(service, load)

    summarize(f"a log of {grown >> 20} MiB, {failed} failed truncations; {load.summary()}")
    assert load.found() == {}
    assert failed
