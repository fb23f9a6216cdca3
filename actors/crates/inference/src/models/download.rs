//! One file over HTTP: what is there already is kept, the rest asked for.

use std::{io, path::Path, time::Duration};

use reqwest::{Client, ClientBuilder, Response, StatusCode, header, redirect};
use tokio::{
    fs::{self, OpenOptions},
    io::{AsyncWriteExt, BufWriter},
};

use super::ModelFile;

/// An address that cannot be reached is given up quickly: there may be another source.
const CONNECT: Duration = Duration::from_secs(5);

/// Silence in the middle of a file.
const SILENCE: Duration = Duration::from_secs(30);

/// Redirects from a model's page to where its files lie.
const REDIRECTS: usize = 5;

/// Why a file did not come.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// No connection, or one that broke.
    #[error("the server of the model cannot be reached")]
    Http(#[source] reqwest::Error),
    /// Another answer than the file.
    #[error("could not download {file}: the server answered with status {status}")]
    Status {
        /// The file's name.
        file: String,
        /// The answer.
        status: StatusCode,
    },
    /// More or fewer bytes than the file has.
    #[error("could not download {file}: it has {found} bytes instead of {told}")]
    Length {
        /// The file's name.
        file: String,
        /// Bytes that came.
        found: u64,
        /// Bytes that it has.
        told: u64,
    },
    /// The disk refuses.
    #[error("could not write the downloaded file")]
    Write(#[from] io::Error),
}

impl From<reqwest::Error> for DownloadError {
    fn from(cause: reqwest::Error) -> Self {
        Self::Http(cause.without_url())
    }
}

/// The client for models: encrypted connections only.
pub(super) fn client() -> Result<Client, DownloadError> {
    Ok(builder().https_only(true).build()?)
}

/// A client that waits neither long nor in vain.
pub(super) fn builder() -> ClientBuilder {
    // An error says that the program has chosen its provider already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(CONNECT)
        .read_timeout(SILENCE)
        .redirect(redirect::Policy::limited(REDIRECTS))
        // Parts of a compressed file would not fit together.
        .no_gzip()
        .no_brotli()
        .no_deflate()
        .no_zstd()
}

/// Brings the part of a file to its whole length, going on where it stops. A connection that breaks after some
/// bytes is made anew.
///
/// `received` is told the length of the part, again and again.
pub(super) async fn download(
    client: &Client,
    url: &str,
    file: &ModelFile,
    part: &Path,
    received: &(dyn Fn(u64) + Sync),
) -> Result<(), DownloadError> {
    loop {
        let before = length(part).await?;
        if before == file.bytes {
            return Ok(());
        }
        match go_on(client, url, file, part, before, received).await {
            Ok(()) => return Ok(()),
            Err(DownloadError::Http(_)) if length(part).await? > before => {}
            Err(cause) => return Err(cause),
        }
    }
}

async fn go_on(
    client: &Client,
    url: &str,
    file: &ModelFile,
    part: &Path,
    before: u64,
    received: &(dyn Fn(u64) + Sync),
) -> Result<(), DownloadError> {
    let mut request = client.get(url);
    if (1..file.bytes).contains(&before) {
        request = request.header(header::RANGE, format!("bytes={before}-"));
    }
    let mut answer = request.send().await?;
    let mut there = match answer.status() {
        StatusCode::OK => 0,
        StatusCode::PARTIAL_CONTENT if continues(&answer, before) => before,
        status => return Err(DownloadError::Status { file: file.name.clone(), status }),
    };
    let mut out = OpenOptions::new();
    let out = if there == 0 { out.write(true).truncate(true) } else { out.append(true) };
    let mut out = BufWriter::with_capacity(1 << 20, out.create(true).open(part).await?);
    let ended = loop {
        match answer.chunk().await {
            Ok(Some(bytes)) => {
                there += bytes.len() as u64;
                if there > file.bytes {
                    break Err(DownloadError::Length {
                        file: file.name.clone(),
                        found: there,
                        told: file.bytes,
                    });
                }
                out.write_all(&bytes).await?;
                received(there);
            }
            Ok(None) => break Ok(()),
            Err(cause) => break Err(cause.into()),
        }
    };
    // What came before the end, whatever end it was, is worth keeping.
    out.flush().await?;
    if ended.is_ok() && there < file.bytes {
        return Err(DownloadError::Length { file: file.name.clone(), found: there, told: file.bytes });
    }
    ended
}

/// Whether a partial answer begins where it was asked to.
fn continues(answer: &Response, from: u64) -> bool {
    let range = answer.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

async fn length(part: &Path) -> io::Result<u64> {
    match fs::metadata(part).await {
        Ok(found) => Ok(found.len()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(cause),
    }
}
