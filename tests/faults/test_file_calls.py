"""Opening, syncing, renaming and removing files fails: nothing acknowledged is lost, and work continues (row 5).

The service never calls fallocate: it reserves space by writing. The index writes its log and its pages through mappings, and
renames some of its files without the C library. The injector does not see these; the tests of full disks reach them.
"""

import os
import pathlib
import random
import secrets

import pytest
from harness import Account, FaultyService, eventually
from injector import NEXT, Injector, Rule
from load import Load

# Failing calls of each kind and error while the service serves; and starts, and stops, with a failing call.
ROUNDS = int(os.environ.get("CARREL_FAULT_FILE_ROUNDS", "1"))
STARTS = int(os.environ.get("CARREL_FAULT_STARTS", "6"))
ERRORS = {"open": ("EMFILE", "EIO", "ENOSPC"), "fsync": ("EIO", "ENOSPC"), "rename": ("EIO", "ENOSPC"), "unlink": ("EIO", "ENOSPC"),
          "ftruncate": ("EIO", "ENOSPC"), "pwrite64": ("EIO", "ENOSPC")}
# Calls that occur while the service serves, by part of their path; and how many of them one round may let pass.
SERVING = {"open": {"carrel.db": 1, "/files/": 20, "/scratch/": 6, "/index/": 100}, "fsync": {"/files/": 10, "/index/": 100},
           "rename": {"/files/": 4}, "unlink": {"/files/": 2, "/scratch/": 4, "/index/": 30}}
ROUND_SECONDS, START_SECONDS = 20, 60


@pytest.fixture
def service(faulty_service: FaultyService) -> FaultyService:
    return faulty_service


def assert_nothing_is_lost(load: Load, what: object) -> None:
    load.verify(everything=True)
    assert load.found() == {}, what


def rules_of_load(moments: random.Random, call: str, error: str, part: str) -> list[Rule]:
    """A random call that fails, with another one if the first does not happen by itself."""
    rules = [Rule(call, error, moments.randint(1, SERVING[call][part]), part=part)]
    if part == "carrel.db":
        # Files of the database are opened only to replace a connection that met a fault.
        rules.append(Rule("pwrite64", "EIO", 2, part="carrel.db-wal"))
    return rules


@pytest.mark.parametrize("call", SERVING)
def test_acknowledged_work_survives_failed_file_calls(
        service: FaultyService, injector: Injector, summarize, call: str) -> None:
    """After each kind of file everything is read and indexed without a restart (row 5)."""
    load, failed, unreached, found = Load(service, accounts=1, file_workers=2), [], [], 0
    load.rechecks_credentials = False
    moments = random.Random(load.seed)
    for part in SERVING[call]:
        for error in ERRORS[call] * ROUNDS:
            rules = rules_of_load(moments, call, error, part)
            injector.arm_rules(service.process.pid, *rules)
            load.run_until(lambda: injector.failed, ROUND_SECONDS)
            (failed if injector.failed else unreached).append(f"{part} {error} {rules[0].first}")
            injector.disarm()

            load.verify()
            assert service.process.poll() is None, rules
            assert load.found() == {}, rules
        found = load.await_reading()
    service.kill()
    service.start()
    assert_nothing_is_lost(load, "after a restart")

    summarize(f"{len(failed)} failed: {', '.join(failed)}; {found} pages and uploads found; {load.summary()}")
    assert unreached == []


def counting_rules(part: str) -> list[Rule]:
    return [Rule(call, "EIO", times=0, part=part) for call in ERRORS]


def counted(injector: Injector) -> dict[str, int]:
    """How often each kind of call was made, without the kinds that were not."""
    injector.disarm()
    return {call: injector.counts(number)[0] for number, call in enumerate(ERRORS) if injector.counts(number)[0]}


def random_rules(moments: random.Random, calls: dict[str, int], part: str) -> list[Rule]:
    """A failing call for each start or stop, all kinds equally often."""
    kinds = [call for call in [*calls] * STARTS][:STARTS]
    return [Rule(call, moments.choice(ERRORS[call]), moments.randint(1, calls[call]), part=part) for call in kinds]


