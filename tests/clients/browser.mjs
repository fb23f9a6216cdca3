// A browser on the pages of sign-in and consent: it submits their forms unchanged, with the typed fields filled in.
import assert from 'node:assert/strict';

/** Signs in, keeps the selected permissions and allows. Returns the parameters of the redirect to the application. */
export async function allow(url, email, password) {
    const signedIn = await submit(await fetch(url), { email, password });
    const cookie = signedIn.headers.get('set-cookie').split(';')[0];
    const consent = await fetch(new URL(signedIn.headers.get('location'), url), { headers: { Cookie: cookie } });
    const redirect = await submit(consent, { decision: 'allow' }, cookie);
    return new URL(redirect.headers.get('location')).searchParams;
}

/** Submits the form of a page, which must redirect. */
async function submit(page, typed, cookie = '') {
    const form = read(await page.text());
    const headers = { Origin: new URL(page.url).origin, 'Sec-Fetch-Site': 'same-origin', Cookie: cookie };
    const body = new URLSearchParams([...form.fields, ...Object.entries(typed)]);
    const answer = await fetch(new URL(form.action, page.url), { method: 'POST', body, headers, redirect: 'manual' });
    assert.equal(answer.status, 303, await answer.text());
    return answer;
}

/** The action of a form, and the fields that the user does not change. */
function read(html) {
    const form = /(<form [^>]*method="post"[^>]*>)(.*?)<\/form>/s.exec(html);
    assert.ok(form, `no form in ${html}`);
    const inputs = [...form[2].matchAll(/<input [^>]*>/g)].map(([tag]) => ({ tag, ...attributes(tag) }));
    const submitted = inputs.filter(({ type, tag }) => type === 'hidden' || / checked[ >]/.test(tag));
    return { action: attributes(form[1]).action, fields: submitted.map(({ name, value }) => [name, value]) };
}

function attributes(tag) {
    return Object.fromEntries([...tag.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, name, value]) => [name, plain(value)]));
}

/** Decodes numeric character references, the only escapes of the service's pages. */
function plain(text) {
    return text.replace(/&#(\d+);/g, (_, number) => String.fromCodePoint(number));
}
