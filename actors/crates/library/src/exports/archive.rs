//! The zip archive of an export: parts are sent through a channel, and a blocking thread packs them.

use std::io::{self, Write};

use disk::DiskReservation;
use errors::Error;
use parse::archive::Record;
use tokio::sync::mpsc::{Receiver, Sender};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A part of the archive, in the order of the archive.
pub(super) enum ArchivePart {
    /// The start of a file. `is_compressed`: whether the archive compresses it; media files would not get smaller.
    File { name: String, is_compressed: bool },
    /// Content of the file that was started last.
    Bytes(Vec<u8>),
}

/// Sends the parts of an archive to the thread that packs it.
#[derive(Clone, Copy)]
pub(super) struct ArchiveSender<'a>(pub(super) &'a Sender<ArchivePart>);

impl ArchiveSender<'_> {
    async fn send(self, part: ArchivePart) -> Result<(), Error> {
        // The receiver is dropped only after an error of the packing thread, which the job reports instead of this one.
        self.0.send(part).await.map_err(|_| Error::internal("the archive takes no more"))
    }

    /// Starts a file that is compressed in the archive.
    pub(super) async fn start_file(self, name: &str) -> Result<(), Error> {
        self.send(ArchivePart::File { name: name.to_owned(), is_compressed: true }).await
    }

    /// Starts a file that is stored without compression.
    pub(super) async fn start_stored_file(self, name: &str) -> Result<(), Error> {
        self.send(ArchivePart::File { name: name.to_owned(), is_compressed: false }).await
    }

    /// Appends bytes to the file that was started last.
    pub(super) async fn write(self, bytes: Vec<u8>) -> Result<(), Error> {
        self.send(ArchivePart::Bytes(bytes)).await
    }

    /// Appends text to the file that was started last.
    pub(super) async fn write_text(self, text: &str) -> Result<(), Error> {
        self.write(text.as_bytes().to_vec()).await
    }

    /// Appends a record, as a line of JSON, to the file that was started last.
    pub(super) async fn write_record(self, record: &Record) -> Result<(), Error> {
        let mut line = serde_json::to_vec(record).map_err(Error::internal)?;
        line.push(b'\n');
        self.write(line).await
    }

    /// Adds a file with this text.
    pub(super) async fn add_file(self, name: &str, text: String) -> Result<(), Error> {
        self.start_file(name).await?;
        self.write(text.into_bytes()).await
    }
}

/// Packs parts into a file until the sender is dropped, and returns the length of the archive in bytes.
pub(super) fn pack(
    file: std::fs::File,
    mut reservation: DiskReservation,
    parts: &mut Receiver<ArchivePart>,
) -> io::Result<u64> {
    let mut zip = ZipWriter::new(file);
    while let Some(part) = parts.blocking_recv() {
        match part {
            ArchivePart::File { name, is_compressed } => {
                let method = if is_compressed {
                    zip::CompressionMethod::Deflated
                } else {
                    zip::CompressionMethod::Stored
                };
                // ZIP64 for every file: the length is not known when it is started, and one over 4 GiB would fail otherwise.
                let options = SimpleFileOptions::default().compression_method(method).large_file(true);
                zip.start_file(name, options)?;
            }
            ArchivePart::Bytes(bytes) => {
                // Compressed they take less; the difference stays reserved until the disk is measured again.
                reservation.require(bytes.len() as u64)?;
                zip.write_all(&bytes)?;
                reservation.record_written(bytes.len() as u64);
            }
        }
    }
    let file = zip.finish()?;
    // Synchronised, so that an error of the disk is reported here and not by the reader of a broken archive.
    file.sync_all()?;
    Ok(file.metadata()?.len())
}
