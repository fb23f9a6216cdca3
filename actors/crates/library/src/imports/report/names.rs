//! The names under which the rows of an import are shown: titles, or URLs where there is no title.
//!
//! The name of an object that a row created or found is looked up, so that it is the current one and disappears with the object. A
//! dry run creates nothing: its rows keep the name in the file.

use std::collections::HashMap;

use entity::id::{ImportRowId, UserId};
use entity::import_row::Model;
use entity::kind::{ContentType, ImportedKind, RowOutcome};
use entity::{collection, decision, document, entry, feed, highlight, import, note, project};
use parse::bookmarks::RowContent;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, Select};
use serde_json::Value;
use uuid::Uuid;

use crate::BATCH_ROWS;
use errors::Error;

/// Characters of a shown name; a longer one is cut.
const MAX_SHOWN_CHARS: usize = 200;

/// Loads the names of rows of an import. Skipped rows, and rows whose object was deleted, have none.
///
/// # Errors
/// What [`DbErr`] converts to when the database fails.
pub async fn load_row_names(
    db: &impl ConnectionTrait,
    import: &import::Model,
    rows: &[Model],
) -> Result<HashMap<ImportRowId, String>, Error> {
    if import.dry_run {
        let shown = rows.iter().filter(|row| row.outcome != RowOutcome::Skipped);
        return Ok(shown.filter_map(|row| Some((row.id, row.detail.clone()?))).collect());
    }
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
    Ok(rows.iter().filter_map(name).collect())
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

/// Returns the name of a row in the file, cut; `None` for a row that cannot be imported.
pub fn name_in_file(content: &RowContent) -> Option<String> {
    let name = match content {
        RowContent::Bookmark(save) => {
            save.fields.get("title").or_else(|| save.fields.get("url"))?.as_str()?
        }
        RowContent::Note(note) => note.title.as_deref().or_else(|| note.body.lines().next())?,
        RowContent::Feed(outline) => outline.title.as_deref().unwrap_or(&outline.url),
        RowContent::Record(record) => name_of_record(record)?,
        RowContent::Skipped(_) => return None,
    };
    Some(text::cut(&text::one_line(name), MAX_SHOWN_CHARS)).filter(|name| !name.is_empty())
}

/// The title of an object or of its text, its name, its URL, or the words of a highlight: the first that a line of an export has.
fn name_of_record(record: &Value) -> Option<&str> {
    let paths = ["/title", "/text/title", "/name", "/url", "/text"];
    paths.into_iter().find_map(|path| record.pointer(path)?.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
    }
}
