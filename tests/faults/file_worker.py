"""The steps of a load that write files: uploads, and bodies that are too long to be held in memory."""

from __future__ import annotations

import hashlib
import json
import pathlib
import typing

from background import key_with
from harness import Account
from upload_client import Upload, announce, small_pdf
from workers import Worker

if typing.TYPE_CHECKING:
    from load import Load

SCOPES = ("read:library", "read:bookmarks", "write:bookmarks", "write:uploads")
# A body over 256 KiB is written to a scratch file. White space behind the JSON makes it long, and nothing else.
PADDING = " " * (400 << 10)


class FileWorker(Worker):
    """Uploads files and saves pages with long bodies, with an account of its own."""

    def __init__(self, load: Load, seed: str) -> None:
        super().__init__(load, None, seed)
        self.account = Account(load.service)
        self.account.secret = key_with(self.account, *SCOPES)
        # Announced uploads by the word in their files; those of which bytes were acknowledged, and those that are complete.
        self.uploads: dict[str, Upload] = {}
        self.sent: set[str] = set()
        self.completed: set[str] = set()
        # Saved pages by their word: the id, or none where the answer was unclear.
        self.pages: dict[str, str | None] = {}

    def steps(self) -> list:
        return [self.upload, self.upload_twice, self.save_long]

    def upload(self, times: int = 1) -> None:
        word = self.word("u")
        content = small_pdf(f"{word} heron marsh")
        answer = announce(self.account, content)
        if not self.done("announce an upload", answer):
            return
        self.uploads[word] = Upload(self.account, content, answer[1]["data"])
        for _ in range(times):
            self.send(word)
        if word in self.sent:
            self.complete(word)

    def upload_twice(self) -> None:
        """The second file replaces the first, which is removed later."""
        self.upload(2)

    def send(self, word: str) -> None:
        upload = self.uploads[word]
        headers = {"Content-Type": "application/pdf"}
        if self.done("send an upload", self.account.service.exchange("PUT", upload.target, upload.content, headers)):
            self.sent.add(word)

    def complete(self, word: str) -> None:
        if self.done("complete an upload", self.uploads[word].complete()):
            self.completed.add(word)

    def save_long(self) -> None:
        word = self.word("l")
        body = {"url": f"https://faults.example/{word}", "title": word, "text": f"{word} heron marsh. " * 5}
        headers = {"Authorization": f"Bearer {self.account.secret}", "Content-Type": "application/json"}
        answer = self.account.service.exchange("POST", "/rest/v1/bookmarks", json.dumps(body) + PADDING, headers)
        saved = self.done("save with a long body", answer)
        self.pages[word] = answer[1]["data"]["bookmark"]["bookmarkId"] if saved else None

    def verify(self) -> None:
        """Compares what is there with what was acknowledged, and completes interrupted uploads as their client would."""
        for word in self.uploads.keys() - self.completed:
            self.finish(word)
        for word, bookmark in list(self.pages.items()):
            self.settle_page(word, bookmark)
        folder = pathlib.Path(self.account.service.settings["data_dir"]) / "files"
        stored = {hashlib.sha256(path.read_bytes()).digest() for path in folder.rglob("*") if path.is_file()}
        for word in self.completed:
            if hashlib.sha256(self.uploads[word].content).digest() not in stored:
                self.load.fault("missing", f"the file of a completed upload is not whole: {word}")

    def finish(self, word: str) -> None:
        if word not in self.sent and self.uploads[word].status() == "awaiting":
            self.send(word)
        self.complete(word)
        if word not in self.completed:
            self.load.fault("bad answer", f"an upload cannot be completed after a fault: {word}")

    def settle_page(self, word: str, bookmark: str | None) -> None:
        path = f"/v1/bookmarks/exists?url=https://faults.example/{word}"
        status, body, _ = self.account.rest("GET", path)
        is_there = status == 200 and body["data"]["exists"]
        if bookmark and not is_there:
            self.load.fault("missing", f"a page with a long body: {word}")
        elif not is_there:
            del self.pages[word]
        elif bookmark is None:
            self.pages[word] = "found"
