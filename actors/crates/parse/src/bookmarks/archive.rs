//! Archives (zip): looked into by name and never unpacked to a place, with bounds on what comes out.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::NoImport;

/// What an archive's first bytes are.
pub const MAGIC: &[u8] = b"PK\x03\x04";
/// Files of one archive.
const MOST_FILES: usize = 2_000_000;
/// An honest text is packed to no less than this part of itself; shorter ones may be.
const TIGHTEST: u64 = 400;
const SHORT: u64 = 16 << 20;
/// All texts of an honest archive unpack to no more than so many times its length, and those of a small one to this.
const LOOSEST: u64 = 100;
const FEW: u64 = 64 << 20;

/// A file of the archive, unpacked as it is read.
pub type Unpacked = Box<dyn BufRead>;

/// See the file's head.
pub struct Archive {
    file: Arc<File>,
    zip: ZipArchive<At>,
    given: HashSet<String>,
    left: u64,
}

impl Archive {
    /// Looks at the list of files.
    pub fn open(file: Arc<File>) -> Result<Self, NoImport> {
        let zip = ZipArchive::new(At { file: file.clone(), at: 0 }).map_err(|_| NoImport::Damaged)?;
        if zip.len() > MOST_FILES {
            return Err(NoImport::Bomb);
        }
        let length = file.metadata().map_or(0, |about| about.len());
        let left = length.saturating_mul(LOOSEST).max(FEW);
        Ok(Self { file, zip, given: HashSet::new(), left })
    }

    /// The names of its files.
    pub fn names(&self) -> Vec<String> {
        self.zip.file_names().flatten().map(std::borrow::Cow::into_owned).collect()
    }

    /// How long a file says that it is.
    pub fn length(&mut self, name: &str) -> Option<u64> {
        self.zip.by_name(name).ok().map(|file| file.size())
    }

    /// A file, unpacked as it is read.
    pub fn unpack(&mut self, name: &str) -> Result<Unpacked, NoImport> {
        let (start, packed, size, how) = {
            let file = self.zip.by_name(name).map_err(|_| NoImport::Missing)?;
            let start = file.data_start().ok_or(NoImport::Damaged)?;
            (start, file.compressed_size(), file.size(), file.compression())
        };
        if size > SHORT && size / packed.max(1) > TIGHTEST {
            return Err(NoImport::Bomb);
        }
        let bytes = At { file: self.file.clone(), at: start }.take(packed);
        // What is said of a file's length holds, whatever unpacks.
        if how == CompressionMethod::Stored {
            return Ok(Box::new(BufReader::new(bytes.take(size))));
        }
        if how == CompressionMethod::Deflated {
            return Ok(Box::new(BufReader::new(DeflateDecoder::new(bytes).take(size))));
        }
        Err(NoImport::Damaged)
    }

    /// The text that belongs to one row: each is given once, and all together are no bomb. `None` where it is not there, or
    /// longer.
    pub fn text(&mut self, name: &str, most: usize) -> Result<Option<Vec<u8>>, &'static str> {
        let Some(text) = self.short(name, most) else { return Ok(None) };
        if !self.given.insert(name.to_owned()) {
            return Err("its text is another row's");
        }
        self.count(&text).map_err(|_| "the archive is too large when unpacked")?;
        Ok(Some(text))
    }

    /// A list of at most `most` bytes. It counts towards the unpacked total as texts do, because thousands of entries may share the
    /// same packed bytes.
    pub fn list(&mut self, name: &str, most: usize) -> Result<Vec<u8>, NoImport> {
        let list = self.short(name, most).ok_or(NoImport::Damaged)?;
        self.count(&list)?;
        Ok(list)
    }

    /// Adds to the number of unpacked bytes.
    fn count(&mut self, unpacked: &[u8]) -> Result<(), NoImport> {
        self.left = self.left.checked_sub(unpacked.len() as u64).ok_or(NoImport::Bomb)?;
        Ok(())
    }

    /// A file of at most so many bytes; `None` where it is not there, or longer.
    pub fn short(&mut self, name: &str, most: usize) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        self.unpack(name).ok()?.take(most as u64 + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() <= most).then_some(bytes)
    }
}

