// A site of the tests, from which the server fetches pages, feeds, pictures and recordings.
import { createServer } from "node:http";

/** Starts the site. `site.add(path, type, body)` returns the address of a file; `site.fail(path, status)` of one that is refused. */
export async function startSite() {
  const files = new Map();
  const server = createServer((request, response) => {
    const file = files.get(new URL(request.url, "http://site").pathname);
    response.writeHead(file?.status ?? 404, { "Content-Type": file?.type ?? "text/plain" });
    response.end(file?.body ?? "not found");
  });
  await new Promise((ready) => { server.listen(0, "127.0.0.1", ready); });
  const base = `http://127.0.0.1:${server.address().port}`;
  return {
    base,
    add(path, type, body) { files.set(path, { status: 200, type, body }); return base + path; },
    fail(path, status) { files.set(path, { status, type: "text/plain", body: "refused" }); return base + path; },
    /** An article with these paragraphs. */
    article(path, title, paragraphs) {
      const body = paragraphs.map((text) => `<p>${text}</p>`).join("\n");
      return this.add(path, "text/html; charset=utf-8", `<!doctype html><html lang="en"><head><title>${title}</title></head><body><main><article><h1>${title}</h1>${body}</article></main></body></html>`);
    },
    close() { server.close(); server.closeAllConnections(); },
  };
}
