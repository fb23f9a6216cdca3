"""Small file systems of a test's own. Mounting needs root."""

import contextlib
import pathlib
import subprocess

MIB = 1 << 20


@contextlib.contextmanager
def mounted(place: pathlib.Path, *options: str):
    """A file system at this folder, which is made for it, until the block ends."""
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
