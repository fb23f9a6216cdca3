"""SIGTERM under load: every handled request is answered, acknowledged writes are kept, and no activity row is lost."""

import asyncio
import collections
import contextlib
import json
import time

import pytest
from background import database_file, opened
from harness import Account, FaultyService, eventually

CONNECTIONS = 256
# Unanswered requests per connection.
WINDOW = 4
# Of every eight connections one saves and one searches; the others ask who they are.
MIX = 8
CLIENT = "drain"
DEADLINE_SECONDS = 60
MAX_STOP_SECONDS = 30


class Connection:
    """A client that always has pipelined requests outstanding, until an answer says that the connection closes."""

    def __init__(self, account: Account, number: int) -> None:
        self.account, self.number = account, number
        self.sent = 0
        self.statuses: list[int] = []
        self.saved: list[str] = []
        self.failure: str | None = None

    def request(self) -> bytes:
        head = {"Host": "x", "Authorization": f"Bearer {self.account.secret}", "User-Agent": CLIENT}
        line, body = "GET /rest/v1/user", b""
        if self.number % MIX == 0:
            page = {"url": f"https://drain.example/{self.number}/{self.sent}", "text": f"word{self.sent} of a page"}
            line, body = "POST /rest/v1/bookmarks", json.dumps(page).encode()
            head |= {"Content-Type": "application/json", "Content-Length": len(body)}
        elif self.number % MIX == 1:
            line = "GET /rest/v2/search?q=word1"
        lines = [f"{line} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
        self.sent += 1
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    async def run(self) -> None:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.account.service.port)
            writer.write(b"".join(self.request() for _ in range(WINDOW)))
            while not await self.read_answer(reader):
                # The service may have closed the connection after an answer that is not read yet.
                with contextlib.suppress(OSError):
                    writer.write(self.request())
            writer.close()
        except (OSError, asyncio.IncompleteReadError) as error:
            self.failure = f"connection {self.number} ended after {len(self.statuses)} of {self.sent} requests: {error!r}"

    async def read_answer(self, reader: asyncio.StreamReader) -> bool:
        """Whether the answer is the last one of the connection."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        lines = head.splitlines()
        fields = dict(line.split(": ", 1) for line in lines[1:] if line)
        body = json.loads(await reader.readexactly(int(fields["content-length"])))
        self.statuses.append(int(lines[0].split()[1]))
        if self.statuses[-1] == 201:
            self.saved.append(body["data"]["bookmark"]["bookmarkId"])
        return fields.get("connection") == "close"


async def terminate_under_load(service: FaultyService, connections: list[Connection]) -> float:
    """Returns when it sent SIGTERM."""
    tasks = [asyncio.create_task(connection.run()) for connection in connections]
    while not all(len(connection.statuses) > WINDOW or connection.failure for connection in connections):
        await asyncio.sleep(0.01)
    service.process.terminate()
    terminated = time.monotonic()
    await asyncio.wait_for(asyncio.gather(*tasks), DEADLINE_SECONDS)
    return terminated


def activity_rows(service: FaultyService) -> int:
    with opened(database_file(service)) as connection:
        return connection.execute("SELECT count(*) FROM activity WHERE client = ?", (CLIENT,)).fetchone()[0]


@pytest.mark.parametrize("round_number", range(3))
def test_requests_are_answered_and_recorded_during_a_drain(service: FaultyService, round_number: int) -> None:
    """Covers the fault table (row 36)."""
    account = Account(service)
    account.save(round_number)
    connections = [Connection(account, number) for number in range(CONNECTIONS)]

    terminated = asyncio.run(asyncio.wait_for(terminate_under_load(service, connections), 2 * DEADLINE_SECONDS))
    status = service.process.wait(DEADLINE_SECONDS)
    seconds = time.monotonic() - terminated

    assert status == 0 and seconds < MAX_STOP_SECONDS, (status, seconds)
    assert [connection.failure for connection in connections if connection.failure] == []
    statuses = collections.Counter(status for connection in connections for status in connection.statuses)
    assert set(statuses) == {200, 201}
    # A request that was handled but not answered would have a row too.
    assert activity_rows(service) == sum(statuses.values())
    service.start()
    saved = [bookmark for connection in connections for bookmark in connection.saved]
    missing = [bookmark for bookmark in saved if account.rest("GET", f"/v1/bookmarks/{bookmark}")[0] != 200]
    assert missing == []
    assert eventually(lambda: account.finds("word1"))
    print(f"{sum(statuses.values())} answered, {len(saved)} saved, none lost; the end took {seconds:.1f} s")
