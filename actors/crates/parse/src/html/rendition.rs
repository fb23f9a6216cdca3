//! Renders blocks as they are stored: plain text, HTML for reading, and the outline.
//!
//! The page's own markup is not passed on. The HTML is written from the blocks, with elements and attributes of a fixed list,
//! escaped words and parsed URLs, so that it cannot hold a script, a style, a form or a frame; and [`sanitize`] checks it once
//! more. Each element with `data-start` holds words of the text, in order; the number is the offset of the words in the text, in
//! Unicode scalar values. Only captions of pictures are outside such elements and not in the text.

use serde::{Deserialize, Serialize};
use trafilatura::dom::Document;
use url::Url;

use super::blocks::{self, Block, BlockKind};
use super::containers::Containers;
use super::inline;
use super::links::WEB_SCHEMES;
use super::page_links::PageLinks;
use super::pictures::{self, ArticlePicture};
use super::plain_text::{MAX_NAME_CHARS, clean_line};
use super::sanitize::{self, MAX_HTML_BYTES, START_ATTRIBUTE};
use super::walk::{self, Picture};
use crate::pdf::MAX_HEADING_LEVEL;

/// The maximum number of headings of an outline.
pub const MAX_HEADINGS: usize = 2_000;

/// A text and its HTML.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendition {
    /// Plain text in NFC, to which all offsets refer.
    pub text: String,
    /// The same words as HTML that is safe to show; `None` if it would be longer than 4 MiB.
    pub html: Option<String>,
    /// Its headings in order, at most 2,000.
    pub outline: Vec<Heading>,
}

/// A heading of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// Its text; at most 300 characters.
    pub title: String,
    /// Its rank: 1 to 6 in a page, up to 17 in the outline of a PDF.
    pub level: u8,
    /// Its offset in the text, in Unicode scalar values.
    pub offset: usize,
    /// Its page, from 1, if the text has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
}

impl Heading {
    /// Returns whether the heading is valid for a text of `chars` characters.
    pub fn is_within(&self, chars: usize) -> bool {
        self.offset <= chars
            && (1..=MAX_HEADING_LEVEL).contains(&self.level)
            && self.title.chars().count() <= MAX_NAME_CHARS
    }
}

/// Renders blocks. Links are resolved against `url`, the page's URL, or the base that the page declares.
pub fn render(page: &Document, url: Option<&Url>, blocks: &[&Block], pictures: &[Picture]) -> Rendition {
    let (text, starts) = blocks::join_text(blocks);
    let headings = blocks.iter().zip(&starts).filter_map(|(block, start)| heading(page, block, *start));
    let outline = headings.take(MAX_HEADINGS).collect();
    let base = base(page, url);
    let shown = pictures::select_pictures(page, base.as_ref(), blocks, pictures);
    let links = PageLinks::new(page, base.as_ref(), blocks, &starts);
    let html = html(page, &links, blocks, &starts, &shown);
    // The writer emits only its own elements. The sanitiser is a second line of defence against a mistake in it.
    Rendition { text, html: html.map(|html| sanitize::sanitize(&html)), outline }
}

/// Renders HTML; `None` if it would be longer than [`MAX_HTML_BYTES`]: the text is stored without HTML.
fn html(
    page: &Document,
    links: &PageLinks<'_>,
    blocks: &[&Block],
    starts: &[usize],
    shown: &[ArticlePicture],
) -> Option<String> {
    let mut writer =
        HtmlWriter { page, links, containers: Containers::new(page, blocks), html: String::new() };
    let mut shown = shown.iter().peekable();
    for (block, start) in blocks.iter().zip(starts) {
        while let Some(picture) = shown.next_if(|picture| picture.at <= block.at) {
            writer.picture(picture);
        }
        writer.block(block, *start);
        // Checked for each block, so that a crafted page cannot build much more than the bound.
        if writer.html.len() > MAX_HTML_BYTES {
            return None;
        }
    }
    shown.for_each(|picture| writer.picture(picture));
    Some(writer.end()).filter(|html| html.len() <= MAX_HTML_BYTES)
}

fn heading(page: &Document, block: &Block, offset: usize) -> Option<Heading> {
    let title = clean_line(&block.text, MAX_NAME_CHARS).filter(|_| block.kind == BlockKind::Heading)?;
    Some(Heading { title, level: rank(page, block), offset, page: None })
}

