//! Imports as a user sees them: begun with a file, looked at, paused, resumed, undone (contract.md, section 9).

use entity::id::ImportId;
use entity::import;
use entity::kind::ImportState;
use entity::scope::Scope;
use entity::time::Timestamp;
use parse::bookmarks::Format;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use library::imports::{self, New, Texts, UndoReport};
use crate::operations::target::Target;
use crate::pipeline::Operation;
use library::stored_files::Held;

/// An import as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportView {
    id: ImportId,
    status: ImportState,
    /// Name of the file, where it has one.
    file_name: Option<String>,
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
    /// How far the texts of what was saved are; none in a list of imports.
    texts: Option<Texts>,
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
    /// Those of them that are not kept one by one, by reason: all beyond the first 10,000.
    unlisted_faults: Vec<FaultCount>,
    /// What the undo of the import did; none of an import that was not undone, and in a list of imports.
    undo: Option<UndoReport>,
}

/// How many rows were passed over for a reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FaultCount {
    reason: String,
    rows: u64,
}

/// A row that was passed over.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Skipped {
    line: i64,
    reason: String,
}

/// One import under its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportResponse {
    import: ImportView,
}

/// Imports, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListImportsResponse {
    imports: Vec<ImportView>,
}

impl ImportResponse {
    async fn of(ctx: &OperationContext, row: import::Model) -> Result<Self, Error> {
        Ok(Self { import: view(ctx, row, Detail::All).await? })
    }
}

/// How much is told of an import.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    /// Rows that were passed over one by one, and how far the texts are: dear for a large one.
    All,
    /// What stands in its row.
    Listed,
}

async fn view(ctx: &OperationContext, row: import::Model, detail: Detail) -> Result<ImportView, Error> {
    let report = match row.state {
        ImportState::Running | ImportState::Undoing => None,
        ImportState::DryRunDone
        | ImportState::Paused
        | ImportState::Done
        | ImportState::Failed
        | ImportState::HalfUndone
        | ImportState::Undone => Some(report(ctx, &row, detail).await?),
    };
    let texts = match detail {
        Detail::All => Some(imports::texts(ctx, &row).await?),
        Detail::Listed => None,
    };
    Ok(ImportView {
        id: row.id,
        status: row.state,
        dry_run: row.dry_run,
        rows: row.done,
        report,
        unread_columns: imports::unread_columns(&row),
        texts,
        file_name: row.file_name,
        format: row.format,
        error: row.error,
        created_at: row.created_at,
        finished_at: row.finished_at,
    })
}

async fn report(ctx: &OperationContext, row: &import::Model, detail: Detail) -> Result<Report, Error> {
    let (skipped, undo) = match detail {
        Detail::All => (imports::skipped(ctx, row).await?, imports::undo_report(ctx, row).await?),
        Detail::Listed => (Vec::new(), None),
    };
    let unlisted = imports::unlisted_faults(row)?;
    Ok(Report {
        created: row.created,
        updated: row.updated,
        skipped: skipped.into_iter().map(|(line, reason)| Skipped { line, reason }).collect(),
        skipped_rows: row.skipped,
        unlisted_faults: unlisted.into_iter().map(|(reason, rows)| FaultCount { reason, rows }).collect(),
        undo,
    })
}

/// A file that was written, to be imported.
pub struct BeginImport {
    /// The file.
    pub file: Held,
    /// Its name, where the sender gave one.
    pub file_name: Option<String>,
    /// Which program wrote it; none is to be found out.
    pub format: Option<Format>,
    /// It is only looked at what would come of it.
    pub dry_run: bool,
}

impl Operation for BeginImport {
    type Reply = ImportResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
        let Self { file, file_name, format, dry_run } = self;
        let new = New { user: caller.user, file_name, format, dry_run };
        let row = imports::begin(ctx, new, file).await?;
        ctx.job_signal.notify();
        ImportResponse::of(ctx, row).await
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
    type Reply = ImportResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
        let row = imports::find(ctx, caller.user, self.0).await?;
        ImportResponse::of(ctx, row).await
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
    type Reply = ListImportsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListImportsResponse, Error> {
        let mut imports = Vec::new();
        for row in imports::latest(ctx, caller.user).await? {
            imports.push(view(ctx, row, Detail::Listed).await?);
        }
        Ok(ListImportsResponse { imports })
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

    /// What it created and nobody has changed since is deleted.
    pub fn undo(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?, Step::Undo))
    }
}

impl Operation for MoveImport {
    type Reply = ImportResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    /// The job that these steps queue writes rows, also when it undoes an import, and does not run below the floor.
    fn needs_space(&self) -> bool {
        match self.1 {
            Step::Start | Step::Resume | Step::Undo => true,
            Step::Pause => false,
        }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
        let Self(id, step) = self;
        let row = match step {
            Step::Start => imports::start(ctx, caller.user, id).await?,
            Step::Pause => imports::pause(ctx, caller.user, id).await?,
            Step::Resume => imports::resume(ctx, caller.user, id).await?,
            Step::Undo => imports::undo(ctx, caller.user, id).await?,
        };
        ctx.job_signal.notify();
        ImportResponse::of(ctx, row).await
    }
}
