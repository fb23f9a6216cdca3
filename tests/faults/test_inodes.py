"""A file system that takes no more files, though it has space: reads go on, nothing acknowledged is lost, work goes on later."""

import pathlib

from background import make_jobs_due
from mounts import MIB, tmpfs
from harness import Account, FaultyService, Ledger, eventually

INODES = 400


def take_inodes(folder: pathlib.Path) -> None:
    folder.mkdir()
    for number in range(INODES):
        try:
            (folder / str(number)).touch()
        except OSError:
            return
    raise AssertionError("the file system takes any number of files")


def test_disk_without_inodes_loses_nothing_and_serves_reads(carrel: str, tmp_path: pathlib.Path) -> None:
    place = tmp_path / "disk"
    with tmpfs(place, 256 * MIB, nr_inodes=INODES):
        service = FaultyService(carrel, tmp_path, data_dir=place / "data", models__dir=tmp_path / "none")
        service.start()
        account = Account(service)
        assert account.sign_in() == 200
        ledger = Ledger(account)
        ledger.mixed_load(3)
        eventually(lambda: account.rest("GET", "/v2/search?q=word1")[1].get("data", {}).get("results"))

        take_inodes(place / "filler")
        # Small writes need no new file: each is kept, or refused with a word about the storage.
        ledger.mixed_load(5)
        # A long body goes by way of a file of its own.
        long, _, headers = account.save(900, text="a heron in the reeds " * 40_000)
        assert long == 201 or (long in (503, 507) and "retry-after" in headers), long
        assert ledger.faults() == []
        status, body, _ = account.rest("GET", "/v2/search?q=word1")
        assert status == 200 and body["data"]["results"]
        assert service.process.poll() is None and "panicked" not in service.log()

        for file in (place / "filler").iterdir():
            file.unlink()
        # The disk is measured four times a second.
        eventually(lambda: account.save(901, text="a kingfisher in the reeds " * 40_000)[0] == 201)
        ledger.mixed_load(1)
        assert ledger.faults() == []

        def everything_is_read() -> bool:
            make_jobs_due(service)
            there = account.rest("GET", "/v1/bookmarks?limit=100")[1]["data"]["bookmarks"]
            return all(bookmark["status"] == "ready" for bookmark in there)

        eventually(everything_is_read, 60)
        assert account.rest("GET", "/v2/search?q=kingfisher")[1]["data"]["results"]
        service.kill()
