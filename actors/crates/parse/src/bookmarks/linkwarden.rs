//! Linkwarden's export: `{collections: [{id, name, parentId, links: [...]}]}`.

use serde::Deserialize;

use super::folder_tree::FolderTree;
use super::lenient::{Lenient, null_as_default};
use super::row::{ForeignBookmark, Row, RowContent};
use super::time_formats::parse_time;

/// The whole file, of which other members are ignored.
#[derive(Deserialize)]
pub struct LinkwardenExport {
    collections: Vec<LinkwardenCollection>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkwardenCollection {
    id: i64,
    name: String,
    parent_id: Option<i64>,
    #[serde(default, deserialize_with = "null_as_default")]
    links: Vec<Lenient<LinkwardenLink>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LinkwardenLink {
    name: Option<String>,
    url: Option<String>,
    description: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    tags: Vec<LinkwardenTag>,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct LinkwardenTag {
    name: Option<String>,
}

/// The name of the collection that holds links without a collection.
const NO_FOLDER: &str = "Unorganized";

/// Reads every link, collection by collection.
pub fn read_rows(export: LinkwardenExport) -> Vec<Row> {
    let folders = |collection: &LinkwardenCollection| {
        let parent = collection.parent_id.map(|id| id.to_string());
        (collection.id.to_string(), collection.name.clone(), parent)
    };
    let tree = FolderTree::new(export.collections.iter().map(folders));
    let links = export.collections.into_iter().flat_map(|collection| {
        let mut path = tree.path(&collection.id.to_string());
        // Only at the top: a folder of the user may have this name further down.
        if path.len() == 1 && path.first().is_some_and(|name| name == NO_FOLDER) {
            path.clear();
        }
        collection.links.into_iter().map(move |link| link.content(|link| convert(link, path.clone())))
    });
    links.zip(1..).map(|(content, line)| Row { line, content }).collect()
}

fn convert(link: LinkwardenLink, folders: Vec<String>) -> RowContent {
    let Some(url) = link.url.filter(|url| !url.is_empty()) else {
        return RowContent::skipped_with_name("has no URL", link.name);
    };
    let page = ForeignBookmark {
        url,
        title: link.name,
        tags: link.tags.into_iter().filter_map(|tag| tag.name).collect(),
        folders,
        notes: link.description.into_iter().collect(),
        saved_at: link.created_at.and_then(|at| parse_time(&at)),
        ..ForeignBookmark::default()
    };
    page.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nested_collections_are_folders() {
        let export = json!({"collections": [
            {"id": 1, "name": "Top", "parentId": null, "links": []},
            {"id": 2, "name": "Sub", "parentId": 1, "links": [
                {"name": "One", "url": "https://a.example/1", "tags": [{"name": "a", "id": 4}], "createdAt": "2023-11-14T22:13:20.000Z"},
                {"name": "A file", "url": null}, {"name": ["odd"], "url": "https://a.example/3"},
            ]},
            {"id": 3, "name": "Unorganized", "links": [{"url": "https://a.example/2"}]},
        ]});

        let rows = read_rows(serde_json::from_value(export).unwrap());

        let RowContent::Bookmark(save) = &rows[0].content else { panic!() };
        assert_eq!(
            (save.folders.join("/"), &save.fields["savedAt"]),
            ("Top/Sub".to_owned(), &json!("2023-11-14T22:13:20Z"))
        );
        assert_eq!(rows[1].content, RowContent::skipped_with_name("has no URL", Some("A file".to_owned())));
        let odd = RowContent::skipped_with_name("cannot be read", Some("https://a.example/3".to_owned()));
        assert_eq!(rows[2].content, odd);
        assert!(matches!(&rows[3].content, RowContent::Bookmark(save) if save.folders.is_empty()));
    }
}
