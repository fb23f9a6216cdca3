//! Rows taken in: a lot of them in one transaction, with what became of each.

use std::collections::{HashMap, HashSet};

use database::insert_all;
use entity::id::ImportRowId;
use entity::import::{self, Column};
use entity::import_row;
use entity::kind::{ImportState, ImportedKind, RowOutcome};
use entity::time::Timestamp;
use parse::bookmarks::{BookmarkDraft, Row, RowContent};
use parse::feed::Outline;
use sandbox::SandboxError;
use sandbox::import::ImportReader;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::extension::Extensions;
use super::faults::{self, Faults};
use super::folders::Folders;
use super::restore::{self, Brought};
use super::row_trace::RowTrace;
use super::{Means, fingerprint, line};
use errors::Error;
use actors::operations::feeds;

/// Why a row is passed over.
pub(super) const MAY_NOT: &str = "the URL may not be fetched";

/// What became of a row.
#[derive(Debug)]
pub enum Became {
    /// Something was made.
    Created(ImportedKind, Uuid, RowTrace),
    /// It was there already.
    Updated(ImportedKind, Uuid, RowTrace),
    /// Nothing, because the row is faulty; the reason.
    Passed(String),
    /// Nothing, because a limit of the plan is reached; the row is valid.
    OverPlan(String),
}

/// How many rows became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    created: i32,
    updated: i32,
    skipped: i32,
}

/// A row that was taken, and what was made for it on the way: collections for its folders, a project for notes, highlights
/// in its page.
pub(super) struct Took {
    pub(super) line: i64,
    pub(super) source: Option<Uuid>,
    /// What a dry run calls it.
    pub(super) name: Option<String>,
    pub(super) became: Became,
    pub(super) beside: Vec<Became>,
}

/// A row, with the file that came with it.
pub struct Given {
    pub(super) row: Row,
    file: Option<Brought>,
}

impl Given {
    /// A row by itself.
    pub fn of(row: Row) -> Self {
        Self { row, file: None }
    }
}

/// Why the next rows are not to be had.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The file cannot be read on.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The store or the database does not take what comes.
    #[error(transparent)]
    Inside(#[from] Error),
}

/// An import on its way.
pub struct Taking {
    means: Means,
    import: import::Model,
    folders: Folders,
    /// What lines of an export became, by the ids that they had.
    pub(super) known: HashMap<Uuid, (ImportedKind, Uuid)>,
    /// What lines of this import became.
    pub(super) taken: HashSet<(ImportedKind, Uuid)>,
    /// What this batch created.
    created_now: HashSet<(ImportedKind, Uuid)>,
    /// Bookmarks to which this batch adds something.
    pub(super) extensions: Extensions,
    /// Addresses that a dry run has seen.
    pub(super) seen: HashSet<String>,
    /// Bytes of files that a dry run has seen.
    pub(super) bytes: u64,
}

impl Taking {
    /// Goes on where the import's row says.
    pub fn new(means: Means, import: import::Model) -> Self {
        Self {
            means,
            import,
            folders: Folders::default(),
            known: HashMap::new(),
            taken: HashSet::new(),
            created_now: HashSet::new(),
            extensions: Extensions::default(),
            seen: HashSet::new(),
            bytes: 0,
        }
    }

    /// The import, as far as it is.
    pub fn import(&self) -> &import::Model {
        &self.import
    }

    /// What it is made with.
    pub(super) fn means(&self) -> &Means {
        &self.means
    }

    /// The collections that were found or made so far.
    pub(super) fn folders(&mut self) -> &mut Folders {
        &mut self.folders
    }

    /// Comes to the first row that is still to be taken. A dry run looks at those before it again: it has kept them in mind
    /// alone.
    ///
    /// # Errors
    /// [`Unread`].
    pub async fn go_on(&mut self, reading: &mut ImportReader) -> Result<(), Unread> {
        let mut left = u64::try_from(self.import.done).unwrap_or_default();
        if !self.import.dry_run {
            return Ok(reading.skip_rows(left).await?);
        }
        while left > 0 {
            let lot = self.read(reading).await?;
            if lot.is_empty() {
                break;
            }
            left = left.saturating_sub(lot.len() as u64);
            let db = self.means.core.db.clone();
            self.look(db.read(), lot).await?;
        }
        Ok(())
    }

