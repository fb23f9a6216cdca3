//! Rows taken in: a lot of them in one transaction, with what became of each.

use std::collections::{HashMap, HashSet};

use entity::id::{CollectionId, ImportRowId};
use entity::import::{self, Column};
use entity::import_row;
use entity::kind::{ImportState, ImportedKind, RowOutcome};
use entity::time::Timestamp;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter};
use uuid::Uuid;

use super::added::{self, Added};
use super::folders::Folders;
use super::restore::{self, Brought};
use super::{Means, line};
use crate::adapters::sandbox::SandboxError;
use crate::adapters::sandbox::import::{Found, Import, Row, Save};
use crate::address::PageUrl;
use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::ops::bookmarks::save;
use crate::ops::feeds;

/// Rows of one statement: SQLite takes 32,766 values at once.
const ROWS: usize = 1000;

/// What became of a row.
#[derive(Debug)]
pub enum Became {
    /// Something was made.
    Created(ImportedKind, Uuid),
    /// It was there already; what was new to it.
    Updated(ImportedKind, Uuid, Added),
    /// Nothing, and why.
    Passed(String),
}

/// How many rows became what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    created: i32,
    updated: i32,
    skipped: i32,
}

/// A row, with the file that came with it.
pub struct Given {
    row: Row,
    file: Option<Brought>,
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
    /// Addresses that a dry run has seen.
    seen: HashSet<String>,
}

