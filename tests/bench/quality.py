"""Quality of search: nDCG@10 and recall@20 of the running service on the retrieval sets, lexical and hybrid, with both engines.

    cargo build --release --bin carrel --example qdrant_server
    python3.11 tests/bench/quality.py --carrel target/release/carrel --models ~/.cache/carrel/models \
        [--qdrant-server target/release/examples/qdrant_server] [--vectors-url URL] [--engines embedded server] [--sets scifact cranfield]

Each set is the library of a separate user, imported by `carrel import`; score.py of the data folder sends the queries
through GET /rest/v2/search with `limit` 20 and computes the figures. Lexical search is that of the same library during
`carrel ai pause`.

The engine `embedded` keeps the index in the data folder; `server` keeps it on a Qdrant server (`vectors.url`): that of --vectors-url,
on which each run leaves a collection `quality-...`, or else the server of the tests (qdrant_server.rs). At the end a table has the
figures of both. If one differs by 0.0005 or more, the script fails: both engines must rank alike to the third place. The goals of
nDCG@10 are .74 and .57 in hybrid search, .69 and .535 in lexical search, for SciFact and Cranfield.
"""

import contextlib
import json
import os
import pathlib
import secrets
import subprocess
import sys

from service import Reader, Service, arguments, machine, say, serving

SETS = ("scifact", "cranfield")
ENGINES = ("embedded", "server")
FIGURES = ("ndcg@10", "recall@20")
EQUAL_WITHIN = 0.0005


def score(data: pathlib.Path, *words: object) -> dict:
    done = subprocess.run([sys.executable, data / "score.py", *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"score.py: {done.stderr}")
    return json.loads(done.stdout)


def library(service: Service, data: pathlib.Path, name: str, engine: str) -> Reader:
    """A user whose library is the whole set, completely processed."""
    reader, file = service.reader(), service.folder / f"{name}.jsonl"
    rows = score(data, "to-import", data / "retrieval" / name, file)["rows"]
    report = reader.import_file(file)
    saved = reader.await_library()
    ready = sum(bookmark["status"] == "ready" for bookmark in saved)
    say(engine=engine, set=name, rows=rows, created=report["created"], skipped=report["skippedRows"], ready=ready)
    return reader


def ask(service: Service, data: pathlib.Path, name: str, reader: Reader, engine: str, kind: str) -> dict:
    base = f"http://127.0.0.1:{service.port}"
    figures = score(data, "retrieval", data / "retrieval" / name, base, reader.secret)
    say(engine=engine, search=kind, **figures)
    return figures


@contextlib.contextmanager
def index_settings(args, engine: str):
    """The settings of an engine, and its server while the block runs."""
    # Another name in each run, so that a server of --vectors-url may have the collections of earlier runs.
    collection = {"vectors__collection": f"quality-{secrets.token_hex(4)}"}
    if engine == "embedded":
        yield {}
    elif args.vectors_url:
        yield {"vectors__url": args.vectors_url, **collection}
    else:
        server = subprocess.Popen([os.path.realpath(args.qdrant_server)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            yield {"vectors__url": server.stdout.readline().strip(), **collection}
        finally:
            server.stdin.close()
            server.wait()


def measure(args, engine: str) -> dict[tuple[str, str], dict]:
    """The figures of an engine by set and kind of search."""
    found, models = {}, {"models__dir": args.models} if args.models else {}
    with index_settings(args, engine) as settings, serving(args.carrel, **models, **settings) as service:
        if args.models:
            service.await_model()
        readers = {name: library(service, args.data, name, engine) for name in args.sets}
        for name, reader in readers.items():
            if args.models:
                found[name, "hybrid"] = ask(service, args.data, name, reader, engine, "hybrid")
        service.cli("ai", "pause")
        # A running service reads the pause at least once a second.
        while next(iter(readers.values())).data("GET", "/rest/v2/search", q="wing")["degraded"] is None:
            pass
        for name, reader in readers.items():
            found[name, "lexical"] = ask(service, args.data, name, reader, engine, "lexical")
    return found


def table(found: dict[str, dict[tuple[str, str], dict]]) -> bool:
    """Prints the figures of all engines as Markdown; returns whether they are equal to the third place."""
    columns = [(figure, engine) for figure in FIGURES for engine in found]
    print("| set | search |", *(f"{figure} {engine} |" for figure, engine in columns), "equal |")
    print("|---|---|" + "---|" * (len(columns) + 1))
    are_equal = []
    for key in next(iter(found.values())):
        rows = [figures[key] for figures in found.values()]
        spread = max(max(row[figure] for row in rows) - min(row[figure] for row in rows) for figure in FIGURES)
        are_equal.append(spread < EQUAL_WITHIN)
        print("|", " | ".join(key), "|", *(f"{found[engine][key][figure]:.4f} |" for figure, engine in columns),
              "yes |" if are_equal[-1] else "no |", flush=True)
    return all(are_equal)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--engines", nargs="+", default=ENGINES, choices=ENGINES)
    parser.add_argument("--qdrant-server", default="target/release/examples/qdrant_server", metavar="PROGRAM", help="qdrant_server.rs")
    parser.add_argument("--vectors-url", metavar="URL", help="a Qdrant server that runs already, with the port of gRPC")
    measured = parser.parse_args()
    machine()
    figures = {engine: measure(measured, engine) for engine in measured.engines}
    machine()
    if not table(figures):
        sys.exit("the engines rank differently")
