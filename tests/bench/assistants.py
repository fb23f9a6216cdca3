"""Calls of assistants: tools/call per second on one core, compared with a bare actix-web handler with the same bytes and
FastMCP, and exchanges of refresh tokens per second.

    cargo build --release --bin carrel --example bare
    python3.11 -m venv DIR && DIR/bin/pip install fastmcp==4.1.2 httpx
    DIR/bin/python tests/bench/assistants.py --carrel target/release/carrel --bare target/release/examples/bare

The call is `get_document` of one page of 2,000 characters, by 16 connections of `wrk` (one thread, on the other
core). Each server has one core for itself, and they are measured in turns. FastMCP returns the same content from memory, without
sessions and in plain JSON, as Carrel does. The script prints requests per second, the 99th percentile in milliseconds and
CPU-microseconds of a call: the medians of the turns. Carrel checks key, limits and scope, reads the database, and
writes the activity; the others check nothing. Then --assistants clients, each with its own OAuth connection, refresh their
tokens for --seconds, each client one refresh after the other. Each exchange is a transaction that is on the disk before it is
answered.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import textwrap
import threading
import time

import httpx

from search import saves
from service import PASSWORD, arguments, cpu_seconds, free_port, machine, say, serving

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from browser import allow

CHARACTERS, TURNS, CONNECTIONS = 2_000, 5, 16
REVISION = "2025-11-25"
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
           "MCP-Protocol-Version": REVISION}
FASTMCP = textwrap.dedent("""
    import json, sys
    from fastmcp import FastMCP
    from fastmcp.tools import ToolResult
    from mcp.types import TextContent
    answer = json.load(open(sys.argv[1]))["result"]
    server = FastMCP("bench")

    @server.tool(output_schema=None)
    def get_document(documentId: str, maxChars: int) -> ToolResult:
        content = [TextContent(type="text", text=block["text"]) for block in answer["content"]]
        return ToolResult(content=content, structured_content=answer["structuredContent"])

    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", stateless_http=True,
               json_response=True, show_banner=False, log_level="error")
