// Calls every tool once, in the order of the list, on the data that library.mjs has saved.
import assert from 'node:assert/strict';

/** What a tool is given, after what those before it said, and what it must say. */
const CALLS = {
    search_library: {
        given: () => ({ query: 'herons' }),
        right: ({ results }) => results[0].title === 'Herons',
    },
    get_document: {
        given: ({ search_library }) => ({ documentId: search_library.results[0].documentId }),
        right: ({ text }) => text.includes('in the reeds'),
    },
    list_projects: {
        given: () => ({ status: 'active' }),
        right: ({ projects }) => projects[0].name === 'Birds',
    },
    get_project_context: {
        given: ({ list_projects }) => ({ projectId: list_projects.projects[0].id, query: 'herons' }),
        right: ({ project }) => project.name === 'Birds',
    },
    add_bookmark: {
        given: ({ get_project_context: { project } }, client) => ({
            url: `https://birds.example.test/${encodeURIComponent(client)}`,
            tags: ['birds'],
            projectId: project.id,
        }),
        right: ({ created, project }) => created && project.added,
    },
    create_note: {
        given: ({ get_project_context: { project } }, client) => ({
            projectId: project.id,
            title: client,
            body: 'It was **here**.',
        }),
        right: ({ noteId, projectId }) => noteId && projectId,
    },
};

/** Names what is listed. A tool that is missing there, or here, is a failure. */
export function names({ tools }) {
    const listed = tools.map(({ name }) => name);
    assert.deepEqual(listed, Object.keys(CALLS));
    return listed;
}

export async function useAll(client, sdk) {
    const listed = names(await sdk.listTools());
    const said = {};
    for (const name of listed) {
        said[name] = answer(await sdk.callTool({ name, arguments: CALLS[name].given(said, client) }));
        assert.ok(CALLS[name].right(said[name]), `${name}: ${JSON.stringify(said[name])}`);
    }
    return listed;
}

/** What a call says; both of its forms must say the same. */
export function answer(called) {
    assert.ok(!called.isError, JSON.stringify(called));
    assert.deepEqual(JSON.parse(called.content[0].text), called.structuredContent);
    return called.structuredContent;
}
