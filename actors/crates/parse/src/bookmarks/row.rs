//! The rows of a file of another program, as all formats are read.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::annotation::{self, Annotation};
use crate::archive::FileRecord;
use crate::feed::Outline;
use crate::html::MAX_NAME_CHARS;

/// The longest content of one row, in bytes. In JSON it may be six times as long.
pub const MAX_CONTENT_BYTES: usize = 16 << 20;

/// Characters of the name of a row; a longer one is cut. No URL is longer, but a cell or the first line of a note may have megabytes.
const MAX_ROW_NAME_CHARS: usize = 8_192;

/// A row of the file, or an entry of a list that has no lines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The line on which it begins, from 1; the number of the row if the format has no lines.
    pub line: u64,
    /// What is imported from it, or why it is skipped.
    pub content: RowContent,
}

impl Row {
    /// A row for a compressed file that is not read, so that the report names it.
    pub(super) fn skipped_file(name: &str) -> Self {
        let name = text::cut(&text::one_line(name), MAX_NAME_CHARS);
        Self { line: 1, content: RowContent::skipped(format!("is a file that is not supported: {name}")) }
    }

    /// Returns the line on which it begins, as the database stores it.
    pub fn line(&self) -> i64 {
        i64::try_from(self.line).unwrap_or(i64::MAX)
    }

    /// Removes NUL characters, which the databases do not accept and honest texts do not have.
    pub fn without_nul(self) -> Self {
        let content = match self.content {
            RowContent::Bookmark(mut save) => {
                save.fields.values_mut().for_each(strip);
                save.folders.iter_mut().chain(save.other_folders.iter_mut().flatten()).for_each(strip_text);
                save.annotations.iter_mut().flat_map(Annotation::texts_mut).for_each(strip_text);
                RowContent::Bookmark(save)
            }
            RowContent::Note(mut note) => {
                note.title.iter_mut().chain([&mut note.body]).for_each(strip_text);
                RowContent::Note(note)
            }
            RowContent::Feed(mut feed) => {
                [&mut feed.title, &mut feed.folder].into_iter().flatten().for_each(strip_text);
                RowContent::Feed(feed)
            }
            RowContent::Record(mut record) => {
                strip(&mut record);
                RowContent::Record(record)
            }
            RowContent::Skipped(mut skipped) => {
                skipped.name.iter_mut().chain([&mut skipped.reason]).for_each(strip_text);
                RowContent::Skipped(skipped)
            }
        };
        Self { content, ..self }
    }
}

fn strip(value: &mut Value) {
    match value {
        Value::String(text) => strip_text(text),
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(members) => members.values_mut().for_each(strip),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn strip_text(text: &mut String) {
    // A search for one byte is far faster than `retain`, and almost no text contains it.
    if text.contains('\0') {
        text.retain(|c| c != '\0');
    }
}

/// The content of a row, whatever the format of the file is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowContent {
    /// A saved page, or an upload if the archive has its file.
    Bookmark(BookmarkDraft),
    /// A text without a page, which becomes a note.
    Note(Note),
    /// A feed that the user follows.
    Feed(Outline),
    /// A line of an export of this server.
    Record(Value),
    /// A row that cannot be imported.
    Skipped(SkippedRow),
}

impl RowContent {
    /// A row that cannot be imported for this reason, and whose name is not known.
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::skipped_with_name(reason, None)
    }

    /// A row that cannot be imported for this reason, with its name in the file, which is cut to 8,192 characters.
    pub fn skipped_with_name(reason: impl Into<String>, name: Option<String>) -> Self {
        let name = name.map(|name| text::cut(&name, MAX_ROW_NAME_CHARS));
        Self::Skipped(SkippedRow { reason: reason.into(), name })
    }

    /// Returns the name of the row in the file: its title, or else its URL or its first words, cut to 8,192 characters; `None` if it has
    /// none of them.
    pub fn name(&self) -> Option<&str> {
        let name = match self {
            Self::Bookmark(draft) => draft.fields.get("title").or_else(|| draft.fields.get("url"))?.as_str(),
            Self::Note(note) => note.title.as_deref().or_else(|| note.body.lines().next()),
            Self::Feed(outline) => Some(outline.title.as_deref().unwrap_or(&outline.url)),
            Self::Record(record) => name_of_record(record),
            Self::Skipped(skipped) => skipped.name.as_deref(),
        };
        name.map(|name| text::head(name, MAX_ROW_NAME_CHARS))
    }
}

/// The title of an object or of its text, its name, its URL, or the words of a highlight: the first that a line of an export has.
fn name_of_record(record: &Value) -> Option<&str> {
    let paths = ["/title", "/text/title", "/name", "/url", "/text"];
    paths.into_iter().find_map(|path| record.pointer(path)?.as_str())
}

/// A row that cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedRow {
    /// The reason, which never repeats the content of the file.
    pub reason: String,
    /// Its name in the file: its title, or else its URL; `None` if neither could be read.
    pub name: Option<String>,
}

/// A saved page, with the fields of a new bookmark and what these cannot express.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BookmarkDraft {
    /// The fields of POST /bookmarks; they are validated like those of a request.
    pub fields: Map<String, Value>,
    /// The path of its folder, the outermost first.
    pub folders: Vec<String>,
    /// The paths of its other folders, each with the outermost first.
    #[serde(default)]
    pub other_folders: Vec<Vec<String>>,
    /// Reading progress, 0 to 1; `None` if the file does not say.
    pub progress: Option<f64>,
    /// Its highlights, at most 300; they are placed when its text is known.
    #[serde(default)]
    pub annotations: Vec<Annotation>,
    /// The page as a file of the archive, such as a PDF.
    #[serde(default)]
    pub file: Option<FileRecord>,
}

