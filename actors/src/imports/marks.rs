//! What was marked in saved pages: highlights, placed where the words stand in the text as soon as there is one.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use entity::id::{BookmarkId, HighlightId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, document, highlight, import_row};
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QuerySelect};
use uuid::Uuid;

use super::take::Taking;
use crate::adapters::sandbox::import::Mark;
use crate::db::insert_all;
use crate::error::Error;
use crate::ingest::marks::{self, letters};
use crate::ops::bookmarks::save::AT_ONCE;
use crate::text;

/// Characters of what is written beside marked words.
const NOTE: usize = 100_000;

impl Taking {
    /// Marks words in a bookmark that is held, or is new. What is marked already stays as it is. The highlights that go
    /// when every import that said them was taken back.
    pub(super) async fn mark(
        &self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
        marked: Vec<Mark>,
        now: Timestamp,
    ) -> Result<Vec<HighlightId>, Error> {
        if marked.is_empty() {
            return Ok(Vec::new());
        }
        let user = self.import().user_id;
        let there = highlight::Entity::owned_by(user).filter(highlight::Column::BookmarkId.eq(id));
        let mut known: HashMap<_, _> =
            there.all(txn).await?.into_iter().map(|row| (what(&row), row.id)).collect();
        let (mut again, mut new) = (HashSet::new(), Vec::new());
        for mark in marked {
            let row = self.highlight(id, mark, now);
            match known.entry(what(&row)) {
                Entry::Occupied(there) => {
                    again.insert(there.get().0);
                }
                Entry::Vacant(free) => {
                    free.insert(row.id);
                    new.push(row);
                }
            }
        }
        let mut own = self.brought(txn, again).await?;
        own.extend(new.iter().map(|row| row.id));
        if !new.is_empty() {
            insert_all::<highlight::Entity>(txn, new, None).await?;
            self.placed(txn, id).await?;
        }
        Ok(own)
    }

    fn highlight(&self, bookmark: BookmarkId, mark: Mark, now: Timestamp) -> highlight::Model {
        highlight::Model {
            id: HighlightId::new(now),
            user_id: self.import().user_id,
            bookmark_id: bookmark,
            text: mark.words,
            note: mark.note.map(|note| text::cut(&note, NOTE)),
            color: None,
            start_offset: 0,
            end_offset: 0,
            created_at: now,
        }
    }

    /// Those of these highlights that imports made.
    async fn brought(
        &self,
        txn: &impl ConnectionTrait,
        known: HashSet<Uuid>,
    ) -> Result<Vec<HighlightId>, Error> {
        let mut brought = HashSet::new();
        for some in known.into_iter().collect::<Vec<_>>().chunks(AT_ONCE) {
            let made = import_row::Entity::owned_by(self.import().user_id)
                .filter(import_row::Column::Kind.eq(ImportedKind::Highlight))
                .filter(import_row::Column::MadeId.is_in(some.iter().copied()))
                .select_only()
                .column(import_row::Column::MadeId);
            brought.extend(made.into_tuple::<Uuid>().all(txn).await?);
        }
        Ok(brought.into_iter().map(HighlightId).collect())
    }

    /// Places the highlights of a bookmark that has a text; of the others the text does when it comes.
    async fn placed(&self, txn: &impl ConnectionTrait, id: BookmarkId) -> Result<(), Error> {
        let user = self.import().user_id;
        let Some(saved) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(()) };
        let document = document::Entity::one_of(user, saved.document_id).one(txn).await?;
        let Some(document) = document.filter(|document| document.version > 0) else { return Ok(()) };
        marks::follow(txn, &document, &marks::text_of(txn, &document).await?).await
    }
}

/// What is marked, however its text is set, and what is written beside it.
fn what(row: &highlight::Model) -> (String, Option<String>) {
    let letters = letters(&row.text);
    (if letters.is_empty() { row.text.clone() } else { letters }, row.note.clone())
}
