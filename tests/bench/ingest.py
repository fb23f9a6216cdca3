"""How soon many saved pages with text are found, and what each costs.

    python3.11 tests/bench/ingest.py --carrel target/release/carrel [--documents 20000] [--posts] \
        [--models ~/.cache/carrel/models] [--model-documents 1000] [--other PROGRAM]

The pages have a text of 120 words. They are imported from one file, or with --posts saved by four clients, one page after the other.
A client searches for a word that all pages have, every 20 ms. The script prints seconds from the start until all rows are written,
until the first page is found, and until all are; and CPU-milliseconds of the service for a page, of which the searches of that client
are less than a tenth. The same with the embedding model, if --models is given and with fewer pages.

The baseline is the least that makes such pages searchable: a Python program that puts them into one SQLite table with a full-text index
(FTS5), 500 in a transaction, with --posts one in a transaction, each on the disk before the next one begins. `cpu_to_plain` is the
service's CPU-time of a page divided by the baseline's, `all_found_to_plain` the time until all are found. The baseline has no queue,
no languages and no limits; that of the model itself is in embedding.py.

With the model `kernels` is the share of the CPU-time in the kernels, as `perf` samples it, and `products` its part in matrix products. It
needs perf and a program with symbols, which `CARGO_PROFILE_RELEASE_STRIP=none cargo build --release` builds. Kernels are only functions
that compute with numbers of the model: those of crate rten_gemm that multiply matrices or pack them for that, and those that crate
rten_simd runs in the vectors of the processor (softmax, GELU, normalisation, quantization of rows). What calls them is not one of them:
the loops over tiles, the views of matrices, the layers of the encoder and the tokenizer. The names are matched from their beginning and
with case, because `rten` is also in `shortened`, and `gemm` in `StorageMmap`.

The goals without the model are 2 seconds until the first page of 20,000 is found, 40 seconds until all are, and 500 documents a
CPU-second; with it, 90 % of the CPU-time in the kernels. With --other another build ingests the same pages after the first one, and the
ratios of the figures to it are printed.
"""

import concurrent.futures
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import threading
import time

from library import WORDS
from service import Reader, Service, add_other, arguments, builds, folder, machine, say, say_ratios, serving

TEXT_WORDS = 120
COMMON_WORD = "heronry"
CLIENTS = 4
POLL_SECONDS = 0.02
# Pages in a transaction of the baseline.
PLAIN_BATCH = 500
# Names of functions that multiply matrices of the model, or pack them for that.
PRODUCTS = re.compile(r"<?rten_gemm::.*::(?:kernel|gemv_kernel|pack_\w+|simd_\w+)(?:::|$)")
# Names of the functions that run the other operations on vectors. Each of them is compiled into one of these.
VECTOR_KERNELS = re.compile(r"rten_simd::dispatch::")


def page(number: int) -> dict:
    words = [WORDS[(number * 131 + at * (number % 89 + 1)) % len(WORDS)] for at in range(TEXT_WORDS - 1)]
    sentences = [" ".join(words[at:at + 12]) + "." for at in range(0, len(words), 12)]
    return {"url": f"https://ingest.example/{number}", "title": f"Page {number}", "text": f"{COMMON_WORD} " + " ".join(sentences)}


class Save(threading.Thread):
    """Saves pages; `seconds` is how long it took, and `None` until then or after an error."""

    def __init__(self, reader: Reader, count: int, by_posts: bool) -> None:
        super().__init__(daemon=True)
        self.reader, self.count, self.seconds = reader, count, None
        self.save = self.post_all if by_posts else self.import_file
        self.file = reader.service.folder / "pages.jsonl"
        if not by_posts:
            self.file.write_text("".join(json.dumps(page(number)) + "\n" for number in range(count)))

    def run(self) -> None:
        began = time.perf_counter()
        self.save()
        self.seconds = time.perf_counter() - began

    def import_file(self) -> None:
        report = self.reader.import_file(self.file)
        assert report["created"] == self.count, report

    def post_all(self) -> None:
        def post(first: int) -> None:
            own = self.reader.another()
            for number in range(first, self.count, CLIENTS):
                own.ask("POST", "/rest/v1/bookmarks", page(number))

        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as clients:
            # The list raises the error of a client.
            list(clients.map(post, range(CLIENTS)))

    def check(self) -> None:
        """Raises an error if the pages were not saved: what waits for them would wait forever."""
        if not self.is_alive() and self.seconds is None:
            raise RuntimeError("the pages were not saved")


