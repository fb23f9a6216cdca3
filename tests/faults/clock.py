"""A service whose clocks are set by the test."""

import pathlib
import struct

from harness import FaultyService
from injector import compile_library

SOURCE = pathlib.Path(__file__).with_name("clock.c")
# The wall clock, and the monotonic one.
OFFSETS = struct.Struct("qq")


class ShiftedService(FaultyService):
    """A service with shifted clocks. It notices a jump of the monotonic one within 50 ms."""

    def __init__(self, program: str, folder: pathlib.Path, library: pathlib.Path, **settings: object) -> None:
        super().__init__(program, folder, **settings)
        self.library = library
        self.offsets = folder / "offsets"
        self.offsets.write_bytes(bytes(OFFSETS.size))

    def environment(self) -> dict[str, str]:
        clock = {"LD_PRELOAD": str(self.library), "CLOCK_OFFSETS": str(self.offsets), "CLOCK_WAKES_MS": "50"}
        return super().environment() | clock

    def shift(self, seconds: int) -> None:
        """Sets the offset of the wall clock."""
        self._set(seconds, self._get()[1])

    def jump(self, seconds: int) -> None:
        """Lets this much time pass: deadlines within it are over."""
        wall, monotonic = self._get()
        self._set(wall + seconds, monotonic + seconds)

    def shifted(self) -> int:
        """The offset of the wall clock."""
        return self._get()[0]

    def _get(self) -> tuple[int, int]:
        return OFFSETS.unpack(self.offsets.read_bytes())

    def _set(self, wall: int, monotonic: int) -> None:
        # The file is written in place, because the service has it mapped.
        with self.offsets.open("r+b") as file:
            file.write(OFFSETS.pack(wall, monotonic))


def clock_library(folder: pathlib.Path) -> pathlib.Path:
    library = folder / "clock.so"
    compile_library(SOURCE, library)
    return library
