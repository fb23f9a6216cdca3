"""Single storage calls fail under a mixed load: acknowledged writes are kept, and work continues."""

import contextlib
import os
import pathlib
import sqlite3

import pytest
from background import Saves
from harness import Account, FaultyService, eventually
from injector import ALWAYS, Injector
from load import Load

# How many calls of each kind are made to fail; the first ones, then rarer ones up to the 200th.
ROUNDS = int(os.environ.get("CARREL_FAULT_ROUNDS", "4"))
EARLY_AND_LATE = (1, 6, 23, 60)
CALLS = [(call, error) for call in ("pwrite64", "fdatasync", "ftruncate") for error in ("ENOSPC", "EIO")]
# Every n-th round uses the command line while the service runs; after every n-th round the service is killed and restarted.
CLI_EVERY, RESTART_EVERY = 10, 25


def failing_calls(call: str) -> list[int]:
    """The number of the call that fails in each round, counted over all threads from the start of the round."""
    if call == "ftruncate":
        # A checkpoint truncates the file once, always in the same way.
        return [1 + number % 3 for number in range(ROUNDS)]
    if ROUNDS <= len(EARLY_AND_LATE):
        return list(EARLY_AND_LATE[:ROUNDS])
    return list(range(1, ROUNDS + 1))


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, injector: Injector, request):
    made = FaultyService(carrel, tmp_path)
    made.extra = injector.environment()
    if "ftruncate" in request.node.name:
        make_small_pages(tmp_path / "data")
    made.start()
    yield made
    made.kill()


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
    load = Load(service)
    if call == "ftruncate":
        load.descriptions, load.description_bytes = 40, 100_000
    reached = []
    for number, when in enumerate(failing_calls(call), 1):
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

    summarize(f"{number} rounds, {len(reached)} reached their call; {load.summary()}")
    assert load.found() == {}, f"round {number}, call {when}"
    assert reached == failing_calls(call)


def test_reads_that_failed_for_a_while_stop_writes_until_verified(service: FaultyService, injector: Injector) -> None:
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
    assert "no damage was found, and writes go on" in log
    # Writes that are refused in the background are not logged one by one.
    assert len(log.splitlines()) < lines + 10, log
    assert account.save(9000)[0] == 201
    assert saves.missing() == []
    service.kill()
    service.start()
    assert saves.missing() == []


def test_want_of_file_handles_is_not_told_as_a_full_disk(service: FaultyService, injector: Injector) -> None:
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


@pytest.mark.parametrize(("call", "error"), [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fdatasync", "EIO")])
def test_work_continues_once_calls_stop_failing(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
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
