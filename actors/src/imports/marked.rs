//! What is marked in a bookmark, and what of it imports brought.

use std::collections::{HashMap, HashSet};

use entity::id::{BookmarkId, HighlightId, UserId};
use entity::kind::ImportedKind;
use entity::{highlight, import_row};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::said::Added;
use crate::error::Error;
use crate::ingest::marks::letters;
use crate::ops::bookmarks::save::AT_ONCE;
use crate::text::hexadecimal;

/// The highlights of a bookmark.
#[derive(Debug, Default)]
pub struct Marked {
    /// By letters and note.
    noted: HashMap<(String, Option<String>), HighlightId>,
    /// By letters alone.
    said: HashMap<String, HighlightId>,
    /// By the sums of what imports said: their person may have changed it since.
    brought: HashMap<String, HighlightId>,
    /// Those that imports made.
    imported: HashSet<HighlightId>,
}

impl Marked {
    /// Those that are there.
    ///
    /// # Errors
    /// The database.
    pub async fn of(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<Self, Error> {
        let rows = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
        let rows = rows.order_by_asc(highlight::Column::Id).all(txn).await?;
        let mut all = Self::default();
        for row in &rows {
            all.add(row);
        }
        for said in said_of(txn, user, rows.iter().map(|row| row.id)).await? {
            let highlight = said.made_id.map(HighlightId);
            all.imported.extend(highlight);
            let sum = Added::read(said.detail.as_deref())?.mark;
            all.brought.extend(sum.zip(highlight));
        }
        Ok(all)
    }

    /// One more, which this import makes.
    pub fn add(&mut self, row: &highlight::Model) {
        let letters = letters_of(row);
        self.noted.entry((letters.clone(), row.note.clone())).or_insert(row.id);
        self.said.entry(letters).or_insert(row.id);
    }

    /// Whether an import made this one.
    pub fn is_imported(&self, id: HighlightId) -> bool {
        self.imported.contains(&id)
    }

    /// The highlight that says the same already, or did when an import brought it.
    pub fn find(&self, row: &highlight::Model) -> Option<HighlightId> {
        let letters = letters_of(row);
        let alone = self.said.get(&letters).filter(|_| row.note.is_none());
        self.brought
            .get(&sum(row))
            .or(alone)
            .or_else(|| self.noted.get(&(letters, row.note.clone())))
            .copied()
    }
}

/// What imports say of these highlights.
///
/// # Errors
/// The database.
pub async fn said_of(
    txn: &impl ConnectionTrait,
    user: UserId,
    highlights: impl IntoIterator<Item = HighlightId>,
) -> Result<Vec<import_row::Model>, Error> {
    let (ids, mut all): (Vec<_>, _) = (highlights.into_iter().map(|id| id.0).collect(), Vec::new());
    for some in ids.chunks(AT_ONCE) {
        let rows = import_row::Entity::owned_by(user)
            .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
            .filter(import_row::Column::MadeId.is_in(some.iter().copied()));
        all.extend(rows.all(txn).await?);
    }
    Ok(all)
}

/// The marked words, however the text is set. They stay the same when they find their place.
fn letters_of(row: &highlight::Model) -> String {
    let letters = letters(&row.text);
    if letters.is_empty() { row.text.clone() } else { letters }
}

/// A sum of what is marked, and of note and colour.
pub fn sum(row: &highlight::Model) -> String {
    let said = json!([letters_of(row), row.note, row.color]).to_string();
    hexadecimal(&Sha256::digest(said.as_bytes()))
}
