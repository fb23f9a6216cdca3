"""A browser on the pages of sign-in and consent: it submits their forms unchanged, with the typed fields filled in."""

from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit


def allow(http, address, email, password):
    """Signs in, keeps the selected permissions and allows. Returns the parameters of the redirect to the application."""
    signed_in = submit(http, http.get(address), {"email": email, "password": password})
    consent = http.get(signed_in.headers["location"])
    redirect = submit(http, consent, {"decision": "allow"})
    return dict(parse_qsl(urlsplit(redirect.headers["location"]).query))


def submit(http, page, typed):
    """Submits the form of a page, which must redirect."""
    form = Form(page.text)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(str(page.url)))
    headers = {
        "Origin": origin,
        "Sec-Fetch-Site": "same-origin",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    body = urlencode([*form.fields, *typed.items()])
    answer = http.post(urljoin(str(page.url), form.action), content=body, headers=headers)
    assert answer.status_code == 303, answer.text
    return answer


class Form(HTMLParser):
    """The action of the form of a page, and the fields that the user does not change."""

    def __init__(self, html):
        super().__init__()
        self.action, self.fields = None, []
        self.feed(html)
        assert self.action is not None, f"no form in {html}"

    def handle_starttag(self, tag, attrs):
        """Collects hidden and checked fields."""
        attributes = dict(attrs)
        if tag == "form":
            self.action = attributes["action"]
        elif tag == "input" and (attributes["type"] == "hidden" or "checked" in attributes):
            self.fields.append((attributes["name"], attributes["value"]))
