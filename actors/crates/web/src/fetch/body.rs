//! The body of an answer, read piece by piece and never beyond a bound. The bound counts unpacked bytes, so a
//! small body that unpacks to gigabytes is dropped when it passes the bound, with its connection.

use disk::{Scratch, ScratchFile};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, TRANSFER_ENCODING};
use reqwest::{Response, Version};

use super::error::{self, FetchError};

/// The whole body, of at most `most` bytes.
pub(super) async fn read(mut response: Response, most: u64) -> Result<Vec<u8>, FetchError> {
    may_come(&response, most)?;
    let open_ended = is_open_ended(&response);
    let mut body = Vec::new();
    while let Some(piece) = next(&mut response, open_ended).await? {
        let piece = piece.as_ref();
        if (body.len() as u64).saturating_add(piece.len() as u64) > most {
            return Err(FetchError::TooLarge(most));
        }
        body.extend_from_slice(piece);
    }
    Ok(body)
}

/// The whole body, of at most `most` bytes, as a file: it is never in memory.
pub(super) async fn keep(
    mut response: Response,
    scratch: &Scratch,
    most: u64,
) -> Result<ScratchFile, FetchError> {
    may_come(&response, most)?;
    let open_ended = is_open_ended(&response);
    // A length that is announced is not believed here either: it would hold space for bytes that may never come.
    let mut file = scratch.writer(None).map_err(FetchError::Unkept)?;
    let mut come = 0_u64;
    while let Some(piece) = next(&mut response, open_ended).await? {
        let piece = piece.as_ref();
        come += piece.len() as u64;
        if come > most {
            return Err(FetchError::TooLarge(most));
        }
        file.write(piece).await.map_err(FetchError::Unkept)?;
    }
    file.finish().await.map_err(FetchError::Unkept)
}

fn may_come(response: &Response, most: u64) -> Result<(), FetchError> {
    if is_packed(response) {
        return Err(FetchError::UnknownPacking);
    }
    // A length that is announced is only good for refusing: memory is taken for bytes that have come.
    if response.content_length().is_some_and(|length| length > most) {
        return Err(FetchError::TooLarge(most));
    }
    Ok(())
}

/// The next piece. Old servers end a body by closing the connection, without the goodbye that TLS asks for; browsers
/// take such a page as whole, and so does this.
async fn next(
    response: &mut Response,
    open_ended: bool,
) -> Result<Option<impl AsRef<[u8]> + use<>>, FetchError> {
    match response.chunk().await {
        Err(error) if open_ended && error::lacks_goodbye(&error) => Ok(None),
        piece => piece.map_err(FetchError::of_exchange),
    }
}

/// Whether only the end of the connection tells the end of the body, as far as the headers show.
fn is_open_ended(response: &Response) -> bool {
    let has = |name| response.headers().contains_key(name);
    response.version() < Version::HTTP_2 && !has(CONTENT_LENGTH) && !has(TRANSFER_ENCODING)
}

/// Whether the body is packed in a way that the client did not offer: what it unpacks, it takes from the headers.
fn is_packed(response: &Response) -> bool {
    let encodings = response.headers().get_all(CONTENT_ENCODING);
    encodings.iter().any(|encoding| !matches!(encoding.as_bytes(), b"" | b"identity"))
}
