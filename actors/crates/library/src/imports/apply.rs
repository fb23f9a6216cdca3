//! Applies the rows of a batch in one transaction, and records the outcome of each.

use std::collections::HashMap;

use database::insert_all;
use entity::import::{self, Column};
use entity::import_row;
use parse::bookmarks::RowContent;
use parse::feed::Outline;
use sandbox::import::ImportReader;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use uuid::Uuid;
use values::id::ImportRowId;
use values::kind::{ImportState, ImportedKind, RowOutcome};
use values::time::Timestamp;

use super::bookmark_rows::PageRow;
use super::bookmark_rows::fields::{self, URL_NOT_FETCHABLE};
use super::reading::{self, ReadError, RowInput};
use super::report::shown_name;
use super::rows::faults::{self, RowFaults};
use super::rows::result::{ProcessedRow, RowResult};
use super::rows::trace::RowTrace;
use super::session::ImportSession;
use super::{fingerprint, restore};
use crate::feeds;
use errors::Error;

/// Numbers of rows by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RowTally {
    created: i32,
    updated: i32,
    skipped: i32,
}

impl RowTally {
    fn count(&mut self, result: &RowResult) {
        match result {
            RowResult::Created(..) => self.created += 1,
            RowResult::Updated(..) => self.updated += 1,
            RowResult::Skipped(_) | RowResult::OverPlan(_) => self.skipped += 1,
        }
    }
}

impl ImportSession {
    /// Moves the reader to the first row that is not done. A dry run previews the rows before it again, because it does not
    /// store what it has seen.
    ///
    /// # Errors
    /// [`ReadError::Sandbox`] when the file cannot be read any further; [`ReadError::Internal`] when the database fails.
    pub async fn skip_done_rows(&mut self, reader: &mut ImportReader) -> Result<(), ReadError> {
        let mut left = u64::try_from(self.import.done).unwrap_or_default();
        if !self.import.is_dry_run {
            return Ok(reader.skip_rows(left).await?);
        }
        while left > 0 {
            let rows = reader.next_rows(usize::try_from(left).unwrap_or(usize::MAX)).await?;
            let batch = reading::add_files(self.context(), self.import(), reader, rows).await?;
            if batch.is_empty() {
                break;
            }
            left = left.saturating_sub(batch.len() as u64);
            let db = self.context().core.db.clone();
            self.preview_batch(db.read(), batch).await?;
        }
        Ok(())
    }

    /// Applies a batch of rows, or previews it in a dry run. Unless it is a dry run, the caller's transaction holds the lock of the
    /// library. After an error the session must be dropped.
    pub async fn apply(&mut self, txn: &impl ConnectionTrait, batch: Vec<RowInput>) -> Result<(), Error> {
        let now = self.context().core.clock.now();
        let (mut rows, mut tally, count) = (Vec::new(), RowTally::default(), batch.len());
        self.begin_batch();
        let mut processed = if self.import.is_dry_run {
            self.preview_batch(txn, batch).await?
        } else {
            self.apply_rows(txn, batch, now).await?
        };
        // At the end of the batch, so that what its later rows add to its objects is part of their fingerprints.
        let fingerprints = self.compute_fingerprints(txn, &processed).await?;
        self.renew_fingerprints(txn).await?;
        // In the order of the file, so that consecutive faults are consecutive here too.
        processed.sort_by_key(|row| row.line);
        let last_line = processed.last().map_or(0, |row| row.line);
        let mut faults = RowFaults::from_import(&self.import)?;
        for ProcessedRow { line, source, name, result, side_results } in processed {
            tally.count(&result);
            let is_listed = match &result {
                RowResult::Created(..) | RowResult::Updated(..) => {
                    faults.record_good();
                    true
                }
                RowResult::Skipped(reason) => faults.record_faulty(reason),
                RowResult::OverPlan(reason) => faults.record_refused(reason),
            };
            for result in side_results {
                // Stored even if the row itself is not listed: the undo needs everything that the import created.
                let row = self.import_row((line, None), None, result.with_fingerprint(&fingerprints), now);
                rows.push(import_row::Model { outcome: RowOutcome::Incidental, ..row });
            }
            if is_listed {
                let result = result.with_fingerprint(&fingerprints);
                rows.push(self.import_row((line, source), name, result, now));
            }
        }
        insert_all::<import_row::Entity>(txn, rows, None).await?;
        // In the transaction of the batch: after a crash the import continues with the first row that left nothing behind.
        self.record_progress(txn, count, tally, &faults).await?;
        if faults.is_run_too_long() { self.stop(txn, last_line, now).await } else { Ok(()) }
    }

