//! The frames that travel between the server and its child: two lengths, a JSON header, raw bytes.
//!
//! Both sides refuse a frame over their bound before they make room for it. Neither side's errors hold a byte of
//! what was sent.

use std::io::{self, Read, SeekFrom, Write};

use parse::html::{Article, ArticleError};
use parse::pdf::{PagePicture, PdfError, PdfMetadata};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::confinement::Confinement;

/// The longest header, in bytes: the metadata of a page or a document, with thousands of headings.
const MAX_HEADER_BYTES: usize = 4 << 20;

/// Separates the text of an article from its HTML: a control character, which is in neither.
pub const HTML_SEPARATOR: char = '\0';

/// Bytes of a file that are in memory while it is sent.
const FILE_BUFFER_BYTES: usize = 256 * 1024;

/// The mode of a child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerMode {
    /// Answers one task after the other, each with its bytes.
    Tasks,
    /// Decodes one recording, a piece for each request.
    Audio,
    /// Reads one file of another program, some rows for each request.
    Import,
}

/// The first frame to a child: what it does, and its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// What the child does from the handshake until it ends.
    pub mode: WorkerMode,
    /// Address space of the child, in bytes.
    pub memory_bytes: u64,
    /// Processor seconds of one job.
    pub cpu_seconds: u64,
    /// The longest body of a task, in bytes.
    pub input_bytes: usize,
    /// The longest body of a reply, in bytes.
    pub output_bytes: usize,
}

/// The child's first frame, which it sends once it is confined.
#[derive(Debug, Serialize, Deserialize)]
pub struct Handshake {
    /// The means of confinement in force, and those that this kernel lacks.
    pub confinement: Confinement,
}

/// A task for a child. The bytes to read are the frame's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// The article of a web page; the body is its HTML in UTF-8.
    Article {
        /// The page's URL, against which its links are resolved.
        url: String,
        /// The title that the user gave the page, if any.
        user_title: Option<String>,
    },
    /// A feed, or a page that names feeds; the body is what the URL returned.
    Feed {
        /// The URL, against which links are resolved.
        url: String,
    },
    /// A list of feeds; the body is OPML in UTF-8.
    Opml,
    /// A picture of a web page; the body is its file.
    WebPicture,
    /// The text of a PDF; the body is the file.
    Pdf,
    /// The sizes of the pages of a PDF; the body is the file.
    PdfSizes,
    /// The text layer of a page of a PDF; the body is the file.
    PdfLayer {
        /// The number of the page, from 1.
        page: u32,
    },
    /// The picture of a page of a PDF; the body is the file.
    PdfPicture {
        /// The number of the page, from 1.
        page: u32,
        /// The width of the picture in pixels.
        width: u32,
    },
}

/// The response to a task. A text or a picture is the frame's body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum TaskResponse {
    /// Everything about an article but its text.
    Article(Box<Article>),
    /// A feed, a list of feeds, sizes or the layer of a page; the text is its JSON.
    Json,
    /// The picture of a page; the body is its WebP file.
    Picture(PagePicture),
    /// The PDF has no such page.
    NoPage,
    /// The page has no article.
    ArticleFailed {
        /// The cause, which never holds a word of the page.
        reason: ArticleError,
    },
    /// Everything about a PDF but its text.
    Pdf(Box<PdfMetadata>),
    /// The PDF has no text, or cannot be opened.
    PdfFailed {
        /// The cause, which never holds a word of the file.
        reason: PdfError,
    },
    /// The text is longer than the parent accepts.
    TooLarge,
}

/// Why a frame was not sent or received.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side ended, or the socket failed.
    #[error("the connection to the other process failed")]
    Io(#[from] io::Error),
    /// A length over the limit of this side.
    #[error("the frame is longer than its limit")]
    TooLarge,
    /// Bytes that are not a header of the expected type.
    #[error("the frame's header is malformed")]
    Malformed,
}

/// Writes one frame and flushes it; blocks until all of it is written.
pub fn write(to: &mut impl Write, header: &impl Serialize, body: &[u8]) -> Result<(), WireError> {
    let (lengths, header) = encode(header, body)?;
    to.write_all(&lengths)?;
    to.write_all(&header)?;
    to.write_all(body)?;
    Ok(to.flush()?)
}

/// Reads one frame. A body over `max_body_bytes` is refused before it is read.
pub fn read_message<H: DeserializeOwned>(
    from: &mut impl Read,
    max_body_bytes: usize,
) -> Result<(H, Vec<u8>), WireError> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths)?;
    let (mut header, mut body) = allocate(lengths, max_body_bytes)?;
    from.read_exact(&mut header)?;
    from.read_exact(&mut body)?;
    Ok((parse_header(&header)?, body))
}

