//! The names under which the rows of an import are shown: titles, or URLs where there is no title.
//!
//! The name of an object that a row created or found is looked up, so that it is the current one and disappears with the object.
//! Skipped rows and rows of a dry run have no object: they keep the name in the file.

use std::collections::HashMap;

use entity::import_row::Model;
use entity::{collection, decision, document, entry, feed, highlight, import, note, project};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};
use uuid::Uuid;
use values::id::{ImportRowId, UserId};
use values::kind::{ContentType, ImportedKind};

use super::super::bookmark_rows::fields::without_credentials;
use crate::BATCH_ROWS;
use errors::Error;

/// Characters of a shown name; a longer one is cut.
const MAX_SHOWN_CHARS: usize = 200;

/// Loads the names of rows of an import. Rows whose object was deleted have none.
pub async fn load_row_names(
    db: &impl ConnectionTrait,
    import: &import::Model,
    rows: &[Model],
) -> Result<HashMap<ImportRowId, String>, Error> {
    let stored = rows.iter().filter_map(|row| Some((row.id, row.name.clone()?)));
    let mut ids: HashMap<ImportedKind, Vec<Uuid>> = HashMap::new();
    for (kind, id) in rows.iter().filter_map(|row| row.kind.zip(row.object_id)) {
        ids.entry(kind).or_default().push(id);
    }
    let mut names = HashMap::new();
    for (kind, ids) in ids {
        for batch in ids.chunks(BATCH_ROWS) {
            names.extend(load_names(db, import.user_id, kind, batch.to_vec()).await?);
        }
    }
    let name = |row: &Model| Some((row.id, text::cut(names.get(&row.object_id?)?, MAX_SHOWN_CHARS)));
    Ok(stored.chain(rows.iter().filter_map(name)).collect())
}

/// Loads the names of objects of a kind, by their ids. An item of a project has no name.
async fn load_names(
    db: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    ids: Vec<Uuid>,
) -> Result<Vec<(Uuid, String)>, DbErr> {
    match kind {
        ImportedKind::Bookmark => {
            use document::Column::{BookmarkId, ContentType as Type, Title};
            // A note on a bookmark is a document of it too.
            let texts = document::Entity::visible_to(user).filter(Type.ne(ContentType::Note));
            select_names(db, texts, (BookmarkId, Title), ids).await
        }
        ImportedKind::Collection => {
            use collection::Column::{Id, Name};
            select_names(db, collection::Entity::owned_by(user), (Id, Name), ids).await
        }
        ImportedKind::Feed => {
            use feed::Column::{Id, Url};
            select_names(db, feed::Entity::owned_by(user), (Id, Url), ids).await
        }
        ImportedKind::Entry => {
            use entry::Column::{Id, Title};
            select_names(db, entry::Entity::owned_by(user), (Id, Title), ids).await
        }
        ImportedKind::Highlight => {
            use highlight::Column::{Id, Text};
            select_names(db, highlight::Entity::owned_by(user), (Id, Text), ids).await
        }
        ImportedKind::Project => {
            use project::Column::{Id, Name};
            select_names(db, project::Entity::owned_by(user), (Id, Name), ids).await
        }
        ImportedKind::Decision => {
            use decision::Column::{Id, Title};
            select_names(db, decision::Entity::owned_by(user), (Id, Title), ids).await
        }
        ImportedKind::Note => {
            use note::Column::{Id, Title};
            select_names(db, note::Entity::owned_by(user), (Id, Title), ids).await
        }
        ImportedKind::Item => Ok(Vec::new()),
    }
}

/// Selects two columns rather than rows: a document or a highlight may have a long text.
async fn select_names<E: EntityTrait>(
    db: &impl ConnectionTrait,
    objects: Select<E>,
    (id, name): (E::Column, E::Column),
    ids: Vec<Uuid>,
) -> Result<Vec<(Uuid, String)>, DbErr> {
    objects.filter(id.is_in(ids)).select_only().column(id).column(name).into_tuple().all(db).await
}

/// Returns the name that a row has in the file as it is shown: on one line, without the credentials of URLs, and cut; `None` if nothing
/// is left.
pub fn shown_name(name: &str) -> Option<String> {
    // Before the cut: without its host, no credentials would be found.
    let name = without_credentials(&text::one_line(name));
    Some(text::cut(&name, MAX_SHOWN_CHARS)).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use parse::bookmarks::RowContent;
    use serde_json::{Value, json};

    use super::*;

    fn name_in_file(content: &RowContent) -> Option<String> {
        content.name().and_then(shown_name)
    }

    #[test]
    fn rows_of_exports_are_named_by_title_name_or_url() {
        let named = |record: Value| name_in_file(&RowContent::Record(record));

        assert_eq!(named(json!({ "kind": "project", "name": "A book" })).as_deref(), Some("A book"));
        assert_eq!(
            named(json!({ "kind": "bookmark", "url": "https://a.example/", "text": { "title": "Herons" } }))
                .as_deref(),
            Some("Herons")
        );
        assert_eq!(
            named(json!({ "kind": "feed", "url": "https://a.example/feed", "title": null })).as_deref(),
            Some("https://a.example/feed")
        );
        assert_eq!(
            named(json!({ "kind": "highlight", "text": "in\nthe reeds" })).as_deref(),
            Some("in the reeds")
        );
        assert_eq!(named(json!({ "kind": "item", "role": "source" })), None);
        assert_eq!(
            named(json!({ "kind": "feed", "url": "ftp://me:secret@a.example/feed" })).as_deref(),
            Some("ftp://a.example/feed")
        );
    }

    #[test]
    fn skipped_row_has_the_name_that_its_parser_read() {
        let named =
            |name: &str| name_in_file(&RowContent::skipped_with_name("has no URL", Some(name.to_owned())));

        assert_eq!(named("A\nbook").as_deref(), Some("A book"));
        assert_eq!(named("https://me:secret@a.example/").as_deref(), Some("https://a.example/"));
        assert_eq!(named("Mine: https://me:secret@a.example/").as_deref(), Some("Mine: https://a.example/"));
        assert_eq!(named(" "), None);
        assert_eq!(name_in_file(&RowContent::skipped("has no URL")), None);
    }
}
