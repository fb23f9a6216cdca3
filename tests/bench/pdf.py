"""Quality and speed of the extraction of text from PDFs, compared with other tools: score.py over PDFs whose text is known.

    python3.11 tests/bench/pdf.py --carrel target/release/carrel

The program parses each file as the service does: in a `carrel parse-worker`, which receives a frame with the file's bytes.
pdftotext (poppler) and pypdfium2 are measured in the same run if they are installed. CPU-seconds are those of the parsing
process, including its start. For the pages per CPU-second one process reads the 117 pages of GeoTopo `--times` times. With
`--check` the script times nothing, and fails if a text is worse than that of the best other tool.
"""

import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

from quality import score
from service import arguments, machine, say

FILES = {
    "GeoTopo": ("pdf/GeoTopo-komprimiert.pdf", "pdf/GeoTopo.truth.txt"),
    "two-columns": ("pdf-layout/two-columns.pdf", "pdf-layout/two-columns.truth.txt"),
    "row-painted": ("pdf-layout/row-painted.pdf", "pdf-layout/row-painted.truth.txt"),
    "hebrew": ("pdf-layout/hebrew.pdf", "pdf-layout/hebrew.truth.txt"),
}
# The F1 of words and of their order, to three places: the best tool in each column of design/dependencies.md.
LEAST = {"GeoTopo": (0.979, 0.922), "two-columns": (0.997, 0.991), "row-painted": (1.0, 1.0), "hebrew": (1.0, 1.0)}
SETUP = {"mode": "tasks", "memory_bytes": 1536 << 20, "cpu_seconds": 600, "input_bytes": 512 << 20, "output_bytes": 64 << 20}
# Reads each file as often as is asked for; pages with a blank line between them.
PYPDFIUM2 = """
import pathlib, sys, pypdfium2
for _ in range(int(sys.argv[2])):
    file = pypdfium2.PdfDocument(sys.argv[1])
    text = "\\n\\n".join(page.get_textpage().get_text_bounded() for page in file)
sys.stdout.buffer.write(text.replace("\\r\\n", "\\n").encode("utf8", "replace"))
"""


class Child:
    """A `carrel parse-worker`, which is sent the frames of actors/crates/sandbox/src/wire.rs."""

    def __init__(self, program: str) -> None:
        ours, theirs = socket.socketpair()
        self.process = subprocess.Popen([program, "parse-worker"], stdin=theirs, stdout=subprocess.DEVNULL, env={}, cwd="/")
        theirs.close()
        self.pipe = ours
        self.send(SETUP, b"")
        self.receive()

    def send(self, header: dict, body: bytes) -> None:
        head = json.dumps(header).encode()
        self.pipe.sendall(struct.pack(">II", len(head), len(body)) + head + body)

    def receive(self) -> tuple[dict, bytes]:
        head, body = struct.unpack(">II", self.exactly(8))
        return json.loads(self.exactly(head)), self.exactly(body)

    def exactly(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self.pipe.recv(min(1 << 20, count - len(parts)))
            if not part:
                sys.exit("carrel parse-worker ended")
            parts += part
        return bytes(parts)

    def close(self) -> float:
        """Ends the process; returns the CPU-seconds that it used."""
        self.pipe.close()
        _, _, used = os.wait4(self.process.pid, 0)
        # os.wait4 has reaped the process: Popen must not wait for it again.
        self.process.returncode = 0
        return used.ru_utime + used.ru_stime


def carrel(program: str, file: pathlib.Path, times: int) -> tuple[str, float]:
    child, text = Child(program), b""
    for _ in range(times):
        child.send({"task": "pdf"}, file.read_bytes())
        reply, text = child.receive()
        if reply["reply"] != "pdf":
            sys.exit(f"{file.name}: {reply}")
    return text.decode("utf8").replace("\f", "\n\n"), child.close()


def other(command: list[str]) -> tuple[str, float]:
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            sys.exit(f"{command[0]} ended with {process.returncode}")
        out.seek(0)
        return out.read().decode("utf8", "replace"), used.ru_utime + used.ru_stime


def tools(program: str) -> dict:
    """Each tool by its name: a file and how often to read it, to the text and CPU-seconds."""
    readers = {"carrel": lambda file, times: carrel(program, file, times)}
    if shutil.which("pdftotext"):
        # One process of it reads one file once, so its time always includes its start.
        readers["pdftotext"] = lambda file, times: other(["pdftotext", "-enc", "UTF-8", str(file), "-"])
    if subprocess.run([sys.executable, "-c", "import pypdfium2"], capture_output=True).returncode == 0:
        readers["pypdfium2"] = lambda file, times: other([sys.executable, "-c", PYPDFIUM2, str(file), str(times)])
    return readers


def measure(program: str, data: pathlib.Path, times: int) -> None:
    for tool, read in tools(program).items():
        for name, (file, truth) in FILES.items():
            with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf8") as scored:
                text, seconds = read(data / file, 1)
                scored.write(text)
                scored.flush()
                say(tool=tool, file=name, cpu_seconds=round(seconds, 2), **score(data, "pdf", data / truth, scored.name))
        rounds = 1 if tool == "pdftotext" else times
        _, seconds = read(data / FILES["GeoTopo"][0], rounds)
        say(tool=tool, pages_a_cpu_second=round(117 * rounds / seconds))


def check(program: str, data: pathlib.Path) -> None:
    """Ends the script with an error if the text of a file is worse than LEAST."""
    for name, (file, truth) in FILES.items():
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf8") as scored:
            scored.write(carrel(program, data / file, 1)[0])
            scored.flush()
            scores = score(data, "pdf", data / truth, scored.name)
        say(file=name, **scores)
        words, order = LEAST[name]
        if round(scores["word_f1"], 3) < words or round(scores["order_f1"], 3) < order:
            sys.exit(f"{name}: words {words} and order {order} are the least")


if __name__ == "__main__":
    parser = arguments(__doc__, models=False)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        sys.exit(check(str(pathlib.Path(args.carrel).resolve()), args.data))
    machine()
    measure(str(pathlib.Path(args.carrel).resolve()), args.data, args.times)