/// A place in a file that others read too: each reads from a place of its own.
struct At {
    file: Arc<File>,
    at: u64,
}

impl Read for At {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for At {
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

    /// An archive of these files.
    pub fn packed(files: &[(&str, &[u8])]) -> Arc<File> {
        let mut zip = ZipWriter::new(tempfile::tempfile().unwrap());
        for (name, bytes) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        Arc::new(zip.finish().unwrap())
    }

    #[test]
    fn files_are_read_by_name_and_beside_each_other() {
        let mut archive = Archive::open(packed(&[("a", b"one\ntwo"), ("../b", b"three")])).unwrap();

        let mut a = archive.unpack("a").unwrap();
        let mut line = String::new();
        a.read_line(&mut line).unwrap();
        assert_eq!(archive.short("../b", 9), Some(b"three".to_vec()));
        a.read_line(&mut line).unwrap();

        assert_eq!(line, "one\ntwo");
        assert_eq!((archive.short("a", 3), archive.short("none", 9)), (None, None));
    }

    /// Of the threat table (row P5).
    #[test]
    fn what_unpacks_to_far_more_is_refused() {
        let zeroes = vec![0; 64 << 20];
        let mut archive = Archive::open(packed(&[("bomb", &zeroes)])).unwrap();

        assert_eq!(archive.unpack("bomb").err(), Some(NoImport::Bomb));
    }

    /// Of the threat table (row P5).
    #[test]
    fn texts_of_an_archive_are_read_once_and_bounded_together() {
        let zeroes = vec![0; 1 << 20];
        let names: Vec<String> = (0..80).map(|n| n.to_string()).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &zeroes[..])).collect();
        let mut archive = Archive::open(packed(&files)).unwrap();

        let texts: Vec<_> = names.iter().map(|name| archive.text(name, 1 << 20)).collect();

        // Each text is within the limit of one text; together they exceed the limit of the archive.
        assert!(texts.iter().take(64).all(|text| matches!(text, Ok(Some(_)))));
        assert_eq!(texts[64], Err("the archive is too large when unpacked"));
        assert_eq!(archive.text("0", 1 << 20), Err("its text is another row's"));
    }

    /// Of the threat table (row P5).
    #[test]
    fn lists_of_an_archive_are_bounded_together() {
        let zeroes = vec![0; 1 << 20];
        let names: Vec<String> = (0..80).map(|n| format!("{n}.csv")).collect();
        let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &zeroes[..])).collect();
        let mut archive = Archive::open(packed(&files)).unwrap();

        let lists: Vec<_> = names.iter().map(|name| archive.list(name, 1 << 20)).collect();

        assert!(lists.iter().take(64).all(Result::is_ok));
        assert_eq!(lists[64], Err(NoImport::Bomb));
        assert_eq!(archive.list("none.csv", 1 << 20), Err(NoImport::Damaged));
    }

    /// Overlapping entries: the central directory names the same bytes many times (row P5).
    #[test]
    fn overlapping_entries_are_bounded_together() {
        const ENTRIES: u16 = 200;
        let packed = packed(&[("a000", &vec![0; 1 << 20])]);
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
        let mut archive = Archive::open(Arc::new(file)).unwrap();
        let texts = (0..ENTRIES).map(|n| archive.text(&format!("a{n:03}"), 1 << 20));
        let given = texts.filter(|text| matches!(text, Ok(Some(_)))).count();
        assert_eq!(given, 64);
    }

    #[test]
    fn what_is_no_archive_is_damaged() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"PK\x03\x04 and then nothing").unwrap();

        assert_eq!(Archive::open(Arc::new(file)).err(), Some(NoImport::Damaged));
    }
}
