//! Annotations of other programs as highlights. They are placed where their words stand in the text as soon as there is one.

use database::insert_all;
use entity::id::{BookmarkId, HighlightId};
use entity::kind::ImportedKind;
use entity::time::Timestamp;
use entity::{bookmark, document, highlight};
use parse::bookmarks::Annotation;
use sea_orm::ConnectionTrait;

use super::known_highlights::KnownHighlights;
use super::take::{Became, Taking};
use errors::Error;
use crate::highlights;
use crate::bookmarks::save;

/// Characters of the note on a highlight; a longer one is cut.
const MAX_NOTE_CHARS: usize = 100_000;

impl Taking {
    /// Adds annotations to a bookmark that is locked, or is new. What is highlighted already stays as it is. Returns the highlights
    /// that were created.
    pub(super) async fn mark(
        &mut self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
        annotations: Vec<Annotation>,
        now: Timestamp,
    ) -> Result<Vec<Became>, Error> {
        if annotations.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = KnownHighlights::of(txn, self.import().user_id, id).await?;
        let mut new = Vec::new();
        for annotation in annotations {
            let row = self.highlight(id, annotation, now);
            if !known.contains(&row) {
                known.add(&row);
                new.push(row);
            }
        }
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let is_own = self.extend(txn, id).await?;
        let created = new.iter().map(|row| Became::of(ImportedKind::Highlight, row.id.0, true)).collect();
        insert_all::<highlight::Entity>(txn, new, None).await?;
        self.place_highlights(txn, id, is_own, now).await?;
        Ok(created)
    }

    fn highlight(&self, bookmark: BookmarkId, annotation: Annotation, now: Timestamp) -> highlight::Model {
        highlight::Model {
            id: HighlightId::new(now),
            user_id: self.import().user_id,
            bookmark_id: bookmark,
            text: annotation.quote,
            note: annotation.note.map(|note| text::cut(&note, MAX_NOTE_CHARS)),
            color: None,
            start_offset: 0,
            end_offset: 0,
            created_at: now,
        }
    }

    /// Places the highlights of a bookmark that has a text; without one they are placed when it arrives.
    async fn place_highlights(
        &self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
        is_own: bool,
        now: Timestamp,
    ) -> Result<(), Error> {
        let user = self.import().user_id;
        let Some(mut saved) = bookmark::Entity::one_of(user, id).one(txn).await? else { return Ok(()) };
        if !is_own {
            // Clients that keep a copy in step learn of it by the time of the change, as of a highlight of the user's.
            saved = save::touch(txn, saved, now).await?;
        }
        let document = document::Entity::one_of(user, saved.document_id).one(txn).await?;
        let Some(document) = document.filter(|document| document.version > 0) else { return Ok(()) };
        marks::follow(txn, &document, &marks::text_of(txn, &document).await?).await
    }
}
