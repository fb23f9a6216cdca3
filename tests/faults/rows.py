#!/usr/bin/env python3
"""Prints which tests cover which rows of the fault table and the threat table, and the rows without a test.

    tests/faults/rows.py [PATH OF faults-and-threats.md]

A test names its rows in its documentation, always in this form: `(row 7)`, `(rows 37, T5)`. The default path is in the design folder
next to the checkout.
"""

import ast
import collections
import pathlib
import re
import sys
import typing

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
DESIGN = CHECKOUT.parent / "shared/design/faults-and-threats.md"
SOURCES = ("tests", "actors", "src")
TABLE_ROW = re.compile(r"^\| ([A-Z]?\d+) \| ([^|]+) \|", re.MULTILINE)
MARK = re.compile(r"\(rows? ([A-Z]?\d+(?:, [A-Z]?\d+)*)\)")
# Rows that ask for nothing of this program, and why.
NOT_APPLICABLE = {
    "18": "it has no Qdrant server; the embedded index is row 19",
    "X4": "it has no page that shows a saved text",
    "X5": "it renders no Markdown",
    "X8": "it serves no uploaded file",
    "A8": "it sends no mail with a link to a new password",
    "P3": "it decodes no image",
}
RUST_FUNCTION = re.compile(r"(?:pub )?(?:async )?fn (\w+)")


class Test(typing.NamedTuple):
    """A test and the rows that its documentation names."""

    file: str
    name: str
    rows: list[str]


def rows_in(documentation: str) -> list[str]:
    return [row for found in MARK.findall(documentation) for row in found.split(", ")]


def python_tests(path: pathlib.Path) -> typing.Iterator[tuple[str, str]]:
    """Names and docstrings of the tests of a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


def rust_tests(path: pathlib.Path) -> typing.Iterator[tuple[str, str]]:
    """Names and doc comments of the functions of a file. Not all tests have an attribute: macros make some of functions."""
    documentation: list[str] = []
    for line in map(str.strip, path.read_text().splitlines()):
        if line.startswith("///"):
            documentation.append(line.removeprefix("///").strip())
        elif function := RUST_FUNCTION.match(line):
            yield function[1], " ".join(documentation)
        if not line.startswith(("///", "#[")):
            documentation = []


def tests() -> list[Test]:
    """The tests that name a row."""
    found = []
    for suffix, read in ((".py", python_tests), (".rs", rust_tests)):
        paths = sorted(path for folder in SOURCES for path in (CHECKOUT / folder).rglob(f"*{suffix}"))
        found += [Test(str(path.relative_to(CHECKOUT)), name, rows_in(documentation))
                  for path in paths for name, documentation in read(path)]
    return [test for test in found if test.rows]


def main() -> None:
    design = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DESIGN
    table = dict(TABLE_ROW.findall(design.read_text()))
    by_row = collections.defaultdict(list)
    for test in tests():
        for row in test.rows:
            by_row[row].append(f"{test.file}: {test.name}")
    for row, what in table.items():
        print(f"{row:>3} {what.strip()}")
        for test in by_row[row]:
            print(f"      {test}")
        if row in NOT_APPLICABLE:
            print(f"      not applicable: {NOT_APPLICABLE[row]}")
    applicable = table.keys() - NOT_APPLICABLE.keys()
    without = sorted(row for row in applicable if not by_row[row])
    print(f"\n{len(applicable) - len(without)} of {len(applicable)} rows that apply have a test.")
    if without:
        sys.exit(f"rows without a test: {', '.join(without)}")
    if unknown := sorted(by_row.keys() - table.keys()):
        sys.exit(f"rows that no table has: {', '.join(unknown)}")


if __name__ == "__main__":
    main()
