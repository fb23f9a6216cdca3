"""A real `carrel serve` in a separate folder, for the measurements in this folder; Python 3.11, no packages.

The program is `--carrel`, else CARREL_BIN, else target/release/carrel of this checkout.
"""

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import typing
import urllib.parse

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
PASSWORD = "correct horse battery 7!"
SCOPES = ("read:library", "ask:library", "read:bookmarks", "write:bookmarks", "read:collections", "write:collections", "read:feeds",
          "write:feeds", "read:entries", "read:projects", "read:user", "write:uploads")
# The scripts measure the work, so no limit of a plan may refuse a request.
UNLIMITED = {
    "plans.pro.hourly_per_key": 1_000_000_000,
    "plans.pro.rest_per_day": 1_000_000_000,
    "log.level": "warn",
}
# The service unloads an index after five minutes without a request, which it checks every half minute.
UNUSED_SECONDS = 360
# Lines of the log with which the service unloads its index, and loads it again.
UNLOADED_LINE = "the passage index was unloaded"
LOADED_LINE = "the unloaded passage index was loaded"
# A setting of the log that writes them.
LOG_UNLOADS = {"log.level": "warn,search::index::edge=debug"}
TICKS = os.sysconf("SC_CLK_TCK")
# The units of times in the output of wrk.
MILLISECONDS = {"us": .001, "ms": 1, "s": 1000, "m": 60_000}


