//! Fingerprints of what imports create. The undo of an import deletes a thing only while its fingerprint is still the one that the
//! import took last, so this file defines what counts as a change:
//!
//! | Thing | Fingerprint |
//! |---|---|
//! | bookmark | the title if it was given (by the file or by the user, not by the page), tags, notes, favourite, archived, progress, time of saving, collections, and its highlights with their words, notes and colours |
//! | collection | name, description, parent |
//! | feed | title and folder of the user's own, whether full texts are fetched |
//! | project | name, description, instructions, status |
//! | note of a project | title, text, pinned |
//! | decision | title, text, status, when it was decided |
//!
//! It does not matter who made the change: the user, a program, or another import. What the service does by itself changes no
//! fingerprint: fetching a page, reading its text, finding the place of a highlight. Beyond the fingerprint, a thing stays that is in
//! use ([`super::undo()`]).

use std::collections::{BTreeMap, HashMap};

use entity::id::{BookmarkId, UserId};
use entity::kind::{ContentType, ImportedKind};
use entity::{
    bookmark, bookmark_tag, collection, collection_bookmark, decision, document, feed, highlight, note,
    project,
};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use text::hexadecimal;
use uuid::Uuid;

use errors::Error;
use crate::highlights::key;
use crate::bookmarks::save::AT_ONCE;

/// Returns the current fingerprints of things of a kind, by their ids. A thing that does not exist has none, nor does one that is
/// only part of another: an entry of a feed, a place in a project.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn of(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, String>, Error> {
    let mut fingerprints = HashMap::new();
    for some in ids.chunks(AT_ONCE) {
        fingerprints.extend(of_some(txn, user, kind, some).await?);
    }
    Ok(fingerprints)
}

async fn of_some(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    some: &[Uuid],
) -> Result<Vec<(Uuid, String)>, Error> {
    /// The rows of a table, each with the digest of what a user may change.
    macro_rules! digests {
        ($entity:ident, |$row:ident| $digest:expr) => {{
            let rows = $entity::Entity::owned_by(user);
            let rows = rows.filter($entity::Column::Id.is_in(some.iter().copied())).all(txn).await?;
            rows.iter().map(|$row| ($row.id.0, $digest)).collect()
        }};
    }
    Ok(match kind {
        ImportedKind::Bookmark => of_bookmarks(txn, user, some).await?,
        ImportedKind::Highlight => digests!(highlight, |row| of_highlight(row)),
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
        ImportedKind::Entry | ImportedKind::Item => Vec::new(),
    })
}

/// What belongs to a bookmark and stands in other tables, in an order that does not depend on the database.
#[derive(Default)]
struct Parts {
    title: Option<String>,
    tags: Vec<String>,
    notes: Option<String>,
    collections: Vec<Uuid>,
    highlights: Vec<String>,
}

async fn of_bookmarks(
    txn: &impl ConnectionTrait,
    user: UserId,
    some: &[Uuid],
) -> Result<Vec<(Uuid, String)>, Error> {
    /// The rows of a table that belong to these bookmarks.
    macro_rules! rows_of {
        ($entity:ident, $owned:ident) => {
            $entity::Entity::$owned(user).filter($entity::Column::BookmarkId.is_in(some.iter().copied()))
        };
    }
    let mut parts: BTreeMap<BookmarkId, Parts> = BTreeMap::new();
    // A title that was not given comes with the text. The document of the notes always has a given one.
    let titled = rows_of!(document, of)
        .filter(document::Column::TitleGiven.eq(true))
        .filter(document::Column::ContentType.ne(ContentType::Note));
    for row in titled.all(txn).await? {
        if let Some(id) = row.bookmark_id {
            parts.entry(id).or_default().title = Some(row.title);
        }
    }
    for row in rows_of!(bookmark_tag, owned_by).all(txn).await? {
        parts.entry(row.bookmark_id).or_default().tags.push(row.name);
    }
    for row in rows_of!(note, owned_by).all(txn).await? {
        if let Some(id) = row.bookmark_id {
            parts.entry(id).or_default().notes = Some(row.body);
        }
    }
    for row in rows_of!(collection_bookmark, owned_by).all(txn).await? {
        parts.entry(row.bookmark_id).or_default().collections.push(row.collection_id.0);
    }
    for row in rows_of!(highlight, owned_by).all(txn).await? {
        parts.entry(row.bookmark_id).or_default().highlights.push(of_highlight(&row));
    }
    let saved = bookmark::Entity::owned_by(user).filter(bookmark::Column::Id.is_in(some.iter().copied()));
    let rows = saved.all(txn).await?;
    Ok(rows
        .iter()
        .map(|row| (row.id.0, of_bookmark(row, parts.remove(&row.id).unwrap_or_default())))
        .collect())
}

fn of_bookmark(row: &bookmark::Model, mut parts: Parts) -> String {
    parts.tags.sort_unstable();
    parts.collections.sort_unstable();
    parts.highlights.sort_unstable();
    digest(&json!([
        parts.title,
        parts.tags,
        // Notes that were emptied are none.
        parts.notes.filter(|notes| !notes.is_empty()),
        parts.collections,
        parts.highlights,
        row.favorite,
        row.archived,
        row.progress,
        row.saved_at,
    ]))
}

/// Returns the fingerprint of a highlight: its words, note and colour. It stays the same when the words find their place in a text.
pub fn of_highlight(row: &highlight::Model) -> String {
    digest(&json!([key(&row.text), row.note, row.color]))
}

fn digest(value: &Value) -> String {
    hexadecimal(&Sha256::digest(value.to_string().as_bytes()))
}
