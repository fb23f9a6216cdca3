//! Annotations of other programs as highlights. They are placed where their words are in the text as soon as there is one.

use database::insert_all;
use entity::{bookmark, document, highlight};
use parse::bookmarks::Annotation;
use sea_orm::ConnectionTrait;
use values::id::{BookmarkId, HighlightId};
use values::kind::{AnchorState, ImportedKind};
use values::time::Timestamp;

use super::super::limits::MAX_TEXT_CHARS;
use super::super::rows::result::RowResult;
use super::super::session::ImportSession;
use super::known_highlights::KnownHighlights;
use crate::{bookmarks, documents, highlights};
use errors::Error;

impl ImportSession {
    /// Adds annotations to a bookmark that is new or locked. Existing highlights stay as they are. Returns the results of
    /// the highlights that were created.
    pub(super) async fn add_annotations(
        &mut self,
        txn: &impl ConnectionTrait,
        id: BookmarkId,
        annotations: Vec<Annotation>,
        now: Timestamp,
    ) -> Result<Vec<RowResult>, Error> {
        if annotations.is_empty() {
            return Ok(Vec::new());
        }
        let mut known = KnownHighlights::load(txn, self.import().user_id, id).await?;
        let mut new = Vec::new();
        for annotation in annotations {
            let row = self.highlight_row(id, annotation, now);
            if !known.contains(&row) {
                // A file may have the same annotation twice.
                known.add(&row);
                new.push(row);
            }
        }
        if new.is_empty() {
            return Ok(Vec::new());
        }
        let is_own = self.record_extension(txn, id).await?;
        let created = new.iter().map(|row| RowResult::of(ImportedKind::Highlight, row.id.0, true)).collect();
        insert_all::<highlight::Entity>(txn, new, None).await?;
        documents::mark_bookmarks_unindexed(txn, self.import().user_id, &[id], now).await?;
        self.place_highlights(txn, id, is_own, now).await?;
        Ok(created)
    }

    fn highlight_row(
        &self,
        bookmark: BookmarkId,
        annotation: Annotation,
        now: Timestamp,
    ) -> highlight::Model {
        highlight::Model {
            id: HighlightId::new(now),
            user_id: self.import().user_id,
            bookmark_id: bookmark,
            text: annotation.quote,
            note: annotation.note.map(|note| text::cut(&note, MAX_TEXT_CHARS)),
            color: None,
            start_offset: 0,
            end_offset: 0,
            anchor_state: AnchorState::Exact,
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
        let Some(mut saved) = bookmark::Entity::one_visible_to(user, id).one(txn).await? else {
            return Ok(());
        };
        if !is_own {
            // Clients that synchronize a copy notice the highlights by the bookmark's time of change.
            saved = bookmarks::touch(txn, saved, now).await?;
        }
        let document = document::Entity::one_visible_to(user, saved.document_id).one(txn).await?;
        let Some(document) = document.filter(|document| document.version > 0) else { return Ok(()) };
        highlights::relocate(txn, &document, &documents::current_text(txn, &document).await?).await
    }
}
