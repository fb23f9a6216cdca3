// A proxy that adds `Authorization: Bearer` for a suite that sends none.
//
//     CARREL_SECRET=pk_... node proxy.mjs http://127.0.0.1:PORT
//
// The proxy listens on a free port of 127.0.0.1 and prints its URL as its first line. It forwards bodies and all other headers
// unchanged, except `Host` and `Origin`: if they name the proxy, it replaces the proxy by the service. It keeps all other values,
// so that the suite's checks against DNS rebinding reach the service.
import http from "node:http";

const service = new URL(process.argv[2]);
const secret = process.env.CARREL_SECRET;
if (!secret) throw new Error("CARREL_SECRET is not set");

const server = http.createServer((request, response) => {
  const own = [`127.0.0.1:${server.address().port}`, `localhost:${server.address().port}`];
  const headers = { ...request.headers, authorization: `Bearer ${secret}` };
  if (own.includes(headers.host)) headers.host = service.host;
  if (own.some((name) => headers.origin === `http://${name}`)) headers.origin = service.origin;

  const { hostname, port } = service;
  const forwarded = http.request({ hostname, port, path: request.url, method: request.method, headers }, (upstream) => {
    response.writeHead(upstream.statusCode, upstream.statusMessage, upstream.rawHeaders);
    upstream.pipe(response);
  });
  forwarded.on("error", (error) => {
    if (!response.headersSent) response.writeHead(502);
    response.end(`the service did not answer: ${error.message}\n`);
  });
  response.on("close", () => forwarded.destroy());
  request.pipe(forwarded);
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
