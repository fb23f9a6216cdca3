"""A service whose storage a test can make fail, and a client that records what was acknowledged."""

import contextlib
import http.client
import json
import pathlib
import secrets
import subprocess
import sys
import time
import typing
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
from service import PASSWORD, Service

SETTINGS = {
    "plans.research.hourly_per_key": 1_000_000_000,
    "plans.research.rest_per_day": 1_000_000_000,
    "plans.research.rest_keys": 100_000,
    "plans.research.mcp_per_day": 1_000_000_000,
    "auth.failures_per_minute": 1_000_000,
    "oauth.registrations_per_hour": 1_000_000,
    "log.level": "info",
}
SCOPES = ("read:library", "ask:library", "read:bookmarks", "write:bookmarks", "read:collections", "write:collections",
          "read:user")


class FaultyService(Service):
    """A real `carrel serve`; its data may be in a folder that is mounted for the test."""

    def __init__(self, program: str, folder: pathlib.Path, **settings: object) -> None:
        dotted = {name.replace("__", "."): value for name, value in settings.items()}
        super().__init__(program, folder, SETTINGS | dotted)
        # Added to the environment of every process of the program that is started from here.
        self.extra: dict[str, str] = {}

    def environment(self) -> dict[str, str]:
        return super().environment() | self.extra

    def begin(self) -> None:
        """Starts it without waiting until it is ready."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, "serve"], cwd=self.folder, env=self.environment(), stdout=log, stderr=log)

    def kill(self) -> None:
        """Sends SIGKILL and waits for the end of the process."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def send(self, method: str, path: str, body: object = None, headers: dict | None = None,
             source: str = "127.0.0.1") -> tuple[int, dict, dict]:
        """Status, JSON and headers of an answer, from an address of this machine; status 0 where there was no answer."""
        json_type = {} if body is None else {"Content-Type": "application/json"}
        return self.exchange(method, path, None if body is None else json.dumps(body), (headers or {}) | json_type, source)

    def send_form(self, path: str, fields: dict[str, str], headers: dict | None = None) -> tuple[int, dict, dict]:
        form_type = {"Content-Type": "application/x-www-form-urlencoded"}
        return self.exchange("POST", path, urllib.parse.urlencode(fields), (headers or {}) | form_type)

    def exchange(self, method: str, path: str, body: str | bytes | None, headers: dict,
                 source: str = "127.0.0.1") -> tuple[int, dict, dict]:
        """Does the same as `send` with a body that is sent as it is. A response that is not JSON is returned as `text`."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            read = answer.read()
        except (OSError, http.client.HTTPException):
            return 0, {}, {}
        finally:
            connection.close()
        named = {name.lower(): value for name, value in answer.getheaders()}
        with contextlib.suppress(ValueError):
            return answer.status, json.loads(read), named
        return answer.status, {"text": read.decode(errors="replace")}, named

    def run(self, *words: str) -> subprocess.CompletedProcess:
        """`carrel ...` in the foreground, until it ends."""
        return subprocess.run([self.program, *words], cwd=self.folder, env=self.environment(), capture_output=True, text=True,
                              timeout=60)

    def origin(self) -> dict[str, str]:
        """The header of requests from the service's own pages."""
        return {"Origin": f"http://127.0.0.1:{self.port}"}

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")


def started(program: str, folder: pathlib.Path, **settings: object) -> FaultyService:
    service = FaultyService(program, folder, **settings)
    service.start()
    return service


def create_account(service: FaultyService) -> str:
    """Creates an account of the largest plan; returns its e-mail address."""
    email = f"user-{secrets.token_hex(4)}@faults.example"
    service.cli("user", "add", "--email", email, "--plan", "research", "--password-stdin", stdin=PASSWORD + "\n")
    return email


def create_key(service: FaultyService, email: str, name: str, scopes: typing.Iterable[str]) -> str:
    """Creates a REST key of an account; returns its secret."""
    words = [word for scope in scopes for word in ("--scope", scope)]
    return service.cli("key", "create", "--user", email, "--kind", "rest", "--name", name, *words)["secret"]


def is_storage_refusal(answer: tuple[int, dict, dict]) -> bool:
    """Whether a write was refused because of the storage, with `Retry-After`."""
    status, _, headers = answer
    return status in (503, 507) and "retry-after" in headers