def arguments(about: str, *, data: bool = True, models: bool = True) -> argparse.ArgumentParser:
    """The arguments that the measurements share."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = os.environ.get("CARREL_BIN", str(CHECKOUT / "target/release/carrel"))
    parser.add_argument("--carrel", default=built, metavar="PROGRAM", help="the program to measure")
    if data:
        shared = CHECKOUT.parent / "shared/data"
        parser.add_argument("--data", default=shared, type=pathlib.Path, metavar="FOLDER", help="the real data")
    if models:
        models_dir = os.environ.get("CARREL_MODELS_DIR")
        parser.add_argument("--models", default=models_dir, metavar="FOLDER", help="models; without them only lexical")
    return parser


def add_other(parser: argparse.ArgumentParser) -> None:
    """The argument of measurements that compare two builds."""
    parser.add_argument("--other", metavar="PROGRAM", help="another build, which is measured in the same run")


def add_unused(parser: argparse.ArgumentParser) -> None:
    """The argument of measurements of memory."""
    parser.add_argument("--unused", type=int, default=UNUSED_SECONDS, metavar="SECONDS",
                        help=f"without a request, until memory and a search are measured once more ({UNUSED_SECONDS}); 0 leaves that out, "
                             "as for a build that does not unload its index")


def builds(args: argparse.Namespace) -> dict[str, str]:
    """The programs to measure: `carrel`, and `other` if there is one."""
    return {"carrel": args.carrel} | ({"other": args.other} if args.other else {})


def ratios_to(base: str, ours: dict[str, float], of_base: dict[str, float]) -> dict[str, float]:
    """The figures divided by those of a baseline of this name. Figures that one of them does not have are left out."""
    return {f"{name}_to_{base}": round(value / of_base[name], 3) for name, value in ours.items() if value is not None and of_base.get(name)}


def say_ratios(figures: dict[str, dict[str, object]], **labels: object) -> None:
    """Prints the figures of `carrel` divided by those of `other`, if that was measured."""
    if ratios := ratios_to("other", figures["carrel"], figures.get("other", {})):
        say(**labels, **ratios)


def say(**figures: object) -> None:
    """Prints one line of figures as JSON, unbuffered."""
    print(json.dumps(figures, ensure_ascii=False), flush=True)


def machine() -> None:
    """Prints the load of the machine, because other work increases every wall time."""
    say(cores=os.cpu_count(), load=[round(load, 1) for load in os.getloadavg()])


class Service:
    """One process with its folder; it can be stopped and restarted with other settings."""

    def __init__(self, program: str, folder: pathlib.Path, settings: dict[str, object]) -> None:
        self.program = str(pathlib.Path(program).resolve())
        self.folder = folder
        self.port = free_port()
        own = {"server.listen": f"127.0.0.1:{self.port}", "data_dir": folder / "data", "models.dir": folder / "none"}
        self.settings: dict[str, object] = own | settings
        self.process: subprocess.Popen[bytes] | None = None
        # Where the log of the running process begins.
        self.log_start = 0

    def environment(self) -> dict[str, str]:
        """The settings, without those of the caller's environment."""
        inherited = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        named = {f"CARREL__{name.upper().replace('.', '__')}": str(value) for name, value in self.settings.items()}
        return inherited | {"HOME": str(self.folder)} | named

    def start(self) -> float:
        """Starts the service; returns the milliseconds until /readyz is 200."""
        began = time.perf_counter()
        with (self.folder / "log").open("ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [self.program, "serve"], cwd=self.folder, env=self.environment(), stdout=log, stderr=log)
        while not self.is_ready():
            if self.process.poll() is not None:
                sys.exit(f"carrel ended with {self.process.returncode}:\n{(self.folder / 'log').read_text()}")
            time.sleep(0.002)
        return (time.perf_counter() - began) * 1000

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def is_ready(self) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.readiness()[0] == 200
        return False

    def readiness(self) -> tuple[int, dict]:
        """Status and body of /readyz."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/readyz")
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def await_model(self) -> None:
        """Waits until search is hybrid."""
        while not self.readiness()[1]["model"]:
            time.sleep(0.01)

    def passages(self) -> int:
        return self.readiness()[1]["index"]["passages"]

    def await_index(self) -> int:
        """Waits until the index has not grown for three seconds; returns the number of its passages."""
        count, since = self.passages(), time.monotonic()
        while time.monotonic() - since < 3:
            time.sleep(0.2)
            now = self.passages()
            if now != count:
                count, since = now, time.monotonic()
        return count

    def cli(self, *words: object, stdin: str | None = None) -> dict:
        """Runs `carrel ... --json`, with this standard input; returns its JSON object. An error of it ends the script."""
        command = [self.program, *map(str, words), "--json"]
        options = {"cwd": self.folder, "env": self.environment(), "input": stdin, "capture_output": True, "text": True}
        done = subprocess.run(command, **options)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stderr}{done.stdout}")
        return json.loads(done.stdout)

    def reader(self) -> "Reader":
        """Creates an account with a REST key."""
        email = f"reader-{secrets.token_hex(4)}@bench.example"
        self.cli("user", "add", "--email", email, "--plan", "pro", "--password-stdin", stdin=PASSWORD + "\n")
        scopes = [word for scope in SCOPES for word in ("--scope", scope)]
        key = self.cli("key", "create", "--user", email, "--kind", "rest", "--name", "bench", *scopes)
        return Reader(self, email, key["secret"])

    def cpu_seconds(self) -> float:
        """CPU-seconds of the process and of its children, ended ones included."""
        return cpu_seconds(self.process.pid)

    def own_cpu_seconds(self) -> float:
        """CPU-seconds of the process alone, exact to the microsecond."""
        return own_cpu_seconds(self.process.pid)

    def metrics(self, *parts: str) -> dict[str, float]:
        """The metrics whose names contain one of the parts, each summed over its labels."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/metrics")
        sums: dict[str, float] = {}
        for line in connection.getresponse().read().decode().splitlines():
            name = re.match(r"[a-z_]+", line)
            if name and any(part in name[0] for part in parts):
                sums[name[0]] = sums.get(name[0], 0.0) + float(line.rsplit(" ", 1)[1])
        return sums

    def is_index_unloaded(self) -> bool:
        """Whether the log says that the index is unloaded. It does so with LOG_UNLOADS."""
        with (self.folder / "log").open("rb") as log:
            log.seek(self.log_start)
            lines = log.read().decode()
        return lines.rfind(UNLOADED_LINE) > lines.rfind(LOADED_LINE)

    def unused_figures(self, seconds: int, reader: "Reader") -> dict[str, float]:
        """The resident memory after this time without requests, and the milliseconds of the first search after it, which loads the
        index; nothing if the time is 0. An index that was not unloaded ends the script."""
        if not seconds:
            return {}
        time.sleep(seconds)
        if not self.is_index_unloaded():
            sys.exit(f"{self.program} did not unload its index within {seconds} seconds; see --unused")
        memory = {f"unused_{name}": size for name, size in self.memory().items() if name != "VmHWM"}
        began = time.perf_counter()
        reader.ask("GET", "/rest/v2/search", q="library", limit=8)
        took = (time.perf_counter() - began) * 1000
        if self.is_index_unloaded():
            sys.exit(f"{self.program} did not load its index for a search")
        return memory | {"first_search_ms": round(took, 1)}

    def memory(self) -> dict[str, float]:
        """MiB of the process alone."""
        return memory(self.process.pid)


