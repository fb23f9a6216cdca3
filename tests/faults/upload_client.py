"""A client that uploads files."""

import hashlib
import http.client
import socket
import urllib.parse

from background import key_with
from harness import Account, FaultyService


def small_pdf(text: str) -> bytes:
    """A PDF of one page with one line."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    document, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(document))
        document += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(document)}\n%%EOF\n"
    return f"{document}xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def announce(account: Account, content: bytes) -> tuple[int, dict, dict]:
    """Announces an upload of a PDF."""
    file = {"filename": "paper.pdf", "contentType": "application/pdf", "bytes": len(content)}
    return account.rest("POST", "/v2/uploads", file)


class Upload:
    """An upload of a PDF that was announced, or is announced now."""

    def __init__(self, account: Account, content: bytes, announced: dict | None = None) -> None:
        self.account, self.content = account, content
        if announced is None:
            status, body, _ = announce(account, content)
            assert status == 201, body
            announced = body["data"]
        self.id = announced["uploadId"]
        url = urllib.parse.urlsplit(announced["putUrl"])
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