    /// The next rows, with the files that they name brought in; none at the end.
    ///
    /// # Errors
    /// [`Unread`].
    pub async fn read(&self, reading: &mut ImportReader) -> Result<Vec<Given>, Unread> {
        let rows = reading.next_rows().await?;
        let (mut given, mut brought) = (Vec::with_capacity(rows.len()), 0);
        for mut row in rows {
            if self.import.dry_run {
                summed(reading, &mut row).await?;
                given.push(Given::of(row));
                continue;
            }
            let file = match restore::file_of(&row) {
                Some(file) => {
                    let came = restore::bring(&self.means, &self.import, reading, &file, brought).await?;
                    brought += if matches!(came, Brought::Here(..)) { file.bytes } else { 0 };
                    Some(came)
                }
                None => None,
            };
            given.push(Given { row, file });
        }
        Ok(given)
    }

    /// Takes a lot of rows in, within the caller's transaction, which holds the library. After an error nothing more is to be taken with this.
    ///
    /// # Errors
    /// The database.
    pub async fn take(&mut self, txn: &impl ConnectionTrait, lot: Vec<Given>) -> Result<(), Error> {
        let now = self.means.core.clock.now();
        let (mut rows, mut tally, count) = (Vec::new(), Tally::default(), lot.len());
        self.created_now.clear();
        let mut all =
            if self.import.dry_run { self.look(txn, lot).await? } else { self.all(txn, lot, now).await? };
        let fingerprints = self.fingerprints(txn, &all).await?;
        self.renew_fingerprints(txn).await?;
        // In the order of the file, so that a run of faults is one there too.
        all.sort_by_key(|took| took.line);
        let (mut faults, last_line) = (Faults::of(&self.import)?, all.last().map_or(0, |took| took.line));
        for Took { line, source, name, became, beside } in all {
            tally.count(&became);
            let is_kept = match &became {
                Became::Created(..) | Became::Updated(..) => {
                    faults.record_good();
                    true
                }
                Became::Passed(why) => faults.record_faulty(why),
                Became::OverPlan(why) => faults.record_refused(why),
            };
            for became in beside {
                let row = self.row((line, None), None, became.with_fingerprint(&fingerprints), now);
                rows.push(import_row::Model { outcome: RowOutcome::Incidental, ..row });
            }
            if is_kept {
                rows.push(self.row((line, source), name, became.with_fingerprint(&fingerprints), now));
            }
        }
        insert_all::<import_row::Entity>(txn, rows, None).await?;
        self.advance(txn, count, tally, &faults).await?;
        if faults.is_run_too_long() { self.stop(txn, last_line, now).await } else { Ok(()) }
    }

    /// Whether a run of faults ended it: nothing more of it is taken unless its user resumes it.
    pub fn is_stopped(&self) -> bool {
        self.import.state == ImportState::Failed
    }

    /// Ends it after a run of faults. Resumed, it may meet as long a run again.
    async fn stop(&mut self, txn: &impl ConnectionTrait, line: i64, now: Timestamp) -> Result<(), Error> {
        let reason = faults::message(line);
        import::Entity::update_many()
            .col_expr(Column::State, Expr::value(ImportState::Failed))
            .col_expr(Column::Error, Expr::value(Some(reason.clone())))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .col_expr(Column::FaultsInARow, Expr::value(0))
            .filter(Column::UserId.eq(self.import.user_id))
            .filter(Column::Id.eq(self.import.id))
            .exec(txn)
            .await?;
        self.import.state = ImportState::Failed;
        self.import.error = Some(reason);
        self.import.finished_at = Some(now);
        self.import.faults_in_a_row = 0;
        Ok(())
    }

    /// Every row was taken.
    ///
    /// # Errors
    /// The database.
    pub async fn end(self, db: &impl ConnectionTrait) -> Result<import::Model, Error> {
        let now = self.means.core.clock.now();
        let state = if self.import.dry_run { ImportState::DryRunDone } else { ImportState::Done };
        import::Entity::update_many()
            .col_expr(Column::State, Expr::value(state))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .col_expr(Column::Error, Expr::value(None::<String>))
            .filter(Column::UserId.eq(self.import.user_id))
            .filter(Column::Id.eq(self.import.id))
            .filter(Column::State.eq(ImportState::Running))
            .exec(db)
            .await?;
        Ok(import::Model { state, finished_at: Some(now), ..self.import })
    }

