// A further server, for what only one without an account shows.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const START_SECONDS = 60;

async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

async function waitUntilReady(base) {
  const end = Date.now() + START_SECONDS * 1000;
  for (;;) {
    const answer = await fetch(`${base}/readyz`).catch(() => null);
    if (answer?.ok) return;
    if (Date.now() > end) throw new Error(`${base} is not ready in ${START_SECONDS} s`);
    await new Promise((wake) => { setTimeout(wake, 100); });
  }
}

/** Starts a server with the settings of the suite and a folder of its own. */
export async function startServer() {
  const folder = await mkdtemp(join(tmpdir(), "carrel-fresh-"));
  const port = await freePort();
  const base = `http://localhost:${port}`;
  const own = { CARREL__DATA_DIR: join(folder, "data"), CARREL__SERVER__LISTEN: `127.0.0.1:${port}`, CARREL__SERVER__BASE_URL: base };
  const program = spawn(process.env.CARREL_PROGRAM, ["serve"], { env: { ...process.env, ...own }, stdio: "ignore" });
  const ended = once(program, "exit");
  const close = async () => {
    program.kill();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await waitUntilReady(base);
  } catch (error) {
    await close();
    throw error;
  }
  return { base, close };
}
