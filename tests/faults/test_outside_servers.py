"""External servers that hang, fail, flood or are not found: other requests do not wait for them, and nothing is lost."""

import os
import pathlib
import threading
import time

from background import database_file, key_with, make_jobs_due, opened, resident_mib, timed
from clock import ShiftedService, clock_library
from harness import Account, FaultyService, eventually, started
from stubs import ChatModel, Gate, MailServer, NameServer, Site, serving

WITH_DEADLINES = bool(os.environ.get("CARREL_FAULT_DEADLINES"))
# Maximum duration of other requests while a server hangs.
MAX_SECONDS = 3
# The deadline of an answer from a model; the service has no setting for it.
MODEL_SECONDS = 45
# How long a model that hung several times receives no request.
CIRCUIT_SECONDS = 31
FEEDS = int(os.environ.get("CARREL_FAULT_FEEDS", "20"))


def ask(account: Account, asker: str) -> tuple[int, dict, dict]:
    return account.rest("POST", "/v2/ask", {"question": "Where is word1 written?"}, asker)


class Question(threading.Thread):
    """A question that is asked in the background."""

    def __init__(self, account: Account, asker: str) -> None:
        super().__init__(daemon=True)
        self.account, self.asker = account, asker
        self.answer: tuple[int, dict, dict] = (0, {}, {})

    def run(self) -> None:
        self.answer = ask(self.account, self.asker)


def jobs(service: FaultyService, kind: str) -> list[tuple]:
    with opened(database_file(service)) as connection:
        return connection.execute("SELECT state, attempts, error FROM job WHERE kind = ? ORDER BY created_at", (kind,)).fetchall()


def assert_others_are_served(account: Account, first: int) -> float:
    """Searches and saves are answered, and saved texts are indexed. Returns how long the slowest request took."""
    taken = []
    for number in range(first, first + 5):
        for request in ((account.save, number), (account.rest, "GET", f"/v2/search?q=word{first}")):
            seconds, answer = timed(*request)
            assert answer[0] in (200, 201) and seconds < MAX_SECONDS, (answer[0], seconds)
            taken.append(seconds)
    # They are not indexed in their order.
    eventually(lambda: all(account.finds(f"word{number}") for number in range(first, first + 5)))
    return max(taken)


def test_hanging_model_blocks_no_search_and_costs_no_answer(carrel: str, tmp_path: pathlib.Path, summarize) -> None:
    """Every question ends at the deadline of the model. Then the circuit is open: new ones are refused at once, until the model
    is tried again and answers (row 16)."""
    with serving(ChatModel()) as model:
        service = ShiftedService(carrel, tmp_path, clock_library(tmp_path), **model.settings())
        service.start()
        account = Account(service)
        asker = key_with(account, "ask:library", "read:library")
        assert_others_are_served(account, 1)
        model.behave = ["hang"]
        asking = [Question(account, asker) for _ in range(12)]
        for question in asking:
            question.start()
        eventually(lambda: model.gate.waiting == len(asking))
        slowest = assert_others_are_served(account, 100)
        assert all(question.is_alive() for question in asking)

        began = time.monotonic()
        if not WITH_DEADLINES:
            service.jump(MODEL_SECONDS)
        for question in asking:
            question.join(MODEL_SECONDS + MAX_SECONDS)
            assert not question.is_alive(), "a question has no deadline"
        seconds = time.monotonic() - began
        assert seconds < (MODEL_SECONDS if WITH_DEADLINES else 0) + MAX_SECONDS, seconds
        for status, body, headers in (question.answer for question in asking):
            assert (status, body["error"]["code"]) == (503, "AI_UNAVAILABLE") and "retry-after" in headers
        assert account.rest("GET", "/v2/usage", None, asker)[1]["data"]["answers"]["thisMonth"] == 0
        requests_before = len(model.request_times)
        refusing, (status, body, headers) = timed(ask, account, asker)
        assert (status, body["error"]["code"]) == (503, "AI_UNAVAILABLE") and "retry-after" in headers
        assert refusing < MAX_SECONDS and len(model.request_times) == requests_before, refusing

        model.gate.is_open.set()
        model.behave = ["answer"]
        service.jump(CIRCUIT_SECONDS)
        assert ask(account, asker)[0] == 200

        summarize(f"{len(asking)} questions to a model that hangs ended {seconds:.1f} s after "
                  f"{'they were sent' if WITH_DEADLINES else 'a jump to their deadline'}; "
                  f"the slowest other request: {slowest:.2f} s")
        service.kill()


