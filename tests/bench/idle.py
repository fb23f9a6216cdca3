"""What the service does while nobody asks, and how long it takes to start, in libraries of several sizes.

    python3.11 tests/bench/idle.py --carrel target/release/carrel [--bookmarks 2000 20000 200000] [--seconds 30] [--other PROGRAM]

Printed are, for each library: milliseconds from start to ready (the median of several starts); then for a second without requests
CPU-milliseconds, context switches, wake-ups of threads by others (futex and eventfd calls), reads and writes of files, syncs to the
disk, and statements; the memory in MiB, with the index loaded and (unused_) after --unused seconds more, when the service has unloaded
it, as its log must say; and first_search_ms, the milliseconds of a search then, which loads it again. The system calls are counted by
`strace -c` (a Debian package) in a second period, which slows the service: its CPU-time is that of the first.

The baseline is the first program with an empty library, which is measured first: the ratios of the figures in each library to it are named
`..._to_empty`. 1 means that the service does nothing more for having a library. Figures that are 0 there have no ratio.

The goals are 10 statements a second or fewer, and less than 150 ms from start to ready in a library of 200,000 bookmarks. With --other
another build is measured after the first one in each library, and the ratios of the figures to it are printed: below 1 the first one does
less.
"""

import contextlib
import re
import shutil
import signal
import statistics
import subprocess
import time

from library import add_arguments, copied
from service import (LOG_UNLOADS, UNLIMITED, Service, add_other, add_unused, arguments, builds, context_switches, folder, machine,
                     ratios_to, say, say_ratios)

SETTLED_SECONDS = 15
STARTS = 5
GROUPS = {
    "wake_ups": ("futex", "write"), "file_reads": ("pread64", "preadv", "read"), "file_writes": ("pwrite64", "pwritev"),
    "locks": ("fcntl",), "syncs": ("fsync", "fdatasync")}


def system_calls(pid: int, seconds: int) -> dict[str, float]:
    """System calls of a second by group; none without strace."""
    if not shutil.which("strace"):
        return {}
    strace = subprocess.Popen(["strace", "-c", "-f", "-q", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    time.sleep(seconds)
    strace.send_signal(signal.SIGINT)
    _, output = strace.communicate()
    # Per cent, seconds, microseconds a call, calls, errors if there are any, name.
    rows = re.findall(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(\w+)$", output, re.MULTILINE)
    calls = {name: int(count) for count, name in rows if name != "total"}
    return {group: round(sum(calls.get(name, 0) for name in names) / seconds, 1) for group, names in GROUPS.items()}


def idle(service: Service, seconds: int) -> dict[str, float]:
    """What the service does in a second without requests."""
    pid, statements = service.process.pid, service.metrics("statement")
    cpu, switches = service.own_cpu_seconds(), context_switches(pid)
    time.sleep(seconds)
    cpu, switches = service.own_cpu_seconds() - cpu, context_switches(pid) - switches
    after = service.metrics("statement")
    each = {name: round((value - statements.get(name, 0)) / seconds, 1) for name, value in after.items()}
    return {"cpu_ms": round(cpu * 1000 / seconds, 2), "context_switches": round(switches / seconds, 1), **each}


def measure(args, program: str, bookmarks: int) -> dict[str, float]:
    with contextlib.ExitStack() as stack:
        library = None
        if bookmarks:
            home, library = stack.enter_context(copied(program, args.library, bookmarks, indexed=args.indexed))
        else:
            home = stack.enter_context(folder())
        service = Service(program, home, UNLIMITED | LOG_UNLOADS)
        try:
            # The first start creates the database of an empty library.
            service.start()
            reader = library.reader(service) if library else service.reader()
            service.stop()
            starts = []
            for _ in range(STARTS):
                starts.append(service.start())
                service.stop()
            service.start()
            time.sleep(SETTLED_SECONDS)
            quiet = idle(service, args.seconds)
            memory = service.memory()
            quiet |= system_calls(service.process.pid, args.seconds)
            memory |= service.unused_figures(args.unused, reader)
        finally:
            service.stop()
    return {"ready_ms_p50": round(statistics.median(starts)), "ready_ms_max": round(max(starts)), **quiet, **memory}


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 2_000, 20_000, 200_000)
    parser.add_argument("--seconds", type=int, default=30, help="of each period")
    add_other(parser)
    add_unused(parser)
    parser.add_argument("--indexed", action="store_true", help="libraries whose passages are in the index")
    measured = parser.parse_args()
    machine()
    empty = measure(measured, measured.carrel, 0)
    say(bookmarks=0, build="carrel", **empty)
    for count in measured.bookmarks:
        figures = {}
        for build, program in builds(measured).items():
            figures[build] = measure(measured, program, count)
            say(bookmarks=count, build=build, **figures[build])
        say(bookmarks=count, **ratios_to("empty", figures["carrel"], empty))
        say_ratios(figures, bookmarks=count)
    machine()
