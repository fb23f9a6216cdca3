"""A service that is stopped, replaced or frozen under load: accepted requests are answered, nothing is lost or counted twice."""

import http.client
import json
import pathlib
import signal
import sqlite3
import threading
import time

from background import Saves, database_file, key_with, make_jobs_due, opened
from harness import Account, FaultyService, eventually, started
from stubs import Gate, Site, serving

CLIENTS = 8
MAX_STOP_SECONDS = 30
FLUSH_SECONDS = 1.5


class BusyClient(threading.Thread):
    """Sends one request after the other on persistent connections, until the service stops."""

    def __init__(self, account: Account, number: int) -> None:
        super().__init__(daemon=True)
        self.account = account
        self.number = number
        self.acknowledged: list[str] = []
        self.answered = 0
        self.faults: list[str] = []

    def run(self) -> None:
        address = ("127.0.0.1", self.account.service.port)
        while True:
            connection = http.client.HTTPConnection(*address, timeout=60)
            try:
                connection.connect()
            except OSError:
                return
            if not self._use(connection):
                return

    def _use(self, connection: http.client.HTTPConnection) -> bool:
        """Whether to continue on another connection."""
        headers = {"Authorization": f"Bearer {self.account.secret}", "Content-Type": "application/json"}
        while True:
            self.number += 1
            page = {"url": f"https://faults.example/{self.number}", "text": f"word{self.number} " * 20}
            try:
                if self.number % 2:
                    connection.request("POST", "/rest/v1/bookmarks", json.dumps(page), headers)
                else:
                    connection.request("GET", "/rest/v1/bookmarks?limit=1", headers=headers)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))
                return False
            if answer.status == 503 and answer.getheader("Retry-After"):
                # The service is stopping and has not accepted the request.
                return False
            if answer.status not in (200, 201):
                self.faults.append(f"{answer.status}: {body}")
                return False
            self.answered += 1
            if answer.status == 201:
                self.acknowledged.append(json.loads(body)["data"]["bookmark"]["bookmarkId"])
            if answer.will_close:
                return True


