// A proxy that adds `Authorization: Bearer` for a suite that sends none.
//
//     CARREL_SECRET=pk_... node proxy.mjs http://127.0.0.1:PORT
//
// listens on a free port of 127.0.0.1 and prints its own address as its first line. Bodies and every other header pass
// unchanged, but for `Host` and `Origin`: where they name the proxy they then name the service, and where they name
// anyone else they stay, so that the checks against DNS rebinding reach the service as they were sent.
import http from "node:http";

const service = new URL(process.argv[2]);
const secret = process.env.CARREL_SECRET;
if (!secret) throw new Error("CARREL_SECRET is not set");

const server = http.createServer((asked, answer) => {
  const own = [`127.0.0.1:${server.address().port}`, `localhost:${server.address().port}`];
  const headers = { ...asked.headers, authorization: `Bearer ${secret}` };
  if (own.includes(headers.host)) headers.host = service.host;
  if (own.some((name) => headers.origin === `http://${name}`)) headers.origin = service.origin;

  const { hostname, port } = service;
  const passed = http.request({ hostname, port, path: asked.url, method: asked.method, headers }, (got) => {
    answer.writeHead(got.statusCode, got.statusMessage, got.rawHeaders);
    got.pipe(answer);
  });
  passed.on("error", (error) => {
    if (!answer.headersSent) answer.writeHead(502);
    answer.end(`the service did not answer: ${error.message}\n`);
  });
  answer.on("close", () => passed.destroy());
  asked.pipe(passed);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
