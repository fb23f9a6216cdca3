"""Calls fail on files other than the database: uploads are complete or refused, and the index becomes complete."""

import hashlib
import pathlib
import urllib.parse

import pytest
from harness import FaultyService, create_key, is_storage_refusal
from injector import Injector
from ledger import User
from load import Load
from upload_client import small_pdf

SCOPES = ("read:library", "read:bookmarks", "write:uploads")
CALLS = [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync", "EIO"), ("ftruncate", "EIO")]


@pytest.fixture
def service(faulty_service: FaultyService) -> FaultyService:
    return faulty_service


class Uploads:
    """Uploads with one key, and those that were acknowledged."""

    def __init__(self, service: FaultyService, user: User) -> None:
        self.service, self.user = service, user
        self.key = create_key(service, user.email, "load", SCOPES)
        self.completed: dict[str, bytes] = {}
        self.bad: list[object] = []

    def is_acknowledged(self, what: str, answer: tuple[int, dict, dict]) -> bool:
        status, body, _ = answer
        if is_storage_refusal(answer):
            return False
        if not 200 <= status < 300:
            self.bad.append((what, status, body))
        return 200 <= status < 300

    def upload(self, number: int) -> bool:
        """Announces, sends and completes a file, and retries refused steps. Returns whether no step was refused."""
        content, was_refused = small_pdf(f"heron{number} marsh"), False
        body = {"filename": f"{number}.pdf", "contentType": "application/pdf", "bytes": len(content)}

        def again(what: str, ask):
            nonlocal was_refused
            for _ in range(5):
                answer = ask()
                if self.is_acknowledged(what, answer):
                    return answer[1]
                was_refused = True
            raise AssertionError(f"{what} is always refused: {self.bad} {answer}")

        ticket = again("announce", lambda: self.user.rest("POST", "/v2/uploads", body, key=self.key))["data"]
        address = urllib.parse.urlsplit(ticket["putUrl"])
        target = f"{address.path}?{address.query}"
        again("send", lambda: self.service.exchange("PUT", target, content, ticket["putHeaders"]))
        path = f"/v2/uploads/{ticket['uploadId']}/complete"
        again("complete", lambda: self.user.rest("POST", path, {}, key=self.key))
        self.completed[ticket["uploadId"]] = content
        return not was_refused

    def assert_complete(self) -> None:
        folder = pathlib.Path(self.service.folder) / "data" / "files"
        digests = {hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()}
        for id, content in self.completed.items():
            assert hashlib.sha256(content).digest() in digests, "an acknowledged upload is not complete on the disk"
            status, body, _ = self.user.rest("GET", f"/v2/uploads/{id}", key=self.key)
            assert status == 200 and body["data"]["status"] in ("processing", "ready"), body


@pytest.mark.parametrize(("call", "error"), CALLS[:3])
def test_acknowledged_uploads_are_complete(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
    """Covers the fault table (row 5)."""
    load = Load(service, accounts=1)
    uploads = Uploads(service, load.users[0])
    failed = refused = 0
    for number, when in enumerate((1, 1, 2, 3), 1):
        injector.arm(service.process.pid, call, error, when, part="/files/")
        refused += not uploads.upload(number)
        failed += injector.failed
        injector.disarm()
        assert uploads.bad == []
    uploads.assert_complete()
    service.kill()
    service.start()

    uploads.assert_complete()
    summarize(f"{failed} failed calls, {refused} uploads with a refused step, {len(uploads.completed)} acknowledged and complete")
    assert failed


@pytest.mark.parametrize(("call", "error"), CALLS[:2])
def test_large_body_is_stored_completely_or_refused(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
    """Covers the fault table (row 5)."""
    load = Load(service, accounts=1)
    user, failed, answers = load.users[0], 0, []
    for when in (1, 2, 3):
        # Too large to be buffered in memory while it arrives.
        body = {"url": f"https://faults.example/{when}", "title": "t", "text": "heron marsh. " * 300_000}
        injector.arm(service.process.pid, call, error, when, part="/scratch/")
        answer = user.rest("POST", "/v1/bookmarks", body)
        failed += injector.failed
        injector.disarm()
        answers.append(answer[0])
        seen = user.rest("GET", f"/v1/bookmarks/exists?url={urllib.parse.quote(body['url'])}")[1]["data"]["exists"]
        assert seen == load.note("save a large page", answer)
    summarize(f"{failed} failed calls, answers {answers}")
    assert load.found() == {}
    assert failed


@pytest.mark.parametrize(("call", "error"), CALLS)
def test_index_holds_everything_after_failed_calls(
        service: FaultyService, injector: Injector, summarize, call: str, error: str) -> None:
    """Covers the fault table (row 5)."""
    load, failed = Load(service), 0
    for when in (1, 2, 5):
        injector.arm(service.process.pid, call, error, when, part="/index/")
        load.run_until(lambda: injector.failed, seconds=10)
        failed += injector.failed
        injector.disarm()
        load.verify()
        assert load.found() == {}, when

    found = load.await_reading()
    summarize(f"{failed} failed calls, {found} bookmarks found; {load.summary()}")
    assert failed
