"""PostgreSQL fails under a mixed load: acknowledged writes are kept, each answered request counts once, and the service recovers
without a restart."""

import os
import pathlib
import random
import shutil
import tempfile
import threading
import time
import typing

import pytest
from background import metric, timed
from harness import Account, FaultyService, eventually, is_storage_refusal
from ledger import User
from load import Load
from mounts import MIB, Filler, tmpfs
from postgres import Postgres

ROUNDS = int(os.environ.get("CARREL_FAULT_POSTGRES_ROUNDS", "2"))
# Of one account, on a locked table.
SAVES = 40
# A save waits for two locks, one after the other.
MAX_REFUSAL_SECONDS = 10
# Of requests that need no locked table.
MAX_OTHER_SECONDS = 3
# How long a commit takes: about one in fifty cuts meets the commit of a batch of counts, which is written once a second.
COMMIT_MICROSECONDS = 20_000
# Lines of the activity are written twice a second, and counts once.
FLUSH_SECONDS = 1.5
# Calls, or lines of the activity, that may be lost in a whole test: one batch, which is a small part of all requests.
MAX_LOST, MAX_LOST_PART = 200, 1 / 4


@pytest.fixture
def home():
    """A folder that other users of the system can enter."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="carrel-postgres-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres(home: pathlib.Path):
    server = Postgres(home)
    server.configure(f"commit_delay = {COMMIT_MICROSECONDS}", "commit_siblings = 0")
    assert server.start()
    yield server
    server.stop()


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, postgres: Postgres):
    running = FaultyService(carrel, tmp_path, database__url=postgres.url())
    running.start()
    yield running
    running.kill()


def assert_nothing_is_lost(load: Load, service: FaultyService, what: str) -> None:
    assert service.process.poll() is None
    eventually(service.is_ready)
    load.verify()
    assert load.found() == {}, what


class StoredCounts(typing.NamedTuple):
    """The REST requests of an account that the database holds."""

    calls: int
    lines: int


COUNTS_QUERY = """
    SELECT email, (SELECT coalesce(sum(calls), 0) FROM usage_day WHERE user_id = "user".id AND surface = 'rest'),
        (SELECT count(*) FROM activity WHERE user_id = "user".id AND surface = 'rest') FROM "user" ORDER BY email"""


def read_counts(postgres: Postgres) -> dict[str, StoredCounts]:
    """The stored counts by e-mail address, once two readings that are a flush apart are equal."""
    before, read = None, postgres.ask(COUNTS_QUERY)
    end = time.monotonic() + 30
    while before != read:
        assert time.monotonic() < end, f"the counts do not come to rest: {before}, then {read}"
        time.sleep(FLUSH_SECONDS)
        before, read = read, postgres.ask(COUNTS_QUERY)
    rows = [line.split("|") for line in read.splitlines()]
    return {email: StoredCounts(int(calls), int(lines)) for email, calls, lines in rows}


def assert_requests_count_once(load: Load, postgres: Postgres) -> str:
    """Compares usage and activity with the answers. Returns a summary."""
    stored, lost_calls, lost_lines = read_counts(postgres), 0, 0
    for user in load.users:
        expected, (calls, lines) = user.request_counts, stored[user.email]
        counts = f"{calls} calls and {lines} lines of the activity, but answers {vars(expected)}"
        # A batch that is written twice adds many requests at once.
        assert calls <= expected.counted + expected.unanswered, f"counted twice: {counts}"
        assert lines <= expected.counted + expected.uncounted_refusals + expected.unanswered, f"recorded twice: {counts}"
        lost_calls += max(expected.counted - calls, 0)
        lost_lines += max(expected.counted - lines, 0)
    counted = sum(user.request_counts.counted for user in load.users)
    summary = f"{counted} REST requests, {lost_calls} not in the usage and {lost_lines} not in the activity"
    assert counted > 0 and max(lost_calls, lost_lines) <= min(MAX_LOST, counted * MAX_LOST_PART), summary
    return summary


def test_acknowledged_writes_survive_cut_connections(service: FaultyService, postgres: Postgres, summarize) -> None:
    """Requests are refused with 503 or their changes are kept (row 14)."""
    load, ended = Load(service), 0
    for number in range(1, ROUNDS + 1):
        load.with_cli = number % 5 == 0
        load.start()
        enough = load.steps + 120
        while load.steps < enough and any(thread.is_alive() for thread in load.threads):
            ended += postgres.terminate_backends()
        load.stop()
        assert_nothing_is_lost(load, service, f"round {number}")
    counted = assert_requests_count_once(load, postgres)

    summarize(f"{ended} connections cut; {counted}; {load.summary()}")
    assert ended


def test_acknowledged_writes_survive_crashes_of_postgres(service: FaultyService, postgres: Postgres, summarize) -> None:
    """Requests go on when the server is back, without a restart of the service (row 13)."""
    load = Load(service)
    moments = random.Random(load.seed)
    for number in range(1, ROUNDS + 1):
        load.start()
        # A random moment, independent of what the service does.
        time.sleep(moments.uniform(0, 1))
        postgres.stop()
        waited = time.monotonic()
        # It is stopped long enough for requests to be refused.
        eventually(lambda: service.readiness()[0] == 503)
        assert postgres.start()
        eventually(service.is_ready)
        waited = time.monotonic() - waited
        enough = load.steps + 30
        eventually(lambda: load.steps >= enough)
        load.stop()
        assert_nothing_is_lost(load, service, f"round {number}")
    counted = assert_requests_count_once(load, postgres)

    summarize(f"{ROUNDS} crashes, the last over after {waited:.1f} s; {counted}; {load.summary()}")


def test_writes_continue_after_a_failover(service: FaultyService, postgres: Postgres) -> None:
    """A server that takes no writes any more is told by 503, and its connections are replaced (row 13)."""
    account = Account(service)
    assert account.save(1)[0] == 201
    setting = "default_transaction_read_only"

    # A session keeps the setting that it began with, as a connection to a former primary does.
    postgres.ask(f"ALTER DATABASE postgres SET {setting} = on")
    postgres.terminate_backends()
    refused = [account.save(number) for number in range(2, 8)]
    assert all(is_storage_refusal(answer) for answer in refused), refused
    assert metric(service, 'carrel_storage_faults_total{fault="read_only"}') > 0
    assert account.rest("GET", "/v1/bookmarks")[0] == 200

    postgres.ask(f"BEGIN READ WRITE; ALTER DATABASE postgres RESET {setting}; COMMIT")
    assert postgres.ask(f"SHOW {setting}") == "off"
    eventually(lambda: account.save(2)[0] == 201)
    eventually(lambda: service.readiness()[0] == 200)


def requests_to_other_tables(user: User, other: User):
    """By the account whose saves wait, and by another one: what is asked, seconds, and the answer."""
    yield "session", *timed(user.app, "GET", "/session")
    seconds, (answer, _) = timed(other.sign_in, other.passwords[0])
    yield "sign-in", seconds, answer
    seconds, created = timed(other.app, "POST", "/keys", {"name": "k", "kind": "rest", "scopes": ["read:user"]})
    yield "new key", seconds, created
    if created[0] == 201:
        yield "revoked key", *timed(other.app, "DELETE", f"/keys/{created[1]['data']['key']['id']}")


def test_locked_table_stops_nothing_else(service: FaultyService, postgres: Postgres, summarize) -> None:
    """What needs the table is refused with 503, and all else is served (row 15)."""
    load = Load(service, accounts=2)
    user, other = load.users
    refused, slowest = [], {}
    body = {"url": "https://faults.example/locked", "title": "t", "text": "t"}
    save = lambda: refused.append(timed(user.rest, "POST", "/v1/bookmarks", body))

    held = postgres.hold_lock("bookmark")
    threads = [threading.Thread(target=save) for _ in range(SAVES)]
    for thread in threads:
        thread.start()
    eventually(lambda: postgres.lock_waits() > 1, 5)
    rounds, failed = 0, []
    while any(thread.is_alive() for thread in threads):
        rounds += 1
        for what, seconds, answer in requests_to_other_tables(user, other):
            slowest[what] = max(slowest.get(what, 0.0), seconds)
            if not 200 <= answer[0] < 300:
                failed.append((what, answer[0]))
    held.kill()
    held.wait()

    last = max(seconds for seconds, _ in refused)
    summarize(f"{SAVES} writes to a locked table: {sorted({answer[0] for _, answer in refused})}, the last after {last:.1f} s; "
              f"next to them {rounds} rounds of other requests, {len(failed)} requests refused, slowest in seconds: "
              + ", ".join(f"{what} {seconds:.2f}" for what, seconds in slowest.items()))
    assert all(status == 503 and "retry-after" in headers for _, (status, _, headers) in refused), refused[:3]
    assert last < MAX_REFUSAL_SECONDS
    assert failed == []
    assert max(slowest.values()) < MAX_OTHER_SECONDS, slowest
    load.verify()
    assert load.found() == {}


def test_full_disk_of_postgres_is_survived(carrel: str, home: pathlib.Path, tmp_path: pathlib.Path, summarize) -> None:
    """Writes are refused until the disk has space again (row 6)."""
    with tmpfs(home / "disk", 160 * MIB) as disk:
        postgres = Postgres(disk, home / "log")
        assert postgres.start()
        service = FaultyService(carrel, tmp_path, database__url=postgres.url())
        try:
            service.start()
            run_full(service, postgres, disk, summarize)
        finally:
            service.kill()
            postgres.stop()


def run_full(service: FaultyService, postgres: Postgres, disk: pathlib.Path, summarize) -> None:
    load = Load(service)
    load.description_bytes = 100_000
    load.run_until(lambda: load.steps > 40)
    load.verify()
    assert load.found() == {}

    filler, before = Filler(disk), load.uncertain
    filler.fill()
    load.start()
    # The data cannot grow: requests are refused.
    eventually(lambda: load.uncertain > before + 15, 60)
    # The write-ahead log cannot grow either: PostgreSQL closes all connections and stops.
    eventually(lambda: has_panicked(postgres), 60)
    load.stop()
    filler.free()

    starts = 0

    def is_back() -> bool:
        """Starts PostgreSQL again if it could not recover. Nothing else is done."""
        nonlocal starts
        if not postgres.is_running():
            starts += postgres.start()
        return postgres.accepts()

    eventually(is_back)
    assert_nothing_is_lost(load, service, "after the disk was full")
    summarize(f"PostgreSQL panicked and {'was started again' if starts else 'recovered'}; {load.summary()}")


def has_panicked(postgres: Postgres) -> bool:
    """Switches to another segment of the write-ahead log; whether creating one has failed."""
    postgres.ask("SELECT pg_logical_emit_message(true, 'a', 'b'), pg_switch_wal()")
    return "PANIC" in postgres.log.read_text(errors="replace")
