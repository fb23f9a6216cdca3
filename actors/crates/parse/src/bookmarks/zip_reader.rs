//! Reads zip archives entry by entry, with bounds on the unpacked bytes. Nothing is unpacked to disk.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::import_error::ImportError;

/// The first bytes of a zip archive that is not empty.
pub const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// The most entries of an archive.
const MAX_ENTRIES: usize = 2_000_000;
/// The largest compression ratio of an entry that is longer than [`MIN_RATED_BYTES`].
const MAX_ENTRY_RATIO: u64 = 400;
const MIN_RATED_BYTES: u64 = 16 << 20;
/// The largest total of unpacked texts, as a multiple of the archive's length; at least [`MIN_TOTAL_BYTES`].
const MAX_TOTAL_RATIO: u64 = 100;
const MIN_TOTAL_BYTES: u64 = 64 << 20;

/// An entry of an archive, unpacked as it is read.
pub type EntryReader = Box<dyn BufRead>;

/// A zip archive that is being read, with the number of bytes that may still be unpacked.
pub struct ZipReader {
    file: Arc<File>,
    zip: ZipArchive<FileCursor>,
    /// Names of the texts that rows have taken.
    claimed: HashSet<String>,
    /// Bytes that may still be unpacked.
    remaining_bytes: u64,
}

impl ZipReader {
    /// Reads the central directory of an archive.
    ///
    /// # Errors
    /// [`ImportError::Damaged`] if the file is not an archive, [`ImportError::UnpackedTooLarge`] if it has too many entries.
    pub fn open(file: Arc<File>) -> Result<Self, ImportError> {
        let zip =
            ZipArchive::new(FileCursor { file: file.clone(), at: 0 }).map_err(|_| ImportError::Damaged)?;
        if zip.len() > MAX_ENTRIES {
            return Err(ImportError::UnpackedTooLarge);
        }
        let length = file.metadata().map_or(0, |about| about.len());
        // A bound for all entries together: each may be within its own ratio and there may be thousands.
        let remaining_bytes = length.saturating_mul(MAX_TOTAL_RATIO).max(MIN_TOTAL_BYTES);
        Ok(Self { file, zip, claimed: HashSet::new(), remaining_bytes })
    }

    /// Returns the names of the entries as the archive states them. They are keys only, never paths of files.
    pub fn entry_names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(std::borrow::Cow::into_owned).collect()
    }

    /// Returns the unpacked length of an entry as the archive states it; `None` if there is no such entry.
    pub fn entry_length(&mut self, name: &str) -> Option<u64> {
        self.zip.by_name(name).ok().map(|file| file.size())
    }

    /// Opens an entry; it is unpacked as it is read.
    ///
    /// # Errors
    /// [`ImportError::MissingFile`] if there is none, [`ImportError::UnpackedTooLarge`] if its compression ratio is too large,
    /// [`ImportError::Damaged`] if it cannot be unpacked.
    pub fn open_entry(&mut self, name: &str) -> Result<EntryReader, ImportError> {
        // The entry is read from the file itself, not through the archive, so that several entries
        // can be open at once.
        let (start, packed, size, how) = {
            let file = self.zip.by_name(name).map_err(|_| ImportError::MissingFile)?;
            let start = file.data_start().ok_or(ImportError::Damaged)?;
            (start, file.compressed_size(), file.size(), file.compression())
        };
        // Small entries may have any ratio: a list of equal lines compresses as well as a bomb.
        if size > MIN_RATED_BYTES && size / packed.max(1) > MAX_ENTRY_RATIO {
            return Err(ImportError::UnpackedTooLarge);
        }
        let bytes = FileCursor { file: self.file.clone(), at: start }.take(packed);
        // The stated length is a bound, even if more could be unpacked.
        if how == CompressionMethod::Stored {
            return Ok(Box::new(BufReader::new(bytes.take(size))));
        }
        if how == CompressionMethod::Deflated {
            return Ok(Box::new(BufReader::new(DeflateDecoder::new(bytes).take(size))));
        }
        // Other methods are rare, and each would be another decompressor of untrusted bytes.
        Err(ImportError::Damaged)
    }

    /// Reads the text of a row, of at most `most` bytes; `None` if it is missing or longer. Each text is returned once, and counts
    /// towards the total of unpacked bytes.
    ///
    /// # Errors
    /// The reason for skipping the row, as a [`str`]: the text was returned before, or the total is too large.
    pub fn claim_text(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, &'static str> {
        let Some(text) = self.read_entry(name, most) else { return Ok(None) };
        // Thousands of rows may name one text. The first keeps it, so that it is not multiplied.
        if !self.claimed.insert(name.to_owned()) {
            return Err("its text belongs to another row");
        }
        self.count_unpacked(&text).map_err(|_| "the archive is too large when unpacked")?;
        Ok(Some(text))
    }

    /// Reads a list of at most `most` bytes. It counts towards the total of unpacked bytes as texts do, because thousands of entries
    /// may share the same packed bytes.
    ///
    /// # Errors
    /// [`ImportError::Damaged`] if it is missing or longer, [`ImportError::UnpackedTooLarge`] if the total is too large.
    pub fn read_list(&mut self, name: &str, most: usize) -> Result<Vec<u8>, ImportError> {
        let list = self.read_entry(name, most).ok_or(ImportError::Damaged)?;
        self.count_unpacked(&list)?;
        Ok(list)
    }

    /// Adds to the number of unpacked bytes, and fails beyond the bound of the archive.
    fn count_unpacked(&mut self, unpacked: &[u8]) -> Result<(), ImportError> {
        self.remaining_bytes =
            self.remaining_bytes.checked_sub(unpacked.len() as u64).ok_or(ImportError::UnpackedTooLarge)?;
        Ok(())
    }

    /// Reads an entry of at most `most` bytes; `None` if it is missing or longer.
    pub fn read_entry(&mut self, name: &str, most: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        // The stated length may be false, so the bytes are counted as they are unpacked.
        self.open_entry(name).ok()?.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }
}

