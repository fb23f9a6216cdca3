//! Begins, shows, pauses, resumes and undoes imports (contract.md, section 9).

use entity::import;
use parse::bookmarks::Format;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::ImportId;
use values::kind::ImportState;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use library::imports::{self, NewImport, UndoReport};
use library::stored_files::FileLease;
use library::text_counts::TextCounts;
use validation::NoFields;

/// An import of a file: the export of another program, or of Carrel.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportView {
    /// Id of the import.
    pub id: ImportId,
    /// How far it is.
    pub status: ImportState,
    /// Name of the file, if the client gave one.
    pub file_name: Option<String>,
    /// Format of the file; null until it is detected.
    pub format: Option<String>,
    /// Whether the import is a dry run.
    pub dry_run: bool,
    /// Number of rows that were processed.
    pub rows: i64,
    /// Result of the rows; null while the import runs.
    pub report: Option<ImportReport>,
    /// Columns of the file that the import ignores.
    pub unread_columns: Vec<String>,
    /// Numbers of documents by the state of their texts; null in a list of imports.
    pub texts: Option<TextCounts>,
    /// Why the import failed; null unless it failed.
    pub error: Option<String>,
    /// When the import was requested.
    pub created_at: Timestamp,
    /// When the import ended; null before that.
    pub finished_at: Option<Timestamp>,
}

/// Result of the rows of an import.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    /// Number of items that the import created.
    pub created: i32,
    /// Number of existing items that the import updated.
    pub updated: i32,
    /// The first skipped rows; empty in a list of imports.
    pub skipped: Vec<SkippedRow>,
    /// Number of all skipped rows, also those that `skipped` does not list.
    pub skipped_rows: i32,
    /// Skipped rows that are not stored one by one, counted by reason: all after the first 10,000.
    pub unlisted_faults: Vec<FaultCount>,
    /// Result of the undo; null for an import that was not undone, and in a list of imports.
    pub undo: Option<UndoReport>,
}

impl ImportReport {
    /// Reads the report of an import with its skipped rows; of an import that runs, of the rows that were processed.
    ///
    /// # Errors
    /// [`Error::Internal`] when the stored counts of skipped rows cannot be read.
    pub async fn from_row(core: &CoreContext, row: &import::Model) -> Result<Self, Error> {
        report(core, row, ImportDetail::Full).await
    }
}

/// The number of rows that were skipped for a reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FaultCount {
    /// Why the rows were skipped.
    pub reason: String,
    /// Number of rows that were skipped for it.
    pub rows: u64,
}

/// A row of the file that was not imported.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SkippedRow {
    /// Number of the line in the file where the row begins.
    pub line: i64,
    /// Why the row was skipped.
    pub reason: String,
}

/// An import, with the state that it has now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ImportResponse {
    /// The import.
    pub import: ImportView,
}

/// The latest imports, newest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListImportsResponse {
    /// The imports.
    pub imports: Vec<ImportView>,
}

impl ImportResponse {
    async fn from_row(core: &CoreContext, row: import::Model) -> Result<Self, Error> {
        Ok(Self { import: view(core, row, ImportDetail::Full).await? })
    }
}

/// The detail of a view of an import.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ImportDetail {
    /// Everything, including skipped rows and counts of texts, which are expensive for a large import.
    Full,
    /// Only what is in the import's row.
    Summary,
}

