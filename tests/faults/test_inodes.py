"""A file system without free inodes: reads continue, nothing acknowledged is lost, and work continues later."""

import pathlib
import time

from background import make_jobs_due
from mounts import MIB, tmpfs
from harness import Account, Ledger, eventually, started

INODES = 400


def take_inodes(folder: pathlib.Path) -> None:
    folder.mkdir()
    for number in range(INODES):
        try:
            (folder / str(number)).touch()
        except OSError:
            return
    raise AssertionError("the file system has no limit of inodes")


def index_is_at_rest(service) -> bool:
    """Whether no passage is added to the index for two seconds."""
    before = service.readiness()[1]["index"]["passages"]
    time.sleep(2)
    return 0 < before == service.readiness()[1]["index"]["passages"]


def test_disk_without_inodes_loses_nothing_and_serves_reads(carrel: str, tmp_path: pathlib.Path) -> None:
    """Writes get 507 like on a full disk, although bytes are free (row 8)."""
    place = tmp_path / "disk"
    with tmpfs(place, 256 * MIB, nr_inodes=INODES):
        service = started(carrel, tmp_path, data_dir=place / "data")
        account = Account(service)
        assert account.sign_in() == 200
        ledger = Ledger(account)
        ledger.mixed_load(3)
        eventually(lambda: account.finds("word1"))
        # A search finds a save before the index has it. A write of the index that finds no inode makes it be opened again, for which it
        # needs one.
        eventually(lambda: index_is_at_rest(service))

        take_inodes(place / "filler")
        # Bytes are free, and small writes need no new file: they are refused before a write fails that needs one.
        eventually(lambda: service.readiness()[1]["storage"] == "full")
        assert service.readiness()[0] == 200
        # A long body is written to a scratch file first.
        for text in ("a heron", "a heron in the reeds " * 40_000):
            status, body, headers = account.save(900, text=text)
            assert (status, body["error"]["code"]) == (507, "STORAGE_FULL") and "retry-after" in headers
        # Requests that end access or free space are served.
        assert account.sign_in() == 200
        ledger.delete([id for id, expected in ledger.bookmarks.items() if expected is not None][-1])
        assert ledger.answers[-1] == 200
        ledger.mixed_load(2)
        assert ledger.faults() == []
        assert account.finds("word1")
        assert service.process.poll() is None and "panicked" not in service.log()

        for file in (place / "filler").iterdir():
            file.unlink()
        eventually(lambda: service.readiness()[1]["storage"] == "ok")
        eventually(lambda: account.save(901, text="a kingfisher in the reeds " * 40_000)[0] == 201)
        ledger.mixed_load(1)
        assert ledger.faults() == []

        def everything_is_read() -> bool:
            make_jobs_due(service)
            there = account.rest("GET", "/v1/bookmarks?limit=100")[1]["data"]["bookmarks"]
            return all(bookmark["status"] == "ready" for bookmark in there)

        eventually(everything_is_read, 60)
        assert account.finds("kingfisher")
        service.kill()
