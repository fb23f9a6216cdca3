"""One failed write, sync or truncation of a file: whatever was acknowledged is there, and work goes on."""

import os

import pytest
from harness import Account, FaultyService, Injection, Ledger

# How many calls of each kind are made to fail; the first ones, then rarer ones up to the 200th.
ROUNDS = int(os.environ.get("CARREL_FAULT_ROUNDS", "4"))
EARLY_AND_LATE = (1, 6, 23, 60)
CALLS = [(call, error) for call in ("pwrite64", "fsync,fdatasync", "ftruncate") for error in ("ENOSPC", "EIO")]


def failing_calls() -> list[int]:
    if ROUNDS <= len(EARLY_AND_LATE):
        return list(EARLY_AND_LATE[:ROUNDS])
    return list(range(1, ROUNDS + 1))


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_acknowledged_writes_survive_one_failed_call(service: FaultyService, call: str, error: str) -> None:
    account = Account(service)
    assert account.sign_in() == 200
    reached, acknowledged = 0, 0
    for when in failing_calls():
        ledger = Ledger(account)
        ledger.number = when * 1000
        injection = Injection(service, call, error, when)
        ledger.mixed_load(2 + when // 12)
        reached += injection.end()
        # Work goes on without a restart: of the last writes every one is acknowledged.
        before = len(ledger.answers)
        ledger.mixed_load(1)
        assert not {503, 507} & set(ledger.answers[before:]), (call, error, when, ledger.answers[before:])
        assert ledger.faults() == [], (call, error, when)
        acknowledged += ledger.count()
        last = ledger
    service.kill()
    service.start()
    assert last.faults() == [], "after SIGKILL"
    if call != "ftruncate":
        assert reached, "no call was made to fail"
    print(f"{call} {error}: {reached} of {len(failing_calls())} reached, {acknowledged} writes acknowledged and there")