/// A saved text without a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Its title in one line; `None` if it has none.
    pub title: Option<String>,
    /// Its text, as Markdown, followed by its tags and folders, for which notes have no fields.
    pub body: String,
    /// When it was saved, as RFC 3339.
    pub saved_at: Option<String>,
    /// Whether it is a favourite in the other program.
    pub pinned: bool,
}

/// A saved page as the parsers of the formats build it.
#[derive(Clone, Debug, Default)]
pub struct ForeignBookmark {
    /// Its URL. Without one it becomes a note, if it has notes or highlights.
    pub url: String,
    /// Its title as the file has it, with any white space.
    pub title: Option<String>,
    /// Its tags as the file has them; blank ones are dropped later.
    pub tags: Vec<String>,
    /// The path of its folder, the outermost first.
    pub folders: Vec<String>,
    /// The paths of its other folders, each with the outermost first.
    pub other_folders: Vec<Vec<String>>,
    /// The user's notes; each becomes a paragraph.
    pub notes: Vec<String>,
    /// The user's highlights; without a URL they become part of the note.
    pub annotations: Vec<Annotation>,
    /// When it was saved, as RFC 3339.
    pub saved_at: Option<String>,
    /// Whether it is a favourite or starred in the other program.
    pub favorite: bool,
    /// Whether it is archived or read in the other program.
    pub archived: bool,
    /// Reading progress as the file states it; a value outside 0 to 1 is dropped later.
    pub progress: Option<f64>,
    /// The HTML of the page as the other program stored it; without it the page is fetched.
    pub html: Option<String>,
    /// The page as a file of the archive, such as a PDF.
    pub file: Option<FileRecord>,
}

impl From<ForeignBookmark> for RowContent {
    fn from(page: ForeignBookmark) -> Self {
        if page.url.trim().is_empty() { note_without_url(page) } else { RowContent::Bookmark(page.into()) }
    }
}

impl From<ForeignBookmark> for BookmarkDraft {
    fn from(page: ForeignBookmark) -> Self {
        // What cannot be a highlight is kept as a quotation in the notes.
        let (annotations, rest) = annotation::split_highlights(page.annotations);
        let notes: Vec<_> = page.notes.into_iter().chain(rest.iter().map(Annotation::to_paragraph)).collect();
        let (tags, notes) = (non_blank(&page.tags), non_blank(&notes));
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        put("url", Some(json!(page.url.trim())));
        let title = page.title.as_deref().map(text::one_line);
        // Programs use the URL where they know no title. Without one, the page's own title is taken.
        put("title", title.filter(|title| !title.is_empty() && *title != page.url).map(Value::from));
        put("tags", (!tags.is_empty()).then(|| json!(tags)));
        put("notes", (!notes.is_empty()).then(|| json!(notes.join("\n\n"))));
        put("savedAt", page.saved_at.map(Value::from));
        put("favorite", page.favorite.then_some(Value::Bool(true)));
        put("archived", page.archived.then_some(Value::Bool(true)));
        put("html", page.html.filter(|html| !html.trim().is_empty()).map(Value::from));
        let path = |names: &Vec<String>| non_blank(names).into_iter().map(str::to_owned).collect();
        let progress = page.progress.filter(|part| (0.0..=1.0).contains(part));
        let other_folders = page.other_folders.iter().map(path).collect();
        BookmarkDraft {
            fields,
            folders: path(&page.folders),
            other_folders,
            progress,
            annotations,
            file: page.file,
        }
    }
}

/// Returns the texts that are not blank, trimmed.
fn non_blank(texts: &[String]) -> Vec<&str> {
    texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect()
}

fn note_without_url(page: ForeignBookmark) -> RowContent {
    let written: Vec<_> =
        page.notes.iter().cloned().chain(page.annotations.iter().map(Annotation::to_paragraph)).collect();
    let words = non_blank(&written);
    if words.is_empty() {
        return RowContent::skipped_with_name("has no URL", page.title);
    }
    let tags = Some(non_blank(&page.tags).join(", ")).filter(|tags| !tags.is_empty());
    let folders =
        std::iter::once(&page.folders).chain(&page.other_folders).map(|path| non_blank(path).join(" / "));
    // Lines at the end keep what notes have no fields for.
    let below = tags.map(|tags| format!("Tags: {tags}")).into_iter();
    let below = below.chain(folders.filter(|path| !path.is_empty()).map(|path| format!("In: {path}")));
    let body = words.into_iter().map(str::to_owned).chain(below).collect::<Vec<_>>().join("\n\n");
    let title = page.title.as_deref().map(text::one_line).filter(|title| !title.is_empty());
    RowContent::Note(Note { title, body, saved_at: page.saved_at, pinned: page.favorite })
}

/// Splits a text with several names at `by`; blank names are dropped.
pub fn split_names(text: &str, by: char) -> Vec<String> {
    text.split(by).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_name_of_a_row_is_cut() {
        let long = "x".repeat(MAX_ROW_NAME_CHARS + 1);
        let note = Note { title: None, body: long.clone(), saved_at: None, pinned: false };

        let skipped = RowContent::skipped_with_name("has no URL", Some(long));

        assert_eq!(RowContent::Note(note).name().map(str::len), Some(MAX_ROW_NAME_CHARS));
        assert!(
            matches!(&skipped, RowContent::Skipped(SkippedRow { name: Some(name), .. }) if name.len() == MAX_ROW_NAME_CHARS)
        );
    }
}
