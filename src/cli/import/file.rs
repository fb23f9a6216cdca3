//! Bringing the file to be imported into the store.

use std::io::{self, ErrorKind};
use std::path::Path;

use library::context::CoreContext;
use library::imports::ImportFile;
use library::stored_files::FileLease;
use entity::id::UserId;
use storage::blobs::{BlobStore, PART_BYTES};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, stdin};

use crate::cli::failure::Failure;

/// A file of the machine, or what comes on standard input, copied to the store for this user.
pub async fn stored(core: &CoreContext, store: &dyn BlobStore, user: UserId, path: &Path) -> Result<FileLease, Failure> {
    let told = |cause| Failure::Path { what: "read", path: path.to_owned(), cause };
    let (mut from, length) = open(path).await.map_err(told)?;
    let mut part = next(&mut *from).await.map_err(told)?;
    if part.is_empty() {
        return Err(told(io::Error::new(ErrorKind::UnexpectedEof, "it is empty")));
    }
    let mut file = ImportFile::begin(core, store, user, length).await?;
    while !part.is_empty() {
        if let Err(error) = file.write(part.into()).await {
            file.abort().await;
            return Err(error.into());
        }
        part = match next(&mut *from).await {
            Ok(part) => part,
            Err(cause) => {
                file.abort().await;
                return Err(told(cause));
            }
        };
    }
    Ok(file.finish().await?)
}

/// What is read, and how long it is; 0 of standard input and of other pipes.
async fn open(path: &Path) -> io::Result<(Box<dyn AsyncRead + Unpin>, u64)> {
    if path.to_str() == Some("-") {
        let from: Box<dyn AsyncRead + Unpin> = Box::new(stdin());
        return Ok((from, 0));
    }
    let file = File::open(path).await?;
    let length = file.metadata().await?.len();
    let from: Box<dyn AsyncRead + Unpin> = Box::new(file);
    Ok((from, length))
}

/// As many bytes as go into one part of a stored file; fewer at its end, and then none.
async fn next(from: &mut (dyn AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART_BYTES);
    from.take(PART_BYTES as u64).read_to_end(&mut part).await?;
    Ok(part)
}
