//! Fingerprints of what imports create. The undo of an import deletes an object only while its current fingerprint equals the one
//! that the import stored last, so this file defines what counts as a change:
//!
//! | Object | Fingerprint |
//! |---|---|
//! | bookmark | the title if the file or the user gave it (not if it came from the page), tags, notes, favourite, archived, progress, time of saving, collections, and its highlights with their words, notes and colours |
//! | collection | name, description, parent |
//! | feed | the user's title and folder, whether full texts are fetched |
//! | project | name, description, instructions, status |
//! | note of a project | title, text, pinned |
//! | decision | title, text, status, when it was decided |
//!
//! It does not matter whether the user, a program or another import made the change. What the server does on its own changes no
//! fingerprint: fetching a page, reading its text, finding the position of a highlight. Apart from the fingerprint, the undo keeps
//! objects that are in use ([`super::undo()`]).

use database::padded;
use std::collections::{BTreeMap, HashMap};

use entity::{
    bookmark, bookmark_tag, collection, collection_bookmark, decision, document, feed, highlight, note,
    project,
};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;
use values::id::{BookmarkId, CollectionId, UserId};
use values::kind::{ContentType, ImportedKind};

use crate::BATCH_ROWS;
use crate::highlights::match_key;
use errors::Error;

/// Computes the current fingerprints of objects of a kind, by their ids. An object that does not exist has none, nor does one that is
/// only part of another: an entry of a feed, an item of a project.
pub async fn compute(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, String>, Error> {
    let mut fingerprints = HashMap::new();
    for ids in ids.chunks(BATCH_ROWS) {
        let ids: Vec<Uuid> = padded(ids).collect();
        fingerprints.extend(compute_batch(txn, user, kind, &ids).await?);
    }
    Ok(fingerprints)
}

async fn compute_batch(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    ids: &[Uuid],
) -> Result<Vec<(Uuid, String)>, Error> {
    /// The rows of a table, each with the digest of what a user may change.
    macro_rules! digests {
        ($entity:ident, |$row:ident| $digest:expr) => {{
            let rows = $entity::Entity::owned_by(user);
            let rows = rows.filter($entity::Column::Id.is_in(ids.iter().copied())).all(txn).await?;
            rows.iter().map(|$row| ($row.id.0, $digest)).collect()
        }};
    }
    Ok(match kind {
        ImportedKind::Bookmark => bookmark_digests(txn, user, ids).await?,
        ImportedKind::Highlight => digests!(highlight, |row| highlight_digest(row)),
        ImportedKind::Collection => {
            digests!(collection, |row| digest(&json!([row.name, row.description, row.parent_id])))
        }
        ImportedKind::Feed => digests!(feed, |row| digest(&json!([row.title, row.folder, row.full_text]))),
        ImportedKind::Project => {
            digests!(project, |row| digest(&json!([row.name, row.description, row.instructions, row.status])))
        }
        ImportedKind::Note => digests!(note, |row| digest(&json!([row.title, row.body, row.pinned]))),
        ImportedKind::Decision => {
            digests!(decision, |row| digest(&json!([row.title, row.body, row.status, row.decided_at])))
        }
        // Deleted with their feed or project, never by themselves.
        ImportedKind::Entry | ImportedKind::Item => Vec::new(),
    })
}

/// The parts of a bookmark that other tables hold.
#[derive(Default)]
struct BookmarkParts {
    title: Option<String>,
    tags: Vec<String>,
    notes: Option<String>,
    collections: Vec<Uuid>,
    highlights: Vec<String>,
}

async fn bookmark_digests(
    txn: &impl ConnectionTrait,
    user: UserId,
    ids: &[Uuid],
) -> Result<Vec<(Uuid, String)>, Error> {
    /// Selects the rows of a table that belong to these bookmarks.
    macro_rules! rows_of {
        ($entity:ident) => {
            $entity::Entity::owned_by(user).filter($entity::Column::BookmarkId.is_in(ids.iter().copied()))
        };
    }
    /// Selects one column of those rows, besides the id of the bookmark. An import reads them for each bookmark that it creates.
    macro_rules! column_of {
        ($entity:ident, $column:ident) => {
            rows_of!($entity)
                .select_only()
                .column($entity::Column::BookmarkId)
                .column($entity::Column::$column)
        };
    }
    let mut parts: BTreeMap<BookmarkId, BookmarkParts> = BTreeMap::new();
    // A title that was not given comes with the text of the page, so it does not count as a change. The document of the notes always
    // has a given title.
    let titled = document::Entity::with_hidden(user)
        .filter(document::Column::BookmarkId.is_in(ids.iter().copied()))
        .filter(document::Column::HasUserTitle.eq(true))
        .filter(document::Column::ContentType.ne(ContentType::Note))
        .select_only()
        .column(document::Column::BookmarkId)
        .column(document::Column::Title);
    let titles: Vec<(BookmarkId, String)> = titled.into_tuple().all(txn).await?;
    for (id, title) in titles {
        parts.entry(id).or_default().title = Some(title);
    }
    let tags: Vec<(BookmarkId, String)> = column_of!(bookmark_tag, Name).into_tuple().all(txn).await?;
    for (id, name) in tags {
        parts.entry(id).or_default().tags.push(name);
    }
    let notes: Vec<(BookmarkId, String)> = column_of!(note, Body).into_tuple().all(txn).await?;
    for (id, body) in notes {
        parts.entry(id).or_default().notes = Some(body);
    }
    let filed: Vec<(BookmarkId, CollectionId)> =
        column_of!(collection_bookmark, CollectionId).into_tuple().all(txn).await?;
    for (id, collection) in filed {
        parts.entry(id).or_default().collections.push(collection.0);
    }
    for row in rows_of!(highlight).all(txn).await? {
        parts.entry(row.bookmark_id).or_default().highlights.push(highlight_digest(&row));
    }
    let saved = bookmark::Entity::visible_to(user).filter(bookmark::Column::Id.is_in(ids.iter().copied()));
    let rows = saved.all(txn).await?;
    Ok(rows
        .iter()
        .map(|row| (row.id.0, bookmark_digest(row, parts.remove(&row.id).unwrap_or_default())))
        .collect())
}

fn bookmark_digest(row: &bookmark::Model, mut parts: BookmarkParts) -> String {
    // The database returns them in any order.
    parts.tags.sort_unstable();
    parts.collections.sort_unstable();
    parts.highlights.sort_unstable();
    digest(&json!([
        parts.title,
        parts.tags,
        // Emptied notes count as no notes.
        parts.notes.filter(|notes| !notes.is_empty()),
        parts.collections,
        parts.highlights,
        row.favorite,
        row.archived,
        row.progress,
        row.saved_at,
    ]))
}

/// Computes the fingerprint of a highlight from its words, note and colour. It does not depend on the position, which changes when
/// the page is fetched again.
pub fn highlight_digest(row: &highlight::Model) -> String {
    digest(&json!([match_key(&row.text), row.note, row.color]))
}

/// The form of the JSON must not change: the stored fingerprints of earlier imports are compared with it.
fn digest(value: &Value) -> String {
    base16ct::lower::encode_string(&Sha256::digest(value.to_string().as_bytes()))
}
