//! The highlights that a bookmark has, and those that imports created and the user has changed since: neither is created again.

use std::collections::HashSet;

use entity::{highlight, import_row};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{BookmarkId, UserId};
use values::kind::ImportedKind;

use super::super::fingerprint;
use super::super::rows::trace::RowTrace;
use crate::BATCH_ROWS;
use crate::highlights::match_key;
use errors::Error;

/// The highlights of a bookmark.
#[derive(Debug, Default)]
pub struct KnownHighlights {
    /// Their keys ([`match_key`]) with their notes.
    noted: HashSet<(String, Option<String>)>,
    /// Their keys without the notes.
    words: HashSet<String>,
    /// By the fingerprints that they had when an import created them.
    imported: HashSet<String>,
}

impl KnownHighlights {
    /// Loads the highlights of a bookmark.
    pub async fn load(txn: &impl ConnectionTrait, user: UserId, id: BookmarkId) -> Result<Self, Error> {
        let rows = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
        let rows = rows.all(txn).await?;
        let mut known = Self::default();
        for row in &rows {
            known.add(row);
        }
        // A highlight that the user changed has another fingerprint now, but the import of the same file must not add it again.
        for batch in rows.chunks(BATCH_ROWS) {
            let imported = import_row::Entity::owned_by(user)
                .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
                .filter(import_row::Column::ObjectId.is_in(batch.iter().map(|row| row.id.0)));
            for row in imported.all(txn).await? {
                known.imported.extend(RowTrace::parse(row.detail.as_deref()).fingerprint);
            }
        }
        Ok(known)
    }

    /// Adds a highlight that is about to be created.
    pub fn add(&mut self, row: &highlight::Model) {
        // By letters and digits: programs read a page differently, so white space and quotation marks differ.
        let words = match_key(&row.text);
        self.noted.insert((words.clone(), row.note.clone()));
        self.words.insert(words);
    }

    /// Returns whether the bookmark has a highlight with the same words and note, or had one when an import created it. If `row` has no
    /// note, only the words are compared.
    pub fn contains(&self, row: &highlight::Model) -> bool {
        let words = match_key(&row.text);
        self.imported.contains(&fingerprint::highlight_digest(row))
            || (row.note.is_none() && self.words.contains(&words))
            || self.noted.contains(&(words, row.note.clone()))
    }
}
