//! Files of other programs, read row by row in a child of their own: what was saved elsewhere, and exports of this service.
//!
//! The child gets the file as an open, read-only descriptor and gives some rows for each question, so a file of any size
//! needs little memory in the service. It holds whole only those formats that cannot be read otherwise.

pub(super) mod child;
#[cfg(test)]
mod tests;
mod wire;

use std::fs::File;
use std::time::Duration;

use parse::bookmarks::{Format, Row};

use super::SandboxError;
use super::pool::{Pool, Worker};
use super::wire::Duty;
use wire::{Ask, LONGEST, PIECE, ROWS, Told};

/// A file that is being read. Its child ends with it.
pub struct Import {
    worker: Worker,
    wall: Duration,
    format: Format,
    unread_columns: Vec<String>,
}

impl Import {
    /// Starts a child over this file, open for reading.
    pub(super) async fn open(pool: &Pool, file: File, format: Option<Format>) -> Result<Self, SandboxError> {
        let (mut worker, wall) = pool.reader_of(file, Duty::Import).await?;
        match worker.exchange(wall, &Ask::Open { format }, 0).await? {
            (Told::Opened { format, unread_columns }, _) => Ok(Self { worker, wall, format, unread_columns }),
            (told, _) => Err(unexpected(told)),
        }
    }

    /// Which program wrote the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Columns of a table that are not read.
    pub fn unread_columns(&self) -> &[String] {
        &self.unread_columns
    }

    /// The next rows; none at the end.
    ///
    /// # Errors
    /// As [`super::Sandbox::import`].
    pub async fn rows(&mut self) -> Result<Vec<Row>, SandboxError> {
        match self.ask(Ask::Rows).await? {
            (Told::Rows, body) => serde_json::from_slice(&body).map_err(|_| SandboxError::Crashed),
            (told, _) => Err(unexpected(told)),
        }
    }

    /// Passes so many rows over; some at a time, since the child's share of time is for each question.
    ///
    /// # Errors
    /// As [`super::Sandbox::import`].
    pub async fn pass(&mut self, mut rows: u64) -> Result<(), SandboxError> {
        while rows > 0 {
            let some = rows.min(ROWS as u64);
            match self.ask(Ask::Pass { rows: some }).await? {
                (Told::Passed, _) => rows -= some,
                (told, _) => return Err(unexpected(told)),
            }
        }
        Ok(())
    }

    /// Begins to unpack a file that came in the archive.
    ///
    /// # Errors
    /// As [`super::Sandbox::import`]; [`NoImport::Missing`](parse::bookmarks::NoImport::Missing) where there is none.
    pub async fn file(&mut self, name: String) -> Result<(), SandboxError> {
        match self.ask(Ask::File { name }).await? {
            (Told::File, _) => Ok(()),
            (told, _) => Err(unexpected(told)),
        }
    }

    /// The next piece of the file that was begun; empty at its end.
    ///
    /// # Errors
    /// As [`super::Sandbox::import`].
    pub async fn piece(&mut self) -> Result<Vec<u8>, SandboxError> {
        match self.ask(Ask::Piece).await? {
            (Told::Piece, body) if body.len() <= PIECE => Ok(body),
            (told, _) => Err(unexpected(told)),
        }
    }

    async fn ask(&mut self, ask: Ask) -> Result<(Told, Vec<u8>), SandboxError> {
        self.worker.exchange(self.wall, &ask, LONGEST).await
    }
}

/// A child that answers something else than was asked is not to be trusted further.
fn unexpected(told: Told) -> SandboxError {
    match told {
        Told::Unread { reason } => reason.into(),
        Told::Opened { .. } | Told::Rows | Told::Passed | Told::File | Told::Piece => SandboxError::Crashed,
    }
}
