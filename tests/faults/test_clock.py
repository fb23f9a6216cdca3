"""A wall clock that jumps, and midnight under load: work continues, and each request is counted in exactly one day."""

import os
import pathlib
import time

import pytest
from background import Saves, database_file, key_with, opened
from clock import ShiftedService, clock_library
from harness import Account, eventually

DAY = 86_400
BEFORE_MIDNIGHT = float(os.environ.get("CARREL_FAULT_BEFORE_MIDNIGHT", "2"))
CPU_SECONDS = 1


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return clock_library(tmp_path_factory.mktemp("clock"))


def test_work_continues_when_the_clock_jumps(carrel: str, tmp_path: pathlib.Path, library: pathlib.Path) -> None:
    """Covers the fault table (row 22)."""
    service = ShiftedService(carrel, tmp_path, library)
    service.start()
    account = Account(service)

    def is_saved(page: int) -> bool:
        """The first request of an earlier day may get 429, because the counts of that day are read first."""
        status, body, headers = account.save(page)
        assert status in (200, 201) or (status == 429 and int(headers["retry-after"]) <= 1), (status, body)
        return status != 429

    number = 0
    for days in (0, 1, 0, -1, 366, 0, -366, 0):
        service.shift(days * DAY)
        for _ in range(3):
            number += 1
            eventually(lambda page=number: is_saved(page))
        eventually(lambda word=f"word{number}": account.finds(word))
        assert service.readiness()[0] == 200, days
    used = service.cpu_seconds()
    time.sleep(CPU_SECONDS)
    assert service.cpu_seconds() - used < CPU_SECONDS / 2, "it uses processor time although it is idle"
    with opened(database_file(service)) as connection:
        states = connection.execute("SELECT DISTINCT state FROM job").fetchall()
    assert states == [("done",)]
    assert "panicked" not in service.log()
    service.kill()


def test_requests_over_midnight_are_each_counted_once(carrel: str, tmp_path: pathlib.Path, library: pathlib.Path) -> None:
    """Covers the fault table (row 23)."""
    service = ShiftedService(carrel, tmp_path, library, plans__pro__rest_per_day=2, plans__pro__hourly_per_key=1000)
    service.start()
    account, limited = Account(service), Account(service)
    service.cli("user", "set-plan", "--email", limited.email, "--plan", "pro")
    limited.secret = key_with(limited, "read:user")

    service.shift(int(DAY - time.time() % DAY - BEFORE_MIDNIGHT))
    left = DAY - (time.time() + service.shifted()) % DAY
    waits = []
    with Saves(account) as saves:
        for _ in range(3):
            status, _, headers = limited.rest("GET", "/v1/user")
        assert status == 429
        waits.append(int(headers["retry-after"]))
        # After midnight the daily limit starts again.
        eventually(lambda: limited.rest("GET", "/v1/user")[0] == 200)
        so_far = len(saves.acknowledged)
        eventually(lambda: len(saves.acknowledged) > so_far + 20)
    service.stop()

    assert set(saves.statuses) == {201}, saves.statuses
    assert 1 <= waits[0] <= left + 1, (waits, left)
    with opened(database_file(service)) as connection:
        days = connection.execute('SELECT day, sum(calls) FROM usage_day JOIN "user" ON "user".id = user_id '
                                  "WHERE email = ? GROUP BY day ORDER BY day", (account.email,)).fetchall()
    print(f"{saves.statuses.total()} requests, by day {days}, Retry-After {waits[0]} s")
    assert len(days) == 2 and days[1][0] == days[0][0] + 1
    assert sum(calls for _, calls in days) == saves.statuses.total()
