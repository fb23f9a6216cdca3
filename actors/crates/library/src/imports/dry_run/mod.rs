//! A dry run: what would become of each row. Nothing is created.

mod records;

use parse::bookmarks::{BookmarkDraft, RowContent};
use parse::feed::Outline;
use sea_orm::ConnectionTrait;
use uuid::Uuid;
use values::kind::ImportedKind;
use web::PageUrl;

use super::bookmark_rows::fields::{self, URL_NOT_FETCHABLE};
use super::bookmark_rows::upload;
use super::reading::{RowInput, archive_file};
use super::rows::result::{ProcessedRow, RowResult};
use super::session::ImportSession;
use crate::{bookmarks, feeds};
use errors::Error;

impl ImportSession {
    /// Previews the rows of a batch. The session remembers what later rows repeat.
    pub(super) async fn preview_batch(
        &mut self,
        db: &impl ConnectionTrait,
        batch: Vec<RowInput>,
    ) -> Result<Vec<ProcessedRow>, Error> {
        let mut processed = Vec::with_capacity(batch.len());
        for input in batch {
            let (line, source) = (input.row.line(), input.source_id());
            let name = input.row.content.name().map(str::to_owned);
            let result = match input.row.content {
                RowContent::Bookmark(draft) => self.preview_page(db, draft).await?,
                RowContent::Note(note) => self.preview_note(db, note).await?,
                RowContent::Feed(outline) => self.preview_feed(db, &outline).await?,
                RowContent::Record(value) => records::preview(self, db, value).await?,
                RowContent::Skipped(skipped) => RowResult::Skipped(skipped.reason),
            };
            self.record_source(source, &result);
            processed.push(ProcessedRow { line, source, name, result, side_results: Vec::new() });
        }
        Ok(processed)
    }

    async fn preview_page(
        &mut self,
        db: &impl ConnectionTrait,
        mut draft: BookmarkDraft,
    ) -> Result<RowResult, Error> {
        if let Some(file) = draft.file.take()
            && let Some(sha256) = &file.sha256
            && archive_file::check_limits(self.context(), self.import(), &file, self.previewed_bytes)
                .await?
                .is_none()
        {
            return self.preview_upload(db, draft, sha256, file.bytes).await;
        }
        let new = match fields::read_bookmark(draft.fields, &self.context().guard) {
            Ok(new) => new,
            Err(reason) => return Ok(RowResult::Skipped(reason)),
        };
        // The first row of a URL would create the bookmark, and the following ones would find it.
        let key = PageUrl::parse(&new.url)?.key();
        let existing = bookmarks::find_by_url(db, self.import().user_id, &key).await?;
        let id = existing.as_ref().map_or(Uuid::nil(), |row| row.id.0);
        Ok(RowResult::of(ImportedKind::Bookmark, id, existing.is_none() && self.record_seen(key)))
    }

    async fn preview_upload(
        &mut self,
        db: &impl ConnectionTrait,
        draft: BookmarkDraft,
        sha256: &str,
        bytes: u64,
    ) -> Result<RowResult, Error> {
        if let Err(reason) = fields::read_unfetched(draft.fields) {
            return Ok(RowResult::Skipped(reason));
        }
        let Some(existing) = upload::find_same_file(self, db, sha256).await? else {
            self.previewed_bytes += bytes;
            return Ok(RowResult::of(ImportedKind::Bookmark, Uuid::nil(), true));
        };
        let result = RowResult::of(ImportedKind::Bookmark, existing.id.0, false);
        self.claim(&result);
        Ok(result)
    }

    async fn preview_feed(
        &mut self,
        db: &impl ConnectionTrait,
        outline: &Outline,
    ) -> Result<RowResult, Error> {
        let Some(url) = feeds::followable_url(&outline.url, &self.context().guard) else {
            return Ok(RowResult::Skipped(fields::refused_url_reason(URL_NOT_FETCHABLE, None, &outline.url)));
        };
        let existing = feeds::find_followed(db, self.import().user_id, &url).await?;
        let is_new = existing.is_none() && self.record_seen(url.normalized());
        Ok(RowResult::of(ImportedKind::Feed, Uuid::nil(), is_new))
    }
}
