"""A database whose file is truncated or overwritten is never served as if it were intact."""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import sqlite3

import pytest
from background import database_file, opened, timed
from harness import Account, FaultyService, Ledger, eventually


def start_fails(service: FaultyService) -> str:
    """The error with which the service refuses to start."""
    done = service.run("serve")
    assert done.returncode != 0
    return done.stderr


def filled(service: FaultyService) -> pathlib.Path:
    account = Account(service)
    assert account.sign_in() == 200
    Ledger(account).mixed_load(10)
    service.stop()
    return database_file(service)


def test_truncated_database_stops_the_start(service: FaultyService) -> None:
    """Covers the fault table (row 41)."""
    database = filled(service)
    with database.open("r+b") as file:
        file.truncate(database.stat().st_size // 2)

    assert "the database is damaged" in start_fails(service)


def test_overwritten_pages_stop_the_start(service: FaultyService) -> None:
    """Covers the fault table (row 41)."""
    database = filled(service)
    size = database.stat().st_size
    with database.open("r+b") as file:
        for page in range(size // 8192, size // 4096, 3):
            file.seek(page * 4096)
            file.write(b"\xa5" * 64)

    assert "the database is damaged" in start_fails(service)


def test_damage_found_by_requests_stops_writes(service: FaultyService) -> None:
    """Covers the fault table (row 41)."""
    account = Account(service)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(10)
    database = filled(service)
    service.start()
    size = database.stat().st_size

    with database.open("r+b") as file:
        for page in range(2, size // 4096):
            file.seek(page * 4096)
            file.write(b"\xa5" * 64)
    # Cached pages are not read again, so the damage is found sooner or later.
    eventually(lambda: any(account.rest("GET", f"/v1/bookmarks/{id}")[0] >= 500 for id in ledger.bookmarks)
               or account.save(777)[0] >= 500)

    assert eventually(lambda: service.readiness()[1]["storage"] == "damaged")
    assert service.readiness()[0] == 503
    status, body, headers = account.save(778)
    assert (status, body["error"]["code"], headers["retry-after"]) == (503, "OVERLOADED", "60")
    assert "being verified" in body["error"]["message"]
    # It is verified by a check of its own, which finds the damage.
    eventually(lambda: "a check of the database found damage" in service.log(), 60)
    assert service.readiness()[1]["storage"] == "damaged"


def add_damaged_table(database: pathlib.Path, megabytes: int) -> None:
    """Adds a table that the program never reads, and overwrites its root page."""
    with contextlib.closing(sqlite3.connect(database)) as rows:
        rows.execute("CREATE TABLE filling (content BLOB)")
        rows.executemany("INSERT INTO filling VALUES (randomblob(1000000))", [()] * megabytes)
        rows.commit()
        (root,) = rows.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'filling'").fetchone()
        rows.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    with database.open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\xa5" * 64)


def test_damage_of_a_large_database_is_found_while_serving(service: FaultyService) -> None:
    """Covers the fault table (row 41)."""
    # Over 16 MiB it is not checked before the start.
    add_damaged_table(filled(service), 20)

    service.begin()

    def is_damaged() -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            status, body = service.readiness()
            return status == 503 and body.get("storage") == "damaged"
        return False

    assert eventually(is_damaged)


def test_doctor_finds_damage_that_requests_did_not(service: FaultyService) -> None:
    """Covers the fault table (row 41)."""
    add_damaged_table(filled(service), 1)

    done = service.run("doctor", "--json")

    assert done.returncode != 0
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["database files"]["state"] == "wrong"
    assert "restore a backup" in checks["database files"]["advice"]


def checks(service: FaultyService) -> dict[str, dict]:
    """The checks of the doctor, by name. The doctor must finish within five seconds."""
    seconds, done = timed(service.run, "doctor", "--json")
    assert done.returncode != 0 and seconds < 5, (seconds, done.stderr)
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


@pytest.mark.parametrize("is_running", [False, True])
def test_doctor_says_what_to_do_with_a_truncated_database(service: FaultyService, is_running: bool) -> None:
    database = filled(service)
    if is_running:
        service.start()
    os.truncate(database, 20_000)

    found_checks = checks(service)

    assert found_checks["database"]["state"] == "wrong" and "the database is damaged" in found_checks["database"]["found"]
    assert "restore a backup" in found_checks["database"]["advice"]
    assert found_checks["index"]["advice"].startswith("follow the advice of `database`")


def test_doctor_beside_a_service_tells_of_an_emptied_database(service: FaultyService) -> None:
    account = Account(service)
    assert account.save(1)[0] == 201
    os.truncate(database_file(service), 0)

    found_checks = checks(service)

    assert found_checks["database"]["state"] == "wrong" and "carrel.db is empty, but data_dir" in found_checks["database"]["found"]
    # SQLite removes the log of an empty file when it opens it.
    assert database_file(service).with_name("carrel.db-wal").stat().st_size


def test_doctor_does_not_open_a_database_that_took_the_place_of_another(service: FaultyService, tmp_path: pathlib.Path) -> None:
    account, copy = Account(service), tmp_path / "copy.db"
    with opened(database_file(service)) as connection:
        connection.execute("VACUUM INTO ?", (str(copy),))
    assert account.save(1)[0] == 201
    copy.rename(database_file(service))
    eventually(lambda: service.readiness()[1]["storage"] == "removed", 10)
    before = database_file(service).read_bytes()

    found_checks = checks(service)

    assert found_checks["database"]["state"] == "wrong" and "removed or replaced" in found_checks["database"]["found"]
    assert "back to where they were" in found_checks["database"]["advice"]
    assert "refuses writes" in found_checks["server"]["found"]
    assert database_file(service).read_bytes() == before


def test_index_truncated_while_serving_is_rebuilt(service: FaultyService) -> None:
    """Covers the fault table (row 19)."""
    account, deaths = Account(service), []

    def finds(number: int) -> bool:
        status, body, _ = account.rest("GET", f"/v2/search?q=word{number}")
        return status == 200 and bool(body["data"]["results"])

    def all_found(numbers: range) -> bool:
        if service.process.poll() is not None:
            # An access to a mapped page beyond the end of its file ends the process: an operator's supervisor starts it again.
            deaths.append(service.process.returncode)
            service.start()
        return all(finds(number) for number in numbers)

    for number in range(10):
        account.save(number)
    eventually(lambda: all_found(range(10)))

    for path in (pathlib.Path(service.folder) / "data" / "index").rglob("*"):
        if path.is_file() and path.stat().st_size:
            os.truncate(path, path.stat().st_size // 2)
    for number in range(10, 15):
        account.save(number)

    eventually(lambda: all_found(range(15)) and service.readiness()[1]["index"]["state"] == "complete", 120)
    assert deaths in ([], [-signal.SIGBUS])
