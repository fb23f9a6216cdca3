//! The report of an import (contract.md, section 9: imports).

use std::collections::BTreeMap;
use std::fmt;

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
pub struct ImportReport {
    import_id: ImportId,
    /// The state of the import.
    pub status: ImportState,
    /// Name of the file; `None` for standard input.
    pub file_name: Option<String>,
    format: Option<String>,
    dry_run: bool,
    created: i32,
    updated: i32,
    skipped: Vec<SkippedRow>,
    skipped_lines: i32,
    /// Number of skipped rows that are not listed one by one, by reason.
    unlisted_faults: BTreeMap<String, u64>,
    unread_columns: Vec<String>,
    /// What the undo of the import did; `None` if it was not undone.
    undo: Option<UndoReport>,
    /// Whether a server runs that fetches and indexes the pages.
    pub server_running: bool,
}

#[derive(Debug, Serialize)]
struct SkippedRow {
    line: i64,
    reason: String,
}

impl ImportReport {
    /// Reads the report of an import.
    pub async fn of(core: &CoreContext, import: &import::Model, server_running: bool) -> Result<Self, Error> {
        let skipped = imports::list_skipped_rows(core, import).await?;
        Ok(Self {
            import_id: import.id,
            status: import.state,
            file_name: import.file_name.clone(),
            format: import.format.clone(),
            dry_run: import.is_dry_run,
            created: import.created,
            updated: import.updated,
            skipped: skipped.into_iter().map(|(line, reason)| SkippedRow { line, reason }).collect(),
            skipped_lines: import.skipped,
            unlisted_faults: imports::unlisted_faults(import)?,
            unread_columns: imports::unread_columns(import),
            undo: imports::load_undo_report(core, import).await?,
            server_running,
        })
    }

    /// Returns whether any row of the file could be imported.
    pub fn is_good(&self) -> bool {
        self.created + self.updated > 0 || self.skipped_lines == 0
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_rows(f)?;
        if self.dry_run {
            return write!(
                f,
                "Nothing was changed; `carrel imports start {}` runs the import",
                self.import_id
            );
        }
        if self.created == 0 {
            return Ok(());
        }
        let progress = if self.server_running {
            "The server is now fetching and indexing them"
        } else {
            "No server is running: the next start fetches and indexes them"
        };
        write!(f, "{progress}; see `carrel imports show {}`", self.import_id)
    }
}

impl ImportReport {
    /// Writes the outcomes of the rows of the file.
    pub fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { created, updated, skipped_lines, .. } = self;
        if self.dry_run {
            writeln!(f, "would create {created}, update {updated}, skip {skipped_lines}")?;
        } else {
            writeln!(f, "created {created}, updated {updated}, skipped {skipped_lines}")?;
        }
        for skipped in self.skipped.iter().take(MAX_PRINTED_ROWS) {
            writeln!(f, "line {}: {}", skipped.line, shown(&skipped.reason))?;
        }
        if self.skipped.len() > MAX_PRINTED_ROWS {
            let more = self.skipped.len() - MAX_PRINTED_ROWS;
            let command = format!("carrel imports rows --outcome skipped {}", self.import_id);
            writeln!(f, "and {more} more; `{command}` shows all of them")?;
        }
        for (reason, rows) in &self.unlisted_faults {
            writeln!(f, "{rows} further rows: {}", shown(reason))?;
        }
        if !self.unread_columns.is_empty() {
            writeln!(f, "columns that are not imported: {}", shown(&self.unread_columns.join(", ")))?;
        }
        if let Some(UndoReport { deleted, kept, additions_kept }) = &self.undo {
            writeln!(f, "undo: deleted {deleted}, kept {kept} that were changed since or are in use")?;
            writeln!(f, "undo: {additions_kept} rows had added to existing objects; the additions stay")?;
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
        let action = if self.dry_run { "does the dry run" } else { "imports it" };
        write!(
            f,
            "no server is running: the file is kept, and the next start {action}; see `carrel imports show {}`",
            self.import_id
        )
    }
}