def test_paused_ai_asks_a_hanging_model_nothing(carrel: str, tmp_path: pathlib.Path) -> None:
    """No question reaches the model until an operator ends the pause (row 16)."""
    with serving(ChatModel()) as model:
        service = started(carrel, tmp_path, **model.settings())
        account = Account(service)
        asker = key_with(account, "ask:library", "read:library")
        assert_others_are_served(account, 1)
        model.behave = ["hang"]

        service.cli("ai", "pause")
        seconds, (status, body, headers) = timed(ask, account, asker)
        found = account.rest("GET", "/v2/search?q=word1")[1]["data"]

        assert (status, body["error"]["code"]) == (503, "AI_PAUSED") and "retry-after" in headers and seconds < MAX_SECONDS
        assert model.request_times == [] and found["results"] and found["degraded"] == "lexical"
        model.behave = ["answer"]
        service.cli("ai", "resume")
        assert ask(account, asker)[0] == 200
        service.kill()


def test_faulty_models_cost_no_answer_and_no_memory(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 17)."""
    with serving(ChatModel()) as model:
        service = started(carrel, tmp_path, **model.settings())
        account = Account(service)
        asker = key_with(account, "ask:library", "read:library")
        assert_others_are_served(account, 1)

        before = resident_mib(service)
        for behave in ("fail", "cut", "nonsense", "flood"):
            model.behave = [behave]
            status, body, headers = ask(account, asker)
            assert (status, body["error"]["code"]) == (503, "AI_UNAVAILABLE"), behave
            assert "retry-after" in headers
        grown = resident_mib(service) - before
        print(f"answers of 1 GiB and others: resident memory grew by {grown:.1f} MiB")
        assert grown < 64
        usage = account.rest("GET", "/v2/usage", None, asker)[1]["data"]
        assert usage["answers"]["thisMonth"] == 0 and usage["aiBudget"]["groups"][0]["share"] == 0

        model.behave, model.request_times = ["busy", "answer"], []
        assert ask(account, asker)[0] == 200
        assert model.request_times[1] - model.request_times[0] >= 1, "the service did not wait for Retry-After"
        assert account.rest("GET", "/v2/usage", None, asker)[1]["data"]["answers"]["thisMonth"] == 1
        service.kill()


def test_emails_are_sent_after_mail_servers_fail(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 20)."""
    with serving(MailServer()) as mail:
        service = started(carrel, tmp_path, **mail.settings())
        account = Account(service)

        def use_first(secret: str) -> None:
            """Uses a new key, which queues an e-mail."""
            seconds, answer = timed(account.rest, "GET", "/v1/user", None, secret)
            assert answer[0] == 200 and seconds < MAX_SECONDS, (answer[0], seconds)

        def due_until(condition) -> None:
            def look() -> bool:
                make_jobs_due(service)
                return condition()
            eventually(look)

        mail.behave = "hang"
        use_first(account.secret)
        eventually(lambda: mail.gate.waiting > 0)
        assert_others_are_served(account, 1)
        mail.behave = "busy"
        mail.gate.is_open.set()
        due_until(lambda: any("421" in (error or "") for _, _, error in jobs(service, "send_email")))
        # It is tried again: a server that is busy is no reason to give up.
        assert {state for state, _, _ in jobs(service, "send_email")} in ({"queued"}, {"running"})

        mail.behave = "cut"
        due_until(lambda: mail.letters)
        mail.behave = "take"
        due_until(lambda: {state for state, _, _ in jobs(service, "send_email")} == {"done"})
        # The server had accepted the e-mail before the connection broke, but the service cannot know that.
        ids = [line for letter in mail.letters for line in letter.splitlines() if line.startswith("Message-ID")]
        assert len(ids) == 2 and len(set(ids)) == 1, ids

        mail.behave = "refuse"
        use_first(key_with(account, "read:user"))
        eventually(lambda: "given_up" in [state for state, _, _ in jobs(service, "send_email")])
        state, attempts, error = jobs(service, "send_email")[-1]
        assert (state, attempts) == ("given_up", 1) and "550" in error
        service.kill()


