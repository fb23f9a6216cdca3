//! Karakeep's export: `{bookmarks: [...], lists: [...]}`.

use serde::Deserialize;
use serde_json::Value;

use super::lenient::{OneOf, or_default};
use super::moment::moment;
use super::row::{Found, Page, Row};
use super::tree::Tree;

/// The file.
#[derive(Deserialize)]
pub struct Export {
    bookmarks: Vec<OneOf<Bookmark>>,
    // Those that were written under its first name, Hoarder, lack them.
    lists: Option<Vec<List>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bookmark {
    created_at: Option<f64>,
    title: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    lists: Vec<String>,
    content: Option<Content>,
    note: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    archived: bool,
    #[serde(default, deserialize_with = "or_default")]
    favourited: bool,
}

#[derive(Deserialize)]
struct Content {
    url: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    id: String,
    name: String,
    parent_id: Option<String>,
}

/// Every bookmark, in all of its lists.
pub fn read(export: Export) -> Vec<Row> {
    let lists = export.lists.unwrap_or_default();
    let tree = Tree::of(lists.into_iter().map(|list| (list.id, list.name, list.parent_id)));
    let row = |(bookmark, line): (OneOf<Bookmark>, u64)| Row {
        line,
        found: bookmark.found(|bookmark| found(bookmark, &tree)),
    };
    export.bookmarks.into_iter().zip(1..).map(row).collect()
}

/// Whether a file is such an export: one without lists is told from others by what its bookmarks hold.
pub fn is_one(file: &Value) -> bool {
    let bookmarks = file.get("bookmarks").and_then(Value::as_array);
    let is_kept = |one: &Value| one.get("content").is_some_and(|content| content.get("type").is_some());
    file.get("lists").is_some_and(Value::is_array)
        || bookmarks.is_some_and(|all| !all.is_empty() && all.iter().all(is_kept))
}

fn found(bookmark: Bookmark, tree: &Tree) -> Found {
    let (url, text) = bookmark.content.map(|content| (content.url, content.text)).unwrap_or_default();
    let mut lists = bookmark.lists.iter().map(|id| tree.path(id)).filter(|path| !path.is_empty());
    let page = Page {
        url: url.unwrap_or_default(),
        title: bookmark.title,
        tags: bookmark.tags,
        folders: lists.next().unwrap_or_default(),
        also: lists.collect(),
        notes: text.into_iter().chain(bookmark.note).collect(),
        saved_at: bookmark.created_at.and_then(|at| moment(&at.to_string())),
        favorite: bookmark.favourited,
        archived: bookmark.archived,
        ..Page::default()
    };
    page.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::Note;
    use super::*;

    #[test]
    fn lists_are_folders_and_texts_without_an_address_are_notes() {
        let export = json!({
            "bookmarks": [
                {"createdAt": 1_700_000_000, "title": "One", "tags": ["a"], "lists": ["2", "3"],
                 "content": {"type": "link", "url": "https://a.example/1"}, "note": "N", "archived": true},
                {"createdAt": 1_700_000_000, "tags": ["a", "b"], "lists": ["2"], "note": "N", "favourited": true,
                 "content": {"type": "text", "text": "words"}},
                {"createdAt": 1, "title": "A picture", "content": null},
                {"createdAt": 1, "title": "Odd", "tags": [1], "content": {"url": "https://a.example/2"}},
            ],
            "lists": [
                {"id": "1", "name": "Top", "parentId": null}, {"id": "2", "name": "Sub", "parentId": "1"},
                {"id": "3", "name": "Other", "icon": "x", "type": "manual"},
            ],
        });

        let rows = read(serde_json::from_value(export).unwrap());

        let Found::Save(save) = &rows[0].found else { panic!() };
        assert_eq!(
            (&save.folders[..], &save.also[..]),
            (&["Top".to_owned(), "Sub".to_owned()][..], &[vec!["Other".to_owned()]][..])
        );
        assert_eq!(
            Value::Object(save.fields.clone()),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a"], "notes": "N",
                   "savedAt": "2023-11-14T22:13:20Z", "archived": true})
        );
        let note = Note {
            title: None,
            body: "words\n\nN\n\nTags: a, b\n\nIn: Top / Sub".to_owned(),
            saved_at: Some("2023-11-14T22:13:20Z".to_owned()),
            pinned: true,
        };
        assert_eq!(rows[1].found, Found::Note(note));
        assert_eq!(rows[2].found, Found::Passed("has no address".to_owned()));
    }
}
