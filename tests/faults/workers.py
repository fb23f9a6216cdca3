"""The steps of a load. Each account has several workers at once."""

from __future__ import annotations

import random
import re
import secrets
import typing
import urllib.parse

from harness import eventually
from ledger import GONE, REDIRECT, Answer, Credential, Record, User, living_projects, word_of

if typing.TYPE_CHECKING:
    from load import Load

# RFC 7636, appendix B.
VERIFIER, CHALLENGE = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
# Per kind and account; objects above this number are deleted.
MAX_OBJECTS = 12


class Worker:
    """Runs the steps of a load for one account, one after the other, each kind of step equally often."""

    def __init__(self, load: Load, user: User, seed: str) -> None:
        self.load, self.user = load, user
        self.random = random.Random(seed)
        self.deck: list = []

    def step(self) -> None:
        if not self.deck:
            self.deck = self.random.sample(self.steps(), len(self.steps()))
        self.deck.pop()()

    def steps(self) -> list:
        raise NotImplementedError

    def word(self, prefix: str) -> str:
        return f"{prefix}{secrets.token_hex(5)}"

    def done(self, what: str, answer: Answer) -> bool:
        return self.load.note(what, answer)

    def choose(self, kind: str, prefix: str, usable=lambda record: True) -> Record | None:
        """One of the worker's objects that certainly exists."""
        own = [record for word, record in list(self.user.records[kind].items())
               if word.startswith(prefix) and record.state() and usable(record)]
        return self.random.choice(own) if own else None

    def living(self, kind: str, prefix: str) -> int:
        """How many of the worker's objects exist, or may exist."""
        # A copy: the other workers add records meanwhile.
        records = list(self.user.records[kind].items())
        return sum(record.states != [GONE] for word, record in records if word.startswith(prefix))

    def post_once(self, what: str, path: str, body: dict, record: Record, name: str, kind: str | None) -> bool:
        """A POST, half of the time with an Idempotency-Key and repeated until its outcome is known."""
        if self.random.random() < 0.5:
            answer = self.user.rest("POST", path, body)
            return self.take(what, answer, record, name, kind)
        key = self.word("once-")
        acknowledged = False
        for _ in range(3):
            answer = self.user.rest("POST", path, body, **{"Idempotency-Key": key})
            if answer[0] == 409 and answer[1]["error"]["code"] == "CONFLICT":
                break
            acknowledged = self.take(what, answer, record, name, kind)
            if acknowledged or answer[0] == 0:
                break
        self.user.replays.append((path, body, key, record, record.id if acknowledged else None))
        return acknowledged

    def take(self, what: str, answer: Answer, record: Record, name: str, kind: str | None) -> bool:
        if not self.done(what, answer):
            return False
        record.id = (answer[1]["data"][kind] if kind else answer[1]["data"])[name]
        return True


