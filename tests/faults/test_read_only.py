"""A file system that becomes read-only: reads and search continue, writes are refused, and nothing is lost."""

import pathlib
import subprocess

from mounts import MIB, ext4, ext4_image
from harness import Account, Ledger, eventually, is_storage_refusal, started


def become_read_only(place: pathlib.Path) -> None:
    """Does what the kernel does when a disk fails: files that are open for writing stay open, but writes fail."""
    subprocess.run(["mount", "-o", "remount,abort", str(place)], check=True)


def test_read_only_disk_refuses_writes_and_serves_reads(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 9)."""
    place, image = tmp_path / "disk", ext4_image(tmp_path / "image", 96 * MIB)
    with ext4(place, image):
        service = started(carrel, tmp_path, data_dir=place / "data")
        account = Account(service)
        assert account.sign_in() == 200
        ledger = Ledger(account)
        ledger.mixed_load(3)
        eventually(lambda: account.finds("word1"))

        become_read_only(place)
        for number in range(20):
            answer = account.save(900 + number)
            assert is_storage_refusal(answer), answer
        assert ledger.faults() == []
        assert account.finds("word1")
        assert eventually(lambda: service.readiness()[1]["storage"] in ("failed", "full"))
        assert service.process.poll() is None
        assert "panicked" not in service.log()
        service.stop()
        assert service.process.returncode == 0

    subprocess.run(["e2fsck", "-fy", str(image)], stdout=subprocess.DEVNULL, check=False)
    with ext4(place, image):
        service = started(carrel, tmp_path, data_dir=place / "data")
        account.service = service
        try:
            assert ledger.faults() == []
            assert account.save(9000)[0] == 201
        finally:
            service.kill()


def test_read_only_disk_stops_the_start_with_a_reason(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 9)."""
    place, image = tmp_path / "disk", ext4_image(tmp_path / "image", 96 * MIB)
    with ext4(place, image):
        service = started(carrel, tmp_path, data_dir=place / "data")
        service.stop()
        become_read_only(place)

        done = service.run("serve")

        assert done.returncode == 1, done.stderr
        assert "Read-only file system" in done.stderr and "panicked" not in done.stderr
