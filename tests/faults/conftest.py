"""Services under test, each in a folder of its own."""

import os
import pathlib

import pytest
from harness import FaultyService


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
