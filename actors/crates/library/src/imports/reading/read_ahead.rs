//! Reads the next rows of a file while those before them are applied.

use entity::import;
use parse::bookmarks::Row;
use sandbox::SandboxError;
use sandbox::import::ImportReader;

use super::super::context::ImportContext;
use super::error::ReadError;
use super::{RowInput, add_files};

/// A file that is read one batch ahead. At most two batches are in memory.
pub struct ReadAhead {
    reader: ImportReader,
    /// The rows that were read ahead, or why they could not be read.
    next: Option<Result<Vec<Row>, SandboxError>>,
}

impl ReadAhead {
    /// Continues where the reader is.
    pub fn new(reader: ImportReader) -> Self {
        Self { reader, next: None }
    }

    /// Reads the next rows, so that [`ReadAhead::next_batch`] finds them. They are at most `max`, which is at least 1. Rows that were read
    /// ahead already stay the next ones.
    pub async fn read_ahead(&mut self, max: usize) {
        if self.next.is_none() {
            self.next = Some(self.reader.next_rows(max).await);
        }
    }

    /// Returns the next rows with the files that they name; no rows at the end of the file. If none were read ahead, they are at most
    /// `max`.
    ///
    /// # Errors
    /// The same as [`add_files`].
    pub async fn next_batch(
        &mut self,
        context: &ImportContext,
        import: &import::Model,
        max: usize,
    ) -> Result<Vec<RowInput>, ReadError> {
        let rows = match self.next.take() {
            Some(rows) => rows?,
            None => self.reader.next_rows(max).await?,
        };
        // Not ahead: the files of a row are copied when the rows before it are in the library, whose uploads count towards the plan.
        add_files(context, import, &mut self.reader, rows).await
    }
}