    /// Returns whether a run of faults ended the import. It continues only when the user resumes it.
    pub fn is_stopped(&self) -> bool {
        self.import.state == ImportState::Failed
    }

    /// Ends the import after a run of faults. Once resumed, it counts a new run.
    async fn stop(&mut self, txn: &impl ConnectionTrait, line: i64, now: Timestamp) -> Result<(), Error> {
        let reason = faults::stop_reason(line);
        import::Entity::update_owned(self.import.user_id)
            .col_expr(Column::State, Expr::value(ImportState::Failed))
            .col_expr(Column::Error, Expr::value(Some(reason.clone())))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .col_expr(Column::FaultsInARow, Expr::value(0))
            .filter(Column::Id.eq(self.import.id))
            .exec(txn)
            .await?;
        self.import.state = ImportState::Failed;
        self.import.error = Some(reason);
        self.import.finished_at = Some(now);
        self.import.faults_in_a_row = 0;
        Ok(())
    }

    /// Marks the import as finished, or the dry run as done. Returns the import's row.
    pub async fn finish(self, db: &impl ConnectionTrait) -> Result<import::Model, Error> {
        let now = self.context().core.clock.now();
        let state = if self.import.is_dry_run { ImportState::DryRunDone } else { ImportState::Done };
        import::Entity::update_owned(self.import.user_id)
            .col_expr(Column::State, Expr::value(state))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .col_expr(Column::Error, Expr::value(None::<String>))
            .filter(Column::Id.eq(self.import.id))
            // An import that the user paused or undoes meanwhile keeps that state.
            .filter(Column::State.eq(ImportState::Running))
            .exec(db)
            .await?;
        Ok(import::Model { state, finished_at: Some(now), ..self.import })
    }

    /// Applies every row: feeds first, saved pages together and last. The others keep their order, because a line of an export
    /// may refer to an earlier one.
    async fn apply_rows(
        &mut self,
        txn: &impl ConnectionTrait,
        mut batch: Vec<RowInput>,
        now: Timestamp,
    ) -> Result<Vec<ProcessedRow>, Error> {
        sort_feeds(&mut batch);
        let (mut processed, mut pages) = (Vec::with_capacity(batch.len()), Vec::new());
        for input in batch {
            let (line, source, mut side_results) = (input.row.line(), input.source_id(), Vec::new());
            let name = input.row.content.name().map(str::to_owned);
            let RowInput { row, file } = input;
            let result = match row.content {
                // Together at the end: new pages are inserted with a few statements for the whole batch.
                RowContent::Bookmark(draft) => {
                    pages.push(PageRow { line, name, draft, file });
                    continue;
                }
                RowContent::Note(note) => {
                    let (result, project) = self.save_note(txn, note, now).await?;
                    side_results.extend(project.map(|id| RowResult::of(ImportedKind::Project, id.0, true)));
                    result
                }
                RowContent::Feed(outline) => self.follow_feed(txn, &outline, now).await?,
                RowContent::Record(value) => restore::restore_record(self, txn, value, file, now).await?,
                RowContent::Skipped(skipped) => RowResult::Skipped(skipped.reason),
            };
            self.record_source(source, &result);
            self.record_created(&result);
            processed.push(ProcessedRow { line, source, name, result, side_results });
        }
        processed.extend(self.save_pages(txn, pages, now).await?);
        Ok(processed)
    }

    async fn follow_feed(
        &self,
        txn: &impl ConnectionTrait,
        outline: &Outline,
        now: Timestamp,
    ) -> Result<RowResult, Error> {
        let Some(url) = feeds::followable_url(&outline.url, &self.context().guard) else {
            return Ok(RowResult::Skipped(fields::refused_url_reason(URL_NOT_FETCHABLE, None, &outline.url)));
        };
        let (feed, is_created) =
            feeds::follow_listed(txn, self.import.user_id, &url, outline, false, now).await?;
        Ok(RowResult::of(ImportedKind::Feed, feed.0, is_created))
    }