""")


def call(document: str) -> bytes:
    """A call of the tool in JSON."""
    params = {"name": "get_document", "arguments": {"documentId": document, "maxChars": CHARACTERS}}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def script(folder: pathlib.Path, body: bytes, secret: str) -> pathlib.Path:
    """The Lua script with which wrk sends the call."""
    headers = HEADERS | {"Authorization": f"Bearer {secret}"}
    lines = [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    file = folder / "call.lua"
    file.write_text("\n".join(['wrk.method = "POST"', f"wrk.body = {json.dumps(body.decode())}", *lines]))
    return file


def load(port: int, file: pathlib.Path, seconds: int) -> tuple[float, float]:
    """Requests per second, and the 99th percentile in milliseconds."""
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "-s", str(file),
               f"http://127.0.0.1:{port}/mcp"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in output or "Socket errors" in output:
        raise RuntimeError(output)
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", output).groups()
    p99_ms = float(number) * {"us": .001, "ms": 1, "s": 1000}[unit]
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1]), p99_ms


def turn(pid: int, port: int, file: pathlib.Path, seconds: int) -> tuple[float, float, float]:
    """Requests per second, 99th percentile, and CPU-microseconds of the server for each request."""
    before = cpu_seconds(pid)
    rate, p99_ms = load(port, file, seconds)
    return rate, p99_ms, (cpu_seconds(pid) - before) * 1e6 / (rate * seconds)


def pin_to_first_core(pid: int) -> None:
    subprocess.run(["taskset", "-a", "-cp", "0", str(pid)], check=True, capture_output=True)


def await_server(port: int, body: bytes, content: list) -> None:
    """Waits until the server answers the call, with the same content."""
    for _ in range(300):
        try:
            answer = httpx.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=HEADERS)
            assert answer.json()["result"]["content"] == content, answer.text
            return
        except httpx.TransportError:
            time.sleep(.1)
    raise RuntimeError("a server does not answer")


def measure_calls(service, args) -> None:
    """Measures the three servers in turns, so that other load of the machine affects all of them."""
    reader = service.reader()
    text = next(row["text"] for row in saves(args.data) if len(row["text"]) > CHARACTERS)
    page = {"url": "https://corpus.example/long", "title": "A read", "text": text[:CHARACTERS - 1] + "."}
    document = reader.data("POST", "/rest/v1/bookmarks", page)["bookmark"]["documentId"]
    reader.await_library()
    key = service.cli("key", "create", "--user", reader.email, "--kind", "mcp", "--name", "bench")["secret"]
    body = call(document)
    headers = HEADERS | {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"http://127.0.0.1:{service.port}/mcp", content=body, headers=headers)
    assert len(answer.json()["result"]["structuredContent"]["text"]) == CHARACTERS, answer.text
    file = service.folder / "answer"
    file.write_bytes(answer.content)
    sent = script(service.folder, body, key)
    bare_port, fast_port = free_port(), free_port()
    bare = subprocess.Popen([os.path.realpath(args.bare), file, str(bare_port)])
    fast = subprocess.Popen([sys.executable, "-c", FASTMCP, file, str(fast_port)], cwd=service.folder)
    servers = {"bare": (bare.pid, bare_port), "carrel": (service.process.pid, service.port),
               "fastmcp": (fast.pid, fast_port)}
    try:
        for pid, port in servers.values():
            if port != service.port:
                await_server(port, body, answer.json()["result"]["content"])
            pin_to_first_core(pid)
            # A warm-up that is not counted.
            load(port, sent, 2)
        turns = {name: [] for name in servers}
        for _ in range(TURNS):
            for name, (pid, port) in servers.items():
                turns[name].append(turn(pid, port, sent, args.seconds))
    finally:
        for process in (bare, fast):
            process.terminate()
            process.wait()
    medians = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in turns.items()}
    for name, (rate, p99_ms, cpu) in medians.items():
        say(server=name, rps=round(rate), p99_ms=round(p99_ms, 2), cpu_us=round(cpu, 1))
    rate = medians["carrel"][0]
    say(answer_bytes=len(answer.content), to_bare=round(rate / medians["bare"][0], 3),
        to_fastmcp=round(rate / medians["fastmcp"][0], 2))


def connect(base: str, email: str) -> tuple[str, str]:
    """An assistant's client id, and its refresh token."""
    redirect_uri = "http://127.0.0.1:43119/callback"
    # The pair of RFC 7636, appendix B.
    verifier, challenge = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    with httpx.Client() as http:
        client = http.post(f"{base}/oauth/register", json={
            "client_name": "bench", "redirect_uris": [redirect_uri], "token_endpoint_auth_method": "none"}).json()["client_id"]
        query = httpx.QueryParams(response_type="code", client_id=client, redirect_uri=redirect_uri, code_challenge=challenge,
                                  code_challenge_method="S256", resource=f"{base}/mcp", state="bench")
        callback = allow(http, f"{base}/oauth/authorize?{query}", email, PASSWORD)
        tokens = http.post(f"{base}/oauth/token", data={
            "grant_type": "authorization_code", "code": callback["code"], "redirect_uri": redirect_uri, "client_id": client,
            "code_verifier": verifier, "resource": f"{base}/mcp"}).json()
    return client, tokens["refresh_token"]


def measure_exchanges(service, args) -> None:
    """Measures concurrent exchanges of refresh tokens by all assistants."""
    base, times, refused = f"http://127.0.0.1:{service.port}", [], []
    email = service.reader().email
    assistants = [connect(base, email) for _ in range(args.assistants)]
    until = time.monotonic() + args.seconds

    def refresh(client: str, token: str) -> None:
        with httpx.Client() as http:
            while time.monotonic() < until:
                began = time.perf_counter()
                answer = http.post(f"{base}/oauth/token", data={
                    "grant_type": "refresh_token", "refresh_token": token, "client_id": client})
                if answer.status_code != 200:
                    refused.append(answer.text)
                    return
                times.append((time.perf_counter() - began) * 1000)
                token = answer.json()["refresh_token"]

    before = service.cpu_seconds()
    threads = [threading.Thread(target=refresh, args=assistant) for assistant in assistants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not refused, refused[0]
    cpu = (service.cpu_seconds() - before) * 1e6 / len(times)
    percentiles = statistics.quantiles(times, n=100)
    say(assistants=args.assistants, exchanges_per_second=round(len(times) / args.seconds),
        p50_ms=round(percentiles[49], 1), p99_ms=round(percentiles[98], 1), cpu_us=round(cpu))


if __name__ == "__main__":
    parser = arguments(__doc__, models=False)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handler")
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    parser.add_argument("--assistants", type=int, default=4, help="that refresh at the same time")
    measured = parser.parse_args()
    machine()
    settings = {"plans__pro__mcp_per_day": 1_000_000_000, "oauth__registrations_per_hour": 1_000}
    with serving(measured.carrel, **settings) as running:
        measure_calls(running, measured)
    with serving(measured.carrel, **settings) as running:
        measure_exchanges(running, measured)
    machine()