def error_at_start(service: FaultyService, injector: Injector, rule: Rule) -> str | None:
    """Starts with a failing call. Returns the error with which the service ended, if it did; it is started again then."""
    before = len(service.log())
    injector.arm_rules(NEXT, rule)
    service.begin()
    eventually(lambda: service.process.poll() is not None or service.is_ready(), START_SECONDS)
    injector.disarm()
    if service.process.poll() is None:
        return None
    ending = service.log()[before:]
    assert service.process.returncode == 1 and "panicked" not in ending, (rule, service.process.returncode, ending[-2000:])
    assert ending.strip(), rule
    service.start()
    return f"{rule.call} {rule.first} {ending.strip().splitlines()[-1]}"


def test_start_with_a_failing_call_loses_nothing(service: FaultyService, injector: Injector, summarize) -> None:
    """The service serves, or ends with an error and the next start serves (row 5)."""
    load, ended = Load(service, accounts=1, file_workers=1), []
    load.run_until(lambda: load.steps > 40)
    load.verify()
    data = str(service.folder / "data")
    service.kill()
    injector.arm_rules(NEXT, *counting_rules(data))
    service.start()
    calls = counted(injector)

    reached = 0
    for number, rule in enumerate(random_rules(random.Random(load.seed), calls, data)):
        service.kill() if number % 2 else service.stop()
        if error := error_at_start(service, injector, rule):
            ended.append(error)
        reached += bool(injector.failed)
        assert_nothing_is_lost(load, rule)
    found = load.await_reading()

    summarize(f"{STARTS} starts, {reached} with a failure in {calls}, {len(ended)} ended: {ended}; {found} found; {load.summary()}")
    # After a kill a start makes other calls than after a stop.
    assert reached >= STARTS / 2


def test_first_start_with_a_failing_call_can_be_repeated(
        carrel: str, tmp_path: pathlib.Path, injector: Injector, summarize) -> None:
    """The first start creates the database and the index (row 5)."""
    seed, ended = os.environ.get("CARREL_FAULT_SEED") or secrets.token_hex(4), []

    def fresh(name: str) -> FaultyService:
        (tmp_path / name).mkdir()
        (tmp_path / name / "log").touch()
        service = FaultyService(carrel, tmp_path / name)
        service.extra = injector.environment()
        return service

    measured = fresh("measured")
    injector.arm_rules(NEXT, *counting_rules(str(measured.folder / "data")))
    measured.start()
    calls, reached = counted(injector), 0
    measured.kill()
    for number, rule in enumerate(random_rules(random.Random(seed), calls, "/data")):
        service = fresh(str(number))
        if error := error_at_start(service, injector, rule):
            ended.append(error)
        reached += bool(injector.failed)
        account = Account(service)
        assert account.save(number)[0] == 201, rule
        eventually(lambda: account.finds(f"word{number}"))
        service.kill()

    summarize(f"{STARTS} first starts, {reached} with a failure in {calls}, {len(ended)} ended and were repeated: {ended}; "
              f"seed {seed}")
    assert reached >= STARTS / 2


def test_stop_with_a_failing_call_loses_nothing(service: FaultyService, injector: Injector, summarize) -> None:
    """A stop checkpoints and truncates the write-ahead log, and closes the index (row 5)."""
    load, statuses, data = Load(service, accounts=1, file_workers=1), [], str(service.folder / "data")

    def stop_with(*rules: Rule) -> None:
        steps = load.steps
        load.run_until(lambda: load.steps > steps + 20)
        load.verify()
        injector.arm_rules(service.process.pid, *rules)
        service.stop()
        injector.disarm()
        assert service.process.returncode in (0, 1) and "panicked" not in service.log(), rules
        service.start()
        assert_nothing_is_lost(load, rules)

    stop_with(*counting_rules(data))
    calls, reached = counted(injector), 0
    for rule in random_rules(random.Random(load.seed), calls, data):
        stop_with(rule)
        reached += bool(injector.failed)
        statuses.append(f"{rule.call} {rule.error} {rule.first}")

    summarize(f"{STARTS} stops, {reached} with a failure in {calls}: {statuses}; {load.summary()}")
    assert reached >= STARTS / 2