/// Returns the URL against which the links of the page are resolved.
fn base(page: &Document, url: Option<&Url>) -> Option<Url> {
    let url = url?;
    let bases = page.get_elements_by_tag_name(page.root(), "base").into_iter();
    // The first `base` with an address counts (HTML, 4.2.3); one with a target alone is skipped.
    let stated = bases.filter_map(|element| page.get_attribute(element, "href")).next();
    let stated = stated.and_then(|stated| url.join(&stated).ok());
    // As in browsers: the declared base, if it is http or https.
    stated.filter(|base| WEB_SCHEMES.contains(&base.scheme())).or_else(|| Some(url.clone()))
}

/// Returns the rank of a heading, from 1 to 6.
fn rank(page: &Document, heading: &Block) -> u8 {
    let up = walk::ancestors(page, heading.element);
    let mut ranks = up.filter_map(|element| page.tag_name(element).strip_prefix('h')?.parse().ok());
    ranks.next().filter(|rank| (1..=6).contains(rank)).unwrap_or(2)
}

struct HtmlWriter<'a> {
    page: &'a Document,
    links: &'a PageLinks<'a>,
    containers: Containers<'a>,
    html: String,
}

impl HtmlWriter<'_> {
    fn block(&mut self, block: &Block, start: usize) {
        self.containers.enter(block.element, &mut self.html);
        let tag = match block.kind {
            BlockKind::Heading => format!("h{}", rank(self.page, block)),
            BlockKind::Verbatim => "pre".to_owned(),
            BlockKind::Paragraph | BlockKind::Item | BlockKind::Cell
                if self.containers.accepts_text_in(block.element) =>
            {
                "span".to_owned()
            }
            BlockKind::Paragraph | BlockKind::Item | BlockKind::Cell => "p".to_owned(),
        };
        // Only where it matters: the attribute on each block would enlarge every text.
        let direction = if block.text.chars().any(is_right_to_left) { " dir=\"auto\"" } else { "" };
        self.html.push_str(&format!("<{tag} {START_ATTRIBUTE}=\"{start}\"{direction}>"));
        inline::write(self.page, self.links, block, &mut self.html);
        self.html.push_str(&format!("</{tag}>"));
    }

    fn picture(&mut self, picture: &ArticlePicture) {
        self.containers.enter(picture.element, &mut self.html);
        self.html.push_str("<figure>");
        inline::write_image(&picture.source, &mut self.html);
        if let Some(caption) = &picture.caption {
            self.html.push_str("<figcaption>");
            inline::write_escaped(caption, &mut self.html);
            self.html.push_str("</figcaption>");
        }
        self.html.push_str("</figure>");
    }

    fn end(mut self) -> String {
        self.containers.leave(&mut self.html);
        self.html
    }
}

