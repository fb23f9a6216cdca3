//! What was marked in saved pages: highlights, placed where the words stand in the text as soon as there is one.

use database::insert_all;
use entity::id::{BookmarkId, HighlightId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, document, highlight};
use parse::bookmarks::Annotation;
use sea_orm::ConnectionTrait;

use super::known_highlights::KnownHighlights;
use super::said::Added;
use super::sums;
use super::take::{Became, Taking};
use crate::error::Error;
use crate::ingest::marks;

/// Characters of what is written beside marked words.
const NOTE: usize = 100_000;

impl Taking {
    /// Marks words in a bookmark that is held, or is new. What is marked already stays as it is. The highlights that go
    /// when every import that said them was taken back.
    pub(super) async fn mark(
        &self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
        marks: Vec<Annotation>,
        now: Timestamp,
    ) -> Result<Vec<Became>, Error> {
        if marks.is_empty() {
            return Ok(Vec::new());
        }
        let mut there = KnownHighlights::of(txn, self.import().user_id, id).await?;
        let (mut own, mut new) = (Vec::new(), Vec::new());
        for mark in marks {
            let row = self.highlight(id, mark, now);
            match there.find(&row) {
                Some(found) if there.is_imported(found) => {
                    let said = Added::said(sums::of_highlight(&row));
                    own.push(Became::Updated(ImportedKind::Highlight, found.0, said));
                }
                Some(_) => {}
                None => {
                    own.push(Became::of(ImportedKind::Highlight, row.id.0, true));
                    there.add(&row);
                    new.push(row);
                }
            }
        }
        if !new.is_empty() {
            insert_all::<highlight::Entity>(txn, new, None).await?;
            self.placed(txn, id).await?;
        }
        Ok(own)
    }

    fn highlight(&self, bookmark: BookmarkId, mark: Annotation, now: Timestamp) -> highlight::Model {
        highlight::Model {
            id: HighlightId::new(now),
            user_id: self.import().user_id,
            bookmark_id: bookmark,
            text: mark.quote,
            note: mark.note.map(|note| text::cut(&note, NOTE)),
            color: None,
            start_offset: 0,
            end_offset: 0,
            created_at: now,
        }
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
