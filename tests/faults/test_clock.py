"""A wall clock that jumps, and midnight under load: work continues, and each request is counted in exactly one day."""

import os
import pathlib
import struct
import time

import pytest
from background import Saves, database_file, key_with, opened
from harness import Account, FaultyService, eventually
from injector import compile_library

DAY = 86_400
BEFORE_MIDNIGHT = float(os.environ.get("CARREL_FAULT_BEFORE_MIDNIGHT", "2"))
CPU_SECONDS = 1


class ShiftedService(FaultyService):
    """A service whose wall clock is set by the test."""

    def __init__(self, program: str, folder: pathlib.Path, library: pathlib.Path, **settings: object) -> None:
        super().__init__(program, folder, **settings)
        self.library = library
        self.offset = folder / "offset"
        self.shift(0)

    def environment(self) -> dict[str, str]:
        return super().environment() | {"LD_PRELOAD": str(self.library), "CLOCK_OFFSET": str(self.offset)}

    def shift(self, seconds: int) -> None:
        """Sets the offset of the service's clock. The file is written in place, because the service has it mapped."""
        mode = "r+b" if self.offset.exists() else "wb"
        with self.offset.open(mode) as file:
            file.write(struct.pack("q", seconds))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    made = tmp_path_factory.mktemp("clock") / "clock.so"
    compile_library(pathlib.Path(__file__).with_name("clock.c"), made)
    return made


def test_work_continues_when_the_clock_jumps(carrel: str, tmp_path: pathlib.Path, library: pathlib.Path) -> None:
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
    service = ShiftedService(carrel, tmp_path, library, plans__pro__rest_per_day=2, plans__pro__hourly_per_key=1000)
    service.start()
    account, limited = Account(service), Account(service)
    service.cli("user", "set-plan", "--email", limited.email, "--plan", "pro")
    limited.secret = key_with(limited, "read:user")

    service.shift(int(DAY - time.time() % DAY - BEFORE_MIDNIGHT))
    left = DAY - (time.time() + struct.unpack("q", service.offset.read_bytes())[0]) % DAY
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
        days = connection.execute('SELECT day, calls FROM usage_day JOIN "user" ON "user".id = user_id WHERE email = ? '
                                  "ORDER BY day", (account.email,)).fetchall()
    print(f"{saves.statuses.total()} requests, by day {days}, Retry-After {waits[0]} s")
    assert len(days) == 2 and days[1][0] == days[0][0] + 1
    assert sum(calls for _, calls in days) == saves.statuses.total()