def test_stop_under_load_answers_accepted_requests(service: FaultyService) -> None:
    """Covers the fault table (row 36)."""
    account = Account(service)
    clients = [BusyClient(account, 10_000 * number) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    eventually(lambda: min(client.answered for client in clients) > 20)

    began = time.monotonic()
    service.process.terminate()
    assert service.process.wait(2 * MAX_STOP_SECONDS) == 0
    seconds = time.monotonic() - began
    for client in clients:
        client.join()

    answered = sum(client.answered for client in clients)
    acknowledged = [bookmark for client in clients for bookmark in client.acknowledged]
    print(f"{answered} requests were answered, {len(acknowledged)} saves; the end took {seconds:.1f} s")
    assert seconds < MAX_STOP_SECONDS
    assert [fault for client in clients for fault in client.faults] == []
    with opened(database_file(service)) as connection:
        assert connection.execute("SELECT sum(calls) FROM usage_day").fetchone() == (answered,)
        assert connection.execute("SELECT count(*) FROM activity").fetchone() == (answered,)
        assert connection.execute("SELECT count(*) FROM bookmark").fetchone() == (len(acknowledged),)
    service.start()
    assert all(account.rest("GET", f"/v1/bookmarks/{bookmark}")[0] == 200 for bookmark in acknowledged)


def second_service(service: FaultyService, folder: pathlib.Path, **settings: object) -> FaultyService:
    """A second service on the database of another, with a folder of its own."""
    folder.mkdir()
    return FaultyService(service.program, folder, database__url=f"sqlite:{database_file(service)}", **settings)


def counts_at_rest(connection: sqlite3.Connection, query: str) -> int:
    """A count, once two readings that are more than a flush apart are equal. Counts are written once a second."""
    before, read = None, connection.execute(query).fetchone()[0]
    while before != read:
        time.sleep(FLUSH_SECONDS)
        before, read = read, connection.execute(query).fetchone()[0]
    return read


def test_replaced_service_loses_no_save(service: FaultyService, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 37)."""
    account = Account(service)
    successor = second_service(service, tmp_path / "successor")
    with Saves(account, threads=1) as saves:
        eventually(lambda: len(saves.acknowledged) > 5)
        successor.start()
        eventually(lambda count=len(saves.acknowledged): len(saves.acknowledged) > count + 5)
        service.stop()
    try:
        assert service.process.returncode == 0
        assert set(saves.statuses) <= {0, 201, 503} and saves.refusals_without_wait == 0, saves.statuses
        account.service = successor
        assert saves.missing() == []

        def all_are_read() -> bool:
            make_jobs_due(service)
            with opened(database_file(service)) as connection:
                return connection.execute("SELECT count(*) FROM job WHERE state <> 'done'").fetchone() == (0,)

        eventually(all_are_read, 60)
        # Each save was read again once.
        counted, unanswered = 2 * len(saves.acknowledged), saves.statuses[0]
        with opened(database_file(service)) as connection:
            calls = counts_at_rest(connection, "SELECT sum(calls) FROM usage_day")
            lines = counts_at_rest(connection, "SELECT count(*) FROM activity WHERE status = '201'")
        assert counted <= calls <= counted + unanswered + saves.statuses[503], (calls, saves.statuses)
        assert 0 <= lines - len(saves.acknowledged) <= unanswered, (lines, saves.statuses)
    finally:
        successor.kill()


def test_two_services_fetch_a_due_feed_once(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 37)."""
    rounds = 3
    with serving(Site()) as site:
        private = {"fetch__allow_private": "127.0.0.0/8"}
        service = started(carrel, tmp_path, **private)
        account = Account(service)
        second = second_service(service, tmp_path / "second", **private)
        second.start()
        feed = {"url": f"http://127.0.0.2:{site.port}/feed"}
        reader = key_with(account, "read:feeds", "write:feeds")
        assert account.rest("POST", "/v1/feeds", feed, reader)[0] == 201

        with opened(database_file(service)) as connection:
            def is_fetched(count: int) -> bool:
                waiting = "SELECT count(*) FROM job WHERE kind = 'fetch_feed' AND state <> 'done'"
                return site.hits.total() >= count and connection.execute(waiting).fetchone() == (0,)

            eventually(lambda: is_fetched(1))
            site.hits.clear()
            for number in range(rounds):
                connection.execute("UPDATE feed_source SET next_fetch_at = 0, wait_until = NULL")
                eventually(lambda count=number + 1: is_fetched(count))
        # Both services check for due feeds every second, so a second fetch would happen before the next save is indexed.
        assert account.save(1)[0] == 201
        eventually(lambda: account.finds("word1"))
        assert site.hits.total() == rounds
        service.kill()
        second.kill()


def test_frozen_service_does_not_overwrite_its_successor(carrel: str, tmp_path: pathlib.Path, summarize) -> None:
    """It is frozen until another service has taken its job over, which is when the lease of 12 s has ended (row 34)."""
    with serving(Site()) as site:
        private = {"fetch__allow_private": "127.0.0.0/8"}
        service = started(carrel, tmp_path, **private)
        account = Account(service)
        site.gate = Gate()
        page = {"url": f"http://127.0.0.2:{site.port}/"}
        bookmark = account.rest("POST", "/v1/bookmarks", page)[1]["data"]["bookmark"]["bookmarkId"]
        eventually(lambda: site.gate.waiting == 1)
        service.process.send_signal(signal.SIGSTOP)
        frozen = time.monotonic()
        gate, site.gate = site.gate, None
        successor = second_service(service, tmp_path / "successor", **private)
        successor.start()
        account.service = successor

        def rows(query: str) -> list[tuple]:
            with opened(database_file(service)) as connection:
                return connection.execute(query).fetchall()

        def page_jobs() -> list[tuple]:
            return rows("SELECT state, attempts FROM job WHERE kind = 'fetch_page'")

        texts = "SELECT version, title, total_chars FROM document WHERE content_type = 'article' AND title <> 'page 1'"
        # The frozen service still holds the index, so the text is read but cannot be found yet.
        eventually(lambda: page_jobs() == [("done", 2)], 60)
        before = rows(texts)
        gate.is_open.set()
        service.process.send_signal(signal.SIGCONT)
        frozen = time.monotonic() - frozen
        # Once it has noticed that it lost its lease, it serves as before.
        eventually(lambda: service.readiness()[0] == 200)
        eventually(lambda: account.save(1)[0] == 201)
        path = f"/v1/bookmarks/{bookmark}"
        eventually(lambda: account.rest("GET", path)[1]["data"]["bookmark"]["status"] == "ready")
        assert rows(texts) == before and len(before) == 1
        assert page_jobs() == [("done", 2)]
        summarize(f"frozen for {frozen:.1f} s while it held a lease; its successor's text stayed")
        service.kill()
        successor.kill()
