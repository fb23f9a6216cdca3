// The MCP SDK for TypeScript, 1.x or 2.x, as an unregistered assistant: discovery, registration, sign-in and consent, every tool,
// and a refresh of its tokens when the access token is no longer valid.
//
//     node typescript.mjs 1|2 BASE_URL EMAIL PASSWORD
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { allow } from './browser.mjs';
import { answer, useAll } from './tools.mjs';

const [major, base, email, password] = process.argv.slice(2);
const SDKS = {
    1: { parts: ['sdk/client/index.js', 'sdk/client/streamableHttp.js', 'sdk/client/auth.js'], revision: '2025-11-25' },
    2: { parts: ['client'], revision: '2026-07-28' },
};
const name = `TypeScript SDK ${major}`;
const { parts, revision } = SDKS[major];
const load = createRequire(process.env.CARREL_NODE_MODULES + '/');
const loaded = parts.map((part) => load(`@modelcontextprotocol/${part}`));
const { Client, StreamableHTTPClientTransport, UnauthorizedError } = Object.assign({}, ...loaded);

/** The storage of secrets and the browser that the SDK requires. */
class CredentialStore {
    redirectUrl = 'http://127.0.0.1:43117/callback';
    clientMetadata = {
        client_name: name,
        redirect_uris: [this.redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
    };
    signIns = 0;
    clientInformation() { return this.client; }
    saveClientInformation(client) { this.client = client; }
    tokens() { return this.savedTokens; }
    saveTokens(tokens) { this.savedTokens = tokens; }
    codeVerifier() { return this.verifier; }
    saveCodeVerifier(verifier) { this.verifier = verifier; }
    discoveryState() { return this.discovered; }
    saveDiscoveryState(discovered) { this.discovered = discovered; }
    state() { return 'a state of the SDK'; }
    async redirectToAuthorization(address) {
        this.signIns += 1;
        this.back = await allow(address, email, password);
        assert.equal(this.back.get('state'), this.state());
        // The first SDK ignores it.
        assert.equal(this.back.get('iss'), base);
    }
}

/** Connects. The first attempt is refused and starts the sign-in; the second one uses its code. */
async function connect(store) {
    // Only the second SDK has this option; without it, it uses the protocol of the first one.
    const client = new Client({ name, version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { authProvider: store });
    try {
        await client.connect(transport);
    } catch (error) {
        if (!(error instanceof UnauthorizedError) || store.savedTokens) throw error;
        await transport.finishAuth(store.back.get('code'), store.back.get('iss'));
        return connect(store);
    }
    assert.equal(transport.protocolVersion, revision);
    return client;
}

/** Refreshes the tokens without interaction. */
async function refreshTokens(store, client) {
    const first = store.savedTokens;
    store.savedTokens = { ...first, access_token: 'ca_of_yesterday' };
    answer(await client.callTool({ name: 'search_library', arguments: { query: 'herons' } }));
    assert.notEqual(store.savedTokens.refresh_token, first.refresh_token);
    assert.equal(store.savedTokens.scope, first.scope);
    assert.equal(store.signIns, 1);
}

const store = new CredentialStore();
const client = await connect(store);
const used = await useAll(name, client);
await refreshTokens(store, client);
await client.close();
console.log(`${name}: revision ${revision}, ${used.length} tools used with ${store.savedTokens.scope}, tokens refreshed`);
