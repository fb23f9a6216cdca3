//! The child's side: reads the one file that it was started with, some rows for each request. The file is the read-only
//! descriptor that the server passed as standard output.

use std::fs::File;
use std::io::{self, Read};
use std::iter::Peekable;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use parse::bookmarks::{EntryReader, Format, ImportError, ImportSource, Row, RowContent, ZipReader};

use super::wire::{ImportRequest, ImportResponse, MAX_BODY_BYTES, MAX_ROWS, PIECE_BYTES, TARGET_BATCH_BYTES};
use crate::confinement::CpuMeter;
use crate::wire::{self, WireError};

/// The longest name of a row that is reported although the row is too long to be sent, in bytes.
const MAX_NAME_BYTES: usize = 4 << 10;

/// Answers requests until the server closes the socket. Each request has its own share of processor time.
pub fn serve_file(mut parent: UnixStream, mut meter: CpuMeter) -> Result<(), WireError> {
    let mut import: Option<OpenImport> = None;
    loop {
        let (request, _) = wire::read_message::<ImportRequest>(&mut parent, 0)?;
        // If the limit cannot be renewed, the request is still bounded by the time limit of the parent.
        let _ = meter.renew();
        let result = match (request, &mut import) {
            (ImportRequest::Open { format }, slot) => open_import(format).map(|(response, opened)| {
                *slot = Some(opened);
                (response, Vec::new())
            }),
            (ImportRequest::Rows { max }, Some(import)) => import.next_rows(max),
            (ImportRequest::Skip { rows }, Some(import)) => {
                // Rows after the last one are not an error: the file may end within the rows to skip.
                (0..rows).take_while(|_| import.rows.next().is_some()).for_each(drop);
                Ok((ImportResponse::Skipped, Vec::new()))
            }
            (ImportRequest::OpenFile { name }, Some(import)) => import.open_file(&name),
            (ImportRequest::Piece, Some(import)) => import.next_piece(),
            (
                ImportRequest::Rows { .. }
                | ImportRequest::Skip { .. }
                | ImportRequest::OpenFile { .. }
                | ImportRequest::Piece,
                None,
            ) => return Err(WireError::Malformed),
        };
        let (response, body) =
            result.unwrap_or_else(|reason| (ImportResponse::Failed { reason }, Vec::new()));
        wire::write(&mut parent, &response, &body)?;
    }
}

/// A file whose format is known, and the packed file that is being unpacked.
struct OpenImport {
    rows: Peekable<Box<dyn Iterator<Item = Row>>>,
    archive: Option<ZipReader>,
    file: Option<EntryReader>,
}

fn open_import(format: Option<Format>) -> Result<(ImportResponse, OpenImport), ImportError> {
    let file = io::stdout().as_fd().try_clone_to_owned().map_err(|_| ImportError::Damaged)?;
    let ImportSource { format, unread_columns, rows, archive } =
        ImportSource::open(File::from(file), format)?;
    let import = OpenImport { rows: rows.peekable(), archive, file: None };
    Ok((ImportResponse::Opened { format, unread_columns }, import))
}

impl OpenImport {
    /// Some rows as a JSON array: up to this number and [`MAX_ROWS`], but no more once there are [`TARGET_BATCH_BYTES`].
    fn next_rows(&mut self, max: usize) -> Result<(ImportResponse, Vec<u8>), ImportError> {
        let mut body = vec![b'['];
        for n in 0..max.min(MAX_ROWS) {
            if body.len() > TARGET_BATCH_BYTES || self.rows.peek().is_none() {
                break;
            }
            let Some(row) = self.rows.next() else { break };
            if n > 0 {
                body.push(b',');
            }
            // PostgreSQL stores no NUL in a text.
            let row = row.without_nul();
            let mut json = serde_json::to_vec(&row).map_err(|_| ImportError::Damaged)?;
            // A row is added while the body is at most TARGET_BATCH_BYTES long, so a row of this size never takes the
            // body over its bound.
            let max_bytes = MAX_BODY_BYTES - 2 * TARGET_BATCH_BYTES;
            if json.len() > max_bytes {
                let name = row.content.name().filter(|name| name.len() <= MAX_NAME_BYTES).map(str::to_owned);
                let reason = format!("is longer than {max_bytes} bytes");
                let content = RowContent::skipped_with_name(reason, name);
                let skipped = Row { line: row.line, content };
                json = serde_json::to_vec(&skipped).map_err(|_| ImportError::Damaged)?;
            }
            body.append(&mut json);
        }
        body.push(b']');
        Ok((ImportResponse::Rows, body))
    }

    fn open_file(&mut self, name: &str) -> Result<(ImportResponse, Vec<u8>), ImportError> {
        let archive = self.archive.as_mut().ok_or(ImportError::MissingFile)?;
        self.file = Some(archive.open_entry(name)?);
        Ok((ImportResponse::FileOpened, Vec::new()))
    }

    fn next_piece(&mut self) -> Result<(ImportResponse, Vec<u8>), ImportError> {
        let file = self.file.as_mut().ok_or(ImportError::MissingFile)?;
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        file.take(PIECE_BYTES as u64).read_to_end(&mut piece).map_err(|_| ImportError::Damaged)?;
        Ok((ImportResponse::Piece, piece))
    }
}
