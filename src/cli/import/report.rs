//! The output of `carrel import` and of `carrel imports show`: the report of the app API, with what identifies the import.

use std::fmt;

use actors::operations::imports::ImportReport;
use entity::import;
use errors::Error;
use library::context::CoreContext;
use library::imports::{self, UndoReport};
use serde::Serialize;
use values::id::ImportId;
use values::kind::ImportState;

use crate::cli::output::shown;

/// Skipped rows that are printed one by one.
const MAX_PRINTED_ROWS: usize = 20;

/// The result of an import so far, or of a dry run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportOutput {
    import_id: ImportId,
    /// The state of the import.
    pub status: ImportState,
    /// Name of the file; `None` for standard input.
    pub file_name: Option<String>,
    format: Option<String>,
    dry_run: bool,
    #[serde(flatten)]
    report: ImportReport,
    unread_columns: Vec<String>,
    /// Whether a server runs that fetches and indexes the pages.
    pub server_running: bool,
}

impl ImportOutput {
    /// Reads the report of an import.
    pub async fn of(core: &CoreContext, import: &import::Model, server_running: bool) -> Result<Self, Error> {
        Ok(Self {
            import_id: import.id,
            status: import.state,
            file_name: import.file_name.clone(),
            format: import.format.clone(),
            dry_run: import.is_dry_run,
            report: ImportReport::from_row(core, import).await?,
            unread_columns: imports::unread_columns(import),
            server_running,
        })
    }

    /// Returns whether any row of the file could be imported.
    pub fn is_good(&self) -> bool {
        let ImportReport { created, updated, skipped_rows, .. } = self.report;
        created + updated > 0 || skipped_rows == 0
    }
}

impl fmt::Display for ImportOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_rows(f)?;
        if self.dry_run {
            return write!(
                f,
                "Nothing was changed; `carrel imports start {}` runs the import",
                self.import_id
            );
        }
        if self.report.created == 0 {
            return Ok(());
        }
        let progress = if self.server_running {
            "The server is now fetching and indexing the new items"
        } else {
            "No server is running: the server fetches and indexes the new items at its next start"
        };
        write!(f, "{progress}; see `carrel imports show {}`", self.import_id)
    }
}

impl ImportOutput {
    /// Writes the outcomes of the rows of the file.
    pub fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ImportReport { created, updated, skipped, skipped_rows, unlisted_faults, undo } = &self.report;
        if self.dry_run {
            writeln!(f, "would create {created}, update {updated}, skip {skipped_rows}")?;
        } else {
            writeln!(f, "created {created}, updated {updated}, skipped {skipped_rows}")?;
        }
        for row in skipped.iter().take(MAX_PRINTED_ROWS) {
            writeln!(f, "line {}: {}", row.line, shown(&row.reason))?;
        }
        if skipped.len() > MAX_PRINTED_ROWS {
            let more = skipped.len() - MAX_PRINTED_ROWS;
            let command = format!("carrel imports rows --outcome skipped {}", self.import_id);
            writeln!(f, "and {more} more; `{command}` shows all of them")?;
        }
        for fault in unlisted_faults {
            writeln!(f, "{} further skipped rows: {}", fault.rows, shown(&fault.reason))?;
        }
        if !self.unread_columns.is_empty() {
            writeln!(f, "columns that were not imported: {}", shown(&self.unread_columns.join(", ")))?;
        }
        if let Some(UndoReport { deleted, kept, additions_kept }) = undo {
            writeln!(
                f,
                "undo: {deleted} deleted, {kept} not deleted because they were changed since or are in use"
            )?;
            writeln!(
                f,
                "undo: {additions_kept} rows added data to items that existed before; that data was not removed"
            )?;
        }
        Ok(())
    }
}

/// An import that waits until a server starts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuedImport {
    import_id: ImportId,
    status: ImportState,
    file_name: Option<String>,
    dry_run: bool,
    server_running: bool,
}

impl QueuedImport {
    /// Describes an import that was begun while no server runs.
    pub fn of(import: &import::Model) -> Self {
        Self {
            import_id: import.id,
            status: import.state,
            file_name: import.file_name.clone(),
            dry_run: import.is_dry_run,
            server_running: false,
        }
    }
}

impl fmt::Display for QueuedImport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = if self.dry_run { "does the dry run" } else { "imports the file" };
        write!(
            f,
            "no server is running: the server {action} at its next start; see `carrel imports show {}`",
            self.import_id
        )
    }
}
