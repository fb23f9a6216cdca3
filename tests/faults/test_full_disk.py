"""A full disk: reads continue, writes are refused with 507, and nothing is lost."""

import contextlib
import json
import pathlib
import shutil
import signal
import sqlite3
import threading
import time
import urllib.parse

import pytest
from background import database_file, metric, opened
from harness import PASSWORD, Account, FaultyService, Ledger, eventually, started
from injector import ALWAYS, Injector
from load import Load
from mounts import MIB, Filler, ext4, ext4_image, free_bytes, tmpfs

# The space that is set aside, and the part of it that is kept for a start.
RESERVE_BYTES, START_BYTES = 16 * MIB, 4 * MIB
# How long a test write of /readyz counts, and a little more.
STORAGE_CHECK_SECONDS = 4


@pytest.fixture(params=["tmpfs", "ext4"])
def small_disk(request, tmp_path: pathlib.Path):
    place = tmp_path / "disk"
    on = tmpfs(place, 128 * MIB) if request.param == "tmpfs" else ext4(place, ext4_image(tmp_path / "image", 160 * MIB))
    with on:
        yield place


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, small_disk: pathlib.Path):
    running = started(carrel, tmp_path, data_dir=small_disk / "data")
    yield running
    running.kill()


@pytest.fixture
def service_with_high_floor(carrel: str, tmp_path: pathlib.Path, small_disk: pathlib.Path):
    running = started(carrel, tmp_path, data_dir=small_disk / "data", storage__min_free_bytes=48 * MIB,
                   accounts__signup="open")
    yield running
    running.kill()


def assert_reads_work(account: Account, ledger: Ledger) -> None:
    assert ledger.faults() == []
    assert account.finds("word1")
    assert account.service.readiness()[0] == 200


def count_jobs(disk: pathlib.Path, condition: str) -> int:
    database = sqlite3.connect(f"file:{disk}/data/carrel.db?mode=ro", uri=True)
    with contextlib.closing(database):
        return database.execute(f"SELECT count(*) FROM job WHERE {condition}").fetchone()[0]


def await_jobs(disk: pathlib.Path) -> None:
    """Waits until no job is left: a disk that becomes full during a write of the index ends the process."""
    eventually(lambda: count_jobs(disk, "finished_at IS NULL") == 0)


def reserve_of(disk: pathlib.Path) -> pathlib.Path:
    return disk / "data" / "carrel.space-reserve"


def has_blocks(reserve: pathlib.Path) -> bool:
    return reserve.exists() and reserve.stat().st_blocks * 512 >= RESERVE_BYTES


def is_released(reserve: pathlib.Path) -> bool:
    return reserve.stat().st_size == START_BYTES


@contextlib.contextmanager
def paused(service: FaultyService):
    """Stops the process until the end of the block, so that it releases no space while the disk is filled."""
    service.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        service.process.send_signal(signal.SIGCONT)


class SecurityChanges:
    """Changes that must succeed on a full disk: the owner of a stolen key cannot wait for space."""

    def __init__(self, account: Account, ledger: Ledger) -> None:
        self.account, self.ledger = account, ledger
        self.password = PASSWORD
        self.keys = [self.make_key() for _ in range(3)]

    def make_key(self) -> tuple[str, str]:
        created = self.account.app("POST", "/keys", {"name": "k", "kind": "rest", "scopes": ["read:user"]})
        assert created[0] == 201
        return created[1]["data"]["key"]["id"], created[1]["data"]["secret"]

    def make(self) -> None:
        """Each of them once; the last bookmark of the ledger is deleted."""
        account = self.account
        assert [account.sign_in(self.password) for _ in range(20)] == [200] * 20
        key, secret = self.keys.pop()
        assert account.app("DELETE", f"/keys/{key}")[0] == 200
        assert account.rest("GET", "/v1/user", secret=secret)[0] == 401
        new = f"{self.password} and more"
        assert account.app("POST", "/password", {"current": self.password, "new": new})[0] == 200
        assert account.sign_in(self.password) == 401
        self.password = new
        assert account.app("DELETE", "/session")[0] == 200
        assert account.app("GET", "/session")[0] == 401
        assert account.sign_in(self.password) == 200
        bookmark = [id for id, expected in self.ledger.bookmarks.items() if expected is not None][-1]
        self.ledger.delete(bookmark)
        assert self.ledger.bookmarks[bookmark] is None

    def assert_kept(self) -> None:
        for _, secret in self.keys:
            assert self.account.rest("GET", "/v1/user", secret=secret)[0] == 200
        assert self.account.sign_in(PASSWORD) == 401
        assert self.account.sign_in(self.password) == 200


