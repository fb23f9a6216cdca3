// The MCP SDK for TypeScript as an assistant that has never been here: discovery, registration, sign-in and consent,
// tools, a call, and another pair of tokens once the access token is no good any more.
//
//     node typescript.mjs BASE_URL EMAIL PASSWORD
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [base, email, password] = process.argv.slice(2);
const found = createRequire(process.env.CARREL_NODE_MODULES + '/');
const sdk = (path) => import(pathToFileURL(found.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await sdk('client/index.js');
const { StreamableHTTPClientTransport } = await sdk('client/streamableHttp.js');
const { UnauthorizedError } = await sdk('client/auth.js');

/** What the SDK asks of whoever keeps its secrets and opens a browser for it. */
class Keeper {
    redirectUrl = 'http://127.0.0.1:43117/callback';
    clientMetadata = {
        client_name: 'SDK for TypeScript',
        redirect_uris: [this.redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
    };
    clientInformation() { return this.client; }
    saveClientInformation(client) { this.client = client; }
    tokens() { return this.kept; }
    saveTokens(tokens) { this.kept = tokens; }
    codeVerifier() { return this.verifier; }
    saveCodeVerifier(verifier) { this.verifier = verifier; }
    state() { return 'a state of the SDK'; }
    async redirectToAuthorization(address) { this.code = await allow(address); }
}

/** The form of a page: its fields by name. */
function hidden(html, name) {
    const match = new RegExp(`name="${name}" value="([^"]*)"`).exec(html);
    assert.ok(match, `no ${name} in ${html}`);
    return match[1].replaceAll('&#38;', '&').replaceAll('&amp;', '&');
}

/** Sends a form of our pages as a browser does. */
function send(path, fields, cookie) {
    const headers = { Origin: base, 'Sec-Fetch-Site': 'same-origin', ...(cookie ? { Cookie: cookie } : {}) };
    return fetch(base + path, { method: 'POST', body: new URLSearchParams(fields), headers, redirect: 'manual' });
}

/** Signs in, ticks all and allows; the code that comes back. */
async function allow(address) {
    const request = hidden(await (await fetch(address)).text(), 'request');
    const signedIn = await send('/oauth/sign-in', [['request', request], ['email', email], ['password', password]]);
    assert.equal(signedIn.status, 303, await signedIn.text());
    const cookie = signedIn.headers.get('set-cookie').split(';')[0];
    const page = await (await fetch(signedIn.headers.get('location'), { headers: { Cookie: cookie } })).text();
    const scopes = [...page.matchAll(/name="scope" value="([^"]+)"/g)].map((match) => ['scope', match[1]]);
    const answer = await send('/oauth/consent', [['ticket', hidden(page, 'ticket')], ['decision', 'allow'], ...scopes], cookie);
    assert.equal(answer.status, 303, await answer.text());
    const back = new URL(answer.headers.get('location')).searchParams;
    assert.equal(back.get('iss'), base);
    assert.equal(back.get('state'), 'a state of the SDK');
    return back.get('code');
}

async function connected(keeper) {
    const client = new Client({ name: 'typescript', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: keeper });
    try {
        await client.connect(transport);
        return client;
    } catch (error) {
        assert.ok(error instanceof UnauthorizedError, error);
        await transport.finishAuth(keeper.code);
        return connected(keeper);
    }
}

const keeper = new Keeper();
const client = await connected(keeper);
const names = (await client.listTools()).tools.map((tool) => tool.name);
assert.ok(names.includes('search_library') && names.includes('get_document'), names.join());
const searched = await client.callTool({ name: 'search_library', arguments: { query: 'herons' } });
assert.deepEqual(searched.structuredContent.results, []);
const first = keeper.kept;
keeper.kept = { ...first, access_token: 'ca_of_yesterday' };
assert.ok(!(await client.callTool({ name: 'search_library', arguments: { query: 'herons' } })).isError);
assert.notEqual(keeper.kept.refresh_token, first.refresh_token);
await client.close();
console.log(`TypeScript: ${names.length} tools of ${keeper.kept.scope}`);
