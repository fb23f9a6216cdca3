//! Why some bytes were not read.

use std::io;

use parse::audio::AudioError;
use parse::bookmarks::ImportError;
use parse::html::ArticleError;
use parse::pdf::PdfError;
use parse::picture::PictureError;

/// Why some bytes were not read, as a message for the user. None of these repeats any of the input.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// No child could be started; the operator has to act.
    #[error("the process that reads the file could not be started")]
    Unavailable(#[source] io::Error),
    /// The child died of this input: a bug in a parser.
    #[error("the process that read the file crashed")]
    Crashed,
    /// The child died because it needed more memory than its limit, or than the machine has.
    #[error("reading the file needed more memory than is allowed, so it was stopped")]
    OutOfMemory,
    /// The child did not finish in time.
    #[error("reading the file took longer than is allowed, so it was stopped")]
    TimedOut,
    /// The input or the output is over its limit.
    #[error("the file is too large to be read")]
    TooLarge,
    /// The page has no article that can be extracted.
    #[error(transparent)]
    Article(#[from] ArticleError),
    /// The file has no audio that can be decoded.
    #[error(transparent)]
    Audio(#[from] AudioError),
    /// The PDF has no text that can be extracted, or needs a password.
    #[error(transparent)]
    Pdf(#[from] PdfError),
    /// The picture is none that is shown.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// The file cannot be imported.
    #[error(transparent)]
    Import(#[from] ImportError),
}