def test_full_disk_refuses_writes_and_serves_reads(service: FaultyService, small_disk: pathlib.Path) -> None:
    """Writes get 507 with Retry-After, and work continues once there is space (row 6)."""
    account, filler = Account(service), Filler(small_disk)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(3)
    eventually(lambda: account.finds("word1"))

    await_jobs(small_disk)
    filler.fill()
    # The service measures its disk four times a second and reports it every few seconds.
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    for number in range(20):
        status, body, headers = account.save(900 + number)
        assert (status, body["error"]["code"]) == (507, "STORAGE_FULL")
        assert "retry-after" in headers
    assert_reads_work(account, ledger)
    assert service.process.poll() is None
    assert service.log().count("a disk has less free space than storage.min_free_bytes") == 1

    filler.free()
    eventually(lambda: service.readiness()[1]["storage"] == "ok")
    ledger.mixed_load(2)
    assert ledger.faults() == []
    assert 507 not in ledger.answers
    eventually(lambda: service.log().count("a disk has room again") == 1)


def test_security_changes_go_on_below_the_floor(service: FaultyService, small_disk: pathlib.Path) -> None:
    """Sign-in, revocation and deletion need no space above the floor (row 6)."""
    account, filler, reserve = Account(service), Filler(small_disk), reserve_of(small_disk)
    ledger = Ledger(account)
    assert account.sign_in() == 200
    ledger.mixed_load(2)
    changes = SecurityChanges(account, ledger)
    eventually(lambda: has_blocks(reserve))

    await_jobs(small_disk)
    filler.fill(leave=12 * MIB)
    eventually(lambda: service.readiness()[1]["storage"] == "full")

    assert account.save(900)[0] == 507
    changes.make()
    changes.make_key()
    assert has_blocks(reserve)
    assert_reads_work(account, ledger)


def test_security_changes_go_on_when_the_disk_is_full(service: FaultyService, small_disk: pathlib.Path) -> None:
    """They use the space that was set aside for them, also after a restart (row 6)."""
    account, filler, reserve = Account(service), Filler(small_disk), reserve_of(small_disk)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(4)
    changes = SecurityChanges(account, ledger)
    eventually(lambda: account.rest("GET", "/v2/search?q=word1")[1].get("data", {}).get("results"))
    eventually(lambda: has_blocks(reserve))

    await_jobs(small_disk)
    with paused(service):
        filler.fill()
    eventually(lambda: is_released(reserve))
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert account.save(900)[0] == 507
    changes.make()
    # The released space is enough for the index too.
    eventually(lambda: count_jobs(small_disk, "kind = 'remove_from_index' AND finished_at IS NULL") == 0)
    assert account.save(901)[0] == 507
    assert_reads_work(account, ledger)

    # Other programs use up the rest of the released space.
    filler.fill()
    service.stop()
    filler.fill()
    service.start()
    assert not reserve.exists() and free_bytes(small_disk) < 2 * START_BYTES
    assert account.save(902)[0] == 507
    changes.make()
    assert_reads_work(account, ledger)

    filler.free()
    eventually(lambda: service.readiness()[1]["storage"] == "ok")
    before = len(ledger.answers)
    ledger.mixed_load(2)
    assert 507 not in ledger.answers[before:]
    eventually(lambda: has_blocks(reserve))
    changes.assert_kept()
    assert ledger.faults() == []
    assert service.log().count("released for sign-in, revocation and deletion") == 1


def test_reads_take_nothing_of_the_space_below_the_floor(
        service_with_high_floor: FaultyService, small_disk: pathlib.Path) -> None:
    """Their lines of the activity wait until there is space (row 6)."""
    service, filler = service_with_high_floor, Filler(small_disk)
    account = Account(service)

    def activity() -> int:
        with opened(database_file(service)) as rows:
            return rows.execute("SELECT count(*) FROM activity").fetchone()[0]

    assert account.rest("GET", "/v1/user")[0] == 200
    eventually(lambda: activity() == 1)
    filler.fill(leave=32 * MIB)
    eventually(lambda: service.readiness()[1]["storage"] == "full")

    reads, end = 0, time.monotonic() + 1.5
    while time.monotonic() < end:
        assert account.rest("GET", "/v1/user")[0] == 200
        reads += 1

    assert activity() == 1
    filler.free()
    eventually(lambda: activity() == 1 + reads)