    /// Takes every row: feeds first, saved pages together and last. The others keep their order, because they may build on one
    /// another.
    async fn all(
        &mut self,
        txn: &impl ConnectionTrait,
        mut lot: Vec<Given>,
        now: Timestamp,
    ) -> Result<Vec<Took>, Error> {
        sort_feeds(&mut lot);
        let (mut all, mut saves) = (Vec::with_capacity(lot.len()), Vec::new());
        for Given { row, file } in lot {
            let (line, source, mut beside) = (row.line(), restore::id_of(&row), Vec::new());
            let became = match row.content {
                RowContent::Bookmark(save) => {
                    saves.push((line, save, file));
                    continue;
                }
                RowContent::Note(note) => {
                    let (became, project) = self.note(txn, note, now).await?;
                    beside.extend(project.map(|id| Became::of(ImportedKind::Project, id.0, true)));
                    became
                }
                RowContent::Feed(outline) => self.feed(txn, &outline, now).await?,
                RowContent::Record(value) => restore::record(self, txn, value, file, now).await?,
                RowContent::Skipped(why) => Became::Passed(why),
            };
            self.knows(source, &became);
            self.record_created(&became);
            all.push(Took { line, source, name: None, became, beside });
        }
        all.extend(self.pages(txn, saves, now).await?);
        Ok(all)
    }

    async fn feed(
        &self,
        txn: &impl ConnectionTrait,
        outline: &Outline,
        now: Timestamp,
    ) -> Result<Became, Error> {
        let Some(url) = feeds::followable(&outline.url, &self.means.guard) else {
            return Ok(Became::Passed(line::refused_address(MAY_NOT, &outline.url)));
        };
        let (feed, created) =
            feeds::follow_listed(txn, self.import.user_id, &url, outline, false, now).await?;
        Ok(Became::of(ImportedKind::Feed, feed.0, created))
    }

    /// Remembers what a line of an export became.
    pub(super) fn knows(&mut self, source: Option<Uuid>, became: &Became) {
        if let (Some(source), Some(thing)) = (source, became.thing()) {
            self.known.insert(source, thing);
            self.taken.insert(thing);
        }
    }

    /// Remembers that a thing is this line's: another line of the same bytes becomes another one.
    pub(super) fn takes(&mut self, became: &Became) {
        self.taken.extend(became.thing());
    }

    /// Remembers what this batch created: what it adds to that later is no addition to a thing that existed before.
    pub(super) fn record_created(&mut self, became: &Became) {
        if let Became::Created(kind, id, _) = became {
            self.created_now.insert((*kind, *id));
        }
    }

    /// Whether this batch created that thing.
    pub(super) fn is_created_now(&self, kind: ImportedKind, id: Uuid) -> bool {
        self.created_now.contains(&(kind, id))
    }

    /// The fingerprints of what was made.
    async fn fingerprints(
        &self,
        txn: &impl ConnectionTrait,
        all: &[Took],
    ) -> Result<HashMap<Uuid, String>, Error> {
        if self.import.dry_run {
            return Ok(HashMap::new());
        }
        let mut made: HashMap<ImportedKind, Vec<Uuid>> = HashMap::new();
        for became in all.iter().flat_map(|took| took.beside.iter().chain([&took.became])) {
            if let Became::Created(kind, id, _) = became {
                made.entry(*kind).or_default().push(*id);
            }
        }
        let mut fingerprints = HashMap::new();
        for (kind, ids) in made {
            fingerprints.extend(fingerprint::of(txn, self.import.user_id, kind, &ids).await?);
        }
        Ok(fingerprints)
    }

    fn row(
        &self,
        (line, source): (i64, Option<Uuid>),
        name: Option<String>,
        became: Became,
        now: Timestamp,
    ) -> import_row::Model {
        let made_id = became.thing().map(|(_, id)| id).filter(|_| !self.import.dry_run);
        // A dry run adds nothing, and its rows have no thing to be named by.
        let detail = |trace: &RowTrace| if self.import.dry_run { name } else { trace.to_detail() };
        let (outcome, kind, detail) = match became {
            Became::Created(kind, _, trace) => (RowOutcome::Created, Some(kind), detail(&trace)),
            Became::Updated(kind, _, trace) => (RowOutcome::Updated, Some(kind), detail(&trace)),
            Became::Passed(why) | Became::OverPlan(why) => (RowOutcome::Skipped, None, Some(why)),
        };
        import_row::Model {
            id: ImportRowId::new(now),
            import_id: self.import.id,
            user_id: self.import.user_id,
            line,
            outcome,
            kind,
            source_id: source,
            made_id,
            detail,
        }
    }

