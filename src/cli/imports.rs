//! `carrel imports`: shows imports and their rows, and starts, pauses, resumes and undoes them. Each change enqueues a job: the running
//! server executes it, or the next start if none runs.

use std::fmt;

use actors::operations::import_rows::ImportRowView;
use clap::{Args, Subcommand};
use entity::import;
use errors::Error;
use library::context::CoreContext;
use library::imports::{self, RowQuery};
use library::text_counts::TextCounts;
use serde::Serialize;
use values::id::{ImportId, UserId};
use values::kind::{ImportState, RowOutcome};
use values::time::Timestamp;

use super::failure::Failure;
use super::import::report::ImportOutput;
use super::opening::OwnerArgs;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening, probe};
use crate::settings::Settings;

/// Rows that are read by one query.
const PAGE_ROWS: u64 = 1000;

/// A subcommand of `carrel imports`.
#[derive(Debug, Subcommand)]
pub enum ImportsCommand {
    /// List the imports of an account, newest first
    List(OwnerArgs),
    /// Show the progress and the result of an import
    Show(ImportIdArgs),
    /// List the rows of an import with their outcomes; after a dry run, with the expected outcomes
    Rows(RowsArgs),
    /// Run an import after its dry run
    Start(ImportIdArgs),
    /// Pause the import and the fetching of its pages
    Pause(ImportIdArgs),
    /// Resume a paused or failed import
    Resume(ImportIdArgs),
    /// Undo an import: delete the items that it created, except those that were changed since or are in use
    Undo(ImportIdArgs),
}

/// An import of an account.
#[derive(Debug, Args)]
pub struct ImportIdArgs {
    #[command(flatten)]
    owner: OwnerArgs,
    /// Id of the import, as `carrel imports list` shows it
    #[arg(value_name = "ID", value_parser = choices::import_id)]
    id: ImportId,
}

/// Rows of an import.
#[derive(Debug, Args)]
pub struct RowsArgs {
    #[command(flatten)]
    import: ImportIdArgs,
    /// Only rows with this outcome
    #[arg(long, value_parser = choices::outcome())]
    outcome: Option<RowOutcome>,
}

pub async fn run(command: ImportsCommand, settings: &Settings) -> Result<CommandOutput, Failure> {
    let core = &opening::core(settings).await?;
    match command {
        ImportsCommand::List(owner) => list(core, &owner).await,
        ImportsCommand::Rows(args) => rows(core, args).await,
        ImportsCommand::Show(args) => {
            show(core, settings, &run_on_import(core, args, imports::find).await?).await
        }
        ImportsCommand::Start(args) => {
            show(core, settings, &run_on_import(core, args, imports::start).await?).await
        }
        ImportsCommand::Pause(args) => {
            show(core, settings, &run_on_import(core, args, imports::pause).await?).await
        }
        ImportsCommand::Resume(args) => {
            show(core, settings, &run_on_import(core, args, imports::resume).await?).await
        }
        ImportsCommand::Undo(args) => {
            show(core, settings, &run_on_import(core, args, imports::undo).await?).await
        }
    }
}

/// Finds an import, or changes it and returns it as it is then.
async fn run_on_import(
    core: &CoreContext,
    ImportIdArgs { owner, id }: ImportIdArgs,
    step: impl AsyncFnOnce(&CoreContext, UserId, ImportId) -> Result<import::Model, Error>,
) -> Result<import::Model, Failure> {
    let owner = owner.find(core).await?;
    match step(core, owner.id, id).await {
        Ok(import) => Ok(import),
        Err(Error::NotFound(_)) => Err(Failure::NoImport),
        Err(other) => Err(other.into()),
    }
}

async fn list(core: &CoreContext, owner: &OwnerArgs) -> Result<CommandOutput, Failure> {
    let owner = owner.find(core).await?;
    let mut listed = Vec::new();
    for import in imports::list_latest(core, owner.id).await? {
        let texts = imports::count_texts(core, &import).await?;
        listed.push(ImportSummary::of(import, texts));
    }
    CommandOutput::of(&ImportList { imports: listed })
}

async fn show(
    core: &CoreContext,
    settings: &Settings,
    import: &import::Model,
) -> Result<CommandOutput, Failure> {
    let output = ImportOutput::of(core, import, probe::is_server_running(settings).await).await?;
    let texts = imports::count_texts(core, import).await?;
    let retried = if texts.failed > 0 { imports::count_retried_texts(core, import).await? } else { 0 };
    let import::Model { id, done, created_at, finished_at, .. } = *import;
    let is_in_progress = matches!(import.state, ImportState::Running | ImportState::Undoing);
    let error = import.error.clone();
    CommandOutput::of(&ImportDetails {
        output,
        id,
        rows: done,
        texts,
        retried,
        error,
        created_at,
        finished_at,
        is_in_progress,
    })
}

