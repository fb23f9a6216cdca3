"""A process that is killed while it creates the tables: the next start completes them."""

import os
import pathlib
import random
import re
import sqlite3
import subprocess

from background import assert_rows_are_whole, database_file, opened
from harness import Account, FaultyService

ROUNDS = int(os.environ.get("CARREL_FAULT_MIGRATION_ROUNDS", "4"))
CALLS = "pwrite64,fsync,fdatasync,ftruncate"


def traced(service: FaultyService, *options: str) -> subprocess.CompletedProcess:
    """`carrel migrate` under strace."""
    command = ["strace", "-f", "-qq", "-o", str(service.folder / "trace"), "-e", f"trace={CALLS}", *options,
               service.program, "migrate"]
    return subprocess.run(command, cwd=service.folder, env=service.environment(), capture_output=True, timeout=120)


def calls_of_one_thread(service: FaultyService) -> dict[str, int]:
    """How often the thread that writes the database makes each call."""
    counts: dict[tuple[str, str], int] = {}
    for line in (service.folder / "trace").read_text().splitlines():
        if call := re.match(r"(\d+)\s+(\w+)\(", line):
            counts[call.groups()] = counts.get(call.groups(), 0) + 1
    most: dict[str, int] = {}
    for (_, name), count in counts.items():
        most[name] = max(most.get(name, 0), count)
    return most


def tables(connection: sqlite3.Connection) -> list[tuple]:
    steps = connection.execute("SELECT version FROM seaql_migrations ORDER BY version").fetchall()
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name")
    return steps + rows.fetchall()


def fresh(carrel: str, folder: pathlib.Path) -> FaultyService:
    folder.mkdir()
    return FaultyService(carrel, folder)


def test_next_start_completes_a_killed_migration(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 3)."""
    clean = fresh(carrel, tmp_path / "clean")
    assert traced(clean).returncode == 0
    with opened(database_file(clean)) as connection:
        expected = tables(connection)
    points = [(call, when) for call, count in calls_of_one_thread(clean).items() for when in range(1, count + 1)]
    chosen = random.sample(points, min(ROUNDS, len(points)))
    print(f"{len(points)} points, killed at {chosen}")

    killed = 0
    for number, (call, when) in enumerate(chosen):
        service = fresh(carrel, tmp_path / str(number))
        done = traced(service, "-e", f"inject={call}:signal=SIGKILL:when={when}")
        killed += done.returncode != 0

        service.cli("migrate")

        with opened(database_file(service)) as connection:
            assert tables(connection) == expected, (call, when)
            assert_rows_are_whole(connection)
    assert killed >= len(chosen) // 2, f"only {killed} of {len(chosen)} were killed"


def test_next_start_succeeds_after_a_killed_first_start(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 3)."""
    measured = fresh(carrel, tmp_path / "measured")
    start_seconds = measured.start() / 1000
    measured.kill()
    service = fresh(carrel, tmp_path / "killed")

    for _ in range(max(ROUNDS // 2, 1)):
        process = subprocess.Popen([carrel, "serve"], cwd=service.folder, env=service.environment(),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(random.uniform(0, start_seconds))
        except subprocess.TimeoutExpired:
            process.kill()
        assert process.wait() == -9, "it was not killed"

    service.start()
    try:
        account = Account(service)
        assert account.save(1)[0] == 201
        with opened(database_file(service)) as connection:
            assert_rows_are_whole(connection)
    finally:
        service.kill()
