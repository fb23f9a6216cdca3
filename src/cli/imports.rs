//! `carrel imports`: what is known of imports, row by row, and the steps that one may take with them. A step leaves a job:
//! the server does it, or the next start where none runs.

use std::fmt;

use actors::desk::Desk;
use actors::error::Error;
use actors::imports::{self, Wanted};
use actors::ops::import_rows::RowView;
use clap::{Args, Subcommand};
use entity::id::{ImportId, UserId};
use entity::import;
use entity::kind::{ImportState, RowOutcome};
use entity::time::Timestamp;
use serde::Serialize;

use super::failure::Failure;
use super::import::report::Report;
use super::output::{CommandOutput, shown, table};
use super::{choices, opening, probe};
use crate::settings::Settings;

/// Rows that are read at once.
const PAGE: u64 = 1000;

/// What is asked of imports.
#[derive(Debug, Subcommand)]
pub enum Asked {
    /// List the imports of an account, the latest first
    List(Whose),
    /// Say how far an import is, and what became of its rows
    Show(Which),
    /// List the rows of an import and what became of each; of a dry run, what would
    Rows(Rows),
    /// Take in what was only looked at
    Start(Which),
    /// Take no more rows, and fetch none of the pages that came in
    Pause(Which),
    /// Go on with one that is paused or failed
    Resume(Which),
    /// Take back what an import made, but for what its person has made of it
    Undo(Which),
}

/// An account.
#[derive(Debug, Args)]
pub struct Whose {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
}

/// An import of an account.
#[derive(Debug, Args)]
pub struct Which {
    /// Address of the account
    #[arg(long, value_name = "ADDRESS")]
    user: String,
    /// The import, as `carrel imports list` shows it
    #[arg(value_name = "ID", value_parser = choices::import_id)]
    id: ImportId,
}

/// Rows of an import.
#[derive(Debug, Args)]
pub struct Rows {
    #[command(flatten)]
    which: Which,
    /// Only rows of which this became
    #[arg(long, value_parser = choices::outcome())]
    outcome: Option<RowOutcome>,
}

/// Does what is asked.
pub async fn run(asked: Asked, settings: &Settings) -> Result<CommandOutput, Failure> {
    let desk = &opening::desk(settings).await?;
    match asked {
        Asked::List(Whose { user }) => list(desk, &user).await,
        Asked::Rows(Rows { which, outcome }) => rows(desk, which, outcome).await,
        Asked::Show(which) => show(desk, settings, &one(desk, which, imports::find).await?).await,
        Asked::Start(which) => show(desk, settings, &one(desk, which, imports::start).await?).await,
        Asked::Pause(which) => show(desk, settings, &one(desk, which, imports::pause).await?).await,
        Asked::Resume(which) => show(desk, settings, &one(desk, which, imports::resume).await?).await,
        Asked::Undo(which) => show(desk, settings, &one(desk, which, imports::undo).await?).await,
    }
}

/// An import, as it is after a step.
async fn one(
    desk: &Desk,
    Which { user, id }: Which,
    step: impl AsyncFnOnce(&Desk, UserId, ImportId) -> Result<import::Model, Error>,
) -> Result<import::Model, Failure> {
    let owner = opening::account(desk, &user).await?;
    match step(desk, owner.id, id).await {
        Ok(import) => Ok(import),
        Err(Error::NotFound) => Err(Failure::NoImport),
        Err(other) => Err(other.into()),
    }
}

async fn list(desk: &Desk, email: &str) -> Result<CommandOutput, Failure> {
    let owner = opening::account(desk, email).await?;
    let imports = imports::latest(desk, owner.id).await?;
    CommandOutput::of(&Listed { imports: imports.into_iter().map(Line::from).collect() })
}

async fn show(desk: &Desk, settings: &Settings, import: &import::Model) -> Result<CommandOutput, Failure> {
    let report = Report::of(desk, import, probe::runs(settings).await).await?;
    let import::Model { id, done, created_at, finished_at, .. } = *import;
    let is_under_way = matches!(import.state, ImportState::Running | ImportState::Undoing);
    let error = import.error.clone();
    CommandOutput::of(&Shown { report, id, rows: done, error, created_at, finished_at, is_under_way })
}

async fn rows(desk: &Desk, which: Which, outcome: Option<RowOutcome>) -> Result<CommandOutput, Failure> {
    let import = one(desk, which, imports::find).await?;
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let some = imports::rows(desk, &import, Wanted { outcome, after, most: PAGE }).await?;
        let Some(last) = some.last() else { break };
        after = Some((last.line, last.id));
        rows.extend(RowView::of_rows(desk.db.read(), &import, some).await?);
    }
    CommandOutput::of(&Became { rows })
}

#[derive(Serialize)]
struct Listed {
    imports: Vec<Line>,
}

/// An import in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    import_id: ImportId,
    status: ImportState,
    format: Option<String>,
    dry_run: bool,
    rows: i64,
    created: i32,
    updated: i32,
    skipped_lines: i32,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
}

impl From<import::Model> for Line {
    fn from(row: import::Model) -> Self {
        Self {
            import_id: row.id,
            status: row.state,
            format: row.format,
            dry_run: row.dry_run,
            rows: row.done,
            created: row.created,
            updated: row.updated,
            skipped_lines: row.skipped,
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.imports.is_empty() {
            return f.write_str("the account has no imports; `carrel import` begins one");
        }
        let line = |line: &Line| {
            let format = line.format.clone().unwrap_or_else(|| "-".to_owned());
            let begun = line.created_at.to_string();
            [line.import_id.to_string(), line.status.to_string(), line.rows.to_string(), begun, format]
        };
        let lines: Vec<_> = self.imports.iter().map(line).collect();
        f.write_str(&table(["ID", "STATUS", "ROWS", "BEGUN", "FORMAT"], &lines))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(flatten)]
    report: Report,
    #[serde(skip)]
    id: ImportId,
    /// Rows of the file that are done.
    rows: i64,
    /// Why it does not go on, where it does not.
    error: Option<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    #[serde(skip)]
    is_under_way: bool,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "import {}: {}, {} rows", self.id, self.report.status, self.rows)?;
        self.report.write_rows(f)?;
        if let Some(error) = &self.error {
            writeln!(f, "{error}")?;
        }
        if self.is_under_way {
            write!(f, "It goes on: {}", probe::who(self.report.server_running))?;
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Became {
    rows: Vec<RowView>,
}

impl fmt::Display for Became {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = |row: &RowView| {
            let kind = row.kind.map_or_else(|| "-".to_owned(), |kind| kind.to_string());
            let told = row.reason.as_deref().map(shown).or_else(|| row.id.map(|id| id.to_string()));
            [row.line.to_string(), row.outcome.to_string(), kind, told.unwrap_or_default()]
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        f.write_str(&table(["LINE", "BECAME", "KIND", "ID OR REASON"], &rows))
    }
}