class Reader:
    """A client with the REST key of an account, and one connection that stays open."""

    def __init__(self, service: Service, email: str, secret: str) -> None:
        self.service, self.email, self.secret = service, email, secret
        self.connection: http.client.HTTPConnection | None = None
        self.used = 0.0

    def another(self) -> "Reader":
        """The same key on a separate connection."""
        return Reader(self.service, self.email, self.secret)

    def ask(self, method: str, path: str, body: object = None, **query: object) -> bytes:
        """The body of a success response. Any other response raises an error, because it would make the figures wrong."""
        # While many connections are open, the service closes those that are idle for five seconds. A request on such a one fails.
        if self.connection is None or time.monotonic() - self.used > 2:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=120)
            self.connection.connect()
            self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        path = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        headers = {"Authorization": f"Bearer {self.secret}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        read = answer.read()
        self.used = time.monotonic()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {read[:500]!r}")
        return read

    def data(self, method: str, path: str, body: object = None, **query: object) -> dict:
        return json.loads(self.ask(method, path, body, **query))["data"]

    def bookmarks(self) -> list[dict]:
        found, cursor = [], {}
        while True:
            page = self.data("GET", "/rest/v1/bookmarks", limit=100, **cursor)
            found += page["bookmarks"]
            if page["nextCursor"] is None:
                return found
            cursor = {"cursor": page["nextCursor"]}

    def import_file(self, file: pathlib.Path) -> dict:
        """Imports the file with `carrel import`; returns the report."""
        return self.service.cli("import", "--user", self.email, "--format", "jsonl", file)

    def await_library(self) -> list[dict]:
        """Waits until every bookmark is processed; returns the library. It lists the library only while the index does not grow,
        because lists take time of the service that is measured."""
        while True:
            self.service.await_index()
            saved = self.bookmarks()
            if all(bookmark["status"] in ("ready", "failed") for bookmark in saved):
                return saved


def free_port() -> int:
    """A free port below those that Linux assigns to outgoing connections: one of thousands could take it before the service does."""
    while True:
        port = random.randrange(16_384, 32_768)
        with socket.socket() as taken, contextlib.suppress(OSError):
            taken.bind(("127.0.0.1", port))
            return port


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and of its children, running or ended."""
    total = 0
    for process in [pid, *children(pid)]:
        with contextlib.suppress(OSError):
            # The name in brackets may contain spaces. After it utime, stime, cutime and cstime are the fields 11 to 14; the last two,
            # those of ended children, are only read of the process itself.
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
            total += sum(map(int, fields[11:15] if process == pid else fields[11:13]))
    return total / TICKS


def own_cpu_seconds(pid: int) -> float:
    """User and system time of a process without its children, ended threads included. /proc counts in hundredths of a second."""
    # The CPU clock of another process, as clock_getcpuclockid(3) names it.
    return time.clock_gettime((~pid << 3) | 2)


def memory(pid: int) -> dict[str, float]:
    """MiB of a process without its children."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    sizes = dict(line.split(":", 1) for line in lines)
    return {name: round(int(sizes[name].split()[0]) / 1024, 1) for name in ("VmRSS", "RssAnon", "RssFile", "VmHWM")}


def context_switches(pid: int) -> int:
    """How often the running threads of a process gave up a core or were taken off one."""
    total = 0
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/status"):
        with contextlib.suppress(OSError):
            total += sum(int(line.split()[1]) for line in file.read_text().splitlines() if "ctxt_switches" in line)
    return total


class Load(typing.NamedTuple):
    """What wrk measured at one server."""

    rps: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    switches: float


def wrk(pid: int, url: str, seconds: int, *options: str, core: int | None = None) -> Load:
    """Loads a server of this process with wrk (a Debian package), on this core; CPU-time and context switches are those of one request.
    An error response ends the measurement."""
    cpu, switches = own_cpu_seconds(pid), context_switches(pid)
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    command = [*pinned, "wrk", f"-d{seconds}s", "--latency", *options, url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    cpu, switches = own_cpu_seconds(pid) - cpu, context_switches(pid) - switches
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(output)
    requests = int(re.search(r"(\d+) requests in", output)[1])
    p50, p99 = (re.search(rf"{percent}%\s+([\d.]+)(us|ms|s|m)", output).groups() for percent in (50, 99))
    p50_ms, p99_ms = (float(number) * MILLISECONDS[unit] for number, unit in (p50, p99))
    rps = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    return Load(rps, p50_ms, p99_ms, cpu * 1e6 / requests, switches / requests)


def median(turns: list[Load]) -> Load:
    """The medians of several turns at one server."""
    return Load(*(statistics.median(column) for column in zip(*turns)))


def await_port(port: int) -> None:
    """Waits until a server listens."""
    for _ in range(300):
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(.1)
    raise RuntimeError("a server does not listen")


def children(pid: int) -> list[int]:
    found = []
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += map(int, file.read_text().split())
    return found


@contextlib.contextmanager
def folder():
    """A temporary folder for a service."""
    with tempfile.TemporaryDirectory(prefix="carrel-bench-", ignore_cleanup_errors=True) as path:
        yield pathlib.Path(path)


@contextlib.contextmanager
def serving(program: str, **settings: object):
    """A running service without limits; a setting `a.b` is named `a__b`."""
    with folder() as home, serving_at(program, home, **settings) as service:
        yield service


@contextlib.contextmanager
def serving_at(program: str, home: pathlib.Path, **settings: object):
    """A running service without limits whose data is in a folder; a setting `a.b` is named `a__b`."""
    dotted = {name.replace("__", "."): value for name, value in settings.items()}
    service = Service(program, home, UNLIMITED | dotted)
    try:
        service.start()
        yield service
    finally:
        service.stop()