class Account:
    """An account, one key of it and one session."""

    def __init__(self, service: FaultyService) -> None:
        self.service = service
        self.email = create_account(service)
        self.secret = create_key(service, self.email, "all", SCOPES)
        self.cookie = ""

    def rest(self, method: str, path: str, body: object = None, secret: str | None = None) -> tuple[int, dict, dict]:
        return self.service.send(method, f"/rest{path}", body, {"Authorization": f"Bearer {secret or self.secret}"})

    def sign_in(self, password: str = PASSWORD) -> int:
        credentials = {"email": self.email, "password": password}
        status, _, headers = self.service.send("POST", "/app/api/session", credentials, self.service.origin())
        if status == 200:
            self.cookie = headers["set-cookie"].split(";")[0]
        return status

    def app(self, method: str, path: str, body: object = None) -> tuple[int, dict, dict]:
        return self.service.send(method, f"/app/api{path}", body, {"Cookie": self.cookie} | self.service.origin())

    def save(self, number: int, **fields: object) -> tuple[int, dict, dict]:
        page = {"url": f"https://faults.example/{number}", "title": f"page {number}", "text": f"word{number} " * 50}
        return self.rest("POST", "/v1/bookmarks", page | fields)

    def finds(self, word: str) -> bool:
        """Whether a search for this word has results."""
        # The data of an error is null, and that of no response is missing.
        return bool((self.rest("GET", f"/v2/search?q={word}")[1].get("data") or {}).get("results"))


class Ledger:
    """What the service has acknowledged, and what must therefore be true."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.bookmarks: dict[str, dict | None] = {}
        self.keys: dict[str, bool] = {}
        self.answers: list[int] = []
        self.bad: list[str] = []
        self.number = 0

    def mixed_load(self, rounds: int) -> None:
        """Saves, changes and deletes bookmarks, creates and revokes keys, and provokes a refusal in a transaction."""
        for _ in range(rounds):
            first, second = self.save(), self.save()
            self.change(first)
            self.make_and_revoke_key()
            self.delete(second)
            self.be_refused()

    def note(self, what: str, answer: tuple[int, dict, dict]) -> bool:
        """Whether it was acknowledged. Any other answer than a storage refusal is a fault."""
        status = answer[0]
        self.answers.append(status)
        if is_storage_refusal(answer):
            return False
        if not 200 <= status < 300:
            self.bad.append(f"{what}: {status}")
            return False
        return True

    def save(self) -> str | None:
        self.number += 1
        answer = self.account.save(self.number)
        if not self.note("save", answer):
            return None
        bookmark = answer[1]["data"]["bookmark"]
        self.bookmarks[bookmark["bookmarkId"]] = {"title": bookmark["title"], "favorite": False}
        return bookmark["bookmarkId"]

    def change(self, bookmark: str | None) -> None:
        if bookmark is None:
            return
        answer = self.account.rest("PATCH", f"/v1/bookmarks/{bookmark}", {"favorite": True, "notes": "a note"})
        if self.note("change", answer):
            self.bookmarks[bookmark] = {"favorite": True, "notes": "a note"}
        else:
            # Without an acknowledgement the change may or may not be stored: only the bookmark itself is expected.
            self.bookmarks[bookmark] = {}

    def delete(self, bookmark: str | None) -> None:
        if bookmark is None:
            return
        if self.note("delete", self.account.rest("DELETE", f"/v1/bookmarks/{bookmark}")):
            self.bookmarks[bookmark] = None
        else:
            del self.bookmarks[bookmark]

    def make_and_revoke_key(self) -> None:
        created = self.account.app("POST", "/keys", {"name": "k", "kind": "rest", "scopes": ["read:user"]})
        if not self.note("make a key", created):
            return
        secret = created[1]["data"]["secret"]
        self.keys[secret] = True
        revoked = self.account.app("DELETE", f"/keys/{created[1]['data']['key']['id']}")
        if self.note("revoke a key", revoked):
            self.keys[secret] = False
        else:
            del self.keys[secret]

    def be_refused(self) -> None:
        """An ordinary refusal within a transaction."""
        answer = self.account.save(self.number, collectionIds=["01a20fab-0000-7000-8000-000000000000"])
        self.answers.append(answer[0])
        if answer[0] not in (400, 404) and not is_storage_refusal(answer):
            self.bad.append(f"refusal: {answer[0]}")

    def faults(self) -> list[str]:
        """Differences between the service and what was acknowledged."""
        found = list(self.bad)
        for bookmark, expected in self.bookmarks.items():
            status, body, _ = self.account.rest("GET", f"/v1/bookmarks/{bookmark}")
            if expected is None:
                if status != 404:
                    found.append(f"a deleted bookmark is there: {status}")
                continue
            if status != 200:
                found.append(f"an acknowledged bookmark is missing: {status}")
                continue
            there = body["data"]["bookmark"]
            found += [f"{name} is {there[name]!r}" for name, value in expected.items() if there[name] != value]
        for secret, works in self.keys.items():
            status, _, _ = self.account.rest("GET", "/v1/user", secret=secret)
            if status != (200 if works else 401):
                found.append(f"a key that {'works' if works else 'was revoked'} answers {status}")
        return found

    def count(self) -> int:
        """Acknowledged writes."""
        return sum(200 <= status < 300 for status in self.answers)


def eventually(condition, seconds: float = 30.0):
    """Waits until the condition holds; its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.05)
    return value
