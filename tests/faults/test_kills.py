"""The service is killed at random moments of a mixed load: acknowledged writes exist after the next start."""

import os
import random
import time

from harness import FaultyService
from load import Load

ROUNDS = int(os.environ.get("CARREL_FAULT_KILLS", "8"))
# Maximum time between the start of the load and the kill.
SECONDS = 0.5


def test_acknowledged_writes_survive_kills(service: FaultyService, summarize) -> None:
    """Covers the fault table (row 1)."""
    load = Load(service)
    load.may_break = True
    moments = random.Random(load.seed)
    for number in range(1, ROUNDS + 1):
        load.with_cli = number % 5 == 2
        load.start()
        # A random moment, independent of what the service does.
        time.sleep(moments.uniform(0, SECONDS))
        service.kill()
        load.stop()

        service.start()
        load.verify(everything=number == ROUNDS)
        if load.found():
            break

    summarize(f"{number} kills; {load.summary()}")
    assert load.found() == {}, f"round {number}"
