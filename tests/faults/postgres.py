"""A PostgreSQL server for one test, which can be stopped, disconnected and filled up."""

import os
import pathlib
import secrets
import shutil
import subprocess

from service import free_port


def programs() -> pathlib.Path:
    """The folder of PostgreSQL's programs, which are not in PATH on Debian."""
    found = shutil.which("initdb") or max(map(str, pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)
    assert found, "PostgreSQL is not installed"
    return pathlib.Path(found).resolve().parent


class Postgres:
    """A server with its data in this folder. It runs as `postgres`, because it refuses to run as root."""

    def __init__(self, folder: pathlib.Path, log: pathlib.Path | None = None) -> None:
        self.programs, self.folder, self.port = programs(), folder, free_port()
        self.log = log or folder / "log"
        self.log.touch()
        self.password = secrets.token_hex(16)
        self.data, password = folder / "data", folder / "password"
        password.write_text(self.password + "\n")
        if os.getuid() == 0:
            subprocess.run(["chown", "-R", "postgres:", folder, self.log], check=True)
        # Small segments of the write-ahead log, so that a small disk holds many.
        self.run("initdb", "-D", self.data, "-U", "carrel", "-A", "scram-sha-256", f"--pwfile={password}", "-E", "UTF8",
                 "--no-sync", "--no-locale", "--wal-segsize=1").check_returncode()
        with (self.data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {self.port}\nunix_socket_directories = '{folder}'\nlisten_addresses = '127.0.0.1'\n"
                           "max_connections = 100\nshared_buffers = 16MB\nmin_wal_size = 2MB\nmax_wal_size = 16MB\n")

    def configure(self, *settings: str) -> None:
        """Adds settings such as `commit_delay = 1000`, which apply from the next start on."""
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{setting}\n" for setting in settings)

    def run(self, program: str, *words: object) -> subprocess.CompletedProcess:
        command = [str(self.programs / program), *map(str, words)]
        if os.getuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
        # The server inherits its output: reading a pipe would never end.
        with (self.folder / "output").open("ab") as output:
            return subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)

    def url(self) -> str:
        return f"postgres://carrel:{self.password}@127.0.0.1:{self.port}/postgres"

    def start(self) -> bool:
        return self.run("pg_ctl", "start", "-s", "-w", "-D", self.data, "-l", self.log).returncode == 0

    def stop(self) -> None:
        """Stops it like a crash: the next start recovers from the write-ahead log."""
        self.run("pg_ctl", "stop", "-s", "-w", "-D", self.data, "-m", "immediate")

    def is_running(self) -> bool:
        return self.run("pg_ctl", "status", "-D", self.data).returncode == 0

    def accepts(self) -> bool:
        return self.ask("SELECT 1") == "1"

    def command(self) -> list[str]:
        return [str(self.programs / "psql"), "-XAtq", "-h", "127.0.0.1", "-p", str(self.port), "-U", "carrel", "postgres"]

    def environment(self) -> dict[str, str]:
        return os.environ | {"PGPASSWORD": self.password, "PGCONNECT_TIMEOUT": "5"}

    def ask(self, sql: str) -> str:
        done = subprocess.run([*self.command(), "-c", sql], env=self.environment(), capture_output=True, text=True)
        return done.stdout.strip()

    def terminate_backends(self) -> int:
        """Terminates every client connection; returns how many there were."""
        others = "FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        ended = self.ask(f"SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) {others}")
        return int(ended or 0)

    def lock_waits(self) -> int:
        """How many connections wait for a lock."""
        return int(self.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") or 0)

    def hold_lock(self, table: str) -> subprocess.Popen:
        """Locks a table until the process ends."""
        held = subprocess.Popen([*self.command()], env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
        held.stdin.write(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; SELECT 'held';\n")
        held.stdin.flush()
        assert held.stdout.readline() == "held\n"
        return held
