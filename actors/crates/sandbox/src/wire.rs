//! The frames that travel between the service and its child: two lengths, a JSON header, raw bytes.
//!
//! Both sides refuse a frame over their bound before they make room for it. Neither side's errors hold a byte of
//! what was sent.

use std::io::{self, Read, SeekFrom, Write};

use parse::html::{Article, Unreadable};
use parse::pdf::{Facts, NoText};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::fs::File;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt, AsyncWrite, AsyncWriteExt, BufReader};

use super::limits::Confinement;

/// The longest header, in bytes: what is told of a page or a document, with thousands of headings.
const HEADER_BYTES: usize = 4 << 20;

/// Stands between the text of an article and its HTML: a control character, which is in neither.
pub const HTML: char = '\0';

/// How much of a file is in memory while it is sent.
const AT_ONCE: usize = 256 * 1024;

/// What a child is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Duty {
    /// One task after the other, each with its bytes.
    Tasks,
    /// One recording, a piece for each question.
    Sound,
    /// One file of another program, some rows for each question.
    Import,
}

/// The first frame to a child: what it is there for, and what it may use up.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// What it is there for.
    pub duty: Duty,
    /// Address space of the child, in bytes.
    pub memory_bytes: u64,
    /// Processor seconds of one job.
    pub cpu_seconds: u64,
    /// The longest body of a task, in bytes.
    pub input_bytes: usize,
    /// The longest body of a reply, in bytes.
    pub output_bytes: usize,
}

/// The child's first frame: how far the kernel went along with confining it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What holds the child, and what could not be had.
    pub confinement: Confinement,
}

/// What a child is asked to read. The bytes to read are the frame's body.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// The article of a web page; the body is its HTML in UTF-8.
    Article {
        /// The page's address, against which its links are read.
        url: String,
        /// What its person calls it.
        called: Option<String>,
    },
    /// A feed, or a page that names feeds; the body is what came from the address.
    Feed {
        /// The address, against which links are read.
        url: String,
    },
    /// A list of feeds; the body is OPML in UTF-8.
    Opml,
    /// The text of a PDF; the body is the file.
    Pdf,
}

/// What a child found. A text is the frame's body.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// Everything about an article but its text.
    Article(Box<Article>),
    /// What a feed or a list of feeds holds; the text is its JSON.
    Json,
    /// Nothing to read here, and why.
    Unreadable {
        /// One of a fixed set, so that it never holds a word of the page.
        reason: Unreadable,
    },
    /// Everything about a PDF but its text.
    Pdf(Box<Facts>),
    /// No text in this PDF, and why.
    NoText {
        /// One of a fixed set, so that it never holds a word of the file.
        reason: NoText,
    },
    /// The text is longer than the parent takes.
    TooLarge,
}

/// A frame did not come through.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The other side is gone, or the pipe is broken.
    #[error("reach the other side")]
    Io(#[from] io::Error),
    /// A length over the bound of this side.
    #[error("take a frame over the bound")]
    TooLarge,
    /// Bytes that are no header of this kind.
    #[error("understand the frame's header")]
    Malformed,
}

/// Writes one frame.
pub fn write(to: &mut impl Write, header: &impl Serialize, body: &[u8]) -> Result<(), WireError> {
    let (lengths, header) = head(header, body)?;
    to.write_all(&lengths)?;
    to.write_all(&header)?;
    to.write_all(body)?;
    Ok(to.flush()?)
}

/// Reads one frame whose body has at most `most` bytes.
pub fn read<H: DeserializeOwned>(from: &mut impl Read, most: usize) -> Result<(H, Vec<u8>), WireError> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths)?;
    let (mut header, mut body) = room(lengths, most)?;
    from.read_exact(&mut header)?;
    from.read_exact(&mut body)?;
    Ok((parse(&header)?, body))
}

/// Writes one frame without blocking.
pub async fn send(
    to: &mut (impl AsyncWrite + Unpin),
    header: &impl Serialize,
    body: &[u8],
) -> Result<(), WireError> {
    let (lengths, header) = head(header, body)?;
    to.write_all(&lengths).await?;
    to.write_all(&header).await?;
    to.write_all(body).await?;
    Ok(to.flush().await?)
}

