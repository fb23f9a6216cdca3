"""Makes system calls of a running service fail, with the library of injector.c."""

import errno
import mmap
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("injector.c")
# struct control of injector.c: process, kind, error, open_error, first, times, calls, failed, part.
LAYOUT = struct.Struct("iiiillll208s")
PROCESS = struct.Struct("i")
COUNTS = struct.Struct("ll")
COUNTS_OFFSET = 32
KINDS = {"pwrite64": 0, "fdatasync": 1, "ftruncate": 2, "pread64": 3}
ALWAYS = 1 << 40


def compile_library(source: pathlib.Path, library: pathlib.Path) -> None:
    """Compiles a library for LD_PRELOAD."""
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)


class Injector:
    """One control file, and the library that reads it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.library, self.control = folder / "injector.so", folder / "injector.control"
        compile_library(SOURCE, self.library)
        self.control.write_bytes(bytes(LAYOUT.size))
        with self.control.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), LAYOUT.size)

    def environment(self) -> dict[str, str]:
        """The environment of a process whose calls can be made to fail."""
        return {"LD_PRELOAD": str(self.library), "FAULT_INJECTOR": str(self.control)}

    def arm(self, process: int, call: str, error: str, first: int, times: int = 1, part: str = "carrel.db",
            open_error: str | None = None) -> None:
        """Fails `times` calls of the process on files whose path contains `part`, starting with the `first` call from now on, and
        with `open_error` every attempt to open them for writing."""
        self.disarm()
        on_open = 0 if open_error is None else getattr(errno, open_error)
        values = (0, KINDS[call], getattr(errno, error), on_open, first, times, 0, 0, part.encode())
        LAYOUT.pack_into(self.memory, 0, *values)
        # Written last, because it activates the others.
        PROCESS.pack_into(self.memory, 0, process)

    def disarm(self) -> None:
        PROCESS.pack_into(self.memory, 0, 0)

    @property
    def calls(self) -> int:
        """Calls of this kind since it was armed, including those that failed."""
        return COUNTS.unpack_from(self.memory, COUNTS_OFFSET)[0]

    @property
    def failed(self) -> int:
        return COUNTS.unpack_from(self.memory, COUNTS_OFFSET)[1]
