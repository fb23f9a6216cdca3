"""A mixed load of several accounts at once, and the comparison of the actual state with what was acknowledged."""

import functools
import json
import os
import secrets
import subprocess
import threading
import time
import traceback

from background import database_file, make_jobs_due, opened
from file_worker import FileWorker
from harness import FaultyService, is_storage_refusal
from ledger import GONE, KINDS, Answer, User
from workers import MAX_OBJECTS, LibraryWorker, ProjectWorker, SecurityWorker, Worker

# How long the service may take to notice a change by the command line.
CLI_SECONDS = 5.0
# How long it may take to read and index everything after a fault.
READING_SECONDS = 180


def finds_bookmark(user: User, word: str, bookmark: str) -> bool:
    status, body, _ = user.rest("GET", f"/v2/search?q={word}")
    return status == 200 and bookmark in [result["bookmarkId"] for result in body["data"]["results"]]


class Load:
    """Concurrent workers of several accounts, and others that write files if the test is about them."""

    def __init__(self, service: FaultyService, accounts: int = 3, file_workers: int = 0) -> None:
        self.service = service
        self.seed = os.environ.get("CARREL_FAULT_SEED") or secrets.token_hex(4)
        # How many of the steps of a project worker write a description, and its length: long ones fill many pages.
        self.descriptions, self.description_bytes = 2, 2_000
        self.with_cli = False
        # Whether the service may end under the load.
        self.may_break = False
        # Whether credentials that are accepted are checked in every round, and not only after a change of them.
        self.rechecks_credentials = True
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.threads: list[threading.Thread] = []
        self.steps = 0
        self.acknowledged, self.uncertain = 0, 0
        self.counts: dict[str, int] = {}
        self.faults: dict[str, list[str]] = {kind: [] for kind in ("missing", "undone", "twice", "bad answer", "damage")}
        self.users = [User(service) for _ in range(accounts)]
        kinds = (LibraryWorker, ProjectWorker, SecurityWorker)
        self.workers = [kind(self, user, f"{self.seed} {number} {kind.__name__}")
                        for number, user in enumerate(self.users) for kind in kinds]
        self.file_workers = [FileWorker(self, f"{self.seed} {number} files") for number in range(file_workers)]
        self.workers += self.file_workers

    def note(self, what: str, answer: Answer) -> bool:
        """Whether it was acknowledged. Any other answer than a storage refusal is a fault."""
        status, body, _ = answer
        acknowledged = 200 <= status < 300
        with self.lock:
            if acknowledged:
                self.acknowledged += 1
                self.counts[what] = self.counts.get(what, 0) + 1
                return True
            self.uncertain += 1
        if not is_storage_refusal(answer) and not (self.may_break and status == 0):
            self.fault("bad answer", f"{what}: {status} {json.dumps(body)[:200]}")
        return False

    def fault(self, kind: str, what: str) -> None:
        with self.lock:
            self.faults[kind].append(what)

    def cli(self, *words: str, stdin: str | None = None) -> bool:
        """Runs `carrel ...` while the service runs; whether it succeeded."""
        command = [self.service.program, *words, "--json"]
        done = subprocess.run(command, cwd=self.service.folder, env=self.service.environment(), input=stdin,
                              capture_output=True, text=True)
        with self.lock:
            if done.returncode == 0:
                self.acknowledged += 1
                self.counts["command line"] = self.counts.get("command line", 0) + 1
            else:
                self.uncertain += 1
        if done.returncode < 0:
            self.fault("bad answer", f"{words}: {done.returncode} {done.stderr[-300:]}")
        return done.returncode == 0

    def is_stopped(self) -> bool:
        return self.stopped.is_set()

    def start(self) -> None:
        self.stopped.clear()
        self.threads = [threading.Thread(target=self.run, args=(worker,)) for worker in self.workers]
        for thread in self.threads:
            thread.start()

    def run(self, worker: Worker) -> None:
        while not self.stopped.is_set():
            try:
                worker.step()
            except Exception:
                self.fault("bad answer", f"{type(worker).__name__}: {traceback.format_exc()[-600:]}")
                return
            with self.lock:
                self.steps += 1

    def stop(self) -> None:
        self.stopped.set()
        for thread in self.threads:
            thread.join()

    def run_until(self, condition, seconds: float = 60.0) -> None:
        """Runs the load until the condition holds and each worker has taken a step or two after that."""
        end = time.monotonic() + seconds
        self.start()
        while not condition() and time.monotonic() < end and any(thread.is_alive() for thread in self.threads):
            time.sleep(0.002)
        enough = self.steps + 2 * len(self.workers)
        while self.steps < enough and time.monotonic() < end and any(thread.is_alive() for thread in self.threads):
            time.sleep(0.002)
        self.stop()

    def verify(self, everything: bool = False) -> None:
        """Compares the actual state with what was acknowledged. Changes without a clear outcome get the one that is found."""
        self.write_first()
        for user in self.users:
            self.finish(user)
        for user in self.users:
            self.settle_password(user, everything)
            self.settle_credentials(user, everything)
            for kind, see in KINDS.items():
                self.settle_records(user, kind, see)
        for worker in self.file_workers:
            worker.verify()
        self.check_database()

    def await_reading(self) -> int:
        """Waits until search finds every saved page and every upload; returns how many there are."""
        unread = {word: functools.partial(finds_bookmark, user, word, record.id) for user in self.users
                  for word, record in user.records["bookmark"].items() if record.state()}
        unread |= {word: functools.partial(worker.account.finds, word) for worker in self.file_workers
                   for word in [*worker.completed, *worker.pages]}
        count, end = len(unread), time.monotonic() + READING_SECONDS
        while unread:
            assert time.monotonic() < end, f"not found by search: {list(unread)}"
            make_jobs_due(self.service)
            time.sleep(0.2)
            unread = {word: is_found for word, is_found in unread.items() if not is_found()}
        return count

    def write_first(self) -> None:
        """The first write after a fault, without a restart."""
        for user in self.users:
            word = f"i{secrets.token_hex(5)}"
            record = user.record("bookmark", word)
            body = {"url": f"https://faults.example/{word}", "title": word, "text": word}
            answer = user.rest("POST", "/v1/bookmarks", body)
            if not self.note("the first write after a fault", answer):
                record.change(False, title=word, tags=[], notes="", favorite=False)
                self.fault("bad answer", f"the first write after a fault: {answer[0]}")
                continue
            record.id = answer[1]["data"]["bookmark"]["bookmarkId"]
            deleted = user.rest("DELETE", f"/v1/bookmarks/{record.id}")
            if not self.note("the first deletion after a fault", deleted):
                record.change(False, title=word, tags=[], notes="", favorite=False)
                self.fault("bad answer", f"the first deletion after a fault: {deleted[0]}")

    def finish(self, user: User) -> None:
        """Repeats requests with an Idempotency-Key: they get the same answer or a refusal, and write nothing twice."""
        for path, body, key, record, id in user.replays:
            status, answered, headers = answer = user.rest("POST", path, body, **{"Idempotency-Key": key})
            if status == 409 and answered["error"]["code"] == "CONFLICT":
                continue
            if status == 404 and GONE in record.states:
                continue
            if not self.note("a repeated request", answer):
                continue
            [named] = [value for value in answered["data"].values() if isinstance(value, dict)]
            found = next(named[name] for name in ("bookmarkId", "highlightId", "noteId") if name in named
                         and not (name == "bookmarkId" and ("noteId" in named or "highlightId" in named)))
            if id is not None and found != id:
                self.fault("twice", f"{path}: a repeated request created another one")
            if id is None and headers.get("idempotency-replayed") != "true" and len(record.states) > 1:
                # It was not executed before; now it is.
                record.states = [state for state in record.states if state is not GONE]
            if id is None:
                record.id = found
        user.replays.clear()

    def settle_records(self, user: User, kind: str, see) -> None:
        seen: dict[str, list[tuple[str, dict]]] = {}
        for word, id, state in see(user):
            seen.setdefault(word, []).append((id, state))
        for word, record in user.records[kind].items():
            found = seen.pop(word, [])
            if len(found) > 1:
                self.fault("twice", f"{kind} {word} is there {len(found)} times")
            id, state = found[0] if found else (record.id, GONE)
            if state not in record.states:
                what = "missing" if state is GONE else "undone"
                self.fault(what, f"{kind} {word}: {str(state)[:300]} instead of {str(record.states)[:600]}")
            if record.id is not None and id != record.id and state is not GONE:
                self.fault("twice", f"{kind} {word}: made again under another id")
            record.states, record.id = [state], id
            record.children = [child for child in record.children if child.states != [GONE]]
        for word in seen:
            self.fault("undone", f"{kind} {word} was deleted, or never made")
        # What is gone is forgotten: if it comes back, it is found above.
        user.records[kind] = {word: record for word, record in user.records[kind].items() if record.states != [GONE]}

    def settle_password(self, user: User, everything: bool = False) -> None:
        """Finds the current password; every other one must be refused."""
        if user.is_password_checked and not everything:
            return
        right = []
        for password in user.passwords:
            answer, credential = user.sign_in(password)
            if credential is not None:
                right.append(password)
                user.credentials.append(credential)
            elif answer[0] != 401:
                # The next step, or the check after the round, tries again.
                self.note("sign in", answer)
                return
        if len(right) != 1:
            self.fault("undone", f"{len(right)} of {len(user.passwords)} possible passwords sign in")
        user.old_passwords += [password for password in user.passwords if password not in right]
        user.passwords = right or user.passwords
        for password in user.old_passwords[-5 if everything else -1:]:
            if user.sign_in(password)[0][0] != 401:
                self.fault("undone", "an old password signs in")
        user.is_password_checked = True

    def settle_credentials(self, user: User, everything: bool) -> None:
        for credential in user.credentials:
            if credential.checked and not everything:
                continue
            if credential.ended_by_cli and credential.works == {False}:
                end = time.monotonic() + CLI_SECONDS
                while user.works(credential) and time.monotonic() < end:
                    time.sleep(0.02)
            works = user.works(credential)
            if works not in credential.works:
                fault = "missing" if works is False else "undone"
                self.fault(fault, f"a {credential.kind} answers {works} instead of {credential.works}")
            credential.works = {works}
            credential.checked = works is False or (works is True and not self.rechecks_credentials)
        # Only a few sessions stay, because each valid one is checked in every round.
        living = [one for one in user.credentials if one.works == {True} and one is not user.session]
        for credential in living[MAX_OBJECTS:]:
            if credential.kind == "session":
                credential.end(self.note("sign out", user.app("DELETE", "/session", cookie=credential.secret)))
        if user.session.works != {True} and not user.sign_in_again():
            self.fault("missing", "no password signs in")

    def check_database(self) -> None:
        path = database_file(self.service)
        if not path.exists():
            return
        with opened(path) as database:
            if (found := database.execute("PRAGMA integrity_check").fetchall()) != [("ok",)]:
                self.fault("damage", f"integrity_check: {found[:3]}")
            if found := database.execute("PRAGMA foreign_key_check").fetchall():
                self.fault("damage", f"foreign_key_check: {found[:3]}")

    def found(self) -> dict[str, list[str]]:
        """The faults."""
        return {kind: whats[:10] for kind, whats in self.faults.items() if whats}

    def summary(self) -> str:
        numbers = ", ".join(f"{len(whats)} {kind}" for kind, whats in self.faults.items())
        done = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        return (f"{self.acknowledged} acknowledged writes checked, {self.uncertain} without a clear outcome, {numbers}; "
                f"seed {self.seed}; acknowledged: {done}")