class LibraryWorker(Worker):
    """Bookmarks, with tags, titles, notes and highlights."""

    def steps(self) -> list:
        return [self.save, self.save, self.retitle, self.retag, self.write_notes, self.highlight, self.change_highlight,
                self.delete_highlight, self.delete, self.be_refused]

    def save(self) -> None:
        word = self.word("b")
        record = self.user.record("bookmark", word)
        body = {"url": f"https://faults.example/{word}", "title": f"page {word}", "text": f"{word} heron marsh. " * 40,
                "tags": ["first"], "notes": f"of {word}"}
        fields = {"title": body["title"], "tags": ["first"], "notes": body["notes"], "favorite": False}
        record.change(self.post_once("save", "/v1/bookmarks", body, record, "bookmarkId", "bookmark"), **fields)

    def change(self, what: str, **fields: object) -> None:
        record = self.choose("bookmark", "b")
        if record is not None:
            answer = self.user.rest("PATCH", f"/v1/bookmarks/{record.id}", fields)
            record.change(self.done(what, answer), **fields)

    def retitle(self) -> None:
        self.change("title", title=self.word("title "), favorite=self.random.random() < 0.5)

    def retag(self) -> None:
        self.change("tags", tags=sorted(self.word("tag") for _ in range(self.random.randrange(4))))

    def write_notes(self) -> None:
        self.change("notes", notes=self.random.choice(["", self.word("note "), self.word("note ") * 30]))

    def highlight(self) -> None:
        record = self.choose("bookmark", "b", lambda record: len(record.children) < 4)
        if record is None:
            return
        status, body, _ = self.user.rest("GET", f"/v1/bookmarks/{record.id}")
        if status != 200 or body["data"]["bookmark"]["status"] != "ready":
            return
        word = self.word("h")
        highlight = self.user.record("highlight", word)
        record.children.append(highlight)
        # The text of every save begins with a word of eleven characters.
        body = {"text": "heron marsh", "startOffset": 12, "endOffset": 23, "note": f"{word} 0"}
        path = f"/v1/bookmarks/{record.id}/highlights"
        highlight.change(self.post_once("highlight", path, body, highlight, "highlightId", "highlight"), note=body["note"])

    def change_highlight(self) -> None:
        record = self.choose("highlight", "h")
        if record is not None:
            note = f"{word_of(record.state()['note'])} {secrets.token_hex(3)}"
            answer = self.user.rest("PATCH", f"/v1/highlights/{record.id}", {"note": note})
            record.change(self.done("change a highlight", answer), note=note)

    def delete_highlight(self) -> None:
        record = self.choose("highlight", "h")
        if record is not None:
            answer = self.user.rest("DELETE", f"/v1/highlights/{record.id}")
            record.delete(self.done("delete a highlight", answer))

    def delete(self) -> None:
        record = self.choose("bookmark", "b")
        if record is not None and self.living("bookmark", "b") > MAX_OBJECTS // 2:
            answer = self.user.rest("DELETE", f"/v1/bookmarks/{record.id}")
            record.delete(self.done("delete", answer))

    def be_refused(self) -> None:
        """An ordinary refusal within a transaction."""
        body = {"url": f"https://faults.example/{self.word('refused')}", "text": "t",
                "collectionIds": ["01a20fab-0000-7000-8000-000000000000"]}
        answer = self.user.rest("POST", "/v1/bookmarks", body)
        if answer[0] not in (400, 404):
            self.load.note("refusal", answer)


