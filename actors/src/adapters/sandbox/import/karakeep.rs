//! Karakeep's export: `{bookmarks: [...], lists: [...]}`.

use std::collections::HashMap;

use serde::Deserialize;

use super::lenient::or_default;
use super::moment::moment;
use super::row::{Found, Page, Row};
use super::tree::Tree;

/// The file.
#[derive(Deserialize)]
pub struct Export {
    bookmarks: Vec<Bookmark>,
    lists: Vec<List>,
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
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct List {
    id: String,
    name: String,
    parent_id: Option<String>,
}

/// Every bookmark. It is in the first of its lists; the others become tags, for a folder is one place.
pub fn read(export: Export) -> Vec<Row> {
    let names: HashMap<String, String> =
        export.lists.iter().map(|list| (list.id.clone(), list.name.clone())).collect();
    let tree = Tree::of(export.lists.into_iter().map(|list| (list.id, list.name, list.parent_id)));
    let row = |(bookmark, line): (Bookmark, u64)| Row { line, found: found(bookmark, &tree, &names) };
    export.bookmarks.into_iter().zip(1..).map(row).collect()
}

fn found(bookmark: Bookmark, tree: &Tree, names: &HashMap<String, String>) -> Found {
    let Some(url) = bookmark.content.and_then(|content| content.url) else {
        return Found::Passed("has no address".to_owned());
    };
    let mut tags = bookmark.tags;
    tags.extend(bookmark.lists.iter().skip(1).filter_map(|id| names.get(id)).cloned());
    let page = Page {
        url,
        title: bookmark.title,
        tags,
        folders: bookmark.lists.first().map(|id| tree.path(id)).unwrap_or_default(),
        notes: bookmark.note.into_iter().collect(),
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

    use super::*;

    #[test]
    fn lists_are_folders_and_texts_without_an_address_are_told() {
        let export = json!({
            "bookmarks": [
                {"createdAt": 1_700_000_000, "title": "One", "tags": ["a"], "lists": ["2", "3"],
                 "content": {"type": "link", "url": "https://a.example/1"}, "note": "N", "archived": true},
                {"createdAt": 1, "content": {"type": "text", "text": "words"}},
            ],
            "lists": [
                {"id": "1", "name": "Top", "parentId": null}, {"id": "2", "name": "Sub", "parentId": "1"},
                {"id": "3", "name": "Other", "icon": "x", "type": "manual"},
            ],
        });

        let rows = read(serde_json::from_value(export).unwrap());

        let Found::Save(save) = &rows[0].found else { panic!() };
        assert_eq!(save.folders, ["Top", "Sub"]);
        assert_eq!(
            serde_json::Value::Object(save.fields.clone()),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "Other"], "notes": "N",
                   "savedAt": "2023-11-14T22:13:20Z", "archived": true})
        );
        assert!(matches!(&rows[1].found, Found::Passed(why) if why == "has no address"));
    }
}
