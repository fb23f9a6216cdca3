"""Small file systems for one test, and files that fill them. Mounting requires root."""

import contextlib
import os
import pathlib
import subprocess
import threading
import time

MIB = 1 << 20


@contextlib.contextmanager
def mounted(place: pathlib.Path, *options: str):
    """Mounts a file system at this folder, which is created if necessary, until the block ends."""
    place.mkdir(exist_ok=True)
    subprocess.run(["mount", *options, str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def tmpfs(place: pathlib.Path, size: int, **options: object):
    """A file system of this size in bytes."""
    words = [f"size={size}", *(f"{name}={value}" for name, value in options.items())]
    return mounted(place, "-t", "tmpfs", "-o", ",".join(words), "tmpfs")


def ext4_image(image: pathlib.Path, size: int) -> pathlib.Path:
    with image.open("wb") as file:
        file.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    return image


def ext4(place: pathlib.Path, image: pathlib.Path):
    """The file system of this image."""
    return mounted(place, "-t", "ext4", "-o", "loop", str(image))


def free_bytes(folder: pathlib.Path) -> int:
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


class LeastFree:
    """The least space that a disk had at any moment of the block."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.bytes = free_bytes(folder)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "LeastFree":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(0.002):
            self.bytes = min(self.bytes, free_bytes(self.folder))


class Filler:
    """A file that uses up all space, to the last block."""

    def __init__(self, disk: pathlib.Path) -> None:
        self.path = disk / "filler"

    def fill(self, leave: int = 0) -> None:
        size = free_bytes(self.path.parent) - leave
        with self.path.open("ab") as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        if leave:
            return
        with self.path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for block in (MIB, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(block))

    def fill_slowly(self) -> None:
        """Everything too, as a program that writes 1 MiB after another: about 50 MiB a second."""
        with self.path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(MIB))
                time.sleep(0.02)
        self.fill()

    def free(self) -> None:
        self.path.unlink()
