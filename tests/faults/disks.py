"""Small file systems, and files that fill them."""

import contextlib
import os
import pathlib
import subprocess

MIB = 1 << 20


@contextlib.contextmanager
def tmpfs(place: pathlib.Path, size: str = "64m"):
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextlib.contextmanager
def ext4(place: pathlib.Path):
    image = place.parent / "image"
    with image.open("wb") as file:
        file.truncate(96 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


class Filler:
    """A file that takes all the space there is, to the last block."""

    def __init__(self, disk: pathlib.Path) -> None:
        self.path = disk / "filler"

    def fill(self, leave: int = 0) -> None:
        stat = os.statvfs(self.path.parent)
        size = stat.f_bavail * stat.f_frsize - leave
        with self.path.open("ab") as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(size, 1))
        if leave:
            return
        with self.path.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            for block in (MIB, 4096, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(block))

    def free(self) -> None:
        self.path.unlink()