impl Taking {
    /// Goes on where the import's row says.
    pub fn new(means: Means, import: import::Model) -> Self {
        Self { means, import, folders: Folders::default(), known: HashMap::new(), seen: HashSet::new() }
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

    /// The next rows, with the files that they name brought in; none at the end.
    ///
    /// # Errors
    /// [`Unread`].
    pub async fn read(&self, reading: &mut Import) -> Result<Vec<Given>, Unread> {
        let rows = reading.rows().await?;
        let (mut given, mut brought) = (Vec::with_capacity(rows.len()), 0);
        for row in rows {
            let file = match restore::file_of(&row).filter(|_| !self.import.dry_run) {
                Some(file) => {
                    let bytes = file.bytes();
                    let came = restore::bring(&self.means, &self.import, reading, file, brought).await?;
                    brought += if matches!(came, Brought::Here(..)) { bytes } else { 0 };
                    Some(came)
                }
                None => None,
            };
            given.push(Given { row, file });
        }
        Ok(given)
    }

    /// Takes a lot of rows in, within the caller's transaction. After an error nothing more is to be taken with this.
    ///
    /// # Errors
    /// The database.
    pub async fn take(&mut self, txn: &impl ConnectionTrait, lot: Vec<Given>) -> Result<(), Error> {
        let now = self.means.desk.clock.now();
        let (mut rows, mut tally, count) = (Vec::new(), Tally::default(), lot.len());
        for Given { row, file } in lot {
            let line = i64::try_from(row.line).unwrap_or(i64::MAX);
            let source = restore::id_of(&row);
            let (became, made) = match self.import.dry_run {
                true => (self.would(txn, row).await?, Vec::new()),
                false => self.one(txn, row, file, now).await?,
            };
            tally.count(&became);
            rows.extend(made.into_iter().map(|id| self.beside(line, id, now)));
            if let (Some(source), Some(became)) = (source, became.thing()) {
                self.known.insert(source, became);
            }
            // What would have become of a row is no row to be taken back.
            if !self.import.dry_run || matches!(became, Became::Passed(_)) {
                rows.push(self.row(line, source, became, now));
            }
        }
        self.write(txn, rows).await?;
        self.advance(txn, count, tally).await
    }

    /// Every row was taken.
    ///
    /// # Errors
    /// The database.
    pub async fn end(self, db: &impl ConnectionTrait) -> Result<import::Model, Error> {
        let now = self.means.desk.clock.now();
        let state = if self.import.dry_run { ImportState::Checked } else { ImportState::Done };
        import::Entity::update_many()
            .col_expr(Column::State, Expr::value(state))
            .col_expr(Column::FinishedAt, Expr::value(Some(now)))
            .filter(Column::UserId.eq(self.import.user_id))
            .filter(Column::Id.eq(self.import.id))
            .exec(db)
            .await?;
        Ok(import::Model { state, finished_at: Some(now), ..self.import })
    }

    async fn one(
        &mut self,
        txn: &impl ConnectionTrait,
        row: Row,
        file: Option<Brought>,
        now: Timestamp,
    ) -> Result<(Became, Vec<CollectionId>), Error> {
        match row.found {
            Found::Save(save) => self.page(txn, save, now).await,
            Found::Feed(outline) => {
                let Some(url) = feeds::followable(&outline.url, &self.means.guard) else {
                    return Ok((Became::Passed("the address may not be fetched".to_owned()), Vec::new()));
                };
                let (feed, created) =
                    feeds::follow_listed(txn, self.import.user_id, &url, &outline, false, now).await?;
                Ok((Became::of(ImportedKind::Feed, feed.0, created), Vec::new()))
            }
            Found::Record(value) => Ok((restore::record(self, txn, value, file, now).await?, Vec::new())),
            Found::Passed(why) => Ok((Became::Passed(why), Vec::new())),
        }
    }

    /// A saved page, and the collections that were made for it.
    async fn page(
        &mut self,
        txn: &impl ConnectionTrait,
        given: Save,
        now: Timestamp,
    ) -> Result<(Became, Vec<CollectionId>), Error> {
        let user = self.import.user_id;
        let mut new = match line::read(given.fields, &self.means.guard) {
            Ok(new) => new,
            Err(why) => return Ok((Became::Passed(why), Vec::new())),
        };
        if let Err(Error::NotFound) = save::own_collections(txn, user, &new.collections).await {
            return Ok((Became::Passed(line::FOREIGN_COLLECTION.to_owned()), Vec::new()));
        }
        new.progress = given.progress.unwrap_or(new.progress);
        let (mut folder, mut made) = self.folders.find(txn, user, &given.folders, now).await?;
        if let Err(Error::NotFound) = save::own_collections(txn, user, folder.as_slice()).await {
            // Somebody deleted it meanwhile.
            self.folders = Folders::default();
            (folder, made) = self.folders.find(txn, user, &given.folders, now).await?;
        }
        new.collections.extend(folder);
        let key = PageUrl::parse(&new.url)?.key();
        let Some(there) = save::with_address(txn, user, &key).await? else {
            let (row, created) = save::save_in(txn, user, new, Priority::Backlog, now).await?;
            return Ok((Became::of(ImportedKind::Bookmark, row.id.0, created), made));
        };
        Ok((added::to(txn, there, &new.tags, &new.collections, now).await?, made))
    }

    /// What would become of a row.
    async fn would(&mut self, db: &impl ConnectionTrait, row: Row) -> Result<Became, Error> {
        let user = self.import.user_id;
        match row.found {
            Found::Save(given) => {
                let new = match line::read(given.fields, &self.means.guard) {
                    Ok(new) => new,
                    Err(why) => return Ok(Became::Passed(why)),
                };
                let key = PageUrl::parse(&new.url)?.key();
                let there = save::with_address(db, user, &key).await?;
                let id = there.as_ref().map_or(Uuid::nil(), |there| there.id.0);
                Ok(Became::of(ImportedKind::Bookmark, id, there.is_none() && self.seen.insert(key)))
            }
            Found::Feed(outline) => match feeds::followable(&outline.url, &self.means.guard) {
                Some(url) => {
                    let there = feeds::followed(db, user, &url).await?;
                    let new = there.is_none() && self.seen.insert(url.normalized());
                    Ok(Became::of(ImportedKind::Feed, Uuid::nil(), new))
                }
                None => Ok(Became::Passed("the address may not be fetched".to_owned())),
            },
            Found::Record(value) => Ok(restore::would(value)),
            Found::Passed(why) => Ok(Became::Passed(why)),
        }
    }

    fn row(&self, line: i64, source: Option<Uuid>, became: Became, now: Timestamp) -> import_row::Model {
        let made_id = became.thing().map(|(_, id)| id).filter(|_| !self.import.dry_run);
        let (outcome, kind, detail) = match became {
            Became::Created(kind, _) => (RowOutcome::Created, Some(kind), None),
            Became::Updated(kind, _, added) => (RowOutcome::Updated, Some(kind), added.kept()),
            Became::Passed(why) => (RowOutcome::Skipped, None, Some(why)),
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

    /// A collection that was made for a folder on the way.
    fn beside(&self, line: i64, collection: CollectionId, now: Timestamp) -> import_row::Model {
        let made = Became::Created(ImportedKind::Collection, collection.0);
        import_row::Model { outcome: RowOutcome::Beside, ..self.row(line, None, made, now) }
    }

    async fn write(&self, txn: &impl ConnectionTrait, rows: Vec<import_row::Model>) -> Result<(), Error> {
        let mut rows = rows.into_iter().map(IntoActiveModel::into_active_model).peekable();
        while rows.peek().is_some() {
            let some: Vec<_> = rows.by_ref().take(ROWS).collect();
            import_row::Entity::insert_many(some).exec_without_returning(txn).await?;
        }
        Ok(())
    }

    async fn advance(&mut self, txn: &impl ConnectionTrait, rows: usize, tally: Tally) -> Result<(), Error> {
        let import = &mut self.import;
        import.done += i64::try_from(rows).unwrap_or_default();
        import.created += tally.created;
        import.updated += tally.updated;
        import.skipped += tally.skipped;
        import::Entity::update_many()
            .col_expr(Column::Done, Expr::value(import.done))
            .col_expr(Column::Created, Expr::value(import.created))
            .col_expr(Column::Updated, Expr::value(import.updated))
            .col_expr(Column::Skipped, Expr::value(import.skipped))
            .filter(Column::UserId.eq(import.user_id))
            .filter(Column::Id.eq(import.id))
            .exec(txn)
            .await?;
        Ok(())
    }
}

impl Became {
    /// Something that was made, or was there.
    pub fn of(kind: ImportedKind, id: Uuid, created: bool) -> Self {
        if created { Became::Created(kind, id) } else { Became::Updated(kind, id, Added::default()) }
    }

    fn thing(&self) -> Option<(ImportedKind, Uuid)> {
        match self {
            Became::Created(kind, id) | Became::Updated(kind, id, _) => Some((*kind, *id)),
            Became::Passed(_) => None,
        }
    }
}

impl Tally {
    fn count(&mut self, became: &Became) {
        match became {
            Became::Created(..) => self.created += 1,
            Became::Updated(..) => self.updated += 1,
            Became::Passed(_) => self.skipped += 1,
        }
    }
}
