"""Hooks of schemathesis for this API: bodies of valid requests refer to objects of the library, as paths do by the
configuration; requests stay within the maximum length of a head; and every operation that succeeded is recorded."""

import json
import os
import pathlib
from urllib.parse import urlencode

import schemathesis
from schemathesis import GenerationMode

HOME = pathlib.Path(os.environ["CARREL_SCHEMA_HOME"])
BATCH = "POST /rest/v1/bookmarks/batch"
OBJECTS = json.loads((HOME / "objects.json").read_text("utf-8"))
DESCRIPTION = json.loads((HOME / "openapi.json").read_text("utf-8"))
MAX_QUERY_BYTES = 32_768
calls = 0


@schemathesis.hook
def filter_query(context, query):
    """A head over 64 KiB is refused by the HTTP parser with a bare 400, before there is a route whose answer could be
    described."""
    return len(urlencode(query or {}, doseq=True)) <= MAX_QUERY_BYTES


@schemathesis.hook
def before_call(context, case, kwargs):
    """Every second valid body refers to existing objects."""
    global calls
    calls += 1
    good = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if good and calls % 2 and isinstance(case.body, dict):
        case.body = with_known_ids(case.operation.label, case.body)


def with_known_ids(operation, body):
    """The same body with ids of existing objects."""
    replaced = known("", body)
    if operation == "POST /rest/v1/bookmarks/{id}/highlights":
        # The text has to be the document's text at the offsets, which generated values never are.
        replaced |= {"text": "Ants", "startOffset": 0, "endOffset": 4}
    if operation == "POST /rest/v1/bookmarks":
        replaced |= {"url": "https://example.com/new"}
    return replaced


def known(name, value):
    """The value for a member; the items of a list are named by their kind."""
    if isinstance(value, list):
        return [known(name, item) for item in value]
    if isinstance(value, dict):
        return {inner: known(inner, item) for inner, item in value.items()}
    return OBJECTS.get(name, value) if isinstance(value, str) else value


@schemathesis.check
def batch_reports_each_fault(context, response, case):
    """A batch may be valid although one of its operations is not: then the response has to report that operation."""
    bad = case.meta is not None and case.meta.generation.mode == GenerationMode.NEGATIVE
    if bad and case.operation.label == BATCH and response.status_code == 200:
        assert not all(result["ok"] for result in response.json()["data"]["results"]), "a body that contradicts the description was accepted"


@schemathesis.check
def error_code_is_described(context, response, case):
    """All errors have one schema, so the codes of each response are checked here."""
    method, path = case.operation.label.split(" ", 1)
    described = DESCRIPTION["paths"][path][method.lower()]["responses"].get(str(response.status_code))
    if response.status_code < 400 or described is None:
        return
    component = DESCRIPTION["components"]["responses"][described["$ref"].rsplit("/", 1)[-1]]
    try:
        code = response.json()["error"]["code"]
    except (ValueError, KeyError, TypeError):
        return  # Another check compares the body with the description.
    assert code in component["x-error-codes"], f"{code} is not among the codes of {response.status_code}"


@schemathesis.hook
def after_call(context, case, response):
    """Records the operations that succeeded."""
    if 200 <= response.status_code < 300:
        with open(HOME / "succeeded", "a", encoding="utf-8") as succeeded:
            succeeded.write(case.operation.label + "\n")
