"""Calls every tool once, in the order of the list, on the data that library.mjs has saved."""

import json
from urllib.parse import quote

# The arguments of each tool, which may depend on earlier results, and the expected result.
CALLS = {
    "search_library": (
        lambda results, client: {"query": "herons"},
        lambda answer: answer["results"][0]["title"] == "Herons",
    ),
    "get_document": (
        lambda results, client: {"documentId": results["search_library"]["results"][0]["documentId"]},
        lambda answer: "in the reeds" in answer["text"],
    ),
    "list_projects": (
        lambda results, client: {"status": "active"},
        lambda answer: answer["projects"][0]["name"] == "Birds",
    ),
    "get_project_context": (
        lambda results, client: {"projectId": results["list_projects"]["projects"][0]["id"], "query": "herons"},
        lambda answer: answer["project"]["name"] == "Birds",
    ),
    "add_bookmark": (
        lambda results, client: {
            "url": f"https://birds.example.test/{quote(client)}",
            "tags": ["birds"],
            "projectId": results["get_project_context"]["project"]["id"],
        },
        lambda answer: answer["created"] and answer["project"]["added"],
    ),
    "create_note": (
        lambda results, client: {
            "projectId": results["get_project_context"]["project"]["id"],
            "title": client,
            "body": "It was **here**.",
        },
        lambda answer: answer["noteId"] and answer["projectId"],
    ),
}


async def use_all(client, sdk):
    """Calls every listed tool. The listed tools must be exactly those of CALLS."""
    listed = [tool.name for tool in (await sdk.list_tools()).tools]
    assert listed == list(CALLS), listed
    results = {}
    for name in listed:
        arguments, is_expected = CALLS[name]
        results[name] = await use(sdk, name, arguments(results, client))
        assert is_expected(results[name]), f"{name}: {results[name]}"
    return listed


async def use(sdk, name, arguments):
    """The result of a call; its text and its structured content must be the same."""
    # In the JSON the names are the same in every SDK.
    called = (await sdk.call_tool(name, arguments)).model_dump(by_alias=True)
    assert not called["isError"], called
    assert json.loads(called["content"][0]["text"]) == called["structuredContent"], called
    return called["structuredContent"]