/// A separate read position in a shared file.
struct FileCursor {
    file: Arc<File>,
    at: u64,
}

impl Read for FileCursor {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for FileCursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
pub mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    /// Builds an archive of these files.
    pub fn zip_file(files: &[(&str, &[u8])]) -> Arc<File> {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, bytes) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        Arc::new(zip.finish().unwrap())
    }

    #[test]
    fn files_are_read_by_name_and_concurrently() {
        let mut archive = ZipReader::open(zip_file(&[("a", b"one\ntwo"), ("../b", b"three")])).unwrap();

        let mut a = archive.open_entry("a").unwrap();
        let mut line = String::new();
        a.read_line(&mut line).unwrap();
        assert_eq!(archive.read_entry("../b", 9), Some(b"three".to_vec()));
        a.read_line(&mut line).unwrap();

        assert_eq!(line, "one\ntwo");
        assert_eq!((archive.read_entry("a", 3), archive.read_entry("none", 9)), (None, None));
    }

    /// Covers the threat table (row P5): one entry that unpacks to gigabytes.
    #[test]
    fn decompression_bomb_is_rejected() {
        let zeroes = vec![0; 64 << 20];
        let mut archive = ZipReader::open(zip_file(&[("bomb", &zeroes)])).unwrap();

        assert_eq!(archive.open_entry("bomb").err(), Some(ImportError::UnpackedTooLarge));
    }

    /// Covers the threat table (row P5): many texts, each within its own bound.
    #[test]
    fn archive_texts_are_read_once_and_share_one_bound() {
        let zeroes = vec![0; 1 << 20];
        let names: Vec<String> = (0..80).map(|n| n.to_string()).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &zeroes[..])).collect();
        let mut archive = ZipReader::open(zip_file(&files)).unwrap();

        let texts: Vec<_> = names.iter().map(|name| archive.claim_text(name, 1 << 20)).collect();

        // Each text is within the limit of one text; together they exceed the limit of the archive.
        assert!(texts.iter().take(64).all(|text| matches!(text, Ok(Some(_)))));
        assert_eq!(texts[64], Err("the archive is too large when unpacked"));
        assert_eq!(archive.claim_text("0", 1 << 20), Err("its text belongs to another row"));
    }

    /// Covers the threat table (row P5): many lists, each within its own bound.
    #[test]
    fn archive_lists_share_one_bound() {
        let zeroes = vec![0; 1 << 20];
        let names: Vec<String> = (0..80).map(|n| format!("{n}.csv")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &zeroes[..])).collect();
        let mut archive = ZipReader::open(zip_file(&files)).unwrap();

        let lists: Vec<_> = names.iter().map(|name| archive.read_list(name, 1 << 20)).collect();

        assert!(lists.iter().take(64).all(Result::is_ok));
        assert_eq!(lists[64], Err(ImportError::UnpackedTooLarge));
        assert_eq!(archive.read_list("none.csv", 1 << 20), Err(ImportError::Damaged));
    }

    /// Overlapping entries: the central directory names the same bytes many times (row P5).
    #[test]
    fn overlapping_entries_share_one_bound() {
        const ENTRIES: u16 = 200;
        let packed = zip_file(&[("a000", &vec![0; 1 << 20])]);
        let mut whole = vec![0; packed.metadata().unwrap().len() as usize];
        packed.read_exact_at(&mut whole, 0).unwrap();
        let place = |mark: &[u8]| whole.windows(4).position(|window| window == mark).unwrap();
        let (list, end) = (place(b"PK\x01\x02"), place(b"PK\x05\x06"));
        let mut forged = whole[..list].to_vec();
        for n in 0..ENTRIES {
            let mut entry = whole[list..end].to_vec();
            let name = entry.windows(4).position(|window| window == b"a000").unwrap();
            entry[name..name + 4].copy_from_slice(format!("a{n:03}").as_bytes());
            forged.extend(entry);
        }
        let mut tail = whole[end..].to_vec();
        tail[8..10].copy_from_slice(&ENTRIES.to_le_bytes());
        tail[10..12].copy_from_slice(&ENTRIES.to_le_bytes());
        let length = (forged.len() - list) as u32;
        tail[12..16].copy_from_slice(&length.to_le_bytes());
        forged.extend(tail);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&forged).unwrap();

        // The reader does not look for overlaps, so the archive opens, and each entry counts like any other.
        let mut archive = ZipReader::open(Arc::new(file)).unwrap();
        let texts = (0..ENTRIES).map(|n| archive.claim_text(&format!("a{n:03}"), 1 << 20));
        let given = texts.filter(|text| matches!(text, Ok(Some(_)))).count();
        assert_eq!(given, 64);
    }

    #[test]
    fn file_that_is_not_an_archive_is_damaged() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"PK\x03\x04 and then nothing").unwrap();

        assert_eq!(ZipReader::open(Arc::new(file)).err(), Some(ImportError::Damaged));
    }
}
