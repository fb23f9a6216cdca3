//! Identifies the bytes of a recording, so that a transcript is continued only for the same ones.

use std::io::{Result, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

/// Bytes at each end of a file that are hashed. Reading all of a file of gigabytes would take too long.
const END_BYTES: u64 = 64 * 1024;

/// Returns the length of a file and a hash over its two ends.
pub async fn fingerprint(file: &Path) -> Result<String> {
    let mut file = File::open(file).await?;
    let bytes = file.metadata().await?.len();
    let mut ends = Vec::new();
    (&mut file).take(END_BYTES).read_to_end(&mut ends).await?;
    // The ends of a short file overlap, which changes nothing: the same bytes still give the same hash.
    file.seek(SeekFrom::Start(bytes.saturating_sub(END_BYTES))).await?;
    (&mut file).take(END_BYTES).read_to_end(&mut ends).await?;
    Ok(format!("{bytes}-{}", base16ct::lower::encode_string(&Sha256::digest(&ends))))
}
