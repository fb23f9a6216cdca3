// The command line of the MCP Inspector with the key in CARREL_SECRET, in both protocol generations: the list of tools, whose
// schemas must cause no warnings, and a call.
//
//     node inspector.mjs BASE_URL
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { answer, names } from './tools.mjs';

const [base] = process.argv.slice(2);
const program = `${process.env.CARREL_NODE_MODULES}/.bin/mcp-inspector`;
const server = [`${base}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${process.env.CARREL_SECRET}`];

function inspect(...words) {
    const args = [program, '--cli', ...server, '--format', 'json', ...words];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    // The inspector writes its warnings to stderr, so it must be empty.
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    return JSON.parse(stdout).result;
}

const counts = ['legacy', 'modern'].map((era) => {
    const listed = names(inspect('--protocol-era', era, '--method', 'tools/list', '--strict'));
    const search = ['--tool-name', 'search_library', '--tool-arg', 'query=herons'];
    const called = inspect('--protocol-era', era, '--method', 'tools/call', ...search);
    assert.equal(answer(called).results[0].title, 'Herons');
    return `${listed.length} tools listed as ${era}`;
});
console.log(`Inspector: ${counts.join(', ')}, a call in each`);
