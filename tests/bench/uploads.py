"""Throughput and memory of PUT to an upload's address, as a ratio to a bare actix-web handler that drops what comes.

    cargo build --release --bin carrel --example bare
    python3.11 tests/bench/uploads.py --carrel target/release/carrel --bare target/release/examples/bare

One connection sends `--mib` MiB (1024) of bytes that are made as they go. Carrel digests them, writes them, and has them
on the disk before it answers; the bare handler reads and forgets them. Both take turns; printed are MiB per second of
each turn, the medians, their ratio, and what the service's memory grew by while bytes came: its peak while they did less
what it had before, in MiB, for all that is resident and for what is its own.
"""

import http.client
import os
import statistics
import subprocess
import threading
import time
import urllib.parse

from service import UNLIMITED, Service, arguments, folder, free_port, machine, say

PIECE = os.urandom(1 << 20)
TURNS = 3
TYPE = "video/mp4"


def send(address: str, mib: int) -> float:
    """MiB per second until the answer."""
    parts = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=600)
    began = time.perf_counter()
    length = {"Content-Type": TYPE, "Content-Length": str(mib << 20)}
    path = f"{parts.path}?{parts.query}"
    connection.request("PUT", path, body=(PIECE for _ in range(mib)), headers=length)
    status = connection.getresponse().status
    if status != 200:
        raise RuntimeError(f"PUT answered {status}")
    return mib / (time.perf_counter() - began)


class Peak(threading.Thread):
    """The most memory that a service has had since this began, figure by figure."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self.service, self.most, self.ended = service, service.memory(), threading.Event()

    def run(self) -> None:
        while not self.ended.wait(0.02):
            for name, value in self.service.memory().items():
                self.most[name] = max(self.most[name], value)

    def end(self) -> dict[str, float]:
        self.ended.set()
        self.join()
        return self.most


def turn(service: Service, reader, mib: int) -> tuple[float, dict[str, float]]:
    asked = {"filename": "film.mp4", "contentType": TYPE, "bytes": mib << 20}
    ticket = reader.data("POST", "/rest/v2/uploads", asked)
    before, peak = service.memory(), Peak(service)
    peak.start()
    rate = send(ticket["putUrl"], mib)
    return rate, {name: round(most - before[name], 1) for name, most in peak.end().items()}


def measure(asked) -> None:
    with folder() as made:
        (made / "answer").write_bytes(b"")
        service = Service(asked.carrel, made, UNLIMITED)
        port = free_port()
        bare = subprocess.Popen([os.path.realpath(asked.bare), made / "answer", str(port)])
        try:
            service.start()
            reader = service.reader()
            turn(service, reader, 8)
            rates, bares, grown = [], [], []
            for _ in range(TURNS):
                bares.append(send(f"http://127.0.0.1:{port}/drop", asked.mib))
                rate, more = turn(service, reader, asked.mib)
                rates.append(rate)
                grown.append(more)
                say(bare_mib_s=round(bares[-1]), carrel_mib_s=round(rate), **more)
        finally:
            bare.terminate()
            bare.wait()
            service.stop()
    rate, plain = statistics.median(rates), statistics.median(bares)
    worst = {name: max(more[name] for more in grown) for name in grown[0]}
    say(mib=asked.mib, bare_mib_s=round(plain), carrel_mib_s=round(rate), ratio=round(rate / plain, 3), **worst)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handler")
    parser.add_argument("--mib", type=int, default=1024, help="of each turn")
    measured = parser.parse_args()
    machine()
    measure(measured)
    machine()
