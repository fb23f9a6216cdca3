"""The database is missing or empty although data_dir holds a library: nothing takes its place unasked."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import tempfile

import pytest
from background import database_file
from harness import Account, FaultyService, eventually, started
from postgres import Postgres

COMPANIONS = ("-wal", "-shm")


def remove(database: pathlib.Path) -> None:
    for suffix in ("", *COMPANIONS):
        database.with_name(database.name + suffix).unlink(missing_ok=True)


def truncate(database: pathlib.Path) -> None:
    """The log stays: with the header of its database it may still be worth something."""
    os.truncate(database, 0)


def replace_by_one_without_tables(database: pathlib.Path) -> None:
    remove(database)
    with contextlib.closing(sqlite3.connect(database)) as empty:
        empty.executescript("PRAGMA journal_mode = WAL; CREATE TABLE t (n); DROP TABLE t")


def is_kept(path: pathlib.Path) -> bool:
    """Whether it is a file other than those that a process creates while it runs."""
    name = path.name
    is_passing = name in ("carrel.lock", "carrel.space-reserve") or name.endswith("-shm")
    return path.is_file() and not is_passing and (not name.endswith("-wal") or path.stat().st_size > 0)


def contents(folder: pathlib.Path) -> dict[str, int]:
    """The files of a data folder and their sizes."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in sorted(folder.rglob("*")) if is_kept(path)}


def check_of(service: FaultyService, name: str) -> dict:
    done = service.run("doctor", "--json")
    assert done.returncode != 0
    return next(check for check in json.loads(done.stdout)["checks"] if check["name"] == name)


@pytest.mark.parametrize(("lose", "state"), [
    (remove, "missing"), (truncate, "empty"), (replace_by_one_without_tables, "empty")])
def test_lost_database_is_created_by_migrate_alone(service: FaultyService, tmp_path: pathlib.Path, lose, state: str) -> None:
    account, database, copy = Account(service), database_file(service), tmp_path / "copy"
    assert account.save(1)[0] == 201
    eventually(lambda: account.finds("word1"))
    service.kill()
    shutil.copytree(tmp_path / "data", copy)
    lose(database)
    before = contents(tmp_path / "data")

    for words in (["serve"], ["user", "list"], ["key", "list", "--user", account.email], ["reindex"]):
        done = service.run(*words)
        assert done.returncode != 0, words
        assert f"carrel.db is {state}, but data_dir" in done.stderr and "`carrel migrate`" in done.stderr, done.stderr
    check = check_of(service, "database")
    assert (check["state"], f"is {state}" in check["found"]) == ("wrong", True), check
    assert "restore the database" in check["advice"]
    assert contents(tmp_path / "data") == before

    remove(database)
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{copy / 'carrel.db'}{suffix}", f"{database}{suffix}")
    service.start()
    assert account.finds("word1")
    service.kill()

    lose(database)
    assert service.run("migrate").returncode == 0
    service.start()
    assert service.cli("user", "list")["users"] == []


def test_doctor_beside_a_service_tells_that_its_database_is_missing(service: FaultyService) -> None:
    account = Account(service)
    assert account.save(1)[0] == 201
    remove(database_file(service))

    check = check_of(service, "database")

    assert check["state"] == "wrong" and "is missing, but data_dir" in check["found"], check
    assert not database_file(service).exists()


@pytest.fixture
def postgres():
    """A server in a folder that other users of the system can enter."""
    home = pathlib.Path(tempfile.mkdtemp(prefix="carrel-postgres-"))
    home.chmod(0o755)
    database = Postgres(home)
    assert database.start()
    yield database
    database.stop()
    shutil.rmtree(home, ignore_errors=True)


def test_empty_postgres_beside_a_library_stops_the_start(carrel: str, tmp_path: pathlib.Path, postgres: Postgres) -> None:
    service = started(carrel, tmp_path, database__url=postgres.url())
    service.stop()
    postgres.ask("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    done = service.run("serve")

    assert done.returncode != 0
    place = f"postgres of PostgreSQL on 127.0.0.1:{postgres.port}"
    assert f"{place} is empty, but data_dir" in done.stderr and postgres.password not in done.stderr, done.stderr
    assert service.run("migrate").returncode == 0
    service.start()
    service.kill()
