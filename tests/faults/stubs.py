"""Stub servers that the service sends requests to. Tests choose how they fail."""

import collections
import contextlib
import http.server
import json
import socket
import socketserver
import threading
import time


class Server(socketserver.ThreadingTCPServer):
    """A server with one thread per connection, which ignores broken connections."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(server: socketserver.BaseServer):
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Gate:
    """Blocks handlers until it is opened."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.waiting = 0
        self.lock = threading.Lock()

    def wait(self) -> None:
        with self.lock:
            self.waiting += 1
        self.is_open.wait(120)


class ChatModel(Server):
    """An OpenAI-compatible endpoint. `behave` lists the kinds of its next responses; the last one is repeated."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ChatHandler)
        self.behave: list[str] = ["answer"]
        self.request_times: list[float] = []
        self.gate = Gate()
        self.lock = threading.Lock()

    def settings(self) -> dict[str, str]:
        return {"ai__chat__url": f"http://127.0.0.1:{self.server_address[1]}/v1", "ai__chat__model": "heron-1"}

    def next(self) -> str:
        with self.lock:
            self.request_times.append(time.monotonic())
            return self.behave.pop(0) if len(self.behave) > 1 else self.behave[0]


class ChatHandler(http.server.BaseHTTPRequestHandler):
    server: ChatModel

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        getattr(self, self.server.next())()

    def event(self, delta: dict, finish: str | None = None, usage: dict | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: " + json.dumps({"model": "heron-1", "choices": [choice], "usage": usage}).encode() + b"\n\n"

    def head(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def answer(self) -> None:
        self.head(200, Content_Type="text/event-stream")
        self.wfile.write(self.event({"content": "\"The heron stands still\" [1]."}))
        self.wfile.write(self.event({}, "stop", {"total_tokens": 1000}) + b"data: [DONE]\n\n")

    def hang(self) -> None:
        self.server.gate.wait()
        self.refuse()

    def refuse(self) -> None:
        self.head(401, Content_Length="0")

    def busy(self) -> None:
        self.head(429, Retry_After="1", Content_Length="0")

    def fail(self) -> None:
        self.head(500, Content_Length="0")

    def cut(self) -> None:
        self.head(200, Content_Type="text/event-stream")
        self.wfile.write(self.event({"content": "The her"}))

    def nonsense(self) -> None:
        self.head(200, Content_Type="application/json", Content_Length="5")
        self.wfile.write(b"{nope")

    def flood(self) -> None:
        self.head(200, Content_Type="text/event-stream", Content_Length=str(1 << 30))
        line = self.event({"content": "heron " * 10_000})
        with contextlib.suppress(OSError):
            for _ in range((1 << 30) // len(line)):
                self.wfile.write(line)


class MailServer(Server):
    """An SMTP server. `behave` says how it answers from now on."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), MailHandler)
        self.behave = "take"
        self.connections = 0
        self.letters: list[str] = []
        self.gate = Gate()

    def settings(self) -> dict[str, str]:
        return {"mail__url": f"smtp://127.0.0.1:{self.server_address[1]}"}


class MailHandler(socketserver.StreamRequestHandler):
    server: MailServer

    def say(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")

    def handle(self) -> None:
        self.server.connections += 1
        behave = self.server.behave
        if behave == "hang":
            self.server.gate.wait()
            return
        if behave == "busy":
            self.say("421 too busy")
            return
        self.say("220 mail.example")
        while line := self.rfile.readline().decode().strip().upper():
            if line.startswith("RCPT") and behave == "refuse":
                self.say("550 no such mailbox")
            elif line == "DATA":
                self.say("354 go on")
                letter = b""
                while not letter.endswith(b"\r\n.\r\n"):
                    letter += self.rfile.readline()
                self.server.letters.append(letter.decode())
                if behave == "cut":
                    return
                self.say("250 taken")
            elif line == "QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 mail.example")


class NameServer:
    """A DNS server on port 53 of a loopback address. Once `answers` is set, every name resolves to 127.0.0.1."""

    ADDRESS = "127.83.83.83"

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.ADDRESS, 53))
        self.answers = False
        self.query_count = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> "NameServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, peer = self.socket.recvfrom(4096)
                self.query_count += 1
                if self.answers:
                    self.socket.sendto(self._answer(query), peer)

    @staticmethod
    def _answer(query: bytes) -> bytes:
        end = query.index(0, 12) + 5
        is_address = query[end - 4:end - 2] == b"\0\1"
        head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_address else b"\0\0") + bytes(4)
        record = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton("127.0.0.1")
        return head + query[12:end] + (record if is_address else b"")


class Site(Server):
    """A web server on every loopback address, with pages and feeds. It counts concurrent requests."""

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), SiteHandler)
        self.lock = threading.Lock()
        self.delay = 0.0
        self.gate: Gate | None = None
        self.hits: collections.Counter[str] = collections.Counter()
        self.open: collections.Counter[str] = collections.Counter()
        self.most_at_once = 0
        self.most_of_one_host = 0

    @property
    def port(self) -> int:
        return self.server_address[1]

    def enter(self, host: str) -> None:
        with self.lock:
            self.hits[host] += 1
            self.open[host] += 1
            self.most_at_once = max(self.most_at_once, self.open.total())
            self.most_of_one_host = max(self.most_of_one_host, self.open[host])

    def leave(self, host: str) -> None:
        with self.lock:
            self.open[host] -= 1


class SiteHandler(http.server.BaseHTTPRequestHandler):
    server: Site

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        host = self.headers["Host"]
        self.server.enter(host)
        try:
            gate = self.server.gate
            if gate is not None:
                gate.wait()
            elif self.server.delay:
                time.sleep(self.server.delay)
            kind, body = self.feed() if self.path.startswith("/feed") else self.page()
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        finally:
            self.server.leave(host)

    def page(self) -> tuple[str, bytes]:
        name = self.headers["Host"].split(":")[0].split(".")[0]
        prose = f"The {name} heron stands still in the water for an hour, waiting for a fish to come by. " * 5
        return "text/html", f"<title>{name}</title><article><h1>{name}</h1><p>{prose}</p></article>".encode()

    def feed(self) -> tuple[str, bytes]:
        host = self.headers["Host"]
        item = f"<item><title>one</title><link>http://{host}/1</link><guid>1</guid></item>"
        channel = f"<title>{host}</title><link>http://{host}/</link>{item}"
        return "application/rss+xml", f'<?xml version="1.0"?><rss version="2.0"><channel>{channel}</channel></rss>'.encode()