@pytest.mark.parametrize("left", [32 * MIB, 0], ids=["below the floor", "nothing left"])
def test_failing_writer_of_a_full_disk_is_not_ready(
        carrel: str, tmp_path: pathlib.Path, small_disk: pathlib.Path, injector: Injector, left: int) -> None:
    """A full disk does not hide that writes fail for another reason (rows 5, 6)."""
    service = FaultyService(carrel, tmp_path, data_dir=small_disk / "data", models__dir=tmp_path / "none",
                            storage__min_free_bytes=48 * MIB)
    service.extra = injector.environment()
    service.start()
    filler = Filler(small_disk)
    filler.fill(leave=left)
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert service.readiness()[0] == 200

    injector.arm(service.process.pid, "pwrite64", "EIO", 1, ALWAYS)

    for _ in range(3):
        if left == 0:
            # The space that was set aside was released for deletions.
            filler.fill()
        eventually(lambda: service.readiness()[1]["storage"] == "failed")
        threading.Event().wait(STORAGE_CHECK_SECONDS)
    assert service.readiness()[1]["storage"] == "failed"
    assert service.readiness()[0] == 503
    injector.disarm()
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert service.readiness()[0] == 200


def test_mixed_load_survives_a_disk_that_fills_up(
        carrel: str, tmp_path: pathlib.Path, small_disk: pathlib.Path, summarize) -> None:
    """Without a floor it is the database that finds the disk full (row 6)."""
    service, filler = started(carrel, tmp_path, data_dir=small_disk / "data", storage__min_free_bytes=0), Filler(small_disk)
    load = Load(service)
    load.run_until(lambda: load.acknowledged > 200)
    load.verify()
    assert load.found() == {}

    for _ in range(3):
        load.start()
        filler.fill_slowly()
        refused = load.uncertain
        eventually(lambda: load.uncertain > refused + 50)
        load.stop()
        assert service.process.poll() is None, service.log()[-2000:]

        filler.free()
        load.verify(everything=True)
        assert load.found() == {}
    assert metric(service, 'carrel_storage_faults_total{fault="full"}') > 0
    service.kill()
    service.start()
    load.verify(everything=True)

    summarize(load.summary())
    assert load.found() == {}


def test_service_starts_on_a_full_disk(service: FaultyService, small_disk: pathlib.Path) -> None:
    """The start uses the space that was set aside (row 6)."""
    account, filler = Account(service), Filler(small_disk)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(2)
    eventually(lambda: account.finds("word1"))
    reserve = reserve_of(small_disk)
    for starts, end in enumerate((service.stop, service.kill), 1):
        eventually(lambda: has_blocks(reserve))
        await_jobs(small_disk)
        filler.fill()
        end()
        filler.fill()

        service.start()

        assert not reserve.exists()
        assert service.log().count("the space reserve was released for the start") == starts
        assert_reads_work(account, ledger)
        assert account.save(900)[0] == 507
        filler.free()
        ledger.mixed_load(1)
        assert ledger.faults() == []


def test_start_without_room_for_the_database_says_so(service: FaultyService, small_disk: pathlib.Path) -> None:
    """Without the space that was set aside the start fails, and says what to do (row 6)."""
    account, filler = Account(service), Filler(small_disk)
    assert account.save(1)[0] == 201
    service.stop()
    reserve_of(small_disk).unlink(missing_ok=True)
    filler.fill()

    done = service.run("serve")

    assert done.returncode == 1 and "free some space on its disk" in done.stderr, done.stderr
    filler.free()
    service.start()
    assert account.save(2)[0] == 201


def damage(index: pathlib.Path) -> None:
    (index / "edge_config.json").write_text("garbage")


