// A service that transcribes: it hears the same lines in every recording.
import { createServer } from "node:http";

/** The lines: start and end in seconds, and words. */
export const LINES = [[0, 4, "The tide turns at noon."], [7, 10, "The ferry waits at the step."], [13, 16, "Then it leaves for Skarnholm."]];

/** Starts the service on the port that the settings of the server name. */
export async function startSpeech(port) {
  const answer = JSON.stringify({ language: "english", segments: LINES.map(([start, end, text]) => ({ start, end, text })) });
  const server = createServer((request, response) => {
    const isKnown = request.method === "POST" && request.url === "/v1/audio/transcriptions";
    request.resume();
    request.on("end", () => {
      response.writeHead(isKnown ? 200 : 404, { "Content-Type": "application/json" });
      response.end(isKnown ? answer : "{}");
    });
  });
  await new Promise((ready) => { server.listen(port, "127.0.0.1", ready); });
  return { close() { server.close(); server.closeAllConnections(); } };
}
