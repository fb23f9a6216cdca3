"""Services under test, each in a separate folder."""

import os
import pathlib

import pytest
from harness import FaultyService, started
from injector import Injector

# Summaries of the mixed loads, printed at the end of the run.
SUMMARIES: list[str] = []


@pytest.fixture
def carrel() -> str:
    return os.environ["CARREL_BIN"]


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path):
    """A running service with its data in the folder of the test."""
    service = started(carrel, tmp_path)
    yield service
    service.kill()


@pytest.fixture
def injector(tmp_path: pathlib.Path) -> Injector:
    return Injector(tmp_path)


@pytest.fixture
def faulty_service(carrel: str, tmp_path: pathlib.Path, injector: Injector):
    """A running service in which the injector can make calls fail."""
    service = FaultyService(carrel, tmp_path)
    service.extra = injector.environment()
    service.start()
    yield service
    service.kill()


@pytest.fixture
def summarize(request):
    """Prints a line at the end of the run, even if the test fails."""
    return lambda text: SUMMARIES.append(f"{request.node.name}: {text}")


def pytest_terminal_summary(terminalreporter) -> None:
    for line in SUMMARIES:
        terminalreporter.write_line(line)


@pytest.fixture(autouse=True)
def services_end_with_their_test(monkeypatch: pytest.MonkeyPatch):
    """Kills services that a failed test has left running."""
    services: list[FaultyService] = []
    start = FaultyService.start

    def start_and_note(service: FaultyService) -> float:
        services.append(service)
        return start(service)

    monkeypatch.setattr(FaultyService, "start", start_and_note)
    yield
    for service in services:
        service.kill()
