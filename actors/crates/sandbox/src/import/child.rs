//! The child's side: reads the one file that it was started with, some rows for each question. The file is the read-only
//! descriptor that the service put in the place of standard output.

use std::fs::File;
use std::io::{self, Read};
use std::iter::Peekable;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use parse::bookmarks::{Archive, Format, Found, NoImport, Row, Source, Unpacked};

use super::wire::{Ask, ENOUGH, LONGEST, PIECE, ROWS, Told};
use crate::limits::Meter;
use crate::wire::{self, WireError};

/// Answers until the service closes the pipe. Each question has its own share of processor time.
pub fn answer_all(mut parent: UnixStream, mut meter: Meter) -> Result<(), WireError> {
    let mut reading: Option<Reading> = None;
    loop {
        let (ask, _) = wire::read::<Ask>(&mut parent, 0)?;
        // Without a share of its own the question still has what the wall clock leaves it.
        let _ = meter.renew();
        let answer = match (ask, &mut reading) {
            (Ask::Open { format }, place) => open(format).map(|(told, opened)| {
                *place = Some(opened);
                (told, Vec::new())
            }),
            (Ask::Rows, Some(reading)) => reading.rows(),
            (Ask::Pass { rows }, Some(reading)) => {
                (0..rows).take_while(|_| reading.rows.next().is_some()).for_each(drop);
                Ok((Told::Passed, Vec::new()))
            }
            (Ask::File { name }, Some(reading)) => reading.begin(&name),
            (Ask::Piece, Some(reading)) => reading.piece(),
            (Ask::Rows | Ask::Pass { .. } | Ask::File { .. } | Ask::Piece, None) => {
                return Err(WireError::Malformed);
            }
        };
        let (told, body) = answer.unwrap_or_else(|reason| (Told::Unread { reason }, Vec::new()));
        wire::write(&mut parent, &told, &body)?;
    }
}

struct Reading {
    rows: Peekable<Box<dyn Iterator<Item = Row>>>,
    archive: Option<Archive>,
    file: Option<Unpacked>,
}

fn open(format: Option<Format>) -> Result<(Told, Reading), NoImport> {
    let file = io::stdout().as_fd().try_clone_to_owned().map_err(|_| NoImport::Damaged)?;
    let Source { format, unread_columns, rows, archive } = Source::open(File::from(file), format)?;
    Ok((Told::Opened { format, unread_columns }, Reading { rows: rows.peekable(), archive, file: None }))
}

impl Reading {
    /// Some rows as a JSON array: as many as there may be at once, but no more once there are bytes enough.
    fn rows(&mut self) -> Result<(Told, Vec<u8>), NoImport> {
        let mut body = vec![b'['];
        for n in 0..ROWS {
            if body.len() > ENOUGH || self.rows.peek().is_none() {
                break;
            }
            let Some(row) = self.rows.next() else { break };
            if n > 0 {
                body.push(b',');
            }
            let line = row.line;
            let mut told = serde_json::to_vec(&row.without_nul()).map_err(|_| NoImport::Damaged)?;
            if told.len() > LONGEST - 2 * ENOUGH {
                let found = Found::Passed("is too long".to_owned());
                told = serde_json::to_vec(&Row { line, found }).map_err(|_| NoImport::Damaged)?;
            }
            body.append(&mut told);
        }
        body.push(b']');
        Ok((Told::Rows, body))
    }

    fn begin(&mut self, name: &str) -> Result<(Told, Vec<u8>), NoImport> {
        let archive = self.archive.as_mut().ok_or(NoImport::Missing)?;
        self.file = Some(archive.unpack(name)?);
        Ok((Told::File, Vec::new()))
    }

    fn piece(&mut self) -> Result<(Told, Vec<u8>), NoImport> {
        let file = self.file.as_mut().ok_or(NoImport::Missing)?;
        let mut piece = Vec::with_capacity(PIECE);
        file.take(PIECE as u64).read_to_end(&mut piece).map_err(|_| NoImport::Damaged)?;
        Ok((Told::Piece, piece))
    }
}
