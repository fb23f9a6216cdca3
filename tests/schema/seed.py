"""Creates a small library and a key for it, and the files from which schemathesis reads both: seed.py CARREL BASE SITE HOME. SITE is
the URL of a folder of HOME that the service may fetch from."""

import http.cookiejar
import json
import math
import pathlib
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
import wave

CARREL, BASE, SITE = sys.argv[1:4]
HOME = pathlib.Path(sys.argv[4])
SCOPES = (
    "read:library ask:library read:projects write:projects write:uploads read:bookmarks write:bookmarks write:notes "
    "read:collections write:collections read:feeds write:feeds read:entries read:user"
).split()
EMAIL, PASSWORD = "schema@example.test", "a schema run 7!"
FEED = """<rss version="2.0"><channel><title>{title}</title><link>{site}</link><description>Of ants.</description>
<item><title>An entry</title><link>{site}/{title}-1</link><guid>{title}-1</guid><description>Ants again.</description><enclosure url="{site}/{title}-1.mp3" type="audio/mpeg" length="9"/></item>
</channel></rss>"""


def carrel(*words, stdin=""):
    """Returns the output of a command of the program."""
    done = subprocess.run([CARREL, *words, "--json"], input=stdin, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def wait(what, condition):
    """Polls until the condition has a true result, for at most half a minute; returns it."""
    for _ in range(300):
        if result := condition():
            return result
        time.sleep(0.1)
    sys.exit(f"not within half a minute: {what}")


def ready():
    """Whether the service accepts requests."""
    try:
        return urllib.request.urlopen(f"{BASE}/readyz", timeout=5).status == 200
    except OSError:
        return False


class Client:
    """An authenticated client: a key at /rest, or a session at /app/api."""

    def __init__(self, base, **headers):
        self.base, self.headers = base, {"Content-Type": "application/json", **headers}
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def __call__(self, method, path, body=None):
        """Returns the data of the response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, self.headers, method=method)
        with self.opener.open(request, timeout=20) as answer:
            return json.load(answer)["data"]


def sound():
    """Two seconds of audio."""
    file = HOME / "tone.wav"
    with wave.open(str(file), "wb") as tone:
        tone.setnchannels(1), tone.setsampwidth(2), tone.setframerate(8000)
        tone.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(n / 5))) for n in range(16000)))
    return file.read_bytes()


def upload(call):
    """Uploads a file; returns its id."""
    bytes_ = sound()
    ticket = call("POST", "/v2/uploads", {"filename": "tone.wav", "contentType": "audio/wav", "bytes": len(bytes_)})
    put = urllib.request.Request(ticket["putUrl"], bytes_, ticket["putHeaders"], method="PUT")
    urllib.request.urlopen(put, timeout=20).close()
    return ticket["uploadId"]


def follow(call, name):
    """Follows a feed; returns its id and that of its entry."""
    (HOME / "site" / f"{name}.xml").write_text(FEED.format(title=name, site=SITE), "utf-8")
    feed = call("POST", "/v1/feeds", {"url": f"{SITE}/{name}.xml"})["feed"]["feedId"]
    entries = wait("an entry", lambda: call("GET", f"/v1/entries?feedId={feed}")["entries"])
    return feed, entries[0]["entryId"]


def save(call, name):
    """Saves a bookmark with a text and a highlight."""
    mark = call("POST", "/v1/bookmarks", {
        "url": f"https://example.com/{name}", "title": f"Text {name}", "tags": ["ants", f"of-{name}"], "notes": "A note.",
        "text": f"Ants by the name of {name} find the shortest way by scent. " * 20,
    })["bookmark"]  # fmt: skip
    path = f"/v1/bookmarks/{mark['bookmarkId']}"
    # Wait until the document has its text, because a highlight needs it.
    wait("a text", lambda: call("GET", path)["bookmark"]["status"] == "ready")
    words = {"text": "Ants", "startOffset": 0, "endOffset": 4}
    return mark | call("POST", f"{path}/highlights", words)["highlight"]


def main():
    """Fills the library and writes the files."""
    (HOME / "site").mkdir(exist_ok=True)
    wait("the service", ready)
    carrel("user", "add", "--email", EMAIL, "--plan", "research", "--password-stdin", stdin=f"{PASSWORD}\n")
    scopes = [word for scope in SCOPES for word in ("--scope", scope)]
    key = carrel("key", "create", "--user", EMAIL, "--kind", "rest", "--name", "schema", *scopes)["secret"]
    call, app = Client(f"{BASE}/rest", Authorization=f"Bearer {key}"), Client(f"{BASE}/app/api")
    app("POST", "/session", {"email": EMAIL, "password": PASSWORD})

    # Objects that no request deletes, and others for the routes that delete or change theirs: otherwise the first DELETE would turn
    # all later requests into 404.
    stays, changed, goes, back, again = (save(call, name) for name in ("stays", "changed", "goes", "back", "again"))
    call("DELETE", f"/v1/bookmarks/{back['bookmarkId']}")
    boxes = [call("POST", "/v1/collections", {"name": name})["collection"]["collectionId"] for name in ("Box", "Bag")]
    call("PUT", f"/v1/collections/{boxes[0]}/bookmarks/{stays['bookmarkId']}")
    (feed, entry), (left, _) = follow(call, "stays"), follow(call, "left")
    project = app("POST", "/projects", {"name": "Ants", "instructions": "Read all."})["project"]["id"]
    note = call("POST", f"/v2/projects/{project}/notes", {"title": "A note", "bodyMd": "On ants."})["note"]["noteId"]
    completed, received = upload(call), upload(call)
    recording = call("POST", f"/v2/uploads/{completed}/complete")["documentId"]

    known = {
        "GET /rest/v2/documents/{id}": {"id": stays["documentId"]},
        "GET /rest/v2/documents/{id}/chunks": {"id": stays["documentId"]},
        "GET /rest/v2/documents/{id}/transcript": {"id": recording},
        "GET /rest/v2/projects/{id}/context": {"id": project},
        "POST /rest/v2/projects/{id}/items": {"id": project},
        "POST /rest/v2/projects/{id}/notes": {"id": project},
        "GET /rest/v2/uploads/{id}": {"id": completed},
        "POST /rest/v2/uploads/{id}/complete": {"id": received},
        "GET /rest/v1/documents/{id}/html": {"id": stays["documentId"]},
        "GET /rest/v1/documents/{id}/outline": {"id": stays["documentId"]},
        "GET /rest/v1/bookmarks/{id}": {"id": stays["bookmarkId"]},
        "PATCH /rest/v1/bookmarks/{id}": {"id": changed["bookmarkId"]},
        "DELETE /rest/v1/bookmarks/{id}": {"id": goes["bookmarkId"]},
        "POST /rest/v1/bookmarks/{id}/restore": {"id": back["bookmarkId"]},
        "POST /rest/v1/bookmarks/{id}/refetch": {"id": again["bookmarkId"]},
        "GET /rest/v1/bookmarks/{id}/highlights": {"id": stays["bookmarkId"]},
        "POST /rest/v1/bookmarks/{id}/highlights": {"id": stays["bookmarkId"]},
        "PATCH /rest/v1/highlights/{id}": {"id": stays["highlightId"]},
        "DELETE /rest/v1/highlights/{id}": {"id": changed["highlightId"]},
        "PATCH /rest/v1/tags/{name}": {"name": "of-changed"},
        "DELETE /rest/v1/tags/{name}": {"name": "of-again"},
        "GET /rest/v1/collections/{id}": {"id": boxes[0]},
        "PATCH /rest/v1/collections/{id}": {"id": boxes[0]},
        "DELETE /rest/v1/collections/{id}": {"id": boxes[1]},
        "PUT /rest/v1/collections/{id}/bookmarks/{bookmarkId}": {"id": boxes[0], "bookmarkId": stays["bookmarkId"]},
        "DELETE /rest/v1/collections/{id}/bookmarks/{bookmarkId}": {"id": boxes[0], "bookmarkId": changed["bookmarkId"]},
        "GET /rest/v1/feeds/{id}": {"id": feed},
        "PATCH /rest/v1/feeds/{id}": {"id": feed},
        "DELETE /rest/v1/feeds/{id}": {"id": left},
        "POST /rest/v1/feeds/{id}/refresh": {"id": feed},
        "GET /rest/v1/entries/{id}": {"id": entry},
        "PATCH /rest/v1/entries/{id}": {"id": entry},
        "POST /rest/v1/entries/{id}/transcribe": {"id": entry},
    }
    checks = (
        "not_a_server_error status_code_conformance content_type_conformance response_headers_conformance "
        "response_schema_conformance negative_data_rejection unsupported_method allow_header_conformance ignored_auth "
        "batch_reports_each_fault error_code_is_described"
    ).split()
    lines = [f'headers = {{ Authorization = "Bearer {key}" }}', "[checks]", "enabled = false"]
    lines += [f"{check}.enabled = true" for check in checks]
    for operation, parameters in known.items():
        lines += ["", "[[operations]]", f"include-name = '{operation}'", "[operations.parameters]"]
        lines += [f'"path.{name}" = "{value}"' for name, value in parameters.items()]
    lines += ["", "[[operations]]", "include-name = 'POST /rest/v1/bookmarks/batch'"]
    lines += ["[operations.checks]", "negative_data_rejection.enabled = false"]
    (HOME / "schemathesis.toml").write_text("\n".join(lines) + "\n", "utf-8")
    objects = {"bookmarkId": stays["bookmarkId"], "highlightId": stays["highlightId"], "noteId": note, "entryId": entry}
    objects |= {"bookmarkIds": stays["bookmarkId"], "feedId": feed, "collectionIds": boxes[0], "url": f"{SITE}/stays.xml"}
    (HOME / "objects.json").write_text(json.dumps(objects), "utf-8")


main()
