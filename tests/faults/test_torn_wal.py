"""A power failure: a write-ahead log that is truncated or damaged anywhere leaves a prefix of the commits, and nothing else."""

import os
import pathlib
import random
import shutil
import signal
import threading

from background import assert_rows_are_whole, database_file, opened, read_transaction, saved_numbers
from harness import Account, FaultyService, eventually

CUTS = int(os.environ.get("CARREL_FAULT_CUTS", "20"))
DOCTORS = 1
SAVES = 60
LOG_HEADER_BYTES = 32


def write_in_order(account: Account, acknowledged: list[int], ended: threading.Event) -> None:
    """Saves pages one after the other, and changes each before the next one is saved."""
    number = 0
    while not ended.is_set():
        number += 1
        status, body, _ = account.save(number)
        assert status == 201
        bookmark = body["data"]["bookmark"]["bookmarkId"]
        assert account.rest("PATCH", f"/v1/bookmarks/{bookmark}", {"favorite": True})[0] == 200
        acknowledged.append(number)


def copy(file: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    """Copies the database and its log, without the index of the log, which a power failure loses."""
    to.mkdir(parents=True, mode=0o700)
    for name in ("carrel.db", "carrel.db-wal"):
        shutil.copyfile(file.with_name(name), to / name)
    return to / "carrel.db"


def cut(log: pathlib.Path, offset: int) -> None:
    with log.open("r+b") as file:
        file.truncate(offset)


def flip(log: pathlib.Path, offset: int) -> None:
    with log.open("r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << random.randrange(8)]))


def commits(file: pathlib.Path) -> tuple[int, int]:
    """The number of saved pages, and of changed ones. Both are the first pages."""
    with opened(file) as connection:
        assert_rows_are_whole(connection)
        saved = saved_numbers(connection)
        changed = connection.execute("SELECT count(*) FROM bookmark WHERE favorite").fetchone()[0]
    assert saved == set(range(1, len(saved) + 1))
    assert changed in (len(saved), len(saved) - 1) or not saved
    return len(saved), changed


def doctor(service: FaultyService, folder: pathlib.Path) -> str:
    """The state of the database files in this folder, as `carrel doctor` reports it."""
    report = FaultyService(service.program, folder.parent, data_dir=folder).cli("doctor")
    return next(check["state"] for check in report["checks"] if check["name"] == "database files")


def test_truncated_log_leaves_a_prefix_of_the_commits(service: FaultyService, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 4)."""
    account, acknowledged, ended = Account(service), [], threading.Event()
    file = database_file(service)
    original = tmp_path / "original"
    writer = threading.Thread(target=write_in_order, args=(account, acknowledged, ended))
    # Every truncation keeps the tables and the account, because the log begins after them.
    with opened(file) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    # The log is not checkpointed past a reader: checkpointed pages were synced before, so a power failure cannot lose them.
    with read_transaction(file):
        writer.start()
        eventually(lambda: len(acknowledged) >= SAVES)
        expected = len(acknowledged)
        service.process.send_signal(signal.SIGSTOP)
        file = copy(file, original)
        service.process.send_signal(signal.SIGCONT)
        ended.set()
        writer.join()
    size = file.with_name("carrel.db-wal").stat().st_size
    assert size > 1 << 20

    whole = commits(copy(file, tmp_path / "whole"))
    assert expected <= whole[1] and whole[0] <= expected + 2
    seed = random.randrange(1 << 32)
    print(f"seed {seed}, a log of {size} bytes, {whole[0]} saves")
    random.seed(seed)
    found = {}
    for number in range(CUTS):
        damage = (cut, flip)[number % 2]
        offset = random.randrange(LOG_HEADER_BYTES, size)
        folder = tmp_path / f"copy-{number}"
        torn = copy(file, folder)
        damage(torn.with_name("carrel.db-wal"), offset)
        if number < DOCTORS:
            assert doctor(service, folder) == "ok", (damage.__name__, offset)
        found[offset] = commits(torn)
        shutil.rmtree(folder)
    # The later the log is truncated, the more commits are left.
    in_order = [found[offset] for offset in sorted(found)]
    assert in_order == sorted(in_order)
    assert len(set(in_order)) > 5, "the cuts differ in nothing"

    restored = FaultyService(service.program, tmp_path, data_dir=tmp_path / "served" / "data")
    torn = copy(file, tmp_path / "served" / "data")
    cut(torn.with_name("carrel.db-wal"), size // 2)
    restored.start()
    try:
        account.service = restored
        there = account.rest("GET", "/v1/bookmarks?limit=100")[1]["data"]["bookmarks"]
        numbers = {int(bookmark["url"].rsplit("/", 1)[1]) for bookmark in there}
        assert numbers == set(range(1, len(numbers) + 1)) and numbers
        assert account.save(9000)[0] == 201
    finally:
        restored.kill()
