"""A browser on the pages of sign-in and consent: it sends their forms as they stand, with what a person types."""

from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit


def allow(http, address, email, password):
    """Signs in, leaves every tick where it is and allows. With these parameters the application is called back."""
    signed_in = submit(http, http.get(address), {"email": email, "password": password})
    consent = http.get(signed_in.headers["location"])
    back = submit(http, consent, {"decision": "allow"})
    return dict(parse_qsl(urlsplit(back.headers["location"]).query))


def submit(http, page, typed):
    """Sends the form of a page, which must lead on."""
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
    """Where the form of a page goes, and the fields that a person leaves alone."""

    def __init__(self, html):
        super().__init__()
        self.action, self.fields = None, []
        self.feed(html)
        assert self.action is not None, f"no form in {html}"

    def handle_starttag(self, tag, attrs):
        """Takes what is hidden or ticked."""
        attributes = dict(attrs)
        if tag == "form":
            self.action = attributes["action"]
        elif tag == "input" and (attributes["type"] == "hidden" or "checked" in attributes):
            self.fields.append((attributes["name"], attributes["value"]))
