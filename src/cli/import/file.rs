//! Copies the file that is imported into the store.

use std::io::{self, ErrorKind};
use std::path::Path;

use library::context::CoreContext;
use library::imports::ImportFile;
use library::stored_files::FileLease;
use storage::blobs::{BlobStore, PART_BYTES};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, stdin};
use values::id::UserId;

use crate::cli::failure::Failure;

/// Copies a file of this machine, or standard input, into the store for this user.
pub async fn store(
    core: &CoreContext,
    store: &dyn BlobStore,
    user: UserId,
    path: &Path,
) -> Result<FileLease, Failure> {
    let shown = if is_standard_input(path) { Path::new("standard input") } else { path };
    let fault = |cause| Failure::Path { what: "read", path: shown.to_owned(), cause };
    let (mut source, length) = open_source(path).await.map_err(fault)?;
    // The first part before anything is stored: an empty file leaves no trace.
    let mut part = read_part(&mut *source).await.map_err(fault)?;
    if part.is_empty() {
        let reason =
            if is_standard_input(path) { "no bytes arrived; pipe a file to it" } else { "the file is empty" };
        return Err(fault(io::Error::new(ErrorKind::UnexpectedEof, reason)));
    }
    let mut file = ImportFile::begin(core, store, user, length).await?;
    while !part.is_empty() {
        if let Err(error) = file.write(part.into()).await {
            file.abort().await;
            return Err(error.into());
        }
        part = match read_part(&mut *source).await {
            Ok(part) => part,
            Err(cause) => {
                file.abort().await;
                return Err(fault(cause));
            }
        };
    }
    Ok(file.finish().await?)
}

/// Returns whether the path stands for standard input.
fn is_standard_input(path: &Path) -> bool {
    path.to_str() == Some("-")
}

/// The source and its length, which is 0 for standard input and other pipes.
async fn open_source(path: &Path) -> io::Result<(Box<dyn AsyncRead + Unpin>, u64)> {
    if is_standard_input(path) {
        let source: Box<dyn AsyncRead + Unpin> = Box::new(stdin());
        return Ok((source, 0));
    }
    let file = File::open(path).await?;
    let length = file.metadata().await?.len();
    let source: Box<dyn AsyncRead + Unpin> = Box::new(file);
    Ok((source, length))
}

/// Reads one part of a stored file: [`PART_BYTES`] bytes, fewer at the end of the source, and none after it.
async fn read_part(source: &mut (dyn AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART_BYTES);
    source.take(PART_BYTES as u64).read_to_end(&mut part).await?;
    Ok(part)
}
