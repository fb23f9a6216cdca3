"""Requests per second of GET /rest/v2/documents/:id, as a ratio to a bare actix-web handler with the same bytes.

    cargo build --release --bin carrel --example bare
    python3.11 tests/bench/documents.py --carrel target/release/carrel --bare target/release/examples/bare

The document has 12,000 characters and is requested with `maxChars=12000`, by 32 connections of `wrk` (two threads).
Both servers have two workers and are loaded in turns, so that other load of the machine affects both. The script prints the
requests per second of each turn, the medians, and their ratio. The bare handler checks nothing: the difference is
the cost of the key, the limits, the database, the JSON, the activity and the log.
"""

import os
import re
import statistics
import subprocess
import time

from search import saves
from service import Reader, arguments, cpu_seconds, free_port, machine, say, serving

CHARACTERS = 12_000
TURNS = 7


def document(reader: Reader, data) -> str:
    """Saves a document of exactly CHARACTERS characters; returns the path that reads it."""
    text = ""
    for row in saves(data):
        text += row["text"] + "\n\n"
        if len(text) >= CHARACTERS:
            break
    page = {"url": "https://corpus.example/long", "title": "A long read", "text": text[:CHARACTERS - 1] + "."}
    saved = reader.data("POST", "/rest/v1/bookmarks", page)["bookmark"]
    reader.await_library()
    return f"/rest/v2/documents/{saved['documentId']}?maxChars={CHARACTERS}"


def load(port: int, path: str, secret: str, seconds: int) -> float:
    """Requests per second. An error response ends the measurement."""
    key = ["-H", f"Authorization: Bearer {secret}"]
    command = ["wrk", "-t2", "-c32", f"-d{seconds}s", *key, f"http://127.0.0.1:{port}{path}"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(output)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])


def turn(pid: int, *request) -> tuple[float, float]:
    """Requests per second, and CPU-microseconds of the server for each request."""
    before, seconds = cpu_seconds(pid), request[-1]
    rate = load(*request)
    return rate, (cpu_seconds(pid) - before) * 1e6 / (rate * seconds)


def measure(args) -> None:
    with serving(args.carrel) as service:
        reader = service.reader()
        path = document(reader, args.data)
        answer = reader.ask("GET", path)
        assert len(reader.data("GET", path)["text"]) == CHARACTERS
        file = service.folder / "answer"
        file.write_bytes(answer)
        port = free_port()
        bare = subprocess.Popen([os.path.realpath(args.bare), file, str(port)])
        try:
            time.sleep(1)
            carrels, bares = [], []
            # A warm-up that is not counted.
            load(service.port, path, reader.secret, 2)
            load(port, path, reader.secret, 2)
            for _ in range(TURNS):
                bares.append(turn(bare.pid, port, path, reader.secret, args.seconds))
                carrels.append(turn(service.process.pid, service.port, path, reader.secret, args.seconds))
                say(bare_rps=round(bares[-1][0]), carrel_rps=round(carrels[-1][0]))
        finally:
            bare.terminate()
            bare.wait()
    bare_rps, bare_cpu = map(statistics.median, zip(*bares))
    rps, cpu = map(statistics.median, zip(*carrels))
    say(answer_bytes=len(answer), bare_rps=round(bare_rps), carrel_rps=round(rps), ratio=round(rps / bare_rps, 3),
        bare_cpu_us=round(bare_cpu, 1), carrel_cpu_us=round(cpu, 1), cpu_ratio=round(bare_cpu / cpu, 3))


if __name__ == "__main__":
    parser = arguments(__doc__, models=False)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handler")
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    measured = parser.parse_args()
    machine()
    measure(measured)
    machine()
