"""What a service has acknowledged to the accounts of a load, and how to read the actual state.

One worker changes an object at a time, so the order of its changes is known. After a change without a clear outcome (503, 507, a
broken connection) two states are valid.
"""

import collections
import random
import threading
import urllib.parse

from harness import PASSWORD, FaultyService, create_account, create_key

SCOPES = ("read:library", "read:bookmarks", "write:bookmarks", "read:projects", "write:projects", "write:notes", "read:user")
REDIRECT = "http://127.0.0.1:43117/callback"
GONE = None
Answer = tuple[int, dict, dict]


class Record:
    """An object and the states that are valid for it."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.states: list[dict | None] = [GONE]
        # Of an API key: its secret.
        self.credential: Credential | None = None
        self.children: list[Record] = []

    def change(self, acknowledged: bool, **fields: object) -> None:
        """Created or changed. A change that was acknowledged applied to an existing object."""
        changed = [(state or {}) | fields for state in self.states]
        self.states = changed if acknowledged else self.states + changed

    def delete(self, acknowledged: bool) -> None:
        """Its children are deleted with it."""
        self.states = [GONE] if acknowledged else [*self.states, GONE]
        for child in self.children:
            child.delete(acknowledged)

    def state(self) -> dict | None:
        """The state, if the object certainly exists and its id is known."""
        return self.states[0] if len(self.states) == 1 and self.id else None


class Credential:
    """A secret that is accepted, refused, or (where a change of it has no clear outcome) either."""

    def __init__(self, kind: str, secret: str) -> None:
        self.kind, self.secret = kind, secret
        self.works = {True}
        self.ended_by_cli = False
        # Whether it was checked since its last change, and is from now on checked only occasionally.
        self.checked = False

    def end(self, acknowledged: bool) -> None:
        if self.works != {False}:
            self.works = {False} if acknowledged else self.works | {False}
            self.checked = False


class RequestCounts:
    """The answers to the REST requests of an account, by which its usage and its activity are checked.

    A request counts in the usage exactly if its answer has the headers of the rate limit, and then it also has a line in the
    activity. Without them only a 503 may have a line: what failed may be the limit. A request without an answer may have been
    counted.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counted, self.uncounted_refusals, self.unanswered = 0, 0, 0
        # Answers that have neither the headers nor a line in the activity, by status.
        self.others: collections.Counter[int] = collections.Counter()

    def note(self, answer: Answer) -> None:
        status, _, headers = answer
        with self.lock:
            if status == 0:
                self.unanswered += 1
            elif "x-ratelimit-remaining" in headers and status != 429:
                self.counted += 1
            elif status == 503:
                self.uncounted_refusals += 1
            else:
                self.others[status] += 1


