//! What came of an import (contract.md, section 9: imports).

use std::collections::BTreeMap;
use std::fmt;

use actors::desk::Desk;
use actors::error::Error;
use actors::imports;
use entity::id::ImportId;
use entity::import;
use entity::kind::ImportState;
use serde::Serialize;

use crate::cli::probe;

/// Rows that a person is shown.
const SHOWN: usize = 20;

/// See the file's head.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    import_id: ImportId,
    /// How far it is.
    pub status: ImportState,
    format: Option<String>,
    dry_run: bool,
    created: i32,
    updated: i32,
    skipped: Vec<Skipped>,
    skipped_lines: i32,
    /// Rows that were skipped and are not kept one by one, by reason.
    unlisted_faults: BTreeMap<String, u64>,
    unread_columns: Vec<String>,
    /// Whether a server is there to fetch and read what was saved.
    pub server_running: bool,
}

#[derive(Debug, Serialize)]
struct Skipped {
    line: i64,
    reason: String,
}

impl Report {
    /// Of an import that has ended.
    pub async fn of(desk: &Desk, import: &import::Model, server_running: bool) -> Result<Self, Error> {
        let skipped = imports::skipped(desk, import).await?;
        Ok(Self {
            import_id: import.id,
            status: import.state,
            format: import.format.clone(),
            dry_run: import.dry_run,
            created: import.created,
            updated: import.updated,
            skipped: skipped.into_iter().map(|(line, reason)| Skipped { line, reason }).collect(),
            skipped_lines: import.skipped,
            unlisted_faults: imports::unlisted_faults(import)?,
            unread_columns: imports::unread_columns(import),
            server_running,
        })
    }

    /// Not good is a file of which nothing could be taken.
    pub fn is_good(&self) -> bool {
        self.created + self.updated > 0 || self.skipped_lines == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_rows(f)?;
        if self.created > 0 && !self.dry_run {
            write!(f, "The pages are to be read and indexed: {}", probe::who(self.server_running))?;
        }
        Ok(())
    }
}

impl Report {
    /// What became of the rows of the file.
    pub fn write_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let would = if self.dry_run { "would be " } else { "" };
        let Self { created, updated, skipped_lines, .. } = self;
        writeln!(f, "{would}{created} created, {updated} updated, {skipped_lines} skipped")?;
        for skipped in self.skipped.iter().take(SHOWN) {
            writeln!(f, "line {}: {}", skipped.line, skipped.reason)?;
        }
        if self.skipped.len() > SHOWN {
            writeln!(f, "and more, which --json tells")?;
        }
        for (reason, rows) in &self.unlisted_faults {
            writeln!(f, "{rows} further lines: {reason}")?;
        }
        if !self.unread_columns.is_empty() {
            writeln!(f, "columns that are not read: {}", self.unread_columns.join(", "))?;
        }
        Ok(())
    }
}

/// An import that waits for a server to take it in.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Left {
    import_id: ImportId,
    status: ImportState,
    dry_run: bool,
    server_running: bool,
}

impl Left {
    /// Of an import that was begun.
    pub fn of(import: &import::Model) -> Self {
        Self { import_id: import.id, status: import.state, dry_run: import.dry_run, server_running: false }
    }
}

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.dry_run { "looks what would come of it" } else { "takes it in" };
        write!(
            f,
            "the file is kept, and no server is running: the next start {done}; `carrel imports` says how far it is"
        )
    }
}
