// Saves a page and creates a project, which the clients then find.
//
//     node library.mjs BASE_URL EMAIL PASSWORD
import assert from 'node:assert/strict';
import { setTimeout } from 'node:timers/promises';

const [base, email, password] = process.argv.slice(2);
const app = `${base}/app/api`;

async function post(path, body, cookie = {}) {
    const headers = { 'Content-Type': 'application/json', ...cookie };
    const answer = await fetch(app + path, { method: 'POST', body: JSON.stringify(body), headers });
    assert.ok(answer.ok, await answer.clone().text());
    return answer;
}

const Cookie = (await post('/session', { email, password })).headers.get('set-cookie').split(';')[0];
const text = 'A heron stands in the reeds until it is taken for one of them. '.repeat(20);
await post('/projects', { name: 'Birds' }, { Cookie });
await post('/library/bookmarks', { url: 'https://herons.example.test/reeds', title: 'Herons', text }, { Cookie });

async function found() {
    const answer = await (await fetch(`${app}/library/search?q=heron`, { headers: { Cookie } })).json();
    return answer.data.results.length > 0;
}

for (let tries = 0; !(await found()); tries += 1) {
    assert.ok(tries < 200, 'the page is not found after twenty seconds');
    await setTimeout(100);
}
