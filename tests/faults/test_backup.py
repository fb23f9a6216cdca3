"""A copy of the database that is made under load holds everything acknowledged before, and can be served."""

import os
import pathlib

from background import Saves, assert_rows_are_whole, database_file, opened, saved_numbers
from harness import Account, FaultyService, eventually, started

ROUNDS = int(os.environ.get("CARREL_FAULT_BACKUPS", "3"))


def test_backup_under_load_can_be_restored(service: FaultyService, tmp_path: pathlib.Path) -> None:
    account = Account(service)
    with Saves(account) as saves:
        for number in range(ROUNDS):
            eventually(lambda count=10 * (number + 1): len(saves.acknowledged) >= count)
            before = dict(saves.acknowledged)
            backup = tmp_path / f"backup-{number}.db"
            with opened(database_file(service)) as connection:
                connection.execute("VACUUM INTO ?", (str(backup),))
            with opened(backup) as connection:
                assert_rows_are_whole(connection)
                assert set(before) <= saved_numbers(connection)
    assert set(saves.statuses) == {201}, saves.statuses

    folder = tmp_path / "restored"
    (folder / "data").mkdir(parents=True, mode=0o700)
    backup.rename(folder / "data" / "carrel.db")
    restored = started(service.program, folder)
    try:
        account.service = restored
        saves.acknowledged = before
        assert saves.missing() == []
        # The index was not copied: it is rebuilt from the database.
        for number, bookmark in list(before.items())[-3:]:
            found = f"/v2/search?q=word{number}"
            hits = eventually(lambda: account.rest("GET", found)[1].get("data", {}).get("results"))
            assert bookmark in str(hits)
        assert account.save(9000)[0] == 201
    finally:
        restored.kill()
