"""A file system that becomes read-only under the service: reads and search go on, writes are refused, and nothing is lost."""

import pathlib
import subprocess

from mounts import MIB, ext4, ext4_image
from harness import Account, FaultyService, Ledger, eventually


def become_read_only(place: pathlib.Path) -> None:
    """As the kernel does by itself where a disk fails. Files that are open for writing stay open and take no more writes."""
    subprocess.run(["mount", "-o", "remount,abort", str(place)], check=True)


def serve(carrel: str, folder: pathlib.Path, place: pathlib.Path) -> FaultyService:
    service = FaultyService(carrel, folder, data_dir=place / "data", models__dir=folder / "none")
    service.start()
    return service


def test_read_only_disk_refuses_writes_and_serves_reads(carrel: str, tmp_path: pathlib.Path) -> None:
    place, image = tmp_path / "disk", ext4_image(tmp_path / "image", 96 * MIB)
    with ext4(place, image):
        service = serve(carrel, tmp_path, place)
        account = Account(service)
        assert account.sign_in() == 200
        ledger = Ledger(account)
        ledger.mixed_load(3)
        eventually(lambda: account.rest("GET", "/v2/search?q=word1")[1].get("data", {}).get("results"))

        become_read_only(place)
        for number in range(20):
            status, _, headers = account.save(900 + number)
            assert status in (503, 507) and "retry-after" in headers, status
        assert ledger.faults() == []
        status, body, _ = account.rest("GET", "/v2/search?q=word1")
        assert status == 200 and body["data"]["results"]
        assert eventually(lambda: service.readiness()[1]["storage"] in ("failed", "full"))
        assert service.process.poll() is None
        assert "panicked" not in service.log()
        service.stop()
        assert service.process.returncode == 0

    subprocess.run(["e2fsck", "-fy", str(image)], stdout=subprocess.DEVNULL, check=False)
    with ext4(place, image):
        service = serve(carrel, tmp_path, place)
        account.service = service
        try:
            assert ledger.faults() == []
            assert account.save(9000)[0] == 201
        finally:
            service.kill()


def test_read_only_disk_stops_the_start_with_a_reason(carrel: str, tmp_path: pathlib.Path) -> None:
    place, image = tmp_path / "disk", ext4_image(tmp_path / "image", 96 * MIB)
    with ext4(place, image):
        service = serve(carrel, tmp_path, place)
        service.stop()
        become_read_only(place)

        done = subprocess.run([carrel, "serve"], cwd=tmp_path, env=service.environment(), capture_output=True,
                              text=True, timeout=60)

        assert done.returncode == 1, done.stderr
        assert "Read-only file system" in done.stderr and "panicked" not in done.stderr
