"""Calls every tool once, in the order of the list, on the data that library.mjs has saved."""

import json
from urllib.parse import quote

# The arguments of each tool, which may depend on earlier results, and the expected result.
CALLS = {
    "search_library": (
        lambda said, client: {"query": "herons"},
        lambda answer: answer["results"][0]["title"] == "Herons",
    ),
    "get_document": (
        lambda said, client: {"documentId": said["search_library"]["results"][0]["documentId"]},
        lambda answer: "in the reeds" in answer["text"],
    ),
    "list_projects": (
        lambda said, client: {"status": "active"},
        lambda answer: answer["projects"][0]["name"] == "Birds",
    ),
    "get_project_context": (
        lambda said, client: {"projectId": said["list_projects"]["projects"][0]["id"], "query": "herons"},
        lambda answer: answer["project"]["name"] == "Birds",
    ),
    "add_bookmark": (
        lambda said, client: {
            "url": f"https://birds.example.test/{quote(client)}",
            "tags": ["birds"],
            "projectId": said["get_project_context"]["project"]["id"],
        },
        lambda answer: answer["created"] and answer["project"]["added"],
    ),
    "create_note": (
        lambda said, client: {
            "projectId": said["get_project_context"]["project"]["id"],
            "title": client,
            "body": "It was **here**.",
        },
        lambda answer: answer["noteId"] and answer["projectId"],
    ),
}


async def use_all(client, sdk):
    """A tool that is missing from the list, or from here, is a failure."""
    listed = [tool.name for tool in (await sdk.list_tools()).tools]
    assert listed == list(CALLS), listed
    said = {}
    for name in listed:
        given, right = CALLS[name]
        said[name] = await use(sdk, name, given(said, client))
        assert right(said[name]), f"{name}: {said[name]}"
    return listed


async def use(sdk, name, arguments):
    """The result of a call; its text and its structured content must be the same."""
    # In the JSON the names are the same in every SDK.
    called = (await sdk.call_tool(name, arguments)).model_dump(by_alias=True)
    assert not called["isError"], called
    assert json.loads(called["content"][0]["text"]) == called["structuredContent"], called
    return called["structuredContent"]
