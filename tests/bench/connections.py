"""Opens and counts many connections, and runs a client that saves pages meanwhile; used by memory_load.py and tests/faults."""

import contextlib
import http.client
import itertools
import resource
import select
import socket
import statistics
import threading
import time

from service import Reader, Service

# The client's saves before the load: their median is the baseline of its ratio.
IDLE_SAVES = 40
PAUSE_SECONDS = 0.05


def raise_file_limit() -> None:
    """Raises the limit of open files: the usual 1,024 would limit the connections of this process."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class SavingClient(threading.Thread):
    """Saves small pages one after the other, each on a new connection."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(daemon=True)
        self.reader, self.numbers, self.ended = reader, itertools.count(), threading.Event()
        self.refused: list[str] = []
        self.idle_ms = [self.save() for _ in range(IDLE_SAVES)]
        self.load_ms: list[float] = []

    def save(self) -> float:
        """Milliseconds until the response; a refusal counts too."""
        page = {"url": f"https://client.example/{next(self.numbers)}", "text": "A heron in the reeds."}
        began = time.perf_counter()
        try:
            self.reader.another().ask("POST", "/rest/v1/bookmarks", page)
        except (RuntimeError, OSError, http.client.HTTPException) as refused:
            self.refused.append(str(refused)[:80])
        return (time.perf_counter() - began) * 1000

    def run(self) -> None:
        while not self.ended.wait(PAUSE_SECONDS):
            self.load_ms.append(self.save())

    def end(self) -> dict:
        """Its figures; the ratio compares the medians with and without load."""
        self.ended.set()
        self.join()
        idle, load = percentiles(self.idle_ms), percentiles(self.load_ms)
        return {"client_saves": len(self.load_ms), "client_refused": len(self.refused), "client_idle_ms_p50": idle[0],
                "client_ms_p50": load[0], "client_ms_p99": load[1], "client_ms_max": round(max(self.load_ms), 1),
                "client_p50_ratio": round(load[0] / idle[0], 2)}


def percentiles(measured: list[float]) -> tuple[float, float]:
    """The 50th and the 99th."""
    at = statistics.quantiles(measured, n=100, method="inclusive")
    return round(at[49], 1), round(at[98], 1)


@contextlib.contextmanager
def saving_client(service: Service, figures: dict):
    """Runs a client of another account until the block ends, and adds its figures."""
    client = SavingClient(service.reader())
    client.start()
    try:
        yield
    finally:
        figures |= client.end()


def head(service: Service, method: str, path: str, **fields: object) -> bytes:
    """The head of a request from the service's own origin; a header field `A-B` is named `A_B`."""
    own = {"Host": f"127.0.0.1:{service.port}", "Origin": f"http://127.0.0.1:{service.port}"}
    named = own | {name.replace("_", "-"): value for name, value in fields.items()}
    return "\r\n".join([f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]).encode()


def connect(service: Service, address: str = "127.0.0.1", receive_buffer: int | None = None) -> socket.socket:
    """A connection from this IP address of the machine; a small receive buffer makes it a slow reader."""
    connection = socket.socket()
    if receive_buffer is not None:
        # Set before connect: the window is negotiated when the connection opens (tcp(7)).
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", service.port))
    return connection


def open_all(service: Service, addresses: list[str], count: int, sent: bytes) -> list[socket.socket]:
    """Opens `count` connections from these IP addresses in turn and sends the bytes on each; returns those that were not refused."""
    opened = []
    for _, address in zip(range(count), itertools.cycle(addresses)):
        with contextlib.suppress(OSError):
            connection = connect(service, address)
            connection.sendall(sent)
            opened.append(connection)
    return opened


def count_open(connections: list[socket.socket]) -> int:
    """The number of connections that the service has neither answered nor closed."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN | select.POLLHUP)
    return len(connections) - len(poll.poll(0))


def count_reset(connections: list[socket.socket]) -> int:
    """The number of connections that the service has reset, even if there is unread data."""
    poll = select.poll()
    for connection in connections:
        # POLLERR and POLLHUP are reported even if no event is asked for; POLLIN would report the unread data.
        poll.register(connection, 0)
    return sum(bool(events & (select.POLLERR | select.POLLHUP)) for _, events in poll.poll(0))


def close_all(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.close()