async fn rows(core: &CoreContext, args: RowsArgs) -> Result<CommandOutput, Failure> {
    let RowsArgs { import, outcome } = args;
    let import = run_on_import(core, import, imports::find).await?;
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let some = imports::list_rows(core, &import, RowQuery { outcome, after, limit: PAGE_ROWS }).await?;
        let Some(last) = some.last() else { break };
        // By the last row, not by a number of rows: an import may add rows meanwhile.
        after = Some((last.line, last.id));
        rows.extend(ImportRowView::from_rows(core.db.read(), &import, some).await?);
    }
    CommandOutput::of(&ImportRowList { rows })
}

#[derive(Serialize)]
struct ImportList {
    imports: Vec<ImportSummary>,
}

/// An import in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportSummary {
    import_id: ImportId,
    status: ImportState,
    file_name: Option<String>,
    format: Option<String>,
    dry_run: bool,
    rows: i64,
    created: i32,
    updated: i32,
    skipped_rows: i32,
    texts: TextCounts,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
}

impl ImportSummary {
    fn of(row: import::Model, texts: TextCounts) -> Self {
        Self {
            import_id: row.id,
            status: row.state,
            file_name: row.file_name,
            format: row.format,
            dry_run: row.is_dry_run,
            rows: row.done,
            created: row.created,
            updated: row.updated,
            skipped_rows: row.skipped,
            texts,
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

impl fmt::Display for ImportList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.imports.is_empty() {
            return f.write_str("the account has no imports; `carrel import FILE` starts one");
        }
        let line = |import: &ImportSummary| {
            let format = import.format.clone().unwrap_or_else(|| "-".to_owned());
            let file = import.file_name.as_deref().map_or_else(|| "-".to_owned(), shown);
            let (id, started) = (import.import_id.to_string(), import.created_at.to_string());
            let TextCounts { processing, ready, failed } = import.texts;
            let [rows, waiting, ready, failed] =
                [import.rows, processing, ready, failed].map(|count| count.to_string());
            [id, import.status.to_string(), started, format, rows, waiting, ready, failed, file]
        };
        let lines: Vec<_> = self.imports.iter().map(line).collect();
        let headings = ["ID", "STATUS", "STARTED", "FORMAT", "ROWS", "WAITING", "READY", "FAILED", "FILE"];
        f.write_str(&table(headings, &lines))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportDetails {
    #[serde(flatten)]
    output: ImportOutput,
    #[serde(skip)]
    id: ImportId,
    /// Rows of the file that were processed.
    rows: i64,
    /// The states of the texts of the saved pages.
    texts: TextCounts,
    /// The failed texts that are tried again.
    #[serde(skip)]
    retried: u64,
    /// Why the import does not continue.
    error: Option<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    #[serde(skip)]
    is_in_progress: bool,
}

impl fmt::Display for ImportDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_file = self.output.file_name.as_deref().map(|name| format!(" of {}", shown(name)));
        let of_file = of_file.unwrap_or_default();
        writeln!(f, "import {}{of_file}: {}, {} rows", self.id, self.output.status, self.rows)?;
        self.output.write_rows(f)?;
        let TextCounts { processing, ready, failed } = self.texts;
        write!(f, "texts: {processing} waiting, {ready} ready, {failed} failed")?;
        match self.retried {
            0 => writeln!(f)?,
            1 => writeln!(f, " (1 is tried again)")?,
            several => writeln!(f, " ({several} are tried again)")?,
        }
        if let Some(error) = &self.error {
            writeln!(f, "{}", shown(error))?;
        }
        match (self.is_in_progress, self.output.server_running) {
            (true, true) => f.write_str("The server continues in the background"),
            (true, false) => f.write_str("No server is running: the server continues at its next start"),
            (false, _) => Ok(()),
        }
    }
}

#[derive(Serialize)]
struct ImportRowList {
    rows: Vec<ImportRowView>,
}

impl fmt::Display for ImportRowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &ImportRowView| {
            let kind = row.kind.map_or_else(|| "-".to_owned(), |kind| kind.to_string());
            let name = row.name.as_deref().map_or_else(|| "-".to_owned(), shown);
            let reason = row.reason.as_deref().map(shown).or_else(|| row.id.map(|id| id.to_string()));
            [row.line.to_string(), row.outcome.to_string(), kind, name, reason.unwrap_or_default()]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        f.write_str(&table(["LINE", "OUTCOME", "KIND", "TITLE OR URL", "ID OR REASON"], &rows))
    }
}
