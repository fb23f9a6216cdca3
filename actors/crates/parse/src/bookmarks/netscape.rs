//! Lists of links in HTML: the Netscape format of browsers, linkding and Pinboard, and Pocket's export.
//!
//! Its elements are not closed, so it is read as a sequence of tags and text.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::row::{ForeignBookmark, Row, RowContent, split_names};
use super::time_formats::parse_time;
use crate::feed::Outline;

/// The tag of archived bookmarks in linkding.
const LINKDING_ARCHIVED: &str = "linkding:bookmarks.archived";
/// linkding encloses notes in these, after the description.
const LINKDING_NOTES: [&str; 2] = ["[linkding-notes]", "[/linkding-notes]"];
/// The deepest nesting of folders.
const MAX_FOLDER_DEPTH: usize = 32;

/// Reads every link of a list.
pub fn read_rows(html: &str) -> Vec<Row> {
    let sink = Sink(RefCell::new(ListReader::default()));
    let tokenizer = Tokenizer::new(sink, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // The sink never asks the tokenizer to stop, so all of the input is read.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let mut reading = tokenizer.sink.0.take();
    // The last link may not be closed by any tag.
    reading.end_link();
    reading.rows
}

struct Sink(RefCell<ListReader>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let mut reading = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) => reading.tag(&tag, line),
            Token::CharacterTokens(words) => reading.words(&words),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// The target of the next text.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum TextTarget {
    #[default]
    Nowhere,
    Section,
    Folder,
    Link,
    Note,
}

#[derive(Default)]
struct ListReader {
    rows: Vec<Row>,
    /// The open folders; `None` for a list without a name.
    open: Vec<Option<String>>,
    /// The heading of the next list.
    named: Option<String>,
    /// Whether Pocket's heading of archived links was read.
    archived: bool,
    target: TextTarget,
    words: String,
    link: Option<(u64, OpenLink)>,
}

/// A link whose text is not read yet.
struct OpenLink {
    page: ForeignBookmark,
    feed: Option<String>,
}

impl ListReader {
    fn words(&mut self, words: &str) {
        if self.target != TextTarget::Nowhere {
            self.words.push_str(words);
        }
    }

    fn tag(&mut self, tag: &Tag, line: u64) {
        match (&*tag.name, tag.kind) {
            ("h1", TagKind::StartTag) => self.begin(TextTarget::Section),
            ("h3" | "h2", TagKind::StartTag) => {
                self.end_link();
                self.begin(TextTarget::Folder);
                // The browser's own roots are not folders of the user.
                let is_root = |name: &str| attribute(tag, name).is_some_and(|value| value == "true");
                if is_root("personal_toolbar_folder") || is_root("unfiled_bookmarks_folder") {
                    self.target = TextTarget::Nowhere;
                    self.named = None;
                }
            }
            ("a", TagKind::StartTag) => {
                self.end_link();
                self.begin(TextTarget::Link);
                let link = self.link_of(tag);
                self.link = Some((line, link));
            }
            // A description belongs to the link before it; that of a folder is dropped.
            ("dd", TagKind::StartTag) => {
                self.assign_text();
                self.begin(if self.link.is_some() { TextTarget::Note } else { TextTarget::Nowhere });
            }
            ("dl", TagKind::StartTag) => {
                self.assign_text();
                self.end_link();
                // Each list takes a place, with or without a name, so that its end tag finds its own.
                let named = self.named.take();
                self.open.push(named);
            }
            ("dl", TagKind::EndTag) => {
                self.assign_text();
                self.end_link();
                self.open.pop();
            }
            // The next item ends the link before it, because descriptions are not closed.
            ("dt", _) => {
                self.assign_text();
                self.end_link();
            }
            ("h1" | "h2" | "h3" | "a" | "dd", TagKind::EndTag) => self.assign_text(),
            ("br", _) => self.words("\n"),
            (_, TagKind::StartTag | TagKind::EndTag) => {}
        }
    }

    fn begin(&mut self, target: TextTarget) {
        self.words.clear();
        self.target = target;
    }

    /// Assigns the text up to here to its target.
    fn assign_text(&mut self) {
        let words = std::mem::take(&mut self.words);
        let words = words.trim();
        match std::mem::take(&mut self.target) {
            TextTarget::Nowhere => {}
            TextTarget::Section => self.archived = words.eq_ignore_ascii_case("read archive"),
            TextTarget::Folder => self.named = Some(words.to_owned()),
            TextTarget::Link => {
                if let Some((_, link)) = &mut self.link {
                    link.page.title = Some(words.to_owned());
                }
            }
            TextTarget::Note => {
                if let Some((_, link)) = &mut self.link {
                    let parts = LINKDING_NOTES.iter().fold(vec![words], |parts, mark| {
                        parts.into_iter().flat_map(|part| part.split(mark)).collect()
                    });
                    link.page.notes.extend(parts.into_iter().map(str::to_owned));
                }
            }
        }
    }

    fn end_link(&mut self) {
        self.assign_text();
        let Some((line, link)) = self.link.take() else { return };
        let content = match link.feed {
            Some(url) => RowContent::Feed(Outline {
                url,
                title: link.page.title,
                // Feeds have one folder, not a path: the innermost.
                folder: link.page.folders.last().cloned(),
            }),
            None => link.page.into(),
        };
        self.rows.push(Row { line, content });
    }

