"""A client that uploads files."""

import hashlib
import http.client
import socket
import urllib.parse

from background import key_with
from harness import Account, FaultyService


class Upload:
    """An announced upload of a PDF."""

    def __init__(self, account: Account, content: bytes) -> None:
        self.account, self.content = account, content
        file = {"filename": "paper.pdf", "contentType": "application/pdf", "bytes": len(content)}
        status, body, _ = account.rest("POST", "/v2/uploads", file)
        assert status == 201, body
        self.id = body["data"]["uploadId"]
        url = urllib.parse.urlsplit(body["data"]["putUrl"])
        self.target = f"{url.path}?{url.query}"

    def put(self) -> tuple[int, str]:
        """Sends the whole file; returns status and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.account.service.port, timeout=60)
        try:
            connection.request("PUT", self.target, self.content, {"Content-Type": "application/pdf"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def begin(self, sent: int) -> socket.socket:
        """Sends this many bytes of the file; returns the open connection."""
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
    """A new account whose key may upload."""
    account = Account(service)
    account.secret = key_with(account, "write:uploads", "read:bookmarks", "read:library")
    return account
