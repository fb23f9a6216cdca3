//! Files of other programs, read row by row in a separate child process: what was saved elsewhere, and exports of this
//! server.
//!
//! The child gets the file as an open, read-only descriptor and returns some rows for each request, so a file of any size
//! needs little memory in the server. It holds whole only those formats that cannot be read otherwise.

pub(super) mod child;
#[cfg(test)]
mod tests;
mod wire;

use std::fs::File;
use std::time::Duration;

use parse::bookmarks::{Format, Row};

use super::pool::{Pool, Worker};
use super::sandbox_error::SandboxError;
use super::wire::WorkerMode;
use wire::{ImportRequest, ImportResponse, MAX_BODY_BYTES, MAX_SKIPPED_ROWS, PIECE_BYTES};

/// A file that is being read. Its child ends when this is dropped.
pub struct ImportReader {
    worker: Worker,
    wall_time: Duration,
    format: Format,
    unread_columns: Vec<String>,
}

impl ImportReader {
    /// Starts a child that reads this file, open for reading.
    pub(super) async fn open(pool: &Pool, file: File, format: Option<Format>) -> Result<Self, SandboxError> {
        let (mut worker, wall_time) = pool.spawn_reader(file, WorkerMode::Import).await?;
        match worker.exchange(wall_time, &ImportRequest::Open { format }, 0).await? {
            (ImportResponse::Opened { format, unread_columns }, _) => {
                Ok(Self { worker, wall_time, format, unread_columns })
            }
            (response, _) => Err(unexpected(response)),
        }
    }

    /// Returns the program that wrote the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the columns of a table that this server does not read, by their names in the file.
    pub fn unread_columns(&self) -> &[String] {
        &self.unread_columns
    }

    /// Returns the next rows, at most `max` of them and at most 500; empty at the end. `max` is at least 1. Rows with long texts are fewer.
    ///
    /// # Errors
    /// The same errors as [`super::Sandbox::open_import`].
    pub async fn next_rows(&mut self, max: usize) -> Result<Vec<Row>, SandboxError> {
        match self.request(ImportRequest::Rows { max }).await? {
            (ImportResponse::Rows, body) => serde_json::from_slice(&body).map_err(|_| SandboxError::Crashed),
            (response, _) => Err(unexpected(response)),
        }
    }

    /// Skips rows, some with each request, because the child's time limit holds for each request.
    ///
    /// # Errors
    /// The same errors as [`super::Sandbox::open_import`].
    pub async fn skip_rows(&mut self, mut rows: u64) -> Result<(), SandboxError> {
        while rows > 0 {
            let some = rows.min(MAX_SKIPPED_ROWS);
            match self.request(ImportRequest::Skip { rows: some }).await? {
                (ImportResponse::Skipped, _) => rows -= some,
                (response, _) => return Err(unexpected(response)),
            }
        }
        Ok(())
    }

    /// Begins to unpack a file of the archive.
    ///
    /// # Errors
    /// The errors of [`super::Sandbox::open_import`];
    /// [`ImportError::MissingFile`](parse::bookmarks::ImportError::MissingFile) when the archive has no such file.
    pub async fn open_file(&mut self, name: String) -> Result<(), SandboxError> {
        match self.request(ImportRequest::OpenFile { name }).await? {
            (ImportResponse::FileOpened, _) => Ok(()),
            (response, _) => Err(unexpected(response)),
        }
    }

    /// Returns the next piece of the file that was opened last; empty at its end.
    ///
    /// # Errors
    /// The same errors as [`super::Sandbox::open_import`].
    pub async fn next_piece(&mut self) -> Result<Vec<u8>, SandboxError> {
        match self.request(ImportRequest::Piece).await? {
            (ImportResponse::Piece, body) if body.len() <= PIECE_BYTES => Ok(body),
            (response, _) => Err(unexpected(response)),
        }
    }

    async fn request(&mut self, request: ImportRequest) -> Result<(ImportResponse, Vec<u8>), SandboxError> {
        self.worker.exchange(self.wall_time, &request, MAX_BODY_BYTES).await
    }
}

/// A child whose response does not fit the request is not to be trusted further.
fn unexpected(response: ImportResponse) -> SandboxError {
    match response {
        ImportResponse::Failed { reason } => reason.into(),
        ImportResponse::Opened { .. }
        | ImportResponse::Rows
        | ImportResponse::Skipped
        | ImportResponse::FileOpened
        | ImportResponse::Piece => SandboxError::Crashed,
    }
}
