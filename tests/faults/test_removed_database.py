"""The files of the database are removed, moved or replaced while the service runs: nothing is acknowledged that would be lost."""

import pathlib
import signal

from background import Saves, assert_rows_are_whole, database_file, opened, saved_numbers
from harness import Account, FaultyService, eventually

THREADS = 4
FILES = ("carrel.db", "carrel.db-wal", "carrel.db-shm")


def assert_writes_are_refused(account: Account, first: int) -> None:
    for number in range(first, first + 3):
        status, body, headers = account.save(number)
        assert (status, body["error"]["code"], headers["retry-after"]) == (503, "OVERLOADED", "60"), body


def assert_told_as_removed(service: FaultyService, name: str) -> None:
    eventually(lambda: service.readiness()[1]["storage"] == "removed", 10)
    assert service.readiness()[0] == 503
    reports = [line for line in service.log().splitlines() if "was removed or replaced while the server runs" in line]
    # Once, not with each refused write.
    assert len(reports) == 1 and "ERROR" in reports[0] and name in reports[0], reports


def test_removed_database_takes_no_writes_and_serves_reads(service: FaultyService) -> None:
    account = Account(service)
    saved = account.save(1)[1]["data"]["bookmark"]["bookmarkId"]
    eventually(lambda: account.finds("word1"))

    for name in FILES:
        database_file(service).with_name(name).unlink()

    assert_writes_are_refused(account, 2)
    assert_told_as_removed(service, "carrel.db")
    assert account.rest("GET", f"/v1/bookmarks/{saved}")[0] == 200
    assert account.finds("word1")
    # Nothing makes an empty one in its place.
    assert not database_file(service).exists()
    service.stop()
    assert service.process.returncode == 0


def test_removal_under_load_loses_nothing_that_was_acknowledged(service: FaultyService, tmp_path: pathlib.Path) -> None:
    account = Account(service)
    data, moved = tmp_path / "data", tmp_path / "moved"
    with Saves(account, THREADS) as saves:
        eventually(lambda: len(saves.acknowledged) >= 20)
        data.rename(moved)
        before = len(saves.acknowledged)
        eventually(lambda: saves.statuses[503] >= 20)
        # At most one page of each thread was acknowledged before the files were moved, and noted after it.
        assert len(saves.acknowledged) <= before + THREADS
    service.kill()
    assert saves.refusals_without_wait == 0
    moved.rename(data)
    service.start()

    assert saves.missing() == []
    assert account.save(9000)[0] == 201


def test_writes_go_on_when_the_files_are_back(service: FaultyService, tmp_path: pathlib.Path) -> None:
    account = Account(service)
    saved = [account.save(1)[1]["data"]["bookmark"]["bookmarkId"]]
    data, moved = tmp_path / "data", tmp_path / "moved"

    data.rename(moved)
    assert_writes_are_refused(account, 2)
    assert_told_as_removed(service, "carrel.db")
    moved.rename(data)

    answer = account.save(5)
    assert answer[0] == 201
    saved.append(answer[1]["data"]["bookmark"]["bookmarkId"])
    eventually(lambda: service.readiness()[1]["storage"] == "ok", 10)
    assert "back where they were" in service.log()
    service.kill()
    service.start()
    assert [account.rest("GET", f"/v1/bookmarks/{id}")[0] for id in saved] == [200, 200]


def test_older_copy_in_place_of_the_database_is_left_as_it_is(service: FaultyService, tmp_path: pathlib.Path) -> None:
    account, copy = Account(service), tmp_path / "copy.db"
    assert account.save(1)[0] == 201
    with opened(database_file(service)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    assert account.save(2)[0] == 201
    log = database_file(service).with_name("carrel.db-wal")
    assert log.stat().st_size

    copy.rename(database_file(service))

    assert_writes_are_refused(account, 3)
    assert_told_as_removed(service, "carrel.db")
    # The log belongs to the other file: SQLite would apply it to the copy.
    eventually(lambda: not log.stat().st_size)
    service.stop()
    with opened(database_file(service)) as connection:
        assert_rows_are_whole(connection)
        assert saved_numbers(connection) == {1}
    service.start()
    assert account.save(4)[0] == 201


def test_removed_log_stops_writes_and_an_orderly_stop_keeps_its_content(service: FaultyService) -> None:
    account = Account(service)
    assert account.save(1)[0] == 201
    database_file(service).with_name("carrel.db-wal").unlink()

    assert_writes_are_refused(account, 2)
    assert_told_as_removed(service, "carrel.db-wal")
    service.process.send_signal(signal.SIGTERM)
    assert service.process.wait(60) == 0
    service.start()

    with opened(database_file(service)) as connection:
        assert saved_numbers(connection) == {1}
    assert account.save(3)[0] == 201
