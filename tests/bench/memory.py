"""Idle memory, and the time from start to ready, of a service with an empty library or with libraries of --bookmarks.

    cargo build --release --bin carrel --example bare
    python3.11 tests/bench/memory.py --carrel target/release/carrel --models ~/.cache/carrel/models [--bookmarks 2000 20000 200000] \
        [--bare target/release/examples/bare] [--other PROGRAM]

Memory is that of the process in MiB, ten seconds after it is ready, with the index loaded: VmRSS is all resident memory, RssAnon the
anonymous part (the system can reclaim mapped files). The figures that begin with unused_ are those after --unused seconds more without a
request: the service unloads an index that nothing has used for five minutes, which it checks twice a minute, and its log must say so.
first_search_ms are the milliseconds of a search then, which loads the index again, and with models embeds its query. The service is ready
when /readyz returns 200, polled every two milliseconds. The first start creates the database of an empty library, the others open it. The
service is ready before a model is loaded; the time until then is reported separately. The passages of a library are in its index,
without vectors: with models its documents are marked as if they had some, because the memory would otherwise be that of the model at
work.

There are two baselines in the same run. `bare` is the example bare.rs, an actix-web server that has no database, no index and no jobs: the
ratios of the first program with an empty library to it are named `..._to_bare`; it is ready when it accepts a connection. `empty` is the
first program itself with an empty library and without models, which is always measured: those of larger libraries and of models to it
are named `..._to_empty`, and show what the library and the models take.

The goals are 60 MiB of unused_VmRSS without models and 110 with them in a library of 20,000 bookmarks, and less than 150 ms from start to
ready in one of 200,000. With --other another build is measured after the first one in each library, and the ratios of the figures to it
are printed: below 1 the first one takes less.
"""

import contextlib
import functools
import os
import pathlib
import socket
import sqlite3
import statistics
import subprocess
import time

from library import add_arguments, copied
from service import (LOG_UNLOADS, UNLIMITED, Service, add_other, add_unused, arguments, builds, folder, free_port, machine, memory,
                     ratios_to, say, say_ratios, serving)

SETTLED = 10
STARTS = 7


def measure(args, program: str, bookmarks: int, settings: dict[str, object]) -> dict[str, float]:
    with contextlib.ExitStack() as stack:
        library = None
        if bookmarks:
            home, library = stack.enter_context(copied(program, args.library, bookmarks, indexed=True))
        else:
            home = stack.enter_context(folder())
        if bookmarks and settings:
            mark_embedded(home, embedding_model(program, args.models))
        service = Service(program, home, UNLIMITED | LOG_UNLOADS | settings)
        try:
            first = service.start()
            model = settings and await_model(service)
            reader = library.reader(service) if library else service.reader()
            time.sleep(SETTLED)
            idle = service.memory()
            idle |= service.unused_figures(args.unused, reader)
            service.stop()
            starts = []
            for _ in range(STARTS):
                starts.append(service.start())
                service.stop()
        finally:
            service.stop()
    return {"first_ready_ms": round(first), "ready_ms_p50": round(statistics.median(starts)), "ready_ms_min": round(min(starts)),
            **({"model_after_ms": round(model)} if model else {}), **idle}


def measure_bare(program: str) -> dict[str, float]:
    """The figures of the example `bare`."""
    with folder() as home:
        (home / "answer").write_bytes(b"{}")
        starts = [start_bare(program, home, settled=0)[0] for _ in range(STARTS)]
        _, resident = start_bare(program, home, settled=SETTLED)
    return {"ready_ms_p50": round(statistics.median(starts), 1), **resident}


def start_bare(program: str, home: pathlib.Path, settled: int) -> tuple[float, dict[str, float]]:
    """Milliseconds until it accepts a connection, and its memory some seconds later."""
    port, began = free_port(), time.perf_counter()
    process = subprocess.Popen([os.path.realpath(program), home / "answer", str(port)])
    try:
        while True:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            if process.poll() is not None:
                raise SystemExit(f"{program} ended with {process.returncode}")
            time.sleep(0.002)
        ready = (time.perf_counter() - began) * 1000
        time.sleep(settled)
        return ready, memory(process.pid)
    finally:
        process.terminate()
        process.wait()


def compare(args, name: str, bookmarks: int, settings: dict[str, object], baselines: dict[str, dict]) -> dict[str, float]:
    """Measures each build with these settings; returns the figures of the first one."""
    figures = {}
    for build, program in builds(args).items():
        figures[build] = measure(args, program, bookmarks, settings)
        say(service=name, bookmarks=bookmarks, build=build, **figures[build])
    for base, of_base in baselines.items():
        say(service=name, bookmarks=bookmarks, **ratios_to(base, figures["carrel"], of_base))
    say_ratios(figures, service=name, bookmarks=bookmarks)
    return figures["carrel"]


def await_model(service: Service) -> float:
    """Milliseconds from ready until the model is loaded."""
    began = time.perf_counter()
    service.await_model()
    return (time.perf_counter() - began) * 1000


@functools.cache
def embedding_model(program: str, models: str) -> str:
    """The name of the model, as a document that it has embedded states it."""
    with serving(program, models__dir=models) as service:
        service.await_model()
        reader = service.reader()
        reader.ask("POST", "/rest/v1/bookmarks", {"url": "https://a.example/", "text": "A heron in the reeds."})
        reader.await_library()
        database = sqlite3.connect(service.folder / "data/carrel.db")
        [[name]] = database.execute("SELECT embedding_model FROM document")
        database.close()
    return name


def mark_embedded(home: pathlib.Path, model: str) -> None:
    database = sqlite3.connect(home / "data/carrel.db")
    database.execute("UPDATE document SET embedding_model = ?", [model])
    database.commit()
    database.close()


if __name__ == "__main__":
    parser = arguments(__doc__, data=False)
    add_arguments(parser, 0)
    add_other(parser)
    add_unused(parser)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handlers")
    measured = parser.parse_args()
    machine()
    bare = measure_bare(measured.bare)
    say(server="bare", **bare)
    empty = compare(measured, "without models", 0, {}, {"bare": bare})
    for count in measured.bookmarks:
        if count:
            compare(measured, "without models", count, {}, {"empty": empty})
        if measured.models:
            compare(measured, "with models", count, {"models.dir": measured.models}, {"empty": empty})
    machine()
