// Calls every tool once, in the order of the list, on the data that library.mjs has saved.
import assert from 'node:assert/strict';

/** The arguments of each tool, which may depend on earlier results, and a check of its result. */
const CALLS = {
    search_library: {
        arguments: () => ({ query: 'herons' }),
        isExpected: ({ results }) => results[0].title === 'Herons',
    },
    get_document: {
        arguments: ({ search_library }) => ({ documentId: search_library.results[0].documentId }),
        isExpected: ({ text }) => text.includes('in the reeds'),
    },
    list_projects: {
        arguments: () => ({ status: 'active' }),
        isExpected: ({ projects }) => projects[0].name === 'Birds',
    },
    get_project_context: {
        arguments: ({ list_projects }) => ({ projectId: list_projects.projects[0].id, query: 'herons' }),
        isExpected: ({ project }) => project.name === 'Birds',
    },
    add_bookmark: {
        arguments: ({ get_project_context: { project } }, client) => ({
            url: `https://birds.example.test/${encodeURIComponent(client)}`,
            tags: ['birds'],
            projectId: project.id,
        }),
        isExpected: ({ created, project }) => created && project.added,
    },
    create_note: {
        arguments: ({ get_project_context: { project } }, client) => ({
            projectId: project.id,
            title: client,
            body: 'It was **here**.',
        }),
        isExpected: ({ noteId, projectId }) => noteId && projectId,
    },
};

/** Returns the names of the listed tools, which must be exactly those of CALLS. */
export function names({ tools }) {
    const listed = tools.map(({ name }) => name);
    assert.deepEqual(listed, Object.keys(CALLS));
    return listed;
}

export async function useAll(client, sdk) {
    const listed = names(await sdk.listTools());
    const results = {};
    for (const name of listed) {
        results[name] = answer(await sdk.callTool({ name, arguments: CALLS[name].arguments(results, client) }));
        assert.ok(CALLS[name].isExpected(results[name]), `${name}: ${JSON.stringify(results[name])}`);
    }
    return listed;
}

/** Returns the result of a call; its text and its structured content must be the same. */
export function answer(called) {
    assert.ok(!called.isError, JSON.stringify(called));
    assert.deepEqual(JSON.parse(called.content[0].text), called.structuredContent);
    return called.structuredContent;
}
