"""Calls of assistants in a library of many bookmarks: tools/call on one core, compared with bare actix-web handlers with the same bytes
and FastMCP; and exchanges of refresh tokens per second.

    cargo build --release --bin carrel --example bare
    python3.11 -m venv DIR && DIR/bin/pip install fastmcp==4.1.2 httpx
    DIR/bin/python tests/bench/assistants.py --carrel target/release/carrel --bare target/release/examples/bare [--bookmarks 20000]

The calls are `get_document` of 2,000 characters and `search_library` with eight results, by 16 connections of `wrk` (a Debian package;
one thread, on the other core). Each server has one core for itself, and they are measured in turns. `bare` checks nothing; `checked`
hashes the key, looks it up, takes a call from a bucket and reads the row of the document (bare.rs). FastMCP returns the same content
from memory, without sessions and in plain JSON, as Carrel does, and checks nothing. Carrel checks key, limits and scope, reads the
database and the index, and writes the activity. The script prints for each tool and server the medians of the turns: requests per
second, milliseconds of a call, CPU-microseconds and context switches of one; then Carrel's ratios to the others.

Then --assistants clients, each with its own OAuth connection, refresh their tokens for --seconds, each client one refresh after the
other. Each exchange is a transaction that is on the disk before it is answered; the goal is 400 us of CPU-time. The baseline makes the
same exchanges through Python's sqlite3 on the same file after the service has stopped, one after the other: it hashes the token, reads
its row and that of the grant, spends it and inserts two others, and the disk syncs before the next one (statements.py). It has no HTTP and
checks no client. The ratios are `cpu_to_statement`, and `rate_to_statement`, which is above 1 where several exchanges share a sync.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import textwrap
import threading
import time

import httpx

import statements
from library import Library, add_arguments, serving_library
from service import PASSWORD, Service, arguments, await_port, free_port, machine, median, say, wrk

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "clients"))
from browser import allow

CHARACTERS, TURNS, CONNECTIONS = 2_000, 5, 16
# Exchanges of the baseline.
EXCHANGES = 2_000
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

    def result() -> ToolResult:
        content = [TextContent(type="text", text=block["text"]) for block in answer["content"]]
        return ToolResult(content=content, structured_content=answer["structuredContent"])

    @server.tool(output_schema=None)
    def get_document(documentId: str, maxChars: int) -> ToolResult:
        return result()

    @server.tool(output_schema=None)
    def search_library(query: str, limit: int) -> ToolResult:
        return result()

    server.run(transport="http", host="127.0.0.1", port=int(sys.argv[2]), path="/mcp", stateless_http=True,
               json_response=True, show_banner=False, log_level="error")
""")


def call(tool: str, arguments: dict) -> bytes:
    """A call of a tool in JSON."""
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()


def script(folder: pathlib.Path, body: bytes, secret: str) -> pathlib.Path:
    """The Lua script with which wrk sends the call."""
    headers = HEADERS | {"Authorization": f"Bearer {secret}"}
    lines = [f'wrk.headers["{name}"] = "{value}"' for name, value in headers.items()]
    file = folder / "call.lua"
    file.write_text("\n".join(['wrk.method = "POST"', f"wrk.body = {json.dumps(body.decode())}", *lines]))
    return file


def pin_to_first_core(pid: int) -> None:
    subprocess.run(["taskset", "-a", "-cp", "0", str(pid)], check=True, capture_output=True)


def await_server(port: int, body: bytes, content: list, key: str) -> None:
    """Waits until the server listens, and checks that it answers the call with the same content."""
    await_port(port)
    answer = httpx.post(f"http://127.0.0.1:{port}/mcp", content=body, headers=HEADERS | {"Authorization": f"Bearer {key}"})
    assert answer.json()["result"]["content"] == content, answer.text