/// Writes one frame without blocking.
pub async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    header: &impl Serialize,
    body: &[u8],
) -> Result<(), WireError> {
    let (lengths, header) = encode(header, body)?;
    to.write_all(&lengths).await?;
    to.write_all(&header).await?;
    to.write_all(body).await?;
    Ok(to.flush().await?)
}

/// Writes one frame whose body is a file of `length` bytes, [`FILE_BUFFER_BYTES`] of it in memory at a time.
pub async fn send_file(
    to: &mut (impl AsyncWrite + Unpin),
    header: &impl Serialize,
    file: &mut File,
    length: u64,
) -> Result<(), WireError> {
    let header = serde_json::to_vec(header).map_err(io::Error::from)?;
    let body = usize::try_from(length).map_err(|_| WireError::TooLarge)?;
    to.write_all(&encode_lengths(header.len(), body)?).await?;
    to.write_all(&header).await?;
    // An earlier attempt may have read a part of the file: an idle child may die while the file is sent to it.
    file.seek(SeekFrom::Start(0)).await?;
    let mut file = BufReader::with_capacity(FILE_BUFFER_BYTES, file.take(length));
    // The length is announced already, so a file that has become shorter leaves the child waiting for the rest.
    if tokio::io::copy_buf(&mut file, to).await? < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(to.flush().await?)
}

/// Reads one frame without blocking. A body over `max_body_bytes` is refused before it is read.
pub async fn receive<H: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    max_body_bytes: usize,
) -> Result<(H, Vec<u8>), WireError> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths).await?;
    let (mut header, mut body) = allocate(lengths, max_body_bytes)?;
    from.read_exact(&mut header).await?;
    from.read_exact(&mut body).await?;
    Ok((parse_header(&header)?, body))
}

fn encode(header: &impl Serialize, body: &[u8]) -> Result<([u8; 8], Vec<u8>), WireError> {
    let header = serde_json::to_vec(header).map_err(io::Error::from)?;
    Ok((encode_lengths(header.len(), body.len())?, header))
}

/// Encodes both lengths as big-endian numbers of 32 bits: the header's, then the body's.
fn encode_lengths(header: usize, body: usize) -> Result<[u8; 8], WireError> {
    let (Ok(header), Ok(body)) = (u32::try_from(header), u32::try_from(body)) else {
        return Err(WireError::TooLarge);
    };
    Ok(((u64::from(header) << 32) | u64::from(body)).to_be_bytes())
}

fn allocate(lengths: [u8; 8], max_body_bytes: usize) -> Result<(Vec<u8>, Vec<u8>), WireError> {
    let lengths = u64::from_be_bytes(lengths);
    let [header, body] = [lengths >> 32, lengths & u64::from(u32::MAX)].map(usize::try_from);
    match (header, body) {
        // Checked before memory is allocated: a compromised child can announce any length.
        (Ok(header), Ok(body)) if header <= MAX_HEADER_BYTES && body <= max_body_bytes => {
            Ok((vec![0; header], vec![0; body]))
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(WireError::TooLarge),
    }
}

fn parse_header<H: DeserializeOwned>(header: &[u8]) -> Result<H, WireError> {
    // The parser's message may quote the header, and the header may quote a page.
    serde_json::from_slice(header).map_err(|_| WireError::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(url: &str) -> Task {
        Task::Article { url: url.to_owned(), user_title: None }
    }

    fn frame(header: &impl Serialize, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, header, body).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn frame_is_received_as_sent(url in ".*", body in any::<Vec<u8>>()) {
            let bytes = frame(&task(&url), &body);

            let (read_task, read_body) = read_message::<Task>(&mut bytes.as_slice(), body.len()).unwrap();

            prop_assert_eq!((read_task, read_body), (task(&url), body));
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(bytes in any::<Vec<u8>>()) {
            let _ = read_message::<Task>(&mut bytes.as_slice(), 1_000);
        }
    }

    #[test]
    fn body_over_the_limit_is_rejected_unread() {
        let bytes = frame(&task("https://example.org/"), &[7; 11]);

        let refused = read_message::<Task>(&mut bytes.as_slice(), 10);

        assert!(matches!(refused, Err(WireError::TooLarge)));
    }

    #[test]
    fn declared_length_allocates_nothing() {
        let refused = read_message::<Task>(&mut [0xff; 64].as_slice(), usize::MAX);

        assert!(matches!(refused, Err(WireError::TooLarge)));
    }

    #[test]
    fn truncated_frame_is_an_error() {
        let bytes = frame(&task("https://example.org/"), b"body");

        let cut = read_message::<Task>(&mut &bytes[..bytes.len() - 1], 10);

        assert!(matches!(cut, Err(WireError::Io(_))));
    }

    #[test]
    fn error_contains_nothing_of_the_header() {
        let bytes = frame(&"a line of the page", b"");

        let refused = read_message::<Task>(&mut bytes.as_slice(), 10).unwrap_err();

        assert!(!format!("{refused} {refused:?}").contains("page"));
    }
}
