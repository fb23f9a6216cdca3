//! Downloads one file over HTTP. A partial download is continued.

use std::{io, path::Path, time::Duration};

use reqwest::{Client, ClientBuilder, Response, StatusCode, header};
use tokio::{
    fs::{self, OpenOptions},
    io::{AsyncWriteExt, BufWriter},
};
use web::download_client;

use super::catalogue::ModelFile;

/// Short, because there may be another source.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time without data in the middle of a file.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a file was not downloaded.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    /// The connection failed or was interrupted.
    #[error("the server of the model cannot be reached")]
    Http(#[source] reqwest::Error),
    /// The server responded with an error status.
    #[error("could not download {file}: the server answered with status {status}")]
    Status {
        /// Name of the file in the catalogue.
        file: String,
        /// HTTP status, neither 200 nor a 206 that continues the part.
        status: StatusCode,
    },
    /// The length differs from the expected one.
    #[error("could not download {file}: it has {found} bytes instead of {expected}")]
    Length {
        /// Name of the file in the catalogue.
        file: String,
        /// Bytes of the part, those of earlier attempts included.
        found: u64,
        /// Length of the file in the catalogue.
        expected: u64,
    },
    /// The file cannot be written.
    #[error("could not write the downloaded file")]
    Write(#[from] io::Error),
}

impl From<reqwest::Error> for DownloadError {
    fn from(cause: reqwest::Error) -> Self {
        Self::Http(cause.without_url())
    }
}

/// Creates the client for downloads, which allows HTTPS only.
pub(super) fn client() -> Result<Client, DownloadError> {
    Ok(builder().https_only(true).build()?)
}

/// Returns a builder with the timeouts of downloads.
pub(super) fn builder() -> ClientBuilder {
    download_client().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT)
}

/// Downloads the rest of a file of which `part` contains the beginning. Reconnects when a connection breaks after some bytes.
///
/// `received` is called repeatedly with the current length of the part.
pub(super) async fn download(
    client: &Client,
    url: &str,
    file: &ModelFile,
    part: &Path,
    received: &(dyn Fn(u64) + Sync),
) -> Result<(), DownloadError> {
    loop {
        let before = part_length(part).await?;
        // An earlier process received it all, and was killed before it verified the digest.
        if before == file.bytes {
            return Ok(());
        }
        match continue_download(client, url, file, part, before, received).await {
            Ok(()) => return Ok(()),
            // Only after progress: a server that breaks every connection at once would be asked without end.
            Err(DownloadError::Http(_)) if part_length(part).await? > before => {}
            Err(cause) => return Err(cause),
        }
    }
}

async fn continue_download(
    client: &Client,
    url: &str,
    file: &ModelFile,
    part: &Path,
    before: u64,
    received: &(dyn Fn(u64) + Sync),
) -> Result<(), DownloadError> {
    let mut request = client.get(url);
    // A part that is longer than the file cannot be its beginning; without a range the download starts over and truncates it.
    if (1..file.bytes).contains(&before) {
        request = request.header(header::RANGE, format!("bytes={before}-"));
    }
    let mut response = request.send().await?;
    let mut length = match response.status() {
        StatusCode::OK => 0,
        StatusCode::PARTIAL_CONTENT if is_continuation(&response, before) => before,
        status => return Err(DownloadError::Status { file: file.name.clone(), status }),
    };
    let mut out = OpenOptions::new();
    let out = if length == 0 { out.write(true).truncate(true) } else { out.append(true) };
    let mut out = BufWriter::with_capacity(1 << 20, out.create(true).open(part).await?);
    let result = loop {
        match response.chunk().await {
            Ok(Some(bytes)) => {
                length += bytes.len() as u64;
                if length > file.bytes {
                    break Err(DownloadError::Length {
                        file: file.name.clone(),
                        found: length,
                        expected: file.bytes,
                    });
                }
                out.write_all(&bytes).await?;
                received(length);
            }
            Ok(None) => break Ok(()),
            Err(cause) => break Err(cause.into()),
        }
    };
    // Received bytes are kept even after an error, so that the download can be continued.
    out.flush().await?;
    if result.is_ok() && length < file.bytes {
        return Err(DownloadError::Length { file: file.name.clone(), found: length, expected: file.bytes });
    }
    result
}

/// Returns whether a partial response begins at the requested offset.
fn is_continuation(response: &Response, from: u64) -> bool {
    let range = response.headers().get(header::CONTENT_RANGE).and_then(|range| range.to_str().ok());
    range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
}

async fn part_length(part: &Path) -> io::Result<u64> {
    match fs::metadata(part).await {
        Ok(metadata) => Ok(metadata.len()),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(cause) => Err(cause),
    }
}