def test_pages_are_fetched_after_a_name_server_hangs(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 21)."""
    resolver = tmp_path / "resolv.conf"
    resolver.write_text(f"nameserver {NameServer.ADDRESS}\noptions timeout:2 attempts:1\n")
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\nexec unshare --mount sh -c "
                       f"'mount --bind {resolver} /etc/resolv.conf && exec {carrel} \"$@\"' sh \"$@\"\n")
    program.chmod(0o755)
    with NameServer() as names, serving(Site()) as site:
        service = started(str(program), tmp_path, fetch__allow_private="127.0.0.0/8")
        account = Account(service)
        for number in range(20):
            page = {"url": f"http://bird{number}.faults.test:{site.port}/"}
            assert account.rest("POST", "/v1/bookmarks", page)[0] == 201
        eventually(lambda: names.query_count > 0)

        assert_others_are_served(account, 1)
        eventually(lambda: any(error and attempts for _, attempts, error in jobs(service, "fetch_page")))
        assert {state for state, _, _ in jobs(service, "fetch_page")} <= {"queued", "running"}
        names.answers = True

        def all_are_read() -> bool:
            make_jobs_due(service)
            return [state for state, _, _ in jobs(service, "fetch_page")] == ["done"] * 20

        eventually(all_are_read, 60)
        assert eventually(lambda: account.finds("bird7"))
        service.kill()


def test_feeds_due_at_once_take_turns_and_others_are_served(carrel: str, tmp_path: pathlib.Path) -> None:
    """Covers the fault table (row 42)."""
    fetches = 6
    # The other slots are reserved for interactive jobs.
    feeds_at_once = 4
    with serving(Site()) as site:
        service = started(carrel, tmp_path, fetch__allow_private="127.0.0.0/8", ingest__fetches=fetches)
        account = Account(service)
        assert_others_are_served(account, 1)
        reader = key_with(account, "read:feeds", "write:feeds")
        for number in range(FEEDS):
            # Two feeds of each host.
            feed = {"url": f"http://127.0.1.{1 + number // 2}:{site.port}/feed?{number}"}
            status, body, _ = account.rest("POST", "/v1/feeds", feed, reader)
            assert status == 201, body
        eventually(lambda: {state for state, _, _ in jobs(service, "fetch_feed")} <= {"done"})
        with opened(database_file(service)) as connection:
            assert connection.execute("SELECT count(*) FROM feed_source").fetchone() == (FEEDS,)
            site.hits.clear()
            site.most_at_once = site.most_of_one_host = 0
            site.gate = Gate()
            connection.execute("UPDATE feed_source SET next_fetch_at = 0, wait_until = NULL")
        eventually(lambda: site.gate.waiting >= feeds_at_once)

        assert_others_are_served(account, 100)
        site.delay = 0.2
        gate, site.gate = site.gate, None
        gate.is_open.set()
        end = time.monotonic() + 60
        while site.hits.total() < FEEDS:
            assert time.monotonic() < end, site.hits
            make_jobs_due(service)
            seconds, answer = timed(account.rest, "GET", "/v2/search?q=word1")
            assert answer[0] == 200 and seconds < MAX_SECONDS, (answer[0], seconds)
        print(f"{FEEDS} feeds: at most {site.most_at_once} at once, {site.most_of_one_host} of one host")
        assert site.most_at_once <= feeds_at_once and site.most_of_one_host == 1
        service.kill()
