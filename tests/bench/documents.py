"""GET /rest/v2/documents/:id in a library of many bookmarks, compared with bare actix-web handlers that respond with the same bytes.

    cargo build --release --bin carrel --example bare
    python3.11 tests/bench/documents.py --carrel target/release/carrel --bare target/release/examples/bare [--bookmarks 20000] \
        [--text] [--seconds 5] [--turns 7] [--log info] [--other PROGRAM] [--codings gzip br]

The document has 12,000 characters and is requested with `maxChars=12000`, by 32 connections of `wrk` (two threads, a Debian package).
Each server has two workers, and they are loaded in turns, so that other load of the machine affects all of them:

- `bare` checks nothing. The difference to it is the cost of the key, the limits, the database, the JSON, the activity and the log.
- `checked` hashes the key, looks it up, takes a call from a bucket, and reads the row of the document on the worker's own connection,
  with --text its text too. What Carrel adds to that is its own cost.
- `pool` does the same as `checked`, but reads the row through a pool of sqlx.
- `gzip` and `br`, with --codings, are Carrel with clients that accept that content coding, as browsers and most HTTP libraries do.
- `other`, with --other, is another build of Carrel on its own copy of the library, such as one before a change.

For each library of --bookmarks the script prints the medians of each server: requests per second, milliseconds of a request,
CPU-microseconds and context switches of one. Then it prints Carrel's ratios to the others: `rps_to_` is its requests per second divided
by theirs, `cpu_of_..._to_ours` their CPU-time of a request divided by its own. So a higher ratio is better for Carrel.
"""

import contextlib
import os
import subprocess
import typing

from library import Library, add_arguments, serving_library
from service import Load, Service, add_other, arguments, await_port, builds, free_port, machine, median, say, wrk

CHARACTERS = 12_000
WRK = ("-t2", "-c32")


class Server(typing.NamedTuple):
    """A server, and the request with which it is loaded."""

    pid: int
    url: str
    key: str
    coding: str = ""

    def load(self, seconds: int) -> Load:
        accepted = ["-H", f"Accept-Encoding: {self.coding}"] if self.coding else []
        return wrk(self.pid, self.url, seconds, *WRK, "-H", f"Authorization: Bearer {self.key}", *accepted)


def path_of(library: Library) -> str:
    return f"/rest/v2/documents/{library.long_documents[0]}?maxChars={CHARACTERS}"


def server_of(pid: int, port: int, library: Library) -> Server:
    return Server(pid, f"http://127.0.0.1:{port}{path_of(library)}", library.rest_key)


@contextlib.contextmanager
def bare_servers(args, service: Service, library: Library, answer: bytes):
    """The baselines by name. They respond with these bytes."""
    file = service.folder / "answer"
    file.write_bytes(answer)
    database, document = service.folder / "data/carrel.db", library.long_documents[0]
    text = ["--text"] if args.text else []
    of_row = [*text, str(database), library.rest_key, document]
    modes = {"bare": [], "checked": ["--checked", *of_row], "pool": ["--pool", *of_row]}
    servers, started = {}, []
    try:
        for name, mode in modes.items():
            port = free_port()
            started.append(subprocess.Popen([os.path.realpath(args.bare), file, str(port), *mode]))
            await_port(port)
            servers[name] = server_of(started[-1].pid, port, library)
        yield servers
    finally:
        for process in started:
            process.terminate()
            process.wait()


def measure(args, bookmarks: int) -> None:
    with contextlib.ExitStack() as stack:
        running = {}
        for build, program in builds(args).items():
            serving = serving_library(program, args.library, bookmarks, log__level=args.log)
            service, library = running[build] = stack.enter_context(serving)
            assert len(library.reader(service).data("GET", path_of(library))["text"]) == CHARACTERS
        service, library = running["carrel"]
        answer = library.reader(service).ask("GET", path_of(library))
        servers = dict(stack.enter_context(bare_servers(args, service, library, answer)))
        servers |= {build: server_of(service.process.pid, service.port, library) for build, (service, library) in running.items()}
        servers |= {coding: servers["carrel"]._replace(coding=coding) for coding in args.codings}
        turns = {name: [] for name in servers}
        # The first turn warms up and is not counted.
        for number in range(args.turns + 1):
            for name, server in servers.items():
                turn = server.load(args.seconds if number else 2)
                if number:
                    turns[name].append(turn)
    report(bookmarks, len(answer), {name: median(some) for name, some in turns.items()})


def report(bookmarks: int, answer_bytes: int, loads: dict[str, Load]) -> None:
    for name, load in loads.items():
        say(bookmarks=bookmarks, server=name, **{figure: round(value, 2) for figure, value in load._asdict().items()})
    ours = loads.pop("carrel")
    ratios = {f"rps_to_{name}": round(ours.rps / load.rps, 3) for name, load in loads.items()}
    ratios |= {f"cpu_of_{name}_to_ours": round(load.cpu_us / ours.cpu_us, 3) for name, load in loads.items()}
    say(bookmarks=bookmarks, answer_bytes=answer_bytes, **ratios)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 20_000)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handlers")
    add_other(parser)
    parser.add_argument("--codings", nargs="*", default=[], metavar="NAME", help="content codings that further clients accept")
    parser.add_argument("--text", action="store_true", help="the row of `checked` and `pool` includes the text")
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--log", default="warn", metavar="LEVEL", help="log.level of the service")
    measured = parser.parse_args()
    machine()
    for count in measured.bookmarks:
        measure(measured, count)
    machine()