class Profile:
    """Samples the functions of a process until it is stopped; does nothing without perf."""

    def __init__(self, service: Service) -> None:
        self.file, self.perf = service.folder / "perf.data", None
        if shutil.which("perf"):
            command = ["perf", "record", "-q", "-F", "199", "-o", self.file, "-p", str(service.process.pid)]
            self.perf = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def shares(self) -> dict[str, float]:
        """The shares of the samples in all kernels, and in those of matrix products; nothing if they are not known."""
        if self.perf is None:
            return {}
        self.perf.terminate()
        self.perf.wait()
        command = ["perf", "report", "-i", self.file, "--stdio", "-q", "--no-children", "--sort", "symbol"]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        # After the name there may be further columns.
        found = [re.match(r"\s*([\d.]+)%\s+\[.\]\s+(.+?)(?:\s{2,}|$)", line) for line in lines]
        shares = [(float(match[1]), match[2]) for match in found if match]
        # A program without symbols has addresses for names.
        if not any(name.startswith("inference::") for _, name in shares):
            return {}
        products = sum(share for share, name in shares if PRODUCTS.match(name))
        others = sum(share for share, name in shares if VECTOR_KERNELS.match(name))
        return {"kernels": round((products + others) / 100, 3), "products": round(products / 100, 3)}


def measure(service: Service, count: int, by_posts: bool) -> dict:
    reader = service.reader()
    before, base = service.cpu_seconds(), service.passages()
    save, found = Save(reader, count, by_posts), {}
    searching = reader.another()
    began = time.perf_counter()
    save.start()
    while "first_found_s" not in found:
        save.check()
        if searching.data("GET", "/rest/v2/search", q=COMMON_WORD, limit=1)["results"]:
            found["first_found_s"] = round(time.perf_counter() - began, 2)
        time.sleep(POLL_SECONDS)
    # Each document has a passage of its text, and one of its metadata.
    while service.passages() - base < 2 * count or save.is_alive():
        save.check()
        time.sleep(0.2)
    save.check()
    found["all_found_s"] = round(time.perf_counter() - began, 1)
    # Documents are ready a little later than their passages are in the index.
    service.await_index()
    cpu = service.cpu_seconds() - before
    return {"rows_s": round(save.seconds, 1), **found, "cpu_ms_each": round(cpu * 1000 / count, 2),
            "documents_a_cpu_second": round(count / cpu), **service.memory()}


def measure_build(program: str, count: int, by_posts: bool, settings: dict[str, object]) -> dict:
    with serving(program, **settings) as service:
        if not settings:
            return measure(service, count, by_posts)
        service.await_model()
        profile = Profile(service)
        return measure(service, count, by_posts) | profile.shares()


def measure_plain(home: pathlib.Path, count: int, by_posts: bool) -> dict:
    """The figures of the baseline."""
    database = sqlite3.connect(home / "plain.db")
    # A commit is on the disk before it returns, as in the service.
    database.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    database.execute("CREATE VIRTUAL TABLE page USING fts5(url UNINDEXED, title, text)")
    pages = [tuple(page(number).values()) for number in range(count)]
    batch = 1 if by_posts else PLAIN_BATCH
    cpu, began = time.process_time(), time.perf_counter()
    for first in range(0, count, batch):
        database.executemany("INSERT INTO page VALUES (?, ?, ?)", pages[first:first + batch])
        database.commit()
    cpu, seconds = time.process_time() - cpu, time.perf_counter() - began
    [[found]] = database.execute("SELECT count(*) FROM page WHERE page MATCH ?", [COMMON_WORD])
    assert found == count, found
    database.close()
    return {"all_found_s": round(seconds, 4), "cpu_ms_each": round(cpu * 1000 / count, 4)}


def compare_with_plain(ours: dict, count: int, by_posts: bool, **labels: object) -> None:
    with folder() as home:
        plain = measure_plain(home, count, by_posts)
    say(**labels, build="plain", **plain, cpu_to_plain=round(ours["cpu_ms_each"] / plain["cpu_ms_each"], 2),
        all_found_to_plain=round(ours["all_found_s"] / plain["all_found_s"], 2))


def main() -> None:
    parser = arguments(__doc__, data=False)
    parser.add_argument("--documents", type=int, default=20_000, metavar="N", help="without the model")
    parser.add_argument("--model-documents", type=int, default=1_000, metavar="N", help="with the model")
    parser.add_argument("--posts", action="store_true", help="saved by requests instead of imported from a file")
    add_other(parser)
    args = parser.parse_args()
    machine()
    runs = [(args.documents, {})] + ([(args.model_documents, {"models__dir": args.models})] if args.models else [])
    for count, settings in runs:
        labels, figures = {"model": bool(settings), "documents": count}, {}
        for build, program in builds(args).items():
            figures[build] = measure_build(program, count, args.posts, settings)
            say(**labels, build=build, **figures[build])
        # Beside a model the baseline says nothing.
        if not settings:
            compare_with_plain(figures["carrel"], count, args.posts, **labels)
        say_ratios(figures, **labels)
    machine()


if __name__ == "__main__":
    main()
