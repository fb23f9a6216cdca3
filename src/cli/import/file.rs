//! Bringing the file to be imported into the store.

use std::io::{self, ErrorKind};
use std::path::Path;

use actors::adapters::blobs::{Blobs, PART};
use actors::desk::Desk;
use actors::uploads::stored::{Held, Written};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, stdin};

use crate::cli::failure::Failure;

/// A file of the machine, or what comes on standard input, copied to the store.
pub async fn stored(desk: &Desk, store: &dyn Blobs, path: &Path) -> Result<Held, Failure> {
    let told = |cause| Failure::Path { what: "read", path: path.to_owned(), cause };
    let mut from: Box<dyn AsyncRead + Unpin> = match path.to_str() {
        Some("-") => Box::new(stdin()),
        _ => Box::new(File::open(path).await.map_err(told)?),
    };
    let mut part = next(&mut *from).await.map_err(told)?;
    if part.is_empty() {
        return Err(told(io::Error::new(ErrorKind::UnexpectedEof, "it is empty")));
    }
    let mut written = Written::begin(desk, store).await?;
    while !part.is_empty() {
        if let Err(error) = written.write(part.into()).await {
            written.abort(desk, store).await;
            return Err(error.into());
        }
        part = match next(&mut *from).await {
            Ok(part) => part,
            Err(cause) => {
                written.abort(desk, store).await;
                return Err(told(cause));
            }
        };
    }
    Ok(written.finish(desk, store).await?)
}

/// As many bytes as go into one part of a stored file; fewer at its end, and then none.
async fn next(from: &mut (dyn AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut part = Vec::with_capacity(PART);
    from.take(PART as u64).read_to_end(&mut part).await?;
    Ok(part)
}