    async fn advance(
        &mut self,
        txn: &impl ConnectionTrait,
        rows: usize,
        tally: Tally,
        faults: &Faults,
    ) -> Result<(), Error> {
        let import = &mut self.import;
        import.done += i64::try_from(rows).unwrap_or_default();
        import.created += tally.created;
        import.updated += tally.updated;
        import.skipped += tally.skipped;
        import.unlisted_faults = faults.unlisted_json()?;
        import.faults_in_a_row = faults.in_a_row();
        import::Entity::update_many()
            .col_expr(Column::Done, Expr::value(import.done))
            .col_expr(Column::Error, Expr::value(None::<String>))
            .col_expr(Column::Created, Expr::value(import.created))
            .col_expr(Column::Updated, Expr::value(import.updated))
            .col_expr(Column::Skipped, Expr::value(import.skipped))
            .col_expr(Column::UnlistedFaults, Expr::value(import.unlisted_faults.clone()))
            .col_expr(Column::FaultsInARow, Expr::value(import.faults_in_a_row))
            .filter(Column::UserId.eq(import.user_id))
            .filter(Column::Id.eq(import.id))
            .exec(txn)
            .await?;
        Ok(())
    }
}

/// Puts feeds first, in the order of their addresses. The row of a feed's source belongs to all who follow it and stays locked
/// until the transaction ends, so two imports that locked the same sources in different orders would wait for each other.
fn sort_feeds(lot: &mut [Given]) {
    lot.sort_by_cached_key(|given| {
        let source = restore::source_of(&given.row);
        (source.is_none(), source)
    });
}

/// Tells a file's sum where its list does not: a dry run knows by it what is there already.
async fn summed(reading: &mut ImportReader, row: &mut Row) -> Result<(), Unread> {
    if let RowContent::Bookmark(BookmarkDraft { file: Some(file), .. }) = &mut row.content
        && file.sha256.is_none()
    {
        file.sha256 = restore::sum_of(reading, file).await?;
    }
    Ok(())
}

impl Became {
    /// Something that was made, or was there.
    pub fn of(kind: ImportedKind, id: Uuid, created: bool) -> Self {
        let nothing = RowTrace::default();
        if created { Became::Created(kind, id, nothing) } else { Became::Updated(kind, id, nothing) }
    }

    /// The same with another trace.
    pub(super) fn with_trace(self, trace: RowTrace) -> Self {
        match self {
            Became::Created(kind, id, _) => Became::Created(kind, id, trace),
            Became::Updated(kind, id, _) => Became::Updated(kind, id, trace),
            other @ (Became::Passed(_) | Became::OverPlan(_)) => other,
        }
    }

    /// What was made, with its fingerprint.
    fn with_fingerprint(self, fingerprints: &HashMap<Uuid, String>) -> Self {
        match self {
            Became::Created(kind, id, trace) => {
                Became::Created(kind, id, RowTrace { fingerprint: fingerprints.get(&id).cloned(), ..trace })
            }
            other @ (Became::Updated(..) | Became::Passed(_) | Became::OverPlan(_)) => other,
        }
    }

    pub(super) fn thing(&self) -> Option<(ImportedKind, Uuid)> {
        match self {
            Became::Created(kind, id, _) | Became::Updated(kind, id, _) => Some((*kind, *id)),
            Became::Passed(_) | Became::OverPlan(_) => None,
        }
    }
}

impl Tally {
    fn count(&mut self, became: &Became) {
        match became {
            Became::Created(..) => self.created += 1,
            Became::Updated(..) => self.updated += 1,
            Became::Passed(_) | Became::OverPlan(_) => self.skipped += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(line: u64, content: RowContent) -> Given {
        Given::of(Row { line, content })
    }

    fn outline(url: &str) -> RowContent {
        RowContent::Feed(Outline { url: url.to_owned(), title: None, folder: None })
    }

    fn record(kind: &str, url: &str) -> RowContent {
        RowContent::Record(json!({ "kind": kind, "url": url }))
    }

    #[test]
    fn feeds_are_followed_first_and_in_the_order_of_their_addresses() {
        let mut lot = vec![
            row(1, record("bookmark", "https://a.example/")),
            row(2, outline("https://b.example/feed")),
            row(3, outline("no address")),
            row(4, record("feed", "HTTPS://a.example:443/feed?utm_source=x")),
            row(5, outline("https://b.example/feed#again")),
            row(6, record("entry", "https://a.example/1")),
        ];

        sort_feeds(&mut lot);

        let lines: Vec<_> = lot.iter().map(|given| given.row.line()).collect();
        assert_eq!(lines, [4, 2, 5, 1, 3, 6]);
    }
}