async fn view(core: &CoreContext, row: import::Model, detail: ImportDetail) -> Result<ImportView, Error> {
    let report = match row.state {
        // The numbers still change.
        ImportState::Running | ImportState::Undoing => None,
        ImportState::DryRunDone
        | ImportState::Paused
        | ImportState::Done
        | ImportState::Failed
        | ImportState::HalfUndone
        | ImportState::Undone => Some(report(core, &row, detail).await?),
    };
    let texts = match detail {
        ImportDetail::Full => Some(imports::count_texts(core, &row).await?),
        ImportDetail::Summary => None,
    };
    Ok(ImportView {
        id: row.id,
        status: row.state,
        dry_run: row.is_dry_run,
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

async fn report(
    core: &CoreContext,
    row: &import::Model,
    detail: ImportDetail,
) -> Result<ImportReport, Error> {
    let (skipped, undo) = match detail {
        ImportDetail::Full => {
            (imports::list_skipped_rows(core, row).await?, imports::load_undo_report(core, row).await?)
        }
        ImportDetail::Summary => (Vec::new(), None),
    };
    let unlisted = imports::unlisted_faults(row)?;
    Ok(ImportReport {
        created: row.created,
        updated: row.updated,
        skipped: skipped.into_iter().map(|(line, reason)| SkippedRow { line, reason }).collect(),
        skipped_rows: row.skipped,
        unlisted_faults: unlisted.into_iter().map(|(reason, rows)| FaultCount { reason, rows }).collect(),
        undo,
    })
}

/// Begins an import of a file that was received.
pub struct BeginImport {
    /// The received file, with the lease that protects it from the clean-up until the import refers to it.
    pub file: FileLease,
    /// Name of the file, if the client gave one.
    pub file_name: Option<String>,
    /// Format of the file; it is detected if it is `None`.
    pub format: Option<Format>,
    /// Whether to preview the import without changing anything.
    pub dry_run: bool,
}

impl Operation for BeginImport {
    type Reply = ImportResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
        let Self { file, file_name, format, dry_run } = self;
        let new = NewImport { user: caller.user, file_name, format, dry_run };
        let row = imports::begin(&ctx.core, new, file).await?;
        ctx.job_signal.notify();
        ImportResponse::from_row(&ctx.core, row).await
    }
}

/// Shows an import, so that a client can wait for its end.
#[derive(Debug)]
pub struct ShowImport(ImportId);

impl FromRequest for ShowImport {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowImport {
    type Reply = ImportResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
        let row = imports::find(&ctx.core, caller.user, self.0).await?;
        ImportResponse::from_row(&ctx.core, row).await
    }
}

/// Lists the latest 50 imports of the user.
#[derive(Debug)]
pub struct ListImports;

impl FromRequest for ListImports {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for ListImports {
    type Reply = ListImportsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListImportsResponse, Error> {
        let mut imports = Vec::new();
        for row in imports::list_latest(&ctx.core, caller.user).await? {
            imports.push(view(&ctx.core, row, ImportDetail::Summary).await?);
        }
        Ok(ListImportsResponse { imports })
    }
}

/// Declares operations that change the state of an import with a function of [`imports`], start the jobs that the change queued, and
/// return the import.
macro_rules! state_changes {
    ($($(#[$doc:meta])* $name:ident = $change:path, needs_space: $needs_space:literal;)+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub struct $name(ImportId);

            impl FromRequest for $name {
                type Request = NoFields;

                fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
                    Ok(Self(target.id(0)?))
                }
            }

            impl Operation for $name {
                type Reply = ImportResponse;
                const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
                const NEEDS_SPACE: bool = $needs_space;

                async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportResponse, Error> {
                    let row = $change(&ctx.core, caller.user, self.0).await?;
                    ctx.job_signal.notify();
                    ImportResponse::from_row(&ctx.core, row).await
                }
            }
        )+
    };
}

// All but a pause need space: the jobs that they queue write rows, also to undo an import, and do not run below the disk's floor.
state_changes! {
    /// Starts an import after its dry run.
    StartImport = imports::start, needs_space: true;
    /// Pauses an import and the fetching of its pages.
    PauseImport = imports::pause, needs_space: false;
    /// Resumes a paused import.
    ResumeImport = imports::resume, needs_space: true;
    /// Undoes an import: deletes what it created, except items that the user has changed since.
    UndoImport = imports::undo, needs_space: true;
}
