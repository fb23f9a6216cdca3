"""Services under test, each in a folder of its own."""

import os
import pathlib

import pytest
from harness import FaultyService
from injector import Injector

# What the tests of a mixed load found, in numbers.
SUMMARIES: list[str] = []


@pytest.fixture
def carrel() -> str:
    return os.environ["CARREL_BIN"]


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path):
    """A running service whose data is in the test's own folder."""
    made = FaultyService(carrel, tmp_path)
    made.start()
    yield made
    made.kill()


@pytest.fixture
def injector(tmp_path: pathlib.Path) -> Injector:
    return Injector(tmp_path)


@pytest.fixture
def summarize(request):
    """Has a line of numbers printed at the end of the run, also where the test fails."""
    return lambda text: SUMMARIES.append(f"{request.node.name}: {text}")


def pytest_terminal_summary(terminalreporter) -> None:
    for line in SUMMARIES:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def services_end_with_their_test(monkeypatch: pytest.MonkeyPatch):
    """A test that fails leaves no service behind."""
    started: list[FaultyService] = []
    start = FaultyService.start

    def start_and_note(service: FaultyService) -> float:
        started.append(service)
        return start(service)

    monkeypatch.setattr(FaultyService, "start", start_and_note)
    yield
    for service in started:
        service.kill()
