//! Karakeep's export: `{bookmarks: [...], lists: [...]}`.

use serde::Deserialize;
use serde_json::Value;

use super::folder_tree::FolderTree;
use super::lenient::{Lenient, null_as_default};
use super::row::{ForeignBookmark, Row, RowContent};
use super::time_formats::parse_time;

/// The whole file, of which other members are ignored.
#[derive(Deserialize)]
pub struct KarakeepExport {
    bookmarks: Vec<Lenient<KarakeepBookmark>>,
    // Those that were written under its first name, Hoarder, lack them.
    lists: Option<Vec<KarakeepList>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KarakeepBookmark {
    created_at: Option<f64>,
    title: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    tags: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    lists: Vec<String>,
    content: Option<KarakeepContent>,
    note: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    archived: bool,
    #[serde(default, deserialize_with = "null_as_default")]
    favourited: bool,
}

#[derive(Deserialize)]
struct KarakeepContent {
    url: Option<String>,
    text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KarakeepList {
    id: String,
    name: String,
    parent_id: Option<String>,
}

/// Reads every bookmark, with all of its lists.
pub fn read_rows(export: KarakeepExport) -> Vec<Row> {
    let lists = export.lists.unwrap_or_default();
    let tree = FolderTree::new(lists.into_iter().map(|list| (list.id, list.name, list.parent_id)));
    let row = |(bookmark, line): (Lenient<KarakeepBookmark>, u64)| Row {
        line,
        content: bookmark.content(|bookmark| convert(bookmark, &tree)),
    };
    export.bookmarks.into_iter().zip(1..).map(row).collect()
}

/// Returns whether a file is such an export. One without lists is recognised by the content of its bookmarks.
pub fn is_karakeep(file: &Value) -> bool {
    let bookmarks = file.get("bookmarks").and_then(Value::as_array);
    let is_kept = |one: &Value| one.get("content").is_some_and(|content| content.get("type").is_some());
    file.get("lists").is_some_and(Value::is_array)
        || bookmarks.is_some_and(|all| !all.is_empty() && all.iter().all(is_kept))
}

fn convert(bookmark: KarakeepBookmark, tree: &FolderTree) -> RowContent {
    let (url, text) = bookmark.content.map(|content| (content.url, content.text)).unwrap_or_default();
    let mut lists = bookmark.lists.iter().map(|id| tree.path(id)).filter(|path| !path.is_empty());
    let page = ForeignBookmark {
        // Texts and pictures have no URL. With notes they become notes, otherwise they are skipped.
        url: url.unwrap_or_default(),
        title: bookmark.title,
        tags: bookmark.tags,
        folders: lists.next().unwrap_or_default(),
        other_folders: lists.collect(),
        notes: text.into_iter().chain(bookmark.note).collect(),
        saved_at: bookmark.created_at.and_then(|at| parse_time(&at.to_string())),
        favorite: bookmark.favourited,
        archived: bookmark.archived,
        ..ForeignBookmark::default()
    };
    page.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::Note;
    use super::*;

    #[test]
    fn lists_are_folders_and_texts_without_urls_are_notes() {
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

        let rows = read_rows(serde_json::from_value(export).unwrap());

        let RowContent::Bookmark(save) = &rows[0].content else { panic!() };
        assert_eq!(
            (&save.folders[..], &save.other_folders[..]),
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
        assert_eq!(rows[1].content, RowContent::Note(note));
        let skipped = |reason: &str, name: &str| RowContent::skipped_with_name(reason, Some(name.to_owned()));
        assert_eq!(rows[2].content, skipped("has no URL", "A picture"));
        assert_eq!(rows[3].content, skipped("cannot be read", "Odd"));
    }
}
