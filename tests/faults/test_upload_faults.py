"""Uploads that meet a full disk, a kill or a stop in the middle: no half file is taken, and the same address works again."""

import concurrent.futures
import hashlib
import http.client
import pathlib
import socket
import urllib.parse

import pytest
from background import database_file, key_with, opened
from mounts import MIB, LeastFree, tmpfs
from harness import Account, FaultyService, eventually


class Upload:
    """An announced upload of a file of zeros behind the first bytes of a PDF."""

    def __init__(self, account: Account, size: int) -> None:
        self.account = account
        self.content = b"%PDF-1.7\n" + bytes(size - 9)
        said = {"filename": "paper.pdf", "contentType": "application/pdf", "bytes": size}
        status, body, _ = account.rest("POST", "/v2/uploads", said)
        assert status == 201, body
        self.id = body["data"]["uploadId"]
        url = urllib.parse.urlsplit(body["data"]["putUrl"])
        self.target = f"{url.path}?{url.query}"

    def put(self) -> tuple[int, str]:
        """Status and error code of sending all of it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.account.service.port, timeout=60)
        try:
            connection.request("PUT", self.target, self.content, {"Content-Type": "application/pdf"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def begin(self, sent: int) -> socket.socket:
        """A connection on which so many bytes of it were sent."""
        connection = socket.create_connection(("127.0.0.1", self.account.service.port), 60)
        head = (f"PUT {self.target} HTTP/1.1\r\nHost: x\r\nContent-Type: application/pdf\r\n"
                f"Content-Length: {len(self.content)}\r\n\r\n")
        connection.sendall(head.encode() + self.content[:sent])
        return connection

    def status(self) -> str:
        return self.account.rest("GET", f"/v2/uploads/{self.id}")[1]["data"]["status"]

    def complete(self) -> tuple[int, dict, dict]:
        digest = hashlib.sha256(self.content).hexdigest()
        return self.account.rest("POST", f"/v2/uploads/{self.id}/complete", {"sha256": digest})


def uploader(service: FaultyService) -> Account:
    account = Account(service)
    account.secret = key_with(account, "write:uploads", "read:bookmarks", "read:library")
    return account


def files(folder: pathlib.Path) -> list[pathlib.Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_full_store_refuses_an_upload_and_keeps_nothing_of_it(carrel: str, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "files"
    with tmpfs(store, 8 * MIB):
        # Without a floor, which is larger than this disk: it is the disk that refuses.
        service = FaultyService(carrel, tmp_path, files__url=store, storage__min_free_bytes=0)
        service.start()
        account = uploader(service)
        upload = Upload(account, 20 * MIB)

        status, body = upload.put()

        assert status == 507 and "STORAGE_FULL" in body, body
        eventually(lambda: files(store) == [])
        assert upload.status() == "awaiting"
        status, body, _ = upload.complete()
        assert (status, body["error"]["code"]) == (409, "UPLOAD_INCOMPLETE")
        small = Upload(account, 1 * MIB)
        assert small.put()[0] == 200
        assert small.complete()[0] == 202
        service.kill()


def test_uploads_at_once_keep_the_floor(carrel: str, tmp_path: pathlib.Path) -> None:
    """More than there is room for, and written faster than the disk is measured."""
    disk, floor, tolerance = tmp_path / "disk", 16 * MIB, 2 * MIB
    with tmpfs(disk, 200 * MIB):
        service = FaultyService(carrel, tmp_path, data_dir=disk / "data", models__dir=tmp_path / "none",
                                storage__min_free_bytes=floor)
        service.start()
        account = uploader(service)
        uploads = [Upload(account, 40 * MIB) for _ in range(8)]

        with LeastFree(disk) as least, concurrent.futures.ThreadPoolExecutor(len(uploads)) as senders:
            answers = list(senders.map(Upload.put, uploads))

        assert {status for status, _ in answers} == {200, 507}
        assert all("STORAGE_FULL" in body for status, body in answers if status == 507)
        assert least.bytes >= floor - tolerance, f"{least.bytes / MIB:.1f} MiB were left"
        kept = [upload for upload, (status, _) in zip(uploads, answers) if status == 200]
        assert [upload.complete()[0] for upload in kept] == [202] * len(kept)
        stored = eventually(lambda: (found := files(disk / "data" / "files")) and len(found) == len(kept) and found)
        assert all(file.read_bytes() == uploads[0].content for file in stored)
        service.kill()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_upload_broken_by_the_end_of_the_service_starts_anew(service: FaultyService, end: str) -> None:
    account = uploader(service)
    upload = Upload(account, 8 * MIB)
    store = service.folder / "data" / "files"
    connection = upload.begin(4 * MIB)
    eventually(lambda: files(store))

    if end == "stop":
        # The service waits for what is in progress; its client goes away meanwhile.
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
    # A file whose writer died is removed half a minute after it was renewed last.
    with opened(database_file(service)) as rows:
        rows.execute("UPDATE stored_file SET held_until = 0 WHERE upload_id IS NULL")
    eventually(lambda: [file.stat().st_size for file in files(store)] == [8 * MIB])


def test_upload_in_progress_is_taken_before_the_service_stops(service: FaultyService) -> None:
    account = uploader(service)
    upload = Upload(account, 8 * MIB)
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