    fn link_of(&self, tag: &Tag) -> OpenLink {
        let mut tags = split_names(&attribute(tag, "tags").unwrap_or_default(), ',');
        let before = tags.len();
        tags.retain(|tag| tag != LINKDING_ARCHIVED);
        // `time_added` is Pocket's.
        let time = ["add_date", "time_added"].iter().find_map(|name| attribute(tag, name));
        // Pinboard and linkding state for each page whether it is still to be read.
        let is_read = attribute(tag, "toread").is_some_and(|value| value == "0");
        let page = ForeignBookmark {
            url: attribute(tag, "href").unwrap_or_default(),
            archived: self.archived || tags.len() < before,
            tags,
            folders: self.open.iter().flatten().take(MAX_FOLDER_DEPTH).cloned().collect(),
            saved_at: time.and_then(|time| parse_time(&time)),
            progress: is_read.then_some(1.0),
            ..ForeignBookmark::default()
        };
        OpenLink { page, feed: attribute(tag, "feedurl") }
    }
}

fn attribute(tag: &Tag, name: &str) -> Option<String> {
    let found = tag.attrs.iter().find(|attribute| &*attribute.name.local == name)?;
    Some(found.value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::BookmarkDraft;
    use super::*;

    fn saves(html: &str) -> Vec<BookmarkDraft> {
        let save = |row: Row| {
            let RowContent::Bookmark(save) = row.content else { panic!("{row:?}") };
            save
        };
        read_rows(html).into_iter().map(save).collect()
    }

    #[test]
    fn netscape_list_has_folders_tags_notes_and_times() {
        let rows = saves(
            r#"<!DOCTYPE NETSCAPE-Bookmark-file-1>
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1>
<DL><p>
    <DT><H3 PERSONAL_TOOLBAR_FOLDER="true">Bar</H3>
    <DL><p>
        <DT><H3 ADD_DATE="1">Cooking &amp; more</H3>
        <DL><p>
            <DT><H3>Bread</H3>
            <DL><p>
            <DT><A HREF="https://a.example/1" ADD_DATE="1700000000" TAGS="x, y,,x">One &lt;b&gt;</A>
            <DD>A note
of two lines[linkding-notes]and another[/linkding-notes]
            </DL><p>
            <DT><A HREF="https://a.example/2" TOREAD="1">Two</A>
        </DL><p>
        <DT><A HREF="https://a.example/3" TOREAD="0" TAGS="linkding:bookmarks.archived,z">Three</A>
    </DL><p>
</DL>"#,
        );

        assert_eq!(rows[0].folders, ["Cooking & more", "Bread"]);
        assert_eq!(
            serde_json::Value::Object(rows[0].fields.clone()),
            json!({
                "url": "https://a.example/1", "title": "One <b>", "tags": ["x", "y", "x"], "notes": "A note\nof two lines\n\nand another",
                "savedAt": "2023-11-14T22:13:20Z",
            })
        );
        assert_eq!(
            (rows[1].folders.as_slice(), &rows[1].fields["title"]),
            (&["Cooking & more".to_owned()][..], &json!("Two"))
        );
        assert_eq!((rows[2].folders.len(), &rows[2].fields["tags"]), (0, &json!(["z"])));
        assert_eq!(rows[2].fields["archived"], json!(true));
        assert_eq!([0, 1, 2].map(|at| rows[at].progress), [None, None, Some(1.0)]);
    }

    #[test]
    fn pocket_heading_marks_archived_rows() {
        let rows = saves(
            r#"<!DOCTYPE html><html><head><title>Pocket Export</title></head><body><h1>Unread</h1><ul>
<li><a href="https://a.example/1" time_added="1700000000" tags="a,b">One</a></li></ul>
<h1>Read Archive</h1><ul><li><a href="https://a.example/2" time_added="1700000000" tags="">https://a.example/2</a></li></ul>"#,
        );

        assert_eq!(rows[0].fields["tags"], json!(["a", "b"]));
        assert!(!rows[0].fields.contains_key("archived"));
        assert_eq!(rows[1].fields["archived"], json!(true));
        assert!(!rows[1].fields.contains_key("title"), "an address is no title");
    }

    #[test]
    fn live_bookmark_is_a_feed() {
        let rows = read_rows(
            r#"<DL><DT><H3>News</H3><DL><DT><A FEEDURL="https://a.example/feed" HREF="https://a.example/">A</A></DL></DL>"#,
        );

        let outline = Outline {
            url: "https://a.example/feed".to_owned(),
            title: Some("A".to_owned()),
            folder: Some("News".to_owned()),
        };
        assert_eq!(rows, [Row { line: 1, content: RowContent::Feed(outline) }]);
    }

    #[test]
    fn link_without_a_url_is_named_by_its_text() {
        let rows = read_rows("<DL><DT><A>One</A></DL>");

        let content = RowContent::skipped_with_name("has no URL", Some("One".to_owned()));
        assert_eq!(rows, [Row { line: 1, content }]);
    }

    #[test]
    fn row_number_is_the_line_of_its_start() {
        let lines: Vec<_> =
            read_rows("<DL>\n<DT><A HREF='https://a.example/'>A</A>\n\n<DT><A HREF='b'>B</A>")
                .iter()
                .map(|row| row.line)
                .collect();
        assert_eq!(lines, [2, 4]);
    }

    #[test]
    fn parsing_any_markup_ends() {
        for html in
            ["", "<dl>".repeat(100_000).as_str(), "</dl></dl><a href=x><a href=y><dd><dd>", "<a", "\0"]
        {
            let _ = read_rows(html);
        }
    }
}
