//! What a file of another program holds, row by row, in the one shape that every format is read into.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::mark::{self, Mark};
use crate::archive::File;
use crate::feed::Outline;

/// A row of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Where it begins, from 1: the line of a text, or the number of the row where the file has no lines.
    pub line: u64,
    /// What it is.
    pub found: Found,
}

impl Row {
    /// Where it begins, as the database counts.
    pub fn line(&self) -> i64 {
        i64::try_from(self.line).unwrap_or(i64::MAX)
    }

    /// Without the character NUL, which no database of ours takes and no honest text holds.
    pub fn without_nul(self) -> Self {
        let found = match self.found {
            Found::Save(mut save) => {
                save.fields.values_mut().for_each(strip);
                save.folders.iter_mut().chain(save.also.iter_mut().flatten()).for_each(strip_text);
                save.marked.iter_mut().flat_map(Mark::texts).for_each(strip_text);
                Found::Save(save)
            }
            Found::Note(mut note) => {
                note.title.iter_mut().chain([&mut note.body]).for_each(strip_text);
                Found::Note(note)
            }
            Found::Feed(mut feed) => {
                [&mut feed.title, &mut feed.folder].into_iter().flatten().for_each(strip_text);
                Found::Feed(feed)
            }
            Found::Record(mut record) => {
                strip(&mut record);
                Found::Record(record)
            }
            Found::Passed(why) => Found::Passed(why),
        };
        Self { found, ..self }
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
    if text.contains('\0') {
        text.retain(|c| c != '\0');
    }
}

/// What a row is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// A page that was saved.
    Save(Save),
    /// A text without a page.
    Note(Note),
    /// A feed that was followed.
    Feed(Outline),
    /// A line of an export of this service.
    Record(Value),
    /// Nothing that can be taken, and why. It never repeats what stands in the file.
    Passed(String),
}

/// A saved page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Save {
    /// The fields of POST /bookmarks.
    pub fields: Map<String, Value>,
    /// The folders that it stands in, the outermost first.
    pub folders: Vec<String>,
    /// Other folders that it stands in too, each in the same way.
    #[serde(default)]
    pub also: Vec<Vec<String>>,
    /// How far it was read, 0 to 1.
    pub progress: Option<f64>,
    /// What was marked in it.
    #[serde(default)]
    pub marked: Vec<Mark>,
    /// The page itself, as a file of the archive.
    #[serde(default)]
    pub file: Option<File>,
}

/// A text that was kept without a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Note {
    /// Its title.
    pub title: Option<String>,
    /// Its words, as Markdown; tags and folders, for which notes have no place, stand below them.
    pub body: String,
    /// When it was saved, as RFC 3339.
    pub saved_at: Option<String>,
    /// Marked as a favourite.
    pub pinned: bool,
}

/// A saved page as the formats tell of it.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Its address; one without is a note, where something was written or marked.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// The folders that it stands in, the outermost first.
    pub folders: Vec<String>,
    /// Other folders that it stands in too, each in the same way.
    pub also: Vec<Vec<String>>,
    /// What the person wrote; each becomes a paragraph of the notes.
    pub notes: Vec<String>,
    /// What the person marked; of a page without an address it is in the note.
    pub marked: Vec<Mark>,
    /// When it was saved, as RFC 3339.
    pub saved_at: Option<String>,
    /// Marked as a favourite.
    pub favorite: bool,
    /// Put away.
    pub archived: bool,
    /// How far it was read, 0 to 1.
    pub progress: Option<f64>,
    /// The page itself.
    pub html: Option<String>,
    /// The same as a file of the archive.
    pub file: Option<File>,
}

impl From<Page> for Found {
    fn from(page: Page) -> Self {
        if page.url.trim().is_empty() { without_address(page) } else { Found::Save(page.into()) }
    }
}

impl From<Page> for Save {
    fn from(page: Page) -> Self {
        let (marked, rest) = mark::for_highlights(page.marked);
        let notes: Vec<_> = page.notes.into_iter().chain(rest.iter().map(Mark::paragraph)).collect();
        let (tags, notes) = (filled(&page.tags), filled(&notes));
        let mut fields = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                fields.insert(name.to_owned(), value);
            }
        };
        put("url", Some(json!(page.url.trim())));
        let title = page.title.as_deref().map(text::one_line);
        put("title", title.filter(|title| !title.is_empty() && *title != page.url).map(Value::from));
        put("tags", (!tags.is_empty()).then(|| json!(tags)));
        put("notes", (!notes.is_empty()).then(|| json!(notes.join("\n\n"))));
        put("savedAt", page.saved_at.map(Value::from));
        put("favorite", page.favorite.then_some(Value::Bool(true)));
        put("archived", page.archived.then_some(Value::Bool(true)));
        put("html", page.html.filter(|html| !html.trim().is_empty()).map(Value::from));
        let path = |names: &Vec<String>| filled(names).into_iter().map(str::to_owned).collect();
        let progress = page.progress.filter(|part| (0.0..=1.0).contains(part));
        let also = page.also.iter().map(path).collect();
        Save { fields, folders: path(&page.folders), also, progress, marked, file: page.file }
    }
}

/// Those in which something stands.
fn filled(texts: &[String]) -> Vec<&str> {
    texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()).collect()
}

fn without_address(page: Page) -> Found {
    let written: Vec<_> = page.notes.iter().cloned().chain(page.marked.iter().map(Mark::paragraph)).collect();
    let words = filled(&written);
    if words.is_empty() {
        return Found::Passed("has no address".to_owned());
    }
    let tags = Some(filled(&page.tags).join(", ")).filter(|tags| !tags.is_empty());
    let folders = std::iter::once(&page.folders).chain(&page.also).map(|path| filled(path).join(" / "));
    let below = tags.map(|tags| format!("Tags: {tags}")).into_iter();
    let below = below.chain(folders.filter(|path| !path.is_empty()).map(|path| format!("In: {path}")));
    let body = words.into_iter().map(str::to_owned).chain(below).collect::<Vec<_>>().join("\n\n");
    let title = page.title.as_deref().map(text::one_line).filter(|title| !title.is_empty());
    Found::Note(Note { title, body, saved_at: page.saved_at, pinned: page.favorite })
}

/// Names that stand in one text, parted by this.
pub fn split(text: &str, by: char) -> Vec<String> {
    text.split(by).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}
