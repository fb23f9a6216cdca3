// Measures pages of a running server with Lighthouse: `lighthouse.mjs BASE EMAIL PASSWORD PATH...`. Prints the scores, the time to the first
// byte, and the bytes and requests of each page, at phone size.
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { pathToFileURL } from "node:url";

const modules = process.env.CARREL_NODE_MODULES ?? `${homedir()}/.cache/carrel/npm/node_modules`;
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const { default: lighthouse } = await import(pathToFileURL(require.resolve("lighthouse")));

const PORT = 9333;
const [base, email, password, ...paths] = process.argv.slice(2);
if (!paths.length) throw new Error("usage: lighthouse.mjs BASE EMAIL PASSWORD PATH...");

const signedIn = await fetch(`${base}/app/api/session`, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ email, password }),
});
if (!signedIn.ok) throw new Error(`sign-in: ${signedIn.status}`);
const Cookie = signedIn.headers.get("set-cookie").split(";")[0];
const browser = await chromium.launch({
  executablePath: process.env.CARREL_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", `--remote-debugging-port=${PORT}`],
});
const categories = ["performance", "accessibility", "best-practices"];
console.log(["page", ...categories, "first byte ms", "bytes", "requests", "shift"].join("\t"));
for (const path of paths) {
  const run = await lighthouse(base + path, { port: PORT, onlyCategories: categories, extraHeaders: { Cookie }, logLevel: "error" });
  const { audits, categories: scores } = run.lhr;
  const scored = categories.map((name) => Math.round(scores[name].score * 100));
  const requests = audits["network-requests"].details.items;
  const bytes = requests.reduce((sum, it) => sum + (it.transferSize ?? 0), 0);
  const shift = audits["cumulative-layout-shift"].numericValue.toFixed(3);
  console.log([path, ...scored, Math.round(audits["server-response-time"].numericValue), bytes, requests.length, shift].join("\t"));
}
await browser.close();
