"""Failing system calls of a running service, by the library of injector.c."""

import errno
import mmap
import pathlib
import struct
import subprocess

SOURCE = pathlib.Path(__file__).with_name("injector.c")
# struct control of injector.c: process, kind, error, unused, first, times, calls, failed, part.
LAYOUT = struct.Struct("iiiillll208s")
PROCESS = struct.Struct("i")
COUNTS = struct.Struct("ll")
COUNTS_OFFSET = 32
KINDS = {"pwrite64": 0, "fdatasync": 1, "ftruncate": 2}
ALWAYS = 1 << 40


class Injector:
    """One control file, and the library that reads it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.library, self.control = folder / "injector.so", folder / "injector.control"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", self.library, SOURCE, "-ldl"], check=True)
        self.control.write_bytes(bytes(LAYOUT.size))
        with self.control.open("r+b") as file:
            self.memory = mmap.mmap(file.fileno(), LAYOUT.size)

    def environment(self) -> dict[str, str]:
        """What a process is started with whose calls may be made to fail."""
        return {"LD_PRELOAD": str(self.library), "FAULT_INJECTOR": str(self.control)}

    def arm(self, process: int, call: str, error: str, first: int, times: int = 1, part: str = "carrel.db") -> None:
        """Of the calls that the process makes from now on on files with this in their path, fails `times` from the `first` on."""
        self.disarm()
        values = (0, KINDS[call], getattr(errno, error), 0, first, times, 0, 0, part.encode())
        LAYOUT.pack_into(self.memory, 0, *values)
        # The last one: from here on it holds.
        PROCESS.pack_into(self.memory, 0, process)

    def disarm(self) -> None:
        PROCESS.pack_into(self.memory, 0, 0)

    @property
    def calls(self) -> int:
        """Calls of the kind since it was armed, those that failed too."""
        return COUNTS.unpack_from(self.memory, COUNTS_OFFSET)[0]

    @property
    def failed(self) -> int:
        return COUNTS.unpack_from(self.memory, COUNTS_OFFSET)[1]
