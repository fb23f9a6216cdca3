//! Which pages of an SQLite database are in its write-ahead log (<https://sqlite.org/fileformat2.html#walformat>).

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes of the header of a log.
const LOG_HEADER_BYTES: u64 = 32;
/// Bytes of the header of a frame, which precedes its page.
const FRAME_HEADER_BYTES: u64 = 24;
const WORD_BYTES: usize = 4;

/// Returns whether a log has a frame of each of these pages. A frame that was written before the log was last reset has other salts
/// and does not count. Checksums are not verified: a torn frame at the end counts. Blocks.
///
/// SQLite holds its locks on the database and on the index of the log, so opening and closing the log itself releases none.
///
/// # Errors
/// [`io::Error`] when the log cannot be read.
pub fn has_pages(log: &Path, pages: RangeInclusive<u64>) -> io::Result<bool> {
    let file = File::open(log)?;
    let log_bytes = file.metadata()?.len();
    if log_bytes < LOG_HEADER_BYTES {
        return Ok(pages.is_empty());
    }
    // The magic number, the version, the page size, the number of checkpoints, and two salts.
    let [_, _, page_bytes, _, salt_1, salt_2] = read_words::<6>(&file, 0)?;
    let frame_bytes = FRAME_HEADER_BYTES + u64::from(page_bytes);
    let frames = (log_bytes - LOG_HEADER_BYTES) / frame_bytes;
    let page_count = pages.end().saturating_add(1).saturating_sub(*pages.start());
    // This also bounds the memory of the set below: a damaged file may declare any number of pages.
    if page_count > frames {
        return Ok(false);
    }
    let mut missing: HashSet<u64> = pages.collect();
    for frame in 0..frames {
        // The page number, the size of the database after a commit, and two salts.
        let [page, _, of_frame_1, of_frame_2] =
            read_words::<4>(&file, LOG_HEADER_BYTES + frame * frame_bytes)?;
        // SQLite reads the log up to the first frame of other salts. Frames behind it are left over from before the reset, even if their
        // salts match.
        if (of_frame_1, of_frame_2) != (salt_1, salt_2) {
            break;
        }
        missing.remove(&u64::from(page));
    }
    Ok(missing.is_empty())
}

/// Reads consecutive big-endian words of 32 bits, as the write-ahead log contains them.
fn read_words<const WORDS: usize>(file: &File, offset: u64) -> io::Result<[u32; WORDS]> {
    let mut words = [0; WORDS];
    for (word, at) in words.iter_mut().zip((offset..).step_by(WORD_BYTES)) {
        let mut bytes = [0; WORD_BYTES];
        file.read_exact_at(&mut bytes, at)?;
        *word = u32::from_be_bytes(bytes);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: u32 = 512;

    /// A log with frames of these pages, each with its salt.
    fn write_log(frames: &[(u32, u32)]) -> tempfile::NamedTempFile {
        let mut words = vec![0x377f_0682, 3_007_000, PAGE_BYTES, 0, 7, 7, 0, 0];
        for (page, salt) in frames {
            words.extend([*page, 0, *salt, *salt, 0, 0]);
            words.extend([0; PAGE_BYTES as usize / WORD_BYTES]);
        }
        let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_be_bytes).collect();
        let log = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(log.path(), bytes).unwrap();
        log
    }

    #[test]
    fn log_has_pages_of_its_frames() {
        let log = write_log(&[(9, 7), (3, 7), (8, 7)]);

        assert!(has_pages(log.path(), 8..=9).unwrap());
        assert!(!has_pages(log.path(), 7..=9).unwrap());
        assert!(!has_pages(log.path(), 1..=1_000_000).unwrap());
    }

    #[test]
    fn frames_from_before_a_reset_do_not_count() {
        let log = write_log(&[(9, 7), (8, 6), (8, 7)]);

        assert!(has_pages(log.path(), 9..=9).unwrap());
        assert!(!has_pages(log.path(), 8..=9).unwrap());
    }

    #[test]
    fn empty_log_has_no_pages() {
        let log = tempfile::NamedTempFile::new().unwrap();

        assert!(!has_pages(log.path(), 1..=1).unwrap());
    }
}
