//! Imports as a person sees them: begun with a file, looked at, paused, gone on with, taken back (contract.md, section 9).

use std::collections::BTreeMap;

use entity::id::ImportId;
use entity::import::{self, Entity};
use entity::kind::{ContentType, DocumentStatus, ImportState, ImportedKind, RowOutcome};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{document, import_row};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use uuid::Uuid;

use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::fields::{Field, Values};
use crate::imports::{self, Format, New};
use crate::ops::bookmarks::save::AT_ONCE;
use crate::ops::target::Target;
use crate::perform::Operation;
use crate::uploads::stored::Held;

/// Imports that are listed, the latest first.
const LISTED: u64 = 50;

/// An import as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportView {
    id: ImportId,
    status: ImportState,
    /// Which program wrote the file.
    format: Option<String>,
    /// It was only looked at what would come of it.
    dry_run: bool,
    /// Rows of the file that are done.
    rows: i64,
    /// What became of them, once nothing more is taken.
    report: Option<Report>,
    /// Columns of a table that are not read.
    unread_columns: Vec<String>,
    /// How far the texts of what was saved are.
    texts: Texts,
    error: Option<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
}

/// What became of the rows of a file.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    created: i32,
    updated: i32,
    /// Rows that were passed over, the first of them; none in a list of imports.
    skipped: Vec<Skipped>,
    /// How many were passed over.
    skipped_rows: i32,
}

/// A row that was passed over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    line: i64,
    reason: String,
}

/// Texts of bookmarks that an import made.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Texts {
    processing: i64,
    ready: i64,
    failed: i64,
}

/// One import under its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OneImport {
    import: ImportView,
}

/// Imports, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Imports {
    imports: Vec<ImportView>,
}

impl OneImport {
    async fn of(app: &App, row: import::Model) -> Result<Self, Error> {
        Ok(Self { import: view(app, row, Skips::Told).await? })
    }
}

/// Whether the rows that were passed over are told one by one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Skips {
    Told,
    Left,
}

async fn view(app: &App, row: import::Model, skips: Skips) -> Result<ImportView, Error> {
    let report = match row.state {
        ImportState::Running | ImportState::Undoing => None,
        ImportState::Checked
        | ImportState::Paused
        | ImportState::Done
        | ImportState::Failed
        | ImportState::Undone => Some(report(app, &row, skips).await?),
    };
    Ok(ImportView {
        id: row.id,
        status: row.state,
        dry_run: row.dry_run,
        rows: row.done,
        report,
        unread_columns: imports::unread_columns(&row),
        texts: texts(app, &row).await?,
        format: row.format,
        error: row.error,
        created_at: row.created_at,
        finished_at: row.finished_at,
    })
}

async fn report(app: &App, row: &import::Model, skips: Skips) -> Result<Report, Error> {
    let skipped = match skips {
        Skips::Told => imports::skipped(app, row).await?,
        Skips::Left => Vec::new(),
    };
    Ok(Report {
        created: row.created,
        updated: row.updated,
        skipped: skipped.into_iter().map(|(line, reason)| Skipped { line, reason }).collect(),
        skipped_rows: row.skipped,
    })
}

async fn texts(app: &App, row: &import::Model) -> Result<Texts, Error> {
    let made: Vec<Uuid> = import_row::Entity::within(row.user_id, row.id)
        .filter(import_row::Column::Outcome.eq(RowOutcome::Created))
        .filter(import_row::Column::Kind.eq(ImportedKind::Bookmark))
        .filter(import_row::Column::MadeId.is_not_null())
        .select_only()
        .column(import_row::Column::MadeId)
        .into_tuple()
        .all(app.db.read())
        .await?;
    let mut counted: BTreeMap<&str, i64> = BTreeMap::new();
    // By short lists of ids: a table that has just grown has no statistics, and a join over it may take minutes.
    for some in made.chunks(AT_ONCE) {
        let found: Vec<(DocumentStatus, i64)> = document::Entity::readable_by(row.user_id)
            .filter(document::Column::BookmarkId.is_in(some.iter().copied()))
            .filter(document::Column::ContentType.ne(ContentType::Note))
            .select_only()
            .column(document::Column::Status)
            .column_as(document::Column::Id.count(), "count")
            .group_by(document::Column::Status)
            .into_tuple()
            .all(app.db.read())
            .await?;
        found.into_iter().for_each(|(status, n)| *counted.entry(status.name()).or_default() += n);
    }
    let of = |status: DocumentStatus| counted.get(status.name()).copied().unwrap_or_default();
    Ok(Texts {
        processing: of(DocumentStatus::Processing),
        ready: of(DocumentStatus::Ready),
        failed: of(DocumentStatus::Failed),
    })
}

/// A file that was written, to be imported.
pub struct BeginImport {
    /// The file.
    pub file: Held,
    /// Which program wrote it; none is to be found out.
    pub format: Option<Format>,
    /// It is only looked at what would come of it.
    pub dry_run: bool,
}

impl Operation for BeginImport {
    type Reply = OneImport;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneImport, Error> {
        let new = New { user: caller.user, format: self.format, dry_run: self.dry_run };
        let row = imports::begin(app, new, self.file).await?;
        app.ingest.wake();
        OneImport::of(app, row).await
    }
}

/// One import.
#[derive(Debug)]
pub struct ShowImport(ImportId);

impl ShowImport {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowImport {
    type Reply = OneImport;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneImport, Error> {
        let row = imports::find(app, caller.user, self.0).await?;
        OneImport::of(app, row).await
    }
}

/// The latest imports.
#[derive(Debug)]
pub struct ListImports;

impl ListImports {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for ListImports {
    type Reply = Imports;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<Imports, Error> {
        let latest = Entity::owned_by(caller.user).order_by_desc(import::Column::Id).limit(LISTED);
        let mut imports = Vec::new();
        for row in latest.all(app.db.read()).await? {
            imports.push(view(app, row, Skips::Left).await?);
        }
        Ok(Imports { imports })
    }
}

/// What is done to an import.
#[derive(Clone, Copy, Debug)]
enum Step {
    Start,
    Pause,
    Resume,
    Undo,
}

/// A step of an import.
#[derive(Debug)]
pub struct MoveImport(ImportId, Step);

impl MoveImport {
    /// They take none.
    pub const FIELDS: &'static [Field] = &[];

    /// What was only looked at is taken in.
    pub fn start(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?, Step::Start))
    }

    /// No more rows are taken in, and the pages that came in are not fetched.
    pub fn pause(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?, Step::Pause))
    }

    /// It goes on.
    pub fn resume(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?, Step::Resume))
    }

    /// What it made is taken back.
    pub fn undo(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?, Step::Undo))
    }
}

impl Operation for MoveImport {
    type Reply = OneImport;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, app: &App) -> Result<OneImport, Error> {
        let Self(id, step) = self;
        let row = match step {
            Step::Start => imports::start(app, caller.user, id).await?,
            Step::Pause => imports::pause(app, caller.user, id).await?,
            Step::Resume => imports::resume(app, caller.user, id).await?,
            Step::Undo => imports::undo(app, caller.user, id).await?,
        };
        app.ingest.wake();
        OneImport::of(app, row).await
    }
}
