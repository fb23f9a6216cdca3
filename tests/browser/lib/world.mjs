// Accounts and their contents, made by the routes of the web app: the tests look at pages, not at how contents came to be.

export const PASSWORD = "nine herons in the reeds";

/** A signed-in account. */
class Session {
  constructor(world, cookie, user) {
    Object.assign(this, { world, cookie, user });
  }

  /** Sends a request to a route of the web app, such as `"/library/bookmarks"`. Returns `data`, or throws what was refused. */
  async api(method, path, body) {
    const response = await fetch(`${this.world.base}/app/api${path}`, {
      method, headers: { Cookie: `${this.cookie.name}=${this.cookie.value}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer.error)}`);
    return answer.data;
  }

  /** Saves an address. With `text` or `html` nothing is fetched. */
  save(fields) {
    return this.api("POST", "/library/bookmarks", fields);
  }

  /** Waits until `done(answer of GET path)` is true. Returns that answer. */
  async until(path, done, seconds = 20) {
    const end = Date.now() + seconds * 1000;
    for (;;) {
      const answer = await this.api("GET", path);
      if (done(answer)) return answer;
      if (Date.now() > end) throw new Error(`GET ${path}: not in ${seconds} s: ${JSON.stringify(answer).slice(0, 400)}`);
      await new Promise((wake) => { setTimeout(wake, 100); });
    }
  }
}

/** The server under test, and the browser. */
export class World {
  #accounts = 0;

  constructor(base, browser, site) {
    Object.assign(this, { base, browser, site });
  }

  /** Creates an account and signs it in. */
  async signUp(name = "Mara Lindqvist") {
    this.#accounts += 1;
    const email = `reader-${this.#accounts}@home.example`;
    const account = { email, password: PASSWORD, name };
    // Accounts of one address are limited, so each is created from another one.
    const headers = { "Content-Type": "application/json", "X-Forwarded-For": `198.51.${100 + (this.#accounts >> 8)}.${this.#accounts & 255}` };
    // The first account is that of the operator.
    const send = (path) => fetch(`${this.base}/app/api${path}`, { method: "POST", headers, body: JSON.stringify(account) });
    let response = await send("/setup");
    if (response.status === 403) response = await send("/signup");
    if (!response.ok) throw new Error(`sign-up: ${response.status} ${await response.text()}`);
    const [pair] = response.headers.get("set-cookie").split(";");
    const at = pair.indexOf("=");
    const cookie = { name: pair.slice(0, at), value: pair.slice(at + 1), url: this.base };
    return new Session(this, cookie, { ...(await response.json()).data.user, password: PASSWORD });
  }
}
