"""Uploads that are interrupted by a full disk, a kill or a stop: no partial file is accepted, and the URL works again."""

import concurrent.futures
import pathlib

import pytest
from background import database_file, opened
from harness import FaultyService, eventually, started
from mounts import MIB, LeastFree, tmpfs
from upload_client import Upload, uploader


def pdf(size: int) -> bytes:
    """The first bytes of a PDF, then zeros."""
    return b"%PDF-1.7\n" + bytes(size - 9)


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_full_store_refuses_an_upload_and_removes_its_bytes(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 7)."""
    store = tmp_path / "files"
    with tmpfs(store, 8 * MIB):
        # Without a floor, which would be larger than this disk.
        service = started(carrel, tmp_path, files__url=store, storage__min_free_bytes=0)
        account = uploader(service)
        upload = Upload(account, pdf(20 * MIB))

        status, body = upload.put()

        assert status == 507 and "STORAGE_FULL" in body, body
        eventually(lambda: files(store) == [])
        assert upload.status() == "awaiting"
        status, body, _ = upload.complete()
        assert (status, body["error"]["code"]) == (409, "UPLOAD_INCOMPLETE")
        small = Upload(account, pdf(1 * MIB))
        assert small.put()[0] == 200
        assert small.complete()[0] == 202
        service.kill()


def test_uploads_at_once_keep_the_floor(carrel: str, tmp_path: pathlib.Path) -> None:
    """More than there is room for, and written faster than the disk is measured. Space is reserved part by part, so it is
    possible that none of them fits while all are written."""
    disk, floor, tolerance = tmp_path / "disk", 16 * MIB, 2 * MIB
    with tmpfs(disk, 200 * MIB):
        service = started(carrel, tmp_path, data_dir=disk / "data", storage__min_free_bytes=floor)
        account = uploader(service)
        uploads = [Upload(account, pdf(40 * MIB)) for _ in range(8)]

        with LeastFree(disk) as least, concurrent.futures.ThreadPoolExecutor(len(uploads)) as senders:
            answers = list(senders.map(Upload.put, uploads))

        assert 507 in {status for status, _ in answers} <= {200, 507}
        assert all("STORAGE_FULL" in body for status, body in answers if status == 507)
        assert least.bytes >= floor - tolerance, f"{least.bytes / MIB:.1f} MiB were left"
        received = [upload for upload, (status, _) in zip(uploads, answers) if status == 200]
        if not received:
            eventually(lambda: uploads[0].put()[0] == 200)
            received = uploads[:1]
        assert [upload.complete()[0] for upload in received] == [202] * len(received)
        stored = eventually(lambda: (found := files(disk / "data" / "files")) and len(found) == len(received) and found)
        assert all(file.read_bytes() == uploads[0].content for file in stored)
        service.kill()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_upload_interrupted_by_a_stop_can_be_repeated(service: FaultyService, end: str) -> None:
    """Covers the fault table (row 32)."""
    account = uploader(service)
    upload = Upload(account, pdf(8 * MIB))
    store = service.folder / "data" / "files"
    connection = upload.begin(4 * MIB)
    eventually(lambda: files(store))

    if end == "stop":
        # The service waits for requests in progress; the client disconnects meanwhile.
        service.process.terminate()
        eventually(lambda: service.readiness()[0] == 503)
        connection.close()
        assert service.process.wait(60) == 0
    else:
        service.kill()
    service.start()

    assert upload.status() == "awaiting"
    status, body, _ = upload.complete()
    assert (status, body["error"]["code"]) == (409, "UPLOAD_INCOMPLETE")
    assert upload.put()[0] == 200
    status, body, _ = upload.complete()
    assert status == 202
    connection.close()
    # A file whose writer crashed is removed half a minute after its last renewal.
    with opened(database_file(service)) as rows:
        rows.execute("UPDATE stored_file SET keep_until = 0 WHERE upload_id IS NULL")
    eventually(lambda: [file.stat().st_size for file in files(store)] == [8 * MIB])


def test_upload_in_progress_completes_before_the_service_stops(service: FaultyService) -> None:
    """Covers the fault table (rows 32, 36)."""
    account = uploader(service)
    upload = Upload(account, pdf(8 * MIB))
    connection = upload.begin(4 * MIB)
    eventually(lambda: files(service.folder / "data" / "files"))

    service.process.terminate()
    eventually(lambda: service.readiness()[0] == 503)
    connection.sendall(upload.content[4 * MIB:])
    answer = connection.recv(12)

    assert answer == b"HTTP/1.1 200"
    assert service.process.wait(60) == 0
    connection.close()
    service.start()
    assert upload.complete()[0] == 202