class User:
    """An account and what was acknowledged to it."""

    def __init__(self, service: FaultyService) -> None:
        self.service = service
        self.request_counts = RequestCounts()
        self.email = create_account(service)
        self.key = create_key(service, self.email, "load", SCOPES)
        self.passwords, self.old_passwords = [PASSWORD], []
        self.is_password_checked = True
        # Bookmarks, highlights, projects, notes, items and keys by a word that only this object contains.
        self.records: dict[str, dict[str, Record]] = {kind: {} for kind in KINDS}
        self.credentials: list[Credential] = []
        # Requests with an Idempotency-Key: path, body, key, the record and, if known, the id in the answer.
        self.replays: list[tuple[str, dict, str, Record, str | None]] = []
        # Held while the shared session of the workers is used or replaced.
        self.session_lock = threading.Lock()
        self.session = Credential("session", "")
        self.sign_in_again()
        self.client = self.register_client()

    def record(self, kind: str, word: str) -> Record:
        return self.records[kind].setdefault(word, Record())

    def rest(self, method: str, path: str, body: object = None, key: str | None = None, **headers: str) -> Answer:
        answer = self.service.send(method, f"/rest{path}", body, {"Authorization": f"Bearer {key or self.key}"} | headers)
        self.request_counts.note(answer)
        return answer

    def app(self, method: str, path: str, body: object = None, cookie: str | None = None) -> Answer:
        return self.service.send(method, f"/app/api{path}", body, self.browser_headers(cookie))

    def browser_headers(self, cookie: str | None = None) -> dict[str, str]:
        return {"Cookie": cookie or self.session.secret} | self.service.origin()

    def sign_in(self, password: str) -> tuple[Answer, Credential | None]:
        # Failures are counted by address, so each attempt uses another one.
        source = f"127.{random.randrange(1, 255)}.{random.randrange(1, 255)}.{random.randrange(1, 255)}"
        credentials = {"email": self.email, "password": password}
        answer = self.service.send("POST", "/app/api/session", credentials, self.service.origin(), source)
        if answer[0] != 200:
            return answer, None
        return answer, Credential("session", answer[2]["set-cookie"].split(";")[0])

    def sign_in_again(self) -> bool:
        """Renews the shared session of the workers; whether one of the possible passwords was accepted."""
        for password in self.passwords:
            _, credential = self.sign_in(password)
            if credential is not None:
                self.session = credential
                self.credentials.append(credential)
                return True
        return False

    def register_client(self) -> str:
        body = {"redirect_uris": [REDIRECT], "client_name": "Heron", "token_endpoint_auth_method": "none"}
        status, client, _ = self.service.send("POST", "/oauth/register", body)
        assert status == 201, client
        return client["client_id"]

    def works(self, credential: Credential) -> bool | None:
        """Whether it is accepted; `None` if the answer does not tell."""
        if credential.kind == "session":
            status = self.app("GET", "/session", cookie=credential.secret)[0]
        elif credential.kind == "key":
            status = self.rest("GET", "/v1/user", key=credential.secret)[0]
        else:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            headers = {"Authorization": f"Bearer {credential.secret}", "Accept": "application/json, text/event-stream"}
            status = self.service.send("POST", "/mcp", call, headers)[0]
        return {200: True, 401: False}.get(status)

    def pages(self, path: str, name: str, ask) -> list[dict]:
        """A whole list."""
        found, cursor = [], ""
        while True:
            status, body, _ = ask("GET", f"{path}{cursor}")
            assert status == 200, (path, status, body)
            found += body["data"][name]
            after = body["data"].get("nextCursor")
            if after is None:
                return found
            cursor = f"{'&' if '?' in path else '?'}cursor={urllib.parse.quote(after)}"


def word_of(text: str) -> str:
    return text.split()[0]


def see_bookmarks(user: User):
    for seen in user.pages("/v1/bookmarks?limit=100", "bookmarks", user.rest):
        state = {name: seen[name] for name in ("title", "favorite", "notes")} | {"tags": sorted(seen["tags"])}
        yield seen["url"].rsplit("/", 1)[1], seen["bookmarkId"], state


def see_highlights(user: User):
    for bookmark in user.records["bookmark"].values():
        if bookmark.children and bookmark.state():
            path = f"/v1/bookmarks/{bookmark.id}/highlights?limit=100"
            for seen in user.pages(path, "highlights", user.rest):
                yield word_of(seen["note"]), seen["highlightId"], {"note": seen["note"]}


def see_projects(user: User):
    for status in ("active", "archived"):
        for seen in user.pages(f"/projects?limit=50&status={status}", "projects", user.app):
            yield word_of(seen["name"]), seen["id"], {"name": seen["name"], "description": seen["description"]}


def living_projects(user: User):
    return [record for record in user.records["project"].values() if record.state()]


def see_notes(user: User):
    for project in living_projects(user):
        for seen in user.pages(f"/projects/{project.id}/notes?limit=100", "notes", user.app):
            yield word_of(seen["title"]), seen["noteId"], {name: seen[name] for name in ("title", "bodyMd")}


def see_items(user: User):
    for project in living_projects(user):
        for seen in user.pages(f"/projects/{project.id}/items?limit=100", "items", user.app):
            yield f"{project.id} {seen['bookmarkId']}", seen["itemId"], {"bookmarkId": seen["bookmarkId"]}


def see_keys(user: User):
    for seen in user.pages("/keys", "keys", user.app):
        if seen["name"] != "load":
            yield word_of(seen["name"]), seen["id"], {"name": seen["name"]}


# In this order: children are read once it is known which bookmarks and projects exist.
KINDS = {"bookmark": see_bookmarks, "highlight": see_highlights, "project": see_projects, "note": see_notes,
         "item": see_items, "key": see_keys}