def measure_calls(service: Service, library: Library, args, tool: str, tool_arguments: dict) -> None:
    """Measures the servers in turns, so that other load of the machine affects all of them."""
    body, key = call(tool, tool_arguments), library.mcp_key
    headers = HEADERS | {"Authorization": f"Bearer {key}"}
    answer = httpx.post(f"http://127.0.0.1:{service.port}/mcp", content=body, headers=headers)
    content = answer.json()["result"]["content"]
    file = service.folder / "answer"
    file.write_bytes(answer.content)
    sent = script(service.folder, body, key)
    database, bare = str(service.folder / "data/carrel.db"), os.path.realpath(args.bare)
    programs = {"bare": [bare, file, "PORT"], "fastmcp": [sys.executable, "-c", FASTMCP, file, "PORT"]}
    if tool == "get_document":
        programs["checked"] = [bare, file, "PORT", "--checked", database, key, library.long_documents[0]]
    servers, started = {"carrel": (service.process.pid, service.port)}, []
    try:
        for name, command in programs.items():
            port = free_port()
            command = [str(port) if word == "PORT" else word for word in command]
            started.append(subprocess.Popen(command, cwd=service.folder))
            servers[name] = (started[-1].pid, port)
        for name, (pid, port) in servers.items():
            await_server(port, body, content, key)
            pin_to_first_core(pid)
        turns = {name: [] for name in servers}
        # The first turn warms up and is not counted.
        for number in range(TURNS + 1):
            for name, (pid, port) in servers.items():
                options = ("-t1", f"-c{CONNECTIONS}", "-s", str(sent))
                turn = wrk(pid, f"http://127.0.0.1:{port}/mcp", args.seconds if number else 2, *options, core=1)
                if number:
                    turns[name].append(turn)
    finally:
        for process in started:
            process.terminate()
            process.wait()
    loads = {name: median(some) for name, some in turns.items()}
    for name, load in loads.items():
        say(tool=tool, server=name, **{figure: round(value, 2) for figure, value in load._asdict().items()})
    ours = loads.pop("carrel")
    ratios = {f"rps_to_{name}": round(ours.rps / load.rps, 3) for name, load in loads.items()}
    say(tool=tool, bookmarks=library.bookmarks, answer_bytes=len(answer.content), **ratios)


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


def measure_exchanges(service: Service, library: Library, args) -> None:
    """Measures concurrent exchanges of refresh tokens by all assistants. Stops the service."""
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
    percentiles, rate = statistics.quantiles(times, n=100), len(times) / args.seconds
    service.stop()
    with statements.statements(service.folder, library) as baselines:
        plain = statements.measure(baselines["token exchange"], EXCHANGES, warm_up=10) if baselines else None
    ratios = {"cpu_to_statement": round(cpu / plain["statement_cpu_us"], 2),
              "rate_to_statement": round(rate * plain["statement_ms_mean"] / 1000, 2)} if plain else {}
    say(assistants=args.assistants, exchanges_per_second=round(rate), p50_ms=round(percentiles[49], 1),
        p99_ms=round(percentiles[98], 1), cpu_us=round(cpu), **(plain or {}), **ratios)


def measure(args, bookmarks: int) -> None:
    settings = {"plans__pro__mcp_per_day": 1_000_000_000, "oauth__registrations_per_hour": 1_000}
    with serving_library(args.carrel, args.library, bookmarks, indexed=True, **settings) as (service, library):
        document = {"documentId": library.long_documents[0], "maxChars": CHARACTERS}
        measure_calls(service, library, args, "get_document", document)
        measure_calls(service, library, args, "search_library", {"query": "a note of a reader about the old library", "limit": 8})
    with serving_library(args.carrel, args.library, bookmarks, indexed=True, **settings) as (service, library):
        measure_exchanges(service, library, args)


if __name__ == "__main__":
    parser = arguments(__doc__, data=False, models=False)
    add_arguments(parser, 20_000)
    parser.add_argument("--bare", default="target/release/examples/bare", metavar="PROGRAM", help="the bare handlers")
    parser.add_argument("--seconds", type=int, default=5, help="of each turn")
    parser.add_argument("--assistants", type=int, default=4, help="that refresh at the same time")
    measured = parser.parse_args()
    machine()
    for count in measured.bookmarks:
        measure(measured, count)
    machine()