@pytest.mark.parametrize("harm", [damage, shutil.rmtree], ids=["damaged", "missing"])
def test_service_starts_without_an_index_on_a_full_disk(
        service: FaultyService, small_disk: pathlib.Path, harm) -> None:
    """The index is not moved aside where there is no space for a new one (rows 6, 19)."""
    account, filler = Account(service), Filler(small_disk)
    ledger = Ledger(account)
    assert account.sign_in() == 200
    ledger.mixed_load(1)
    eventually(lambda: account.finds("word1"))
    await_jobs(small_disk)
    data = small_disk / "data"
    eventually(lambda: has_blocks(data / "carrel.space-reserve"))
    service.stop()
    before = data / "index.damaged-2024-05-06T12-00-00.000Z"
    before.mkdir()
    harm(data / "index")
    filler.fill()

    service.start()

    index = service.readiness()[1]["index"]
    assert (index["ok"], index["state"], index["passages"]) == (False, "unavailable", None)
    assert "a new index takes 32" in service.log()
    status, body, headers = account.rest("GET", "/v2/search?q=word1")
    assert (status, body["error"]["code"], headers["retry-after"]) == (503, "OVERLOADED", "60")
    assert "no space for its index" in body["error"]["message"]
    assert ledger.faults() == []
    assert account.sign_in() == 200
    assert account.save(900)[0] == 507
    assert list(data.glob("index.damaged-*")) == [before]
    report = {check["name"]: check for check in json.loads(service.run("doctor", "--json").stdout)["checks"]}
    assert report["index"]["state"] == "wrong" and "has no index" in report["index"]["found"]

    filler.free()
    eventually(lambda: account.finds("word1"))
    eventually(lambda: service.readiness()[1]["index"]["state"] == "complete")
    assert before.exists() == (harm is shutil.rmtree), "only the newest is kept"
    assert service.process.poll() is None


def register(service: FaultyService) -> tuple[int, dict, dict]:
    return service.send("POST", "/oauth/register", {"redirect_uris": ["http://127.0.0.1:9/back"]})


def authorize(service: FaultyService, client: str) -> tuple[int, dict, dict]:
    query = {"response_type": "code", "client_id": client, "redirect_uri": "http://127.0.0.1:9/back", "state": "s",
             "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256"}
    return service.send("GET", f"/oauth/authorize?{urllib.parse.urlencode(query)}")


def sign_up(service: FaultyService, email: str) -> tuple[int, dict, dict]:
    return service.send("POST", "/app/api/signup", {"email": email, "password": PASSWORD}, service.origin())


def test_strangers_add_nothing_below_the_floor(
        service_with_high_floor: FaultyService, small_disk: pathlib.Path) -> None:
    """Registrations, authorizations and sign-ups get 507 (row 6)."""
    service, filler = service_with_high_floor, Filler(small_disk)
    registered = register(service)
    assert registered[0] == 201
    client = registered[1]["client_id"]
    assert authorize(service, client)[0] == 200
    assert sign_up(service, "first@faults.example")[0] == 201

    filler.fill(leave=32 * MIB)
    eventually(lambda: service.readiness()[1]["storage"] == "full")

    for refused in (register(service), authorize(service, client), sign_up(service, "second@faults.example")):
        assert refused[0] == 507 and refused[2]["retry-after"] == "60"
    filler.free()
    eventually(lambda: register(service)[0] == 201)


def test_deletions_reach_the_index_below_the_floor(
        service_with_high_floor: FaultyService, small_disk: pathlib.Path) -> None:
    """Jobs that free space run, and those that take space wait (row 6)."""
    service, filler = service_with_high_floor, Filler(small_disk)
    account = Account(service)
    bookmark = account.save(1)[1]["data"]["bookmark"]["bookmarkId"]
    eventually(lambda: account.finds("word1"))

    await_jobs(small_disk)
    filler.fill(leave=32 * MIB)
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert account.save(2)[0] == 507
    assert account.rest("POST", "/v2/ask", {"question": "What is word1?"})[0] == 507
    assert account.rest("DELETE", f"/v1/bookmarks/{bookmark}")[0] == 200

    eventually(lambda: count_jobs(small_disk, "kind = 'remove_from_index' AND finished_at IS NOT NULL") > 0)
    # The passages are gone from the index itself, and not only from the answers.
    eventually(lambda: service.readiness()[1]["index"]["passages"] == 0)


def test_import_that_adds_waits_below_the_floor(
        service_with_high_floor: FaultyService, small_disk: pathlib.Path) -> None:
    """Steps of an import that add something get 507; a pause is answered (row 6)."""
    service, filler = service_with_high_floor, Filler(small_disk)
    account = Account(service)
    assert account.sign_in() == 200
    filler.fill(leave=32 * MIB)
    eventually(lambda: service.readiness()[1]["storage"] == "full")

    unknown = "/imports/01a20fab-0000-7000-8000-000000000000"
    steps = {step: account.app("POST", f"{unknown}/{step}")[0] for step in ("start", "pause", "resume", "undo")}

    assert steps == {"start": 507, "pause": 404, "resume": 507, "undo": 507}
