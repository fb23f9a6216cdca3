//! Reads the body of a response chunk by chunk, up to a maximum length. The maximum counts decompressed bytes, so a small
//! body that decompresses to gigabytes is dropped, with its connection, when it exceeds the maximum.

use disk::{Scratch, ScratchFile};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use reqwest::{Response, Version};

use super::error::{self, FetchError, SaveError};

/// Reads the whole body into memory.
pub(super) async fn read_body(mut response: Response, max_bytes: u64) -> Result<Vec<u8>, FetchError> {
    check_headers(&response, max_bytes)?;
    let ends_with_connection = ends_with_connection(&response);
    let mut body = Vec::new();
    while let Some(chunk) = next_chunk(&mut response, ends_with_connection).await? {
        let chunk = chunk.as_ref();
        if (body.len() as u64).saturating_add(chunk.len() as u64) > max_bytes {
            return Err(FetchError::TooLarge(max_bytes));
        }
        body.extend_from_slice(chunk);
    }
    Ok(body)
}

/// Writes the whole body to a file; it is never in memory as a whole.
pub(super) async fn save(
    mut response: Response,
    scratch: &Scratch,
    max_bytes: u64,
) -> Result<ScratchFile, SaveError> {
    check_headers(&response, max_bytes)?;
    let ends_with_connection = ends_with_connection(&response);
    // The announced length is not trusted here either: it would reserve space for bytes that may never arrive.
    let mut file = scratch.writer(None).map_err(SaveError::Disk)?;
    let mut received = 0_u64;
    while let Some(chunk) = next_chunk(&mut response, ends_with_connection).await? {
        let chunk = chunk.as_ref();
        received += chunk.len() as u64;
        if received > max_bytes {
            return Err(FetchError::TooLarge(max_bytes).into());
        }
        file.write(chunk).await.map_err(SaveError::Disk)?;
    }
    file.finish().await.map_err(SaveError::Disk)
}

/// Refuses a body that is encoded in an unknown way, or whose announced length exceeds the maximum.
fn check_headers(response: &Response, max_bytes: u64) -> Result<(), FetchError> {
    if has_unknown_encoding(response) {
        return Err(FetchError::UnsupportedEncoding);
    }
    // An announced length can only refuse a body: memory is allocated for bytes that have arrived.
    if response.content_length().is_some_and(|length| length > max_bytes) {
        return Err(FetchError::TooLarge(max_bytes));
    }
    Ok(())
}

async fn next_chunk(
    response: &mut Response,
    ends_with_connection: bool,
) -> Result<Option<impl AsRef<[u8]> + use<>>, FetchError> {
    match response.chunk().await {
        // Old servers end a body by closing the connection without the close_notify message of TLS. Browsers accept such a
        // page as complete. A body of known length that ends this way is truncated, and stays an error.
        Err(error) if ends_with_connection && error::is_missing_close_notify(&error) => Ok(None),
        chunk => chunk.map_err(FetchError::from_exchange),
    }
}

/// Returns whether the end of the connection is the end of the body, according to the headers.
fn ends_with_connection(response: &Response) -> bool {
    let has = |name| response.headers().contains_key(name);
    response.version() < Version::HTTP_2 && !has(CONTENT_LENGTH) && !has(TRANSFER_ENCODING)
}

fn has_unknown_encoding(response: &Response) -> bool {
    // The client removes this header from what it decompresses, so one that is left names an encoding that it does not know.
    let encodings = response.headers().get_all(CONTENT_ENCODING);
    encodings.iter().any(|encoding| !matches!(encoding.as_bytes(), b"" | b"identity"))
}
