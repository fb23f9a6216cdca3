"""Quality of search: nDCG@10 of the running service on the retrieval sets, lexical and hybrid.

    python3.11 tests/bench/quality.py --carrel target/release/carrel --models ~/.cache/carrel/models

Each set is the library of a separate user, imported by `carrel import`; score.py of the data folder sends the queries
through GET /rest/v2/search with `limit` 20 and computes the figures. Lexical search is that of the same library during
`carrel ai pause`.
"""

import json
import pathlib
import subprocess
import sys

from service import Reader, Service, arguments, machine, say, serving

SETS = ("scifact", "cranfield")


def score(data: pathlib.Path, *words: object) -> dict:
    done = subprocess.run([sys.executable, data / "score.py", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"score.py: {done.stderr}")
    return json.loads(done.stdout)


def library(service: Service, data: pathlib.Path, name: str) -> Reader:
    """A user whose library is the whole set, completely processed."""
    reader, file = service.reader(), service.folder / f"{name}.jsonl"
    rows = score(data, "to-import", data / "retrieval" / name, file)["rows"]
    report = reader.import_file(file)
    saved = reader.await_library()
    ready = sum(bookmark["status"] == "ready" for bookmark in saved)
    say(set=name, rows=rows, created=report["created"], skipped=report["skippedRows"], ready=ready)
    return reader


def ask(service: Service, data: pathlib.Path, name: str, reader: Reader, kind: str) -> None:
    base = f"http://127.0.0.1:{service.port}"
    say(search=kind, **score(data, "retrieval", data / "retrieval" / name, base, reader.secret))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    args = parser.parse_args()
    machine()
    with serving(args.carrel, **({"models__dir": args.models} if args.models else {})) as service:
        if args.models:
            service.await_model()
        readers = {name: library(service, args.data, name) for name in args.sets}
        for name, reader in readers.items():
            if args.models:
                ask(service, args.data, name, reader, "hybrid")
        service.cli("ai", "pause")
        # A running service reads the pause at least once a second.
        while next(iter(readers.values())).data("GET", "/rest/v2/search", q="wing")["degraded"] is None:
            pass
        for name, reader in readers.items():
            ask(service, args.data, name, reader, "lexical")
    machine()
