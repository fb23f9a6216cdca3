//! How many rows of a file one transaction applies, and how many rows of an import one transaction undoes. It holds the one writer of
//! SQLite, so it is bounded by its time as well as by its rows.

use std::io;
use std::time::Duration;

use database::library_counts::ROW_BYTES;
use entity::import;

use super::reading::RowInput;
use super::rows::faults::MAX_CONSECUTIVE_FAULTS;

/// Rows of the first batch, of one near a bound, and of one whose rows take long.
const BASE_ROWS: usize = 100;
/// Maximum number of rows of a batch. From here on the cost of a batch that is not one of its rows hardly counts.
const MAX_ROWS: usize = 4 * BASE_ROWS;
/// Time of a transaction from which on the next batch is smaller. Other writes wait for that long.
const MAX_TIME: Duration = Duration::from_millis(100);
/// The bytes of the library that a row takes up at most for each of its bytes, unless it has very many tags or folders: its URL is stored in
/// several columns and in normalized forms.
const MAX_BYTES_PER_BYTE: u64 = 12;
/// Rows of the library that a row of the file becomes at most: bookmark, documents, tags, collections, records of the import. More of them
/// have texts, by which they are counted too.
const MAX_ROWS_PER_ROW: u64 = 20;

/// The number of rows of the next batch.
#[derive(Debug)]
pub struct BatchSize {
    rows: usize,
}

impl Default for BatchSize {
    fn default() -> Self {
        Self { rows: BASE_ROWS }
    }
}

impl BatchSize {
    /// Returns the number of rows of the next batch.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Records for how long the transaction of a batch of this many rows held the database.
    pub fn record(&mut self, rows: usize, held: Duration) {
        if held > MAX_TIME {
            self.rows = (self.rows / 2).max(BASE_ROWS);
        } else if rows >= self.rows && held * 2 < MAX_TIME {
            self.rows = (self.rows * 2).min(MAX_ROWS);
        }
    }
}

/// Returns how many of these rows one transaction applies: all, or the first [`BASE_ROWS`] if the library might become full, or the
/// import might end after a run of faults. Both are decided for a whole batch, so near these bounds the result must not depend on its
/// size. `max_library_bytes` is the result of [`max_library_bytes`] for the rows.
pub fn rows_within_bounds(
    rows: usize,
    max_library_bytes: u64,
    free_bytes: u64,
    import: &import::Model,
) -> usize {
    let faults = usize::try_from(import.faults_in_a_row).unwrap_or_default();
    let may_stop = faults + rows >= usize::try_from(MAX_CONSECUTIVE_FAULTS).unwrap_or_default();
    if may_stop || max_library_bytes > free_bytes { rows.min(BASE_ROWS) } else { rows }
}

/// Returns at most how many bytes of the library these rows take up. It is far above what they usually take.
pub fn max_library_bytes(rows: &[RowInput]) -> u64 {
    let most_of = |input: &RowInput| {
        let mut length = Length(0);
        let bytes = match serde_json::to_writer(&mut length, &input.row) {
            Ok(()) => length.0,
            Err(_) => u64::MAX,
        };
        bytes.saturating_mul(MAX_BYTES_PER_BYTE).saturating_add(MAX_ROWS_PER_ROW * ROW_BYTES as u64)
    };
    rows.iter().map(most_of).fold(0, u64::saturating_add)
}

/// Counts the bytes that are written to it.
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.saturating_add(bytes.len() as u64);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use parse::bookmarks::{Row, RowContent};
    use values::id::UserId;
    use values::time::Timestamp;

    use super::super::begin::NewImport;
    use super::*;

    fn an_import(faults_in_a_row: i32) -> import::Model {
        let now = Timestamp::from_millis(0);
        let new = NewImport { user: UserId::new(now), file_name: None, format: None, dry_run: false };
        import::Model { faults_in_a_row, ..new.row(now) }
    }

    #[test]
    fn fast_batches_grow_and_slow_ones_shrink() {
        let (fast, slow) = (Duration::from_millis(10), MAX_TIME * 2);
        let mut size = BatchSize::default();

        let mut sizes = Vec::new();
        for held in [fast, fast, fast, MAX_TIME, slow, slow, slow] {
            size.record(size.rows(), held);
            sizes.push(size.rows());
        }

        assert_eq!(sizes, [200, 400, 400, 400, 200, 100, 100]);
    }

    #[test]
    fn part_of_a_batch_does_not_make_the_next_one_larger() {
        let mut size = BatchSize::default();

        size.record(BASE_ROWS - 1, Duration::ZERO);

        assert_eq!(size.rows(), BASE_ROWS);
    }

    #[test]
    fn batches_near_a_bound_are_small() {
        let import = an_import(0);

        assert_eq!(rows_within_bounds(400, 5000, 5000, &import), 400);
        assert_eq!(rows_within_bounds(400, 5001, 5000, &import), BASE_ROWS);
        assert_eq!(rows_within_bounds(7, 5001, 5000, &import), 7);
        assert_eq!(rows_within_bounds(400, 0, 5000, &an_import(9599)), 400);
        assert_eq!(rows_within_bounds(400, 0, 5000, &an_import(9600)), BASE_ROWS);
    }

    #[test]
    fn row_counts_by_its_texts_and_a_constant() {
        let row = |reason: &str| Row { line: 1, content: RowContent::skipped(reason) };
        let bytes = |reason: &str| max_library_bytes(&[RowInput::without_file(row(reason))]);

        assert_eq!(bytes(&"a".repeat(1000)) - bytes(""), 1000 * MAX_BYTES_PER_BYTE);
        assert!(bytes("") >= MAX_ROWS_PER_ROW * ROW_BYTES as u64);
    }
}