/// Writes one frame whose body is a file of `length` bytes, a little of it in memory at a time.
pub async fn send_file(
    to: &mut (impl AsyncWrite + Unpin),
    header: &impl Serialize,
    file: &mut File,
    length: u64,
) -> Result<(), WireError> {
    let header = serde_json::to_vec(header).map_err(io::Error::from)?;
    let body = usize::try_from(length).map_err(|_| WireError::TooLarge)?;
    to.write_all(&lengths(header.len(), body)?).await?;
    to.write_all(&header).await?;
    file.seek(SeekFrom::Start(0)).await?;
    let mut file = BufReader::with_capacity(AT_ONCE, file.take(length));
    if tokio::io::copy_buf(&mut file, to).await? < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(to.flush().await?)
}

/// Reads one frame, whose body has at most `most` bytes, without blocking.
pub async fn receive<H: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
    most: usize,
) -> Result<(H, Vec<u8>), WireError> {
    let mut lengths = [0; 8];
    from.read_exact(&mut lengths).await?;
    let (mut header, mut body) = room(lengths, most)?;
    from.read_exact(&mut header).await?;
    from.read_exact(&mut body).await?;
    Ok((parse(&header)?, body))
}

fn head(header: &impl Serialize, body: &[u8]) -> Result<([u8; 8], Vec<u8>), WireError> {
    let header = serde_json::to_vec(header).map_err(io::Error::from)?;
    Ok((lengths(header.len(), body.len())?, header))
}

fn lengths(header: usize, body: usize) -> Result<[u8; 8], WireError> {
    let (Ok(head), Ok(tail)) = (u32::try_from(header), u32::try_from(body)) else {
        return Err(WireError::TooLarge);
    };
    Ok(((u64::from(head) << 32) | u64::from(tail)).to_be_bytes())
}

fn room(lengths: [u8; 8], most: usize) -> Result<(Vec<u8>, Vec<u8>), WireError> {
    let lengths = u64::from_be_bytes(lengths);
    let [header, body] = [lengths >> 32, lengths & u64::from(u32::MAX)].map(usize::try_from);
    match (header, body) {
        (Ok(header), Ok(body)) if header <= HEADER_BYTES && body <= most => {
            Ok((vec![0; header], vec![0; body]))
        }
        (Ok(_) | Err(_), Ok(_) | Err(_)) => Err(WireError::TooLarge),
    }
}

fn parse<H: DeserializeOwned>(header: &[u8]) -> Result<H, WireError> {
    // The parser's own words may quote the header, and the header may quote a page.
    serde_json::from_slice(header).map_err(|_| WireError::Malformed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn task(url: &str) -> Task {
        Task::Article { url: url.to_owned(), called: None }
    }

    fn frame(header: &impl Serialize, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut bytes, header, body).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn a_frame_comes_out_as_it_went_in(url in ".*", body in any::<Vec<u8>>()) {
            let bytes = frame(&task(&url), &body);

            let (read_task, read_body) = read::<Task>(&mut bytes.as_slice(), body.len()).unwrap();

            prop_assert_eq!((read_task, read_body), (task(&url), body));
        }

        #[test]
        fn any_bytes_are_a_frame_or_an_error(bytes in any::<Vec<u8>>()) {
            let _ = read::<Task>(&mut bytes.as_slice(), 1_000);
        }
    }

    #[test]
    fn a_body_over_the_bound_is_refused_before_it_is_read() {
        let bytes = frame(&task("https://example.org/"), &[7; 11]);

        let refused = read::<Task>(&mut bytes.as_slice(), 10);

        assert!(matches!(refused, Err(WireError::TooLarge)));
    }

    #[test]
    fn lengths_of_four_gigabytes_make_no_room() {
        let refused = read::<Task>(&mut [0xff; 64].as_slice(), usize::MAX);

        assert!(matches!(refused, Err(WireError::TooLarge)));
    }

    #[test]
    fn a_frame_that_ends_early_is_an_error() {
        let bytes = frame(&task("https://example.org/"), b"body");

        let cut = read::<Task>(&mut &bytes[..bytes.len() - 1], 10);

        assert!(matches!(cut, Err(WireError::Io(_))));
    }

    #[test]
    fn an_error_says_nothing_of_the_header() {
        let bytes = frame(&"a line of the page", b"");

        let refused = read::<Task>(&mut bytes.as_slice(), 10).unwrap_err();

        assert!(!format!("{refused} {refused:?}").contains("page"));
    }
}
