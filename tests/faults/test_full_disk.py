"""A disk that is really full: reads go on, writes are refused with 507, and nothing is lost."""

import pathlib

import pytest
from disks import MIB, Filler, ext4, tmpfs
from harness import Account, FaultyService, Ledger, eventually

@pytest.fixture(params=[tmpfs, ext4], ids=["tmpfs", "ext4"])
def small_disk(request, tmp_path: pathlib.Path):
    place = tmp_path / "disk"
    place.mkdir()
    with request.param(place):
        yield place


@pytest.fixture
def service(carrel: str, tmp_path: pathlib.Path, small_disk: pathlib.Path):
    made = FaultyService(carrel, tmp_path, data_dir=small_disk / "data", models__dir=tmp_path / "none")
    made.start()
    yield made
    made.kill()


def assert_reads_go_on(account: Account, ledger: Ledger) -> None:
    assert ledger.faults() == []
    status, body, _ = account.rest("GET", "/v2/search?q=word1")
    assert status == 200 and body["data"]["results"]
    assert account.service.readiness()[0] == 200


def test_full_disk_refuses_writes_and_serves_reads(service: FaultyService, small_disk: pathlib.Path) -> None:
    account, filler = Account(service), Filler(small_disk)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(3)
    eventually(lambda: account.rest("GET", "/v2/search?q=word1")[1].get("data", {}).get("results"))

    filler.fill()
    for number in range(20):
        status, body, headers = account.save(900 + number)
        assert (status, body["error"]["code"]) == (507, "STORAGE_FULL")
        assert "retry-after" in headers
    assert_reads_go_on(account, ledger)
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert service.process.poll() is None

    filler.free()
    ledger.mixed_load(2)
    assert ledger.faults() == []
    assert 507 not in ledger.answers


def test_sign_in_works_below_the_floor(service: FaultyService, small_disk: pathlib.Path) -> None:
    account, filler = Account(service), Filler(small_disk)
    ledger = Ledger(account)
    assert account.sign_in() == 200
    ledger.mixed_load(1)

    filler.fill(leave=8 * MIB)

    assert account.save(900)[0] == 507
    eventually(lambda: service.readiness()[1]["storage"] == "full")
    assert account.sign_in() == 200
    made = account.app("POST", "/keys", {"name": "k", "kind": "rest", "scopes": ["read:user"]})
    assert made[0] == 201
    assert account.app("DELETE", f"/keys/{made[1]['data']['key']['id']}")[0] == 200
    assert account.rest("GET", "/v1/user", secret=made[1]["data"]["secret"])[0] == 401
    bookmark = next(id for id, expected in ledger.bookmarks.items() if expected is not None)
    assert account.rest("DELETE", f"/v1/bookmarks/{bookmark}")[0] == 200


def test_service_starts_on_a_full_disk(service: FaultyService, small_disk: pathlib.Path) -> None:
    account, filler = Account(service), Filler(small_disk)
    assert account.sign_in() == 200
    ledger = Ledger(account)
    ledger.mixed_load(2)
    eventually(lambda: account.rest("GET", "/v2/search?q=word1")[1].get("data", {}).get("results"))
    for end in (service.stop, service.kill):
        filler.fill()
        end()
        filler.fill()

        service.start()

        assert_reads_go_on(account, ledger)
        assert account.save(900)[0] == 507
        filler.free()
        ledger.mixed_load(1)
        assert ledger.faults() == []
