"""SQLite cannot allocate memory (SQLITE_NOMEM): nothing acknowledged is lost, and work continues without a restart (row 5).

Allocations of the program itself cannot be made to fail without ending it, so SQLite alone gets a limit: its own, which a thread of
injector.c sets. SQLITE_CORRUPT, the other code that is hard to inject, is met in test_damage.py.
"""

import os
import pathlib
import random

import pytest
from background import metric
from harness import FaultyService, eventually
from injector import Injector, Rule
from load import Load

ROUNDS = int(os.environ.get("CARREL_FAULT_MEMORY_ROUNDS", "5"))
FAULTS = 'carrel_storage_faults_total{fault="out_of_memory"}'
# Under this limit nothing can be allocated.
NO_MEMORY, UNLIMITED = 1, 0


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, injector: Injector):
    heap = injector.heap_environment(carrel)
    assert heap, "the program has no symbols, by which the limit of SQLite is found"
    service = FaultyService(carrel, tmp_path)
    service.extra = injector.environment() | heap
    service.start()
    yield service
    service.kill()


def test_acknowledged_writes_survive_lack_of_memory(service: FaultyService, injector: Injector, summarize) -> None:
    """The writer's connection is replaced by the first write that gets memory again (row 5)."""
    load, faults, opened = Load(service, accounts=2), [], []
    moments = random.Random(load.seed)
    for number in range(ROUNDS):
        before, steps = metric(service, FAULTS), load.steps + moments.randint(1, 20)
        # Counts the files that are opened for new connections, and fails none of them.
        injector.arm_rules(service.process.pid, Rule("open", "EIO", times=0))
        load.start()
        eventually(lambda: load.steps >= steps)
        refused = load.uncertain
        injector.limit_heap(NO_MEMORY)
        eventually(lambda: load.uncertain >= refused + 5)
        injector.limit_heap(UNLIMITED)
        # A connection that lacks memory opens no file: the writer is replaced by the first write that gets some.
        eventually(lambda: injector.calls > 0)
        load.stop()
        injector.disarm()

        opened.append(injector.calls)
        faults.append(int(metric(service, FAULTS) - before))
        load.verify()
        assert service.process.poll() is None
        assert load.found() == {}, f"round {number}"
    service.kill()
    service.start()
    load.verify(everything=True)

    summarize(f"{ROUNDS} rounds with {faults} failed statements and {opened} opened files; {load.summary()}")
    assert load.found() == {}
    assert all(faults)
