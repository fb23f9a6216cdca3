"""A small library and a key for it, and the file that tells schemathesis of both: seed.py CARREL BASE CONFIG."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request

CARREL, BASE, CONFIG = sys.argv[1:]
SCOPES = (
    "read:library ask:library read:projects write:projects write:uploads read:bookmarks write:bookmarks write:notes "
    "read:collections write:collections read:feeds write:feeds read:entries read:user"
).split()


def carrel(*words, stdin=""):
    """What a command of the program says."""
    done = subprocess.run([CARREL, *words, "--json"], input=stdin, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def wait(what, holds):
    """Until it holds, half a minute at most."""
    for _ in range(300):
        if holds():
            return
        time.sleep(0.1)
    sys.exit(f"waited in vain for {what}")


def ready():
    """Whether the service takes requests."""
    try:
        return urllib.request.urlopen(f"{BASE}/readyz", timeout=5).status == 200
    except OSError:
        return False


def main():
    """Fills the library and writes the file."""
    wait("the service", ready)
    carrel("user", "add", "--email", "schema@example.test", "--plan", "research", "--password-stdin", stdin="a schema run 7!\n")
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    key = carrel("key", "create", "--user", "schema@example.test", "--kind", "rest", "--name", "schema", *scopes)["secret"]

    def call(method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{BASE}/rest{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)["data"]

    saved = [
        call("POST", "/v1/bookmarks", {
            "url": f"https://example.com/{n}", "title": f"Text {n}", "tags": ["ants", f"t{n}"],
            "notes": "A note.", "text": f"Ants number {n} find the shortest way by scent. " * 20,
        })["bookmark"]
        for n in range(6)
    ]  # fmt: skip
    box = call("POST", "/v1/collections", {"name": "Box"})["collection"]["collectionId"]
    call("PUT", f"/v1/collections/{box}/bookmarks/{saved[0]['bookmarkId']}")
    # Readable and found: the words are marked only in a text that is there.
    wait("the texts", lambda: all(
        call("GET", f"/v1/bookmarks/{mark['bookmarkId']}")["bookmark"]["status"] != "processing" for mark in saved
    ))  # fmt: skip
    marks = f"/v1/bookmarks/{saved[0]['bookmarkId']}/highlights"
    mark = call("POST", marks, {"text": "Ants", "startOffset": 0, "endOffset": 4})["highlight"]["highlightId"]

    # Ids that are there, so that more than 404 comes back. The first bookmark outlives the run: no route deletes it.
    known = {
        r"^/rest/v2/documents/\{id\}": {"path.id": saved[0]["documentId"]},
        r"^/rest/v1/bookmarks/\{id\}(/.*)?$": {"path.id": saved[1]["bookmarkId"]},
        r"^/rest/v1/highlights/": {"path.id": mark},
        r"^/rest/v1/collections/\{id\}$": {"path.id": box},
        r"^/rest/v1/collections/\{id\}/": {"path.id": box, "path.bookmarkId": saved[2]["bookmarkId"]},
        r"^/rest/v1/tags/": {"path.name": "t3"},
    }
    checks = (
        "not_a_server_error status_code_conformance content_type_conformance response_headers_conformance "
        "response_schema_conformance negative_data_rejection unsupported_method allow_header_conformance ignored_auth"
    ).split()
    lines = [f'headers = {{ Authorization = "Bearer {key}" }}', "[checks]", "enabled = false"]
    lines += [f"{check}.enabled = true" for check in checks]
    for path, parameters in known.items():
        lines += ["", "[[operations]]", f"include-path-regex = '{path}'"]
        lines += ["[operations.parameters]", *(f'"{name}" = "{value}"' for name, value in parameters.items())]
    with open(CONFIG, "w", encoding="utf-8") as config:
        config.write("\n".join(lines) + "\n")


main()
