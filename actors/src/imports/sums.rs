//! What imports make and nobody could restore, as sums: by them it is told later whether its person has changed it.

use std::collections::HashMap;

use entity::id::UserId;
use entity::kind::ImportedKind;
use entity::{collection, decision, feed, highlight, note, project, project_item};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use text::hexadecimal;
use uuid::Uuid;

use crate::error::Error;
use crate::ingest::marks::key;
use crate::ops::bookmarks::save::AT_ONCE;

/// The sums of things of a kind, as they are now. Bookmarks have none, for they can be restored, and entries none, for they
/// are their feed's.
///
/// # Errors
/// The database.
pub async fn of(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    ids: &[Uuid],
) -> Result<HashMap<Uuid, String>, Error> {
    let mut sums = HashMap::new();
    for some in ids.chunks(AT_ONCE) {
        sums.extend(of_some(txn, user, kind, some).await?);
    }
    Ok(sums)
}

async fn of_some(
    txn: &impl ConnectionTrait,
    user: UserId,
    kind: ImportedKind,
    some: &[Uuid],
) -> Result<Vec<(Uuid, String)>, Error> {
    /// The rows of a table, each with the sum of what its person may change.
    macro_rules! sums {
        ($entity:ident, |$row:ident| $sum:expr) => {{
            let rows = $entity::Entity::owned_by(user);
            let rows = rows.filter($entity::Column::Id.is_in(some.iter().copied())).all(txn).await?;
            rows.iter().map(|$row| ($row.id.0, $sum)).collect()
        }};
    }
    Ok(match kind {
        ImportedKind::Highlight => sums!(highlight, |row| of_highlight(row)),
        ImportedKind::Collection => sums!(collection, |row| sum(&json!([row.name, row.description]))),
        ImportedKind::Feed => sums!(feed, |row| sum(&json!([row.title, row.folder, row.full_text]))),
        ImportedKind::Project => {
            sums!(project, |row| sum(&json!([row.name, row.description, row.instructions, row.status])))
        }
        ImportedKind::Note => sums!(note, |row| sum(&json!([row.title, row.body, row.pinned]))),
        ImportedKind::Decision => {
            sums!(decision, |row| sum(&json!([row.title, row.body, row.status, row.decided_at])))
        }
        ImportedKind::Item => sums!(project_item, |row| sum(&json!([row.role, row.pinned]))),
        ImportedKind::Bookmark | ImportedKind::Entry => Vec::new(),
    })
}

/// The sum of what is marked, of note and colour. It stays the same when the words find their place in a text.
pub fn of_highlight(row: &highlight::Model) -> String {
    sum(&json!([key(&row.text), row.note, row.color]))
}

fn sum(said: &Value) -> String {
    hexadecimal(&Sha256::digest(said.to_string().as_bytes()))
}
