"""Makes calls of a running service fail, with the library of injector.c."""

import errno
import mmap
import pathlib
import re
import struct
import subprocess
import typing

from harness import eventually

SOURCE = pathlib.Path(__file__).with_name("injector.c")
# Functions of the C library by the kind of call in injector.c. Each name stands for its variants: `open` also for `openat64`.
KINDS = {"pwrite64": 0, "fsync": 1, "ftruncate": 2, "open": 3, "rename": 4, "unlink": 5, "fallocate": 6,
         "pread64": 7, "open for writing": 8}
# struct control of injector.c: process, rules, heap_limit, applied_limit.
HEAD = struct.Struct("iill")
# struct rule of injector.c: kind, error, first, times, calls, failed, part.
RULE = struct.Struct("iillll208s")
MAX_RULES = 8
PROCESS = struct.Struct("i")
LIMIT, LIMIT_OFFSET, APPLIED_OFFSET = struct.Struct("l"), 8, 16
COUNTS, COUNTS_OFFSET = struct.Struct("ll"), 24
ALWAYS = 1 << 40
# Instead of the id of a process: the next process that starts with the library.
NEXT = -1


def compile_library(source: pathlib.Path, library: pathlib.Path) -> None:
    """Compiles a library for LD_PRELOAD."""
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-pthread", "-o", library, source, "-ldl"], check=True)


class Rule(typing.NamedTuple):
    """Fails `times` calls on files whose path contains `part`, starting with the `first` call from now on."""

    call: str
    error: str
    first: int = 1
    times: int = 1
    part: str = "carrel.db"


class Injector:
    """One control file, and the library that reads it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.library, self.control = folder / "injector.so", folder / "injector.control"
        compile_library(SOURCE, self.library)
        size = HEAD.size + MAX_RULES * RULE.size
        self.control.write_bytes(bytes(size))
        with self.control.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), size)

    def environment(self) -> dict[str, str]:
        """The environment of a process whose calls can be made to fail."""
        return {"LD_PRELOAD": str(self.library), "FAULT_INJECTOR": str(self.control)}

    @staticmethod
    def heap_environment(program: str) -> dict[str, str]:
        """Added to the environment of a process whose SQLite can be made to lack memory; empty if the program has no symbols."""
        symbols = subprocess.run(["nm", "--defined-only", program], capture_output=True, text=True).stdout
        functions = {"FAULT_HEAP_FUNCTION": "sqlite3_hard_heap_limit64", "FAULT_CONFIG_FUNCTION": "sqlite3_config"}
        found = {name: re.search(rf"^([0-9a-f]+) T {symbol}$", symbols, re.MULTILINE) for name, symbol in functions.items()}
        return {name: match[1] for name, match in found.items()} if all(found.values()) else {}

    def arm(self, process: int, call: str, error: str, first: int, times: int = 1, part: str = "carrel.db",
            open_error: str | None = None) -> None:
        """Applies one rule to a process, and with `open_error` fails every attempt to open the same files for writing."""
        opening = [] if open_error is None else [Rule("open for writing", open_error, times=ALWAYS, part=part)]
        self.arm_rules(process, Rule(call, error, first, times, part), *opening)

    def arm_rules(self, process: int, *rules: Rule) -> None:
        """Applies rules to a process, or to the `NEXT` one that starts. The counts begin at zero."""
        assert len(rules) <= MAX_RULES
        self.disarm()
        HEAD.pack_into(self.memory, 0, 0, len(rules), 0, 0)
        for number, rule in enumerate(rules):
            values = (KINDS[rule.call], getattr(errno, rule.error), rule.first, rule.times, 0, 0, rule.part.encode())
            RULE.pack_into(self.memory, HEAD.size + number * RULE.size, *values)
        # Written last, because it activates the others.
        PROCESS.pack_into(self.memory, 0, process)

    def disarm(self) -> None:
        PROCESS.pack_into(self.memory, 0, 0)

    def limit_heap(self, limit: int) -> None:
        """Sets the hard heap limit of SQLite in the armed process, in bytes; 0 lifts it."""
        LIMIT.pack_into(self.memory, LIMIT_OFFSET, limit)
        eventually(lambda: LIMIT.unpack_from(self.memory, APPLIED_OFFSET) == (limit,))

    def counts(self, rule: int = 0) -> tuple[int, int]:
        """How many calls a rule has counted since it was armed, and how many of these failed."""
        return COUNTS.unpack_from(self.memory, HEAD.size + rule * RULE.size + COUNTS_OFFSET)

    @property
    def calls(self) -> int:
        """Calls that the first rule has counted, including those that failed."""
        return self.counts()[0]

    @property
    def failed(self) -> int:
        return self.counts()[1]