/// Returns whether a character belongs to a script from right to left.
fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::render_all;
    use super::*;

    fn html(body: &str) -> String {
        render_all(body, Some(&Url::parse("https://site.example/a/page").unwrap())).unwrap().html.unwrap()
    }

    #[test]
    fn text_keeps_its_markup_and_offsets() {
        assert_eq!(
            html(
                "<h2>On <i>herons</i></h2><p>They <b>wait &amp; <a href=../see?a=1&b=2>see</a></b>, é<br>all day.</p><p>Then.</p>"
            ),
            "<h2 data-start=\"0\">On <i>herons</i></h2>\
             <p data-start=\"11\">They <b>wait &amp; <a href=\"https://site.example/see?a=1&amp;b=2\" rel=\"nofollow noopener noreferrer\">see</a></b>, é<br>all day.</p>\
             <p data-start=\"40\">Then.</p>"
        );
    }

    #[test]
    fn lists_tables_quotations_and_code_keep_their_structure() {
        assert_eq!(
            html(
                "<ul><li>One<ul><li>In <code>one</code></ul><li>Two</ul><blockquote><p>Said.</p></blockquote><pre>a\n  b</pre>"
            ),
            "<ul><li><span data-start=\"0\">One</span><ul><li><span data-start=\"4\">In <code>one</code></span></li></ul></li>\
             <li><span data-start=\"11\">Two</span></li></ul><blockquote><p data-start=\"16\">Said.</p></blockquote>\
             <pre data-start=\"23\">a\n  b</pre>"
        );
        assert_eq!(
            html("<ol start=0 reversed><li value=9>Nine</ol>"),
            "<ol start=\"0\"><li value=\"9\"><span data-start=\"0\">Nine</span></li></ol>"
        );
        assert_eq!(
            html("<table><tr><th>Bird</th><th colspan=2>Eggs</th></tr><tr><td></td><td>4</td></tr></table>"),
            "<table><tbody><tr><th><span data-start=\"0\">Bird</span></th><th colspan=\"2\"><span data-start=\"7\">Eggs</span></th></tr>\
             <tr><td></td><td><span data-start=\"12\">4</span></td></tr></tbody></table>"
        );
    }

    #[test]
    fn link_within_the_page_states_the_offset_it_leads_to() {
        let html = html(
            "<p>Mud<sup id=r1><a href=#fn1>1</a></sup>.</p><p>See <a href=../b#fn1>there</a>, <a href=#none>none</a>.</p>\
             <ol><li id=fn1>Silt. <a href=/a/page#r1>Back</a></li></ol>",
        );

        assert!(html.contains("<a href=\"https://site.example/a/page#r1\" data-to=\"0\" rel="), "{html}");
        let item =
            html.split("<li><span data-start=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
        let to_note = format!("<a href=\"https://site.example/a/page#fn1\" data-to=\"{item}\" rel=");
        assert!(html.contains(&to_note), "{html}");
        assert_eq!(html.matches("data-to").count(), 2, "{html}");
    }

    /// Covers the threat table (rows X1, X2, X3).
    #[test]
    fn scripts_and_hostile_links_are_removed() {
        let html = html(
            "<p onclick=x() style=color:red>Safe <a href='javascript:alert(1)'>link</a> <a href=' jAva\tscript:alert(1)'>two</a>\
             <script>alert(1)</script><iframe src=//evil.example></iframe><form action=/x><input name=p></form>\
             <a href=\"https://ok.example/&quot;><script>\">three</a></p><svg><script>alert(2)</script></svg>\
             <img src=x onerror=alert(3)><math><mtext><img src='data:text/html,hi'></mtext></math>",
        );

        assert_eq!(
            html,
            "<p data-start=\"0\">Safe link two</p><p data-start=\"15\"><a href=\"https://ok.example/%22%3E%3Cscript%3E\" rel=\"nofollow noopener noreferrer\">three</a></p>\
             <figure><img src=\"https://site.example/a/x\" alt=\"\" loading=\"lazy\" referrerpolicy=\"no-referrer\"></figure>"
        );
    }

    #[test]
    fn pictures_keep_their_positions_and_captions() {
        let html = html(
            "<p>Before.</p><figure><img data-src=/heron.jpg src='data:image/gif;base64,R0' alt='A \"heron\"'><figcaption>Grey <b>one</b></figcaption></figure>\
             <p>Behind <img src=f.png width=20 alt='x²'> it.</p><img src=/dot.gif width=1 height=1>",
        );

        assert!(
            html.contains("<figure><img src=\"https://site.example/heron.jpg\" alt=\"A &quot;heron&quot;\""),
            "{html}"
        );
        assert!(html.contains("Behind <img src=\"https://site.example/a/f.png\" alt=\"x²\""), "{html}");
        assert!(!html.contains("dot.gif") && html.matches("Grey").count() == 1, "{html}");
    }

    #[test]
    fn table_cells_may_contain_pictures_lists_and_tables() {
        let whole = html(
            "<table><tr><td>Grey</td><td><ul><li>fish<li>frogs</ul></td><td>4</td></tr><tr><td><img src=a.jpg></td><td>x</td></tr>\
             <tr><td>X</td><td>Y</td><td><table><tr><td>inner</td></tr></table></td><td>W</td></tr></table>",
        );
        let plain = whole.replace(" loading=\"lazy\" referrerpolicy=\"no-referrer\"", "");

        assert_eq!(
            plain,
            "<table><tbody><tr><td><span data-start=\"0\">Grey</span></td>\
             <td><ul><li><span data-start=\"6\">fish</span></li><li><span data-start=\"11\">frogs</span></li></ul></td>\
             <td><span data-start=\"18\">4</span></td></tr>\
             <tr><td><figure><img src=\"https://site.example/a/a.jpg\" alt=\"\"></figure></td><td><span data-start=\"20\">x</span></td></tr>\
             <tr><td><span data-start=\"22\">X</span></td><td><span data-start=\"26\">Y</span></td>\
             <td><table><tbody><tr><td><span data-start=\"28\">inner</span></td></tr></tbody></table></td>\
             <td><span data-start=\"34\">W</span></td></tr></tbody></table>"
        );
    }

    #[test]
    fn largest_picture_is_used_and_caption_appears_once() {
        let html = html(
            "<p>Before the pictures there are words.</p><figure><picture><source srcset='/s.webp 300w, /l.webp 900w, /m.webp 600w'><img src='data:image/gif;base64,R0'></picture>\
             <img srcset='/1.png 1x, /2.png 2x'><figcaption>Both</figcaption></figure><a href=/more><img src=/amid.jpg></a><p>Behind them there are words too.</p>",
        );

        for part in ["/l.webp", "/2.png", "/amid.jpg"] {
            assert!(html.contains(&format!("<img src=\"https://site.example{part}\"")), "{part}: {html}");
        }
        assert_eq!(html.matches("Both").count(), 1, "{html}");
    }

    #[test]
    fn marks_keep_their_offsets_with_any_characters() {
        assert_eq!(
            html("<p>e\u{301}e\u{301}\u{323} \u{1112}\u{1161}\u{11ab} <b>bold</b> z</p>"),
            "<p data-start=\"0\">éẹ́ 한 <b>bold</b> z</p>"
        );
        assert!(html("<p>שלום עולם</p>").starts_with("<p data-start=\"0\" dir=\"auto\">"));
    }

    #[test]
    fn relative_urls_use_the_base_of_the_page() {
        assert!(
            html("<base target=_blank><base href=/other/><p>A <a href=x>link</a></p>")
                .contains("\"https://site.example/other/x\"")
        );
        assert!(
            html("<base href='javascript:x()//'><p>A <a href=x>link</a></p>")
                .contains("\"https://site.example/a/x\"")
        );
    }

    #[test]
    fn page_with_too_much_html_keeps_its_text() {
        let base = format!("<base href=\"https://site.example/{}/\">", "x".repeat(7_000));
        let links = format!("{base}<p>{}</p>", "<a href=x>word</a> <img src=y> ".repeat(5_000));
        let paragraphs = format!("{base}{}", "<p><a href=x>word</a></p>".repeat(5_000));
        for markup in [links, paragraphs] {
            let found = render_all(&markup, Url::parse("https://a.example/").ok().as_ref()).unwrap();
            assert_eq!((found.html, found.text.matches("word").count()), (None, 5_000));
        }
    }

    #[test]
    fn figure_of_many_pictures_takes_linear_time() {
        let markup = format!(
            "<p>{0}</p><figure>{1}<figcaption>All</figcaption></figure><p>{0}</p>",
            "Words before. ".repeat(5),
            "<img src=a>".repeat(20_000)
        );
        let row = format!("<table><tr>{}</tr></table>", "<td>a<td><h2>b</h2>".repeat(10_000));
        for markup in [markup, row] {
            assert!(
                render_all(&markup, Url::parse("https://a.example/").ok().as_ref()).unwrap().html.is_some()
            );
        }
    }

    #[test]
    fn headings_have_their_offsets() {
        let found = render_all("<h1>é One</h1><p>Text.</p><h3>Two</h3>", None).unwrap();
        let headings: Vec<_> =
            found.outline.iter().map(|head| (head.title.as_str(), head.level, head.offset)).collect();

        assert_eq!(headings, [("é One", 1, 0), ("Two", 3, 14)]);
    }

    const MARKUP_TOKENS: [&str; 34] = [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i class=x>",
        "</i>",
        "<a href=/x>",
        "</a>",
        "<ul>",
        "<li>",
        "</ul>",
        "<ol start=3>",
        "</ol>",
        "<table>",
        "<tr>",
        "<td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<br>",
        "<img src=/i.png>",
        "<blockquote>",
        "</blockquote>",
        "<h2>",
        "</h2>",
        "<script>",
        "</script>",
        "<dl><dt>",
        "<dd>",
        "</dl>",
        "<q onclick=x>",
        "</q>",
        "<!--",
        "-->",
    ];
    fn markup() -> impl Strategy<Value = String> {
        let word = "[a-zé0-9<>&\"' \u{301}\u{ad}\n\t]{0,12}";
        let piece = prop_oneof![prop::sample::select(&MARKUP_TOKENS[..]).prop_map(str::to_owned), word];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn html_of_any_page_has_the_text_at_its_offsets(markup in markup()) {
            let Rendition { text, html, .. } = render_all(&markup, Url::parse("https://a.example/").ok().as_ref()).unwrap();
            let html = html.unwrap();

            prop_assert!(sanitize::shows_text(&html, &text), "{html}\n{text}");
            // The sanitiser must not change what the writer emits: a difference shows a mistake in one of them.
            prop_assert_eq!(sanitize::sanitize_for_text(&html, &text), Some(html.clone()));
            let page = Document::parse(&html);
            let key = blocks::key(&page.text_content(page.root()));
            prop_assert_eq!(key, blocks::key(&text));
        }
    }
}