    /// Computes the fingerprints of what the batch created.
    async fn compute_fingerprints(
        &self,
        txn: &impl ConnectionTrait,
        processed: &[ProcessedRow],
    ) -> Result<HashMap<Uuid, String>, Error> {
        if self.import.is_dry_run {
            return Ok(HashMap::new());
        }
        let mut created: HashMap<ImportedKind, Vec<Uuid>> = HashMap::new();
        for result in processed.iter().flat_map(|row| row.side_results.iter().chain([&row.result])) {
            if let RowResult::Created(kind, id, _) = result {
                created.entry(*kind).or_default().push(*id);
            }
        }
        let mut fingerprints = HashMap::new();
        for (kind, ids) in created {
            fingerprints.extend(fingerprint::compute(txn, self.import.user_id, kind, &ids).await?);
        }
        Ok(fingerprints)
    }

    fn import_row(
        &self,
        (line, source): (i64, Option<Uuid>),
        name: Option<String>,
        result: RowResult,
        now: Timestamp,
    ) -> import_row::Model {
        let object_id = result.object().map(|(_, id)| id).filter(|_| !self.import.is_dry_run);
        // Only rows without an object, whose name could be looked up.
        let name = name.filter(|_| object_id.is_none()).and_then(|name| shown_name(&name));
        // A dry run leaves no trace.
        let detail = |trace: &RowTrace| if self.import.is_dry_run { None } else { trace.to_detail() };
        let (outcome, kind, detail) = match result {
            RowResult::Created(kind, _, trace) => (RowOutcome::Created, Some(kind), detail(&trace)),
            RowResult::Updated(kind, _, trace) => (RowOutcome::Updated, Some(kind), detail(&trace)),
            RowResult::Skipped(reason) | RowResult::OverPlan(reason) => {
                (RowOutcome::Skipped, None, Some(reason))
            }
        };
        import_row::Model {
            id: ImportRowId::new(now),
            import_id: self.import.id,
            user_id: self.import.user_id,
            line,
            outcome,
            kind,
            source_id: source,
            object_id,
            name,
            detail,
        }
    }

    async fn record_progress(
        &mut self,
        txn: &impl ConnectionTrait,
        rows: usize,
        tally: RowTally,
        faults: &RowFaults,
    ) -> Result<(), Error> {
        let import = &mut self.import;
        import.done += i64::try_from(rows).unwrap_or_default();
        import.created += tally.created;
        import.updated += tally.updated;
        import.skipped += tally.skipped;
        import.unlisted_faults = faults.unlisted_json()?;
        import.faults_in_a_row = faults.in_a_row();
        import::Entity::update_owned(import.user_id)
            .col_expr(Column::Done, Expr::value(import.done))
            .col_expr(Column::Error, Expr::value(None::<String>))
            .col_expr(Column::Created, Expr::value(import.created))
            .col_expr(Column::Updated, Expr::value(import.updated))
            .col_expr(Column::Skipped, Expr::value(import.skipped))
            .col_expr(Column::UnlistedFaults, Expr::value(import.unlisted_faults.clone()))
            .col_expr(Column::FaultsInARow, Expr::value(import.faults_in_a_row))
            .filter(Column::Id.eq(import.id))
            .exec(txn)
            .await?;
        Ok(())
    }
}

/// Puts feeds first, in the order of their URLs. The row of a feed's source is shared by all its followers and stays locked until
/// the transaction ends, so two imports that locked the same sources in different orders would deadlock.
fn sort_feeds(batch: &mut [RowInput]) {
    batch.sort_by_cached_key(|input| {
        let url = input.feed_url();
        (url.is_none(), url)
    });
}

#[cfg(test)]
mod tests {
    use parse::bookmarks::Row;
    use serde_json::json;

    use super::*;

    fn row(line: u64, content: RowContent) -> RowInput {
        RowInput::without_file(Row { line, content })
    }

    fn outline(url: &str) -> RowContent {
        RowContent::Feed(Outline { url: url.to_owned(), title: None, folder: None })
    }

    fn record(kind: &str, url: &str) -> RowContent {
        RowContent::Record(json!({ "kind": kind, "url": url }))
    }

    #[test]
    fn feeds_are_followed_first_in_the_order_of_their_urls() {
        let mut batch = vec![
            row(1, record("bookmark", "https://a.example/")),
            row(2, outline("https://b.example/feed")),
            row(3, outline("no URL")),
            row(4, record("feed", "HTTPS://a.example:443/feed?utm_source=x")),
            row(5, outline("https://b.example/feed#again")),
            row(6, record("entry", "https://a.example/1")),
        ];

        sort_feeds(&mut batch);

        let lines: Vec<_> = batch.iter().map(|input| input.row.line()).collect();
        assert_eq!(lines, [4, 2, 5, 1, 3, 6]);
    }
}
