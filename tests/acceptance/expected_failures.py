"""A pytest plugin: the cases that `--expected-failures FILE` lists must fail, all others must pass.

A listed case that passes fails the run (a strict xfail), and a line that matches no case is an error before the run
begins. So the list cannot outlive its reasons. The head of expected-failures.txt describes the format.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

SEPARATOR = " | "


class Line(NamedTuple):
    """One line of the list."""

    number: int
    pattern: str
    reason: str

    def matches(self, case: str) -> bool:
        wild = ".*".join(re.escape(part) for part in self.pattern.split("*"))
        return re.fullmatch(wild, case, re.DOTALL) is not None


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("expected failures")
    group.addoption("--expected-failures", type=Path, metavar="FILE", help="cases that must fail, with reasons")
    group.addoption(
        "--expected-failure-seconds", type=float, default=20.0, metavar="N",
        help="a listed case is ended after this long: most of them wait for an event that never happens (20)",
    )  # fmt: skip


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    path: Path | None = config.getoption("--expected-failures")
    if path is None:
        return
    lines = read(path)
    unused = set(lines)
    for item in items:
        line = next((line for line in lines if line.matches(item.nodeid)), None)
        if line is None:
            continue
        unused.discard(line)
        item.add_marker(pytest.mark.xfail(reason=line.reason, strict=True))
        item.add_marker(pytest.mark.timeout(config.getoption("--expected-failure-seconds")), append=False)
    if unused and is_complete_run(config):
        raise pytest.UsageError(*(f"{path}:{line.number}: matches no case: {line.pattern}" for line in sorted(unused)))


def read(path: Path) -> list[Line]:
    """Reads the lines of the list. An error names all mistakes in them."""
    lines: list[Line] = []
    mistakes: list[str] = []
    for number, written in enumerate(path.read_text().splitlines(), 1):
        if not written.strip() or written.lstrip().startswith("#"):
            continue
        pattern, _, reason = (part.strip() for part in written.partition(SEPARATOR))
        if not reason:
            mistakes.append(f"{path}:{number}: expected `case{SEPARATOR}reason`")
        elif any(pattern == line.pattern for line in lines):
            mistakes.append(f"{path}:{number}: is listed twice: {pattern}")
        lines.append(Line(number, pattern, reason))
    if mistakes:
        raise pytest.UsageError(*mistakes)
    return lines


def is_complete_run(config: pytest.Config) -> bool:
    """Whether every case was collected, so that a line that matches none is a mistake."""
    chosen = config.args_source is pytest.Config.ArgsSource.ARGS
    return not (chosen or config.getoption("keyword") or config.getoption("markexpr"))
