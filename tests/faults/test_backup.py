"""A copy of the database that is taken under load has all writes acknowledged before it, and a service can run on it."""

import os
import pathlib

from background import Saves, assert_rows_are_whole, database_file, opened, saved_numbers
from harness import Account, FaultyService, eventually, started

ROUNDS = int(os.environ.get("CARREL_FAULT_BACKUPS", "3"))


def assert_copy_serves(program: str, folder: pathlib.Path, account: Account, expected: dict[int, str]) -> None:
    """Serves a copy of the database alone: everything expected is in it, and the index is rebuilt from it."""
    restored = started(program, folder)
    account.service = restored
    try:
        missing = [number for number, bookmark in sorted(expected.items())
                   if account.rest("GET", f"/v1/bookmarks/{bookmark}")[0] != 200]
        assert missing == []
        for number, bookmark in list(expected.items())[-3:]:
            found = f"/v2/search?q=word{number}"
            hits = eventually(lambda: account.rest("GET", found)[1].get("data", {}).get("results"))
            assert bookmark in str(hits)
        assert account.save(9000)[0] == 201
    finally:
        restored.kill()


def test_backups_under_load_can_be_restored(service: FaultyService, tmp_path: pathlib.Path, summarize) -> None:
    """Each copy has everything that was acknowledged before it was begun (row 40)."""
    account, copies = Account(service), []
    with Saves(account) as saves:
        for number in range(ROUNDS):
            eventually(lambda count=10 * (number + 1): len(saves.acknowledged) >= count)
            before, folder = dict(saves.acknowledged), tmp_path / f"restored-{number}"
            (folder / "data").mkdir(parents=True, mode=0o700)
            with opened(database_file(service)) as connection:
                connection.execute("VACUUM INTO ?", (str(folder / "data" / "carrel.db"),))
            copies.append((folder, before))
    assert set(saves.statuses) == {201}, saves.statuses

    for folder, before in copies:
        with opened(folder / "data" / "carrel.db") as connection:
            assert_rows_are_whole(connection)
            assert set(before) <= saved_numbers(connection)
        assert_copy_serves(service.program, folder, account, before)
    summarize(f"copies with {[len(before) for _, before in copies]} acknowledged saves served; "
              f"{len(saves.acknowledged)} saved in the end")
