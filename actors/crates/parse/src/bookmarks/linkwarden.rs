//! Linkwarden's export: `{collections: [{id, name, parentId, links: [...]}]}`.

use serde::Deserialize;

use super::lenient::{OneOf, or_default};
use super::moment::moment;
use super::row::{Found, Page, Row};
use super::tree::Tree;

/// The file.
#[derive(Deserialize)]
pub struct Export {
    collections: Vec<Collection>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Collection {
    id: i64,
    name: String,
    parent_id: Option<i64>,
    #[serde(default, deserialize_with = "or_default")]
    links: Vec<OneOf<Link>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Link {
    name: Option<String>,
    url: Option<String>,
    description: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    tags: Vec<Tag>,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Tag {
    name: Option<String>,
}

/// Where Linkwarden puts what stands in no collection.
const NO_FOLDER: &str = "Unorganized";

/// Every link, by its collection.
pub fn read(export: Export) -> Vec<Row> {
    let folders = |collection: &Collection| {
        let parent = collection.parent_id.map(|id| id.to_string());
        (collection.id.to_string(), collection.name.clone(), parent)
    };
    let tree = Tree::of(export.collections.iter().map(folders));
    let links = export.collections.into_iter().flat_map(|collection| {
        let mut path = tree.path(&collection.id.to_string());
        if path.len() == 1 && path.first().is_some_and(|name| name == NO_FOLDER) {
            path.clear();
        }
        collection.links.into_iter().map(move |link| link.found(|link| found(link, path.clone())))
    });
    links.zip(1..).map(|(found, line)| Row { line, found }).collect()
}

fn found(link: Link, folders: Vec<String>) -> Found {
    let Some(url) = link.url.filter(|url| !url.is_empty()) else {
        return Found::Passed("has no address".to_owned());
    };
    let page = Page {
        url,
        title: link.name,
        tags: link.tags.into_iter().filter_map(|tag| tag.name).collect(),
        folders,
        notes: link.description.into_iter().collect(),
        saved_at: link.created_at.and_then(|at| moment(&at)),
        ..Page::default()
    };
    page.into()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn collections_within_collections_are_folders() {
        let export = json!({"collections": [
            {"id": 1, "name": "Top", "parentId": null, "links": []},
            {"id": 2, "name": "Sub", "parentId": 1, "links": [
                {"name": "One", "url": "https://a.example/1", "tags": [{"name": "a", "id": 4}], "createdAt": "2023-11-14T22:13:20.000Z"},
                {"name": "A file", "url": null}, {"name": ["odd"]},
            ]},
            {"id": 3, "name": "Unorganized", "links": [{"url": "https://a.example/2"}]},
        ]});

        let rows = read(serde_json::from_value(export).unwrap());

        let Found::Save(save) = &rows[0].found else { panic!() };
        assert_eq!(
            (save.folders.join("/"), &save.fields["savedAt"]),
            ("Top/Sub".to_owned(), &json!("2023-11-14T22:13:20Z"))
        );
        assert!(rows[1..3].iter().all(|row| matches!(row.found, Found::Passed(_))));
        assert!(matches!(&rows[3].found, Found::Save(save) if save.folders.is_empty()));
    }
}