class ProjectWorker(Worker):
    """Projects, their notes, and bookmarks in them."""

    def steps(self) -> list:
        describe = [self.describe] * self.load.descriptions
        return [self.make, self.rename, *describe, self.write_note, self.write_note, self.change_note, self.delete_note,
                self.save, self.add_item, self.remove_item, self.delete]

    def step(self) -> None:
        with self.user.session_lock:
            super().step()

    def make(self) -> None:
        if self.living("project", "p") >= 4:
            return
        word = self.word("p")
        record = self.user.record("project", word)
        answer = self.user.app("POST", "/projects", {"name": word, "description": "of herons"})
        acknowledged = self.take("make a project", answer, record, "id", "project")
        record.change(acknowledged, name=word, description="of herons")

    def change(self, what: str, **fields: object) -> None:
        record = self.choose("project", "p")
        if record is not None:
            if "name" in fields:
                fields["name"] = f"{word_of(record.state()['name'])} {fields['name']}"
            answer = self.user.app("PATCH", f"/projects/{record.id}", fields)
            record.change(self.done(what, answer), **fields)

    def rename(self) -> None:
        self.change("rename a project", name=secrets.token_hex(3))

    def describe(self) -> None:
        self.change("describe a project", description=secrets.token_hex(self.load.description_bytes // 2))

    def write_note(self) -> None:
        project = self.choose("project", "p", lambda record: len(record.children) < 20)
        if project is None:
            return
        word = self.word("n")
        record = self.user.record("note", word)
        project.children.append(record)
        body = {"title": f"{word} 0", "bodyMd": f"of {word}"}
        path = f"/v2/projects/{project.id}/notes"
        record.change(self.post_once("write a note", path, body, record, "noteId", "note"), **body)

    def change_note(self) -> None:
        record = self.choose("note", "n")
        if record is not None:
            word = word_of(record.state()["title"])
            fields = {"title": f"{word} {secrets.token_hex(3)}", "bodyMd": f"of {word} {secrets.token_hex(3)}"}
            answer = self.user.app("PATCH", f"/notes/{record.id}", fields)
            record.change(self.done("change a note", answer), **fields)

    def delete_note(self) -> None:
        record = self.choose("note", "n")
        if record is not None:
            record.delete(self.done("delete a note", self.user.app("DELETE", f"/notes/{record.id}")))

    def save(self) -> None:
        """Saves bookmarks that the library worker does not change."""
        if self.living("bookmark", "i") >= 4:
            return
        word = self.word("i")
        record = self.user.record("bookmark", word)
        body = {"url": f"https://faults.example/{word}", "title": f"item {word}", "text": f"{word} heron. "}
        fields = {"title": body["title"], "tags": [], "notes": "", "favorite": False}
        answer = self.user.rest("POST", "/v1/bookmarks", body)
        record.change(self.take("save", answer, record, "bookmarkId", "bookmark"), **fields)

    def add_item(self) -> None:
        project, bookmark = self.choose("project", "p"), self.choose("bookmark", "i")
        if project is None or bookmark is None:
            return
        record = self.user.record("item", f"{project.id} {bookmark.id}")
        if record not in project.children:
            project.children.append(record)
        if record.states == [GONE]:
            record.id = None
        path, body = f"/v2/projects/{project.id}/items", {"items": [{"bookmarkId": bookmark.id}]}
        answer = self.user.rest("POST", path, body)
        acknowledged = self.done("add an item", answer)
        if acknowledged:
            items = answer[1]["data"]["added"] + answer[1]["data"]["alreadyPresent"]
            record.id = items[0]["itemId"]
            if answer[1]["data"]["alreadyPresent"] and record.states == [GONE]:
                self.load.fault("undone", "an item that was removed is there")
        record.change(acknowledged, bookmarkId=bookmark.id)

    def remove_item(self) -> None:
        project = self.choose("project", "p")
        record = self.choose("item", project.id) if project else None
        if record is not None:
            answer = self.user.app("DELETE", f"/projects/{project.id}/items/{record.id}")
            record.delete(self.done("remove an item", answer))

    def delete(self) -> None:
        living = living_projects(self.user)
        if len(living) > 2:
            record = self.random.choice(living)
            record.delete(self.done("delete a project", self.user.app("DELETE", f"/projects/{record.id}")))


class SecurityWorker(Worker):
    """Keys, sessions, the password, and the connection of an application."""

    def steps(self) -> list:
        steps = [self.make_key, self.make_key, self.rename_key, self.regenerate_key, self.revoke_key, self.sign_in,
                 self.sign_out, self.change_password, self.connect, self.disconnect]
        return steps + [self.revoke_key_by_cli, self.set_password_by_cli] if self.load.with_cli else steps

    def step(self) -> None:
        if not self.deck and len(self.user.passwords) > 1:
            self.load.settle_password(self.user)
        super().step()

    def make_key(self) -> None:
        if self.living("key", "k") >= MAX_OBJECTS:
            return
        word = self.word("k")
        record = self.user.record("key", word)
        answer = self.user.app("POST", "/keys", {"name": word, "kind": "rest", "scopes": ["read:user"]})
        acknowledged = self.take_key(answer, record)
        record.change(acknowledged, name=word)

    def take_key(self, answer: Answer, record: Record) -> bool:
        if not self.done("make a key", answer):
            return False
        record.id = answer[1]["data"]["key"]["id"]
        record.credential = Credential("key", answer[1]["data"]["secret"])
        self.user.credentials.append(record.credential)
        return True

    def rename_key(self) -> None:
        record = self.choose("key", "k")
        if record is not None:
            name = f"{word_of(record.state()['name'])} {secrets.token_hex(3)}"
            answer = self.user.app("PATCH", f"/keys/{record.id}", {"name": name})
            record.change(self.done("rename a key", answer), name=name)

    def regenerate_key(self) -> None:
        record = self.choose("key", "k", lambda record: record.credential)
        if record is not None:
            before = record.credential
            answer = self.user.app("POST", f"/keys/{record.id}/regenerate")
            before.end(self.take_key(answer, record))

    def revoke_key(self) -> None:
        record = self.choose("key", "k")
        if record is not None:
            acknowledged = self.done("revoke a key", self.user.app("DELETE", f"/keys/{record.id}"))
            self.end_key(record, acknowledged)

    def end_key(self, record: Record, acknowledged: bool) -> None:
        record.delete(acknowledged)
        if record.credential:
            record.credential.end(acknowledged)

    def revoke_key_by_cli(self) -> None:
        record = self.choose("key", "k")
        if record is not None:
            acknowledged = self.load.cli("key", "revoke", record.id)
            self.end_key(record, acknowledged)
            if record.credential:
                record.credential.ended_by_cli = True

    def sign_in(self) -> None:
        if len(self.user.passwords) == 1:
            answer, credential = self.user.sign_in(self.user.passwords[0])
            if self.done("sign in", answer):
                self.user.credentials.append(credential)

    def sessions(self) -> list[Credential]:
        return [credential for credential in self.user.credentials
                if credential.kind == "session" and credential is not self.user.session]

    def sign_out(self) -> None:
        living = [credential for credential in self.sessions() if credential.works == {True}]
        if living:
            credential = self.random.choice(living)
            answer = self.user.app("DELETE", "/session", cookie=credential.secret)
            credential.end(self.done("sign out", answer))

    def change_password(self) -> None:
        if len(self.user.passwords) > 1:
            return
        new = self.word("a password of herons ")
        answer = self.user.app("POST", "/password", {"current": self.user.passwords[0], "new": new})
        self.take_password(new, self.done("change the password", answer), [*self.sessions(), *self.tokens()])

    def set_password_by_cli(self) -> None:
        if len(self.user.passwords) > 1:
            return
        new = self.word("a password of the marsh ")
        with self.user.session_lock:
            ended = [*self.sessions(), *self.tokens(), self.user.session]
            for credential in ended:
                credential.ended_by_cli = True
            acknowledged = self.load.cli("user", "set-password", "--email", self.user.email, "--password-stdin",
                                         stdin=new + "\n")
            self.take_password(new, acknowledged, ended)
            eventually(lambda: self.user.works(self.user.session) or self.user.sign_in_again() or self.load.is_stopped())

    def take_password(self, new: str, acknowledged: bool, ended: list[Credential]) -> None:
        """Records a new password; sessions and connections end with the old one."""
        self.user.is_password_checked = False
        if acknowledged:
            self.user.old_passwords += self.user.passwords
            self.user.passwords = [new]
        else:
            self.user.passwords.append(new)
        for credential in ended:
            credential.end(acknowledged)

    def tokens(self) -> list[Credential]:
        return [credential for credential in self.user.credentials
                if credential.kind == "token" and credential.works != {False}]

    def connect(self) -> None:
        """Consent, and the exchange of its code; an earlier connection of the same application ends with the exchange."""
        query = urllib.parse.urlencode({
            "response_type": "code", "client_id": self.user.client, "redirect_uri": REDIRECT, "scope": "read:library",
            "state": "s", "code_challenge": CHALLENGE, "code_challenge_method": "S256"})
        headers = self.user.browser_headers()
        status, page, answered = self.user.service.send("GET", f"/oauth/authorize?{query}", headers=headers)
        if not self.done("ask for consent", (status, page, answered)):
            return
        ticket = re.search('name="ticket" value="([^"]+)"', page["text"])
        form = {"ticket": ticket[1], "decision": "allow", "scope": "read:library"}
        status, page, answered = self.user.service.send_form("/oauth/consent", form, headers)
        if not self.done("consent", (200 if status == 303 else status, page, answered)):
            return
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(answered["location"]).query)["code"][0]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT, "code_verifier": VERIFIER,
                "client_id": self.user.client}
        before = self.tokens()
        answer = self.user.service.send_form("/oauth/token", form)
        acknowledged = self.done("exchange a code", answer)
        for credential in before:
            credential.end(acknowledged)
        if acknowledged:
            self.user.credentials.append(Credential("token", answer[1]["access_token"]))

    def disconnect(self) -> None:
        status, body, _ = self.user.app("GET", "/connected-apps")
        if status != 200 or not body["data"]["apps"]:
            return
        before = self.tokens()
        answer = self.user.app("DELETE", f"/connected-apps/{body['data']['apps'][0]['id']}")
        acknowledged = self.done("disconnect", answer)
        for credential in before:
            credential.end(acknowledged)
