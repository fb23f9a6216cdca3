"""The MCP SDK for Python, 1.x or 2.x, as an unregistered assistant: discovery, registration, sign-in and consent, every
tool, and a refresh of its tokens when the access token has expired.

    python python.py 1|2 BASE_URL EMAIL PASSWORD
"""

import asyncio
import importlib
import sys
import time
from contextlib import asynccontextmanager

import mcp
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared import auth

from browser import allow
from tools import use, use_all

MAJOR, BASE, EMAIL, PASSWORD = sys.argv[1:]
NAME = f"Python SDK {MAJOR}"
REVISION = {"1": "2025-11-25", "2": "2026-07-28"}[MAJOR]
# Each SDK uses a different HTTP library.
HTTP = importlib.import_module({"1": "httpx", "2": "httpx2"}[MAJOR])


class CredentialStore:
    """The storage of secrets and the browser that the SDK requires."""

    def __init__(self):
        self.tokens = self.client = self.redirect_params = None
        self.sign_ins = 0

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def redirect(self, address):
        """Signs in and consents in place of a browser."""
        self.sign_ins += 1
        with HTTP.Client() as http:
            self.redirect_params = allow(http, address, EMAIL, PASSWORD)
        # The first SDK ignores it.
        assert self.redirect_params["iss"] == BASE, self.redirect_params

    async def await_callback(self):
        """The parameters of the redirect back to the client."""
        if MAJOR == "1":
            return self.redirect_params["code"], self.redirect_params["state"]
        return auth.AuthorizationCodeResult(**self.redirect_params)


def provider(store):
    """The OAuth client of the SDK."""
    metadata = auth.OAuthClientMetadata(
        client_name=NAME,
        redirect_uris=["http://127.0.0.1:43118/callback"],
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(f"{BASE}/mcp", metadata, store, store.redirect, store.await_callback)


@asynccontextmanager
async def connected(http):
    """A session, and its protocol version."""
    transport = streamable_http_client(f"{BASE}/mcp", http_client=http)
    if MAJOR == "1":
        async with transport as (read, write, _), mcp.ClientSession(read, write) as session:
            yield session, (await session.initialize()).protocolVersion
    else:
        async with mcp.Client(transport) as client:
            yield client, client.protocol_version


async def refresh_tokens(store, oauth, session):
    """Refreshes the tokens without interaction."""
    first = store.tokens
    # This SDK refreshes only by the clock: after a 401 it starts a new sign-in.
    oauth.context.token_expiry_time = time.time() - 1
    await use(session, "search_library", {"query": "herons"})
    assert store.tokens.access_token != first.access_token
    assert store.tokens.refresh_token != first.refresh_token
    assert store.tokens.scope == first.scope, store.tokens.scope
    assert store.sign_ins == 1


async def main():
    store = CredentialStore()
    oauth = provider(store)
    async with HTTP.AsyncClient(auth=oauth, timeout=20) as http, connected(http) as (session, revision):
        assert revision == REVISION, revision
        used = await use_all(NAME, session)
        await refresh_tokens(store, oauth, session)
    print(f"{NAME}: revision {revision}, {len(used)} tools used with {store.tokens.scope}, tokens refreshed")


asyncio.run(main())
