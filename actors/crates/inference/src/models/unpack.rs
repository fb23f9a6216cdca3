//! The files in a folder or an archive, one after the other, by length and bytes. Their names are never used, so
//! an archive can write nothing anywhere.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;

/// Why a folder or archive cannot be looked through.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// A file cannot be read, or an archive is broken.
    #[error("could not read {}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// It is neither a folder nor a zip, wheel, tar or tar.gz file.
    #[error("{} is neither a folder nor a zip, wheel, tar or tar.gz file", .0.display())]
    Unknown(PathBuf),
}

/// What is done with each file: its length, as told, and its bytes.
type Visit<'a> = dyn FnMut(u64, &mut dyn Read) -> io::Result<()> + 'a;

/// Visits every file in a folder, whatever the depth, or in an archive.
pub(super) fn each_file(path: &Path, visit: &mut Visit<'_>) -> Result<(), UnpackError> {
    if path.is_dir() {
        return folder(path, visit).map_err(reading(path));
    }
    match kind(path).map_err(reading(path))? {
        Some(Kind::Zip) => zip(path, visit),
        Some(Kind::Gzip) => {
            let file = File::open(path);
            file.and_then(|file| tar(&mut GzDecoder::new(BufReader::new(file)), visit))
        }
        Some(Kind::Tar) => File::open(path).and_then(|file| tar(&mut BufReader::new(file), visit)),
        None => return Err(UnpackError::Unknown(path.to_owned())),
    }
    .map_err(reading(path))
}

enum Kind {
    Zip,
    Gzip,
    Tar,
}

/// By the first bytes: names lie.
fn kind(path: &Path) -> io::Result<Option<Kind>> {
    let mut start = Vec::new();
    File::open(path)?.take(262).read_to_end(&mut start)?;
    Ok(if start.starts_with(b"PK\x03\x04") {
        Some(Kind::Zip)
    } else if start.starts_with(&[0x1f, 0x8b]) {
        Some(Kind::Gzip)
    } else if start.ends_with(b"ustar") {
        Some(Kind::Tar)
    } else {
        None
    })
}

fn folder(path: &Path, visit: &mut Visit<'_>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        // A cache of a hub links to its files; links to folders could go round in circles.
        let found = fs::metadata(&path)?;
        if kind.is_dir() {
            folder(&path, visit)?;
        } else if found.is_file() {
            visit(found.len(), &mut File::open(&path)?)?;
        }
    }
    Ok(())
}

fn zip(path: &Path, visit: &mut Visit<'_>) -> io::Result<()> {
    let mut archive = zip::ZipArchive::new(BufReader::new(File::open(path)?))?;
    for number in 0..archive.len() {
        let mut file = entry(&mut archive, number)?;
        if file.is_file() {
            visit(file.size(), &mut file)?;
        }
    }
    Ok(())
}

fn entry<R: Read + Seek>(
    archive: &mut zip::ZipArchive<R>,
    number: usize,
) -> io::Result<zip::read::ZipFile<'_, R>> {
    Ok(archive.by_index(number)?)
}

fn tar(read: &mut dyn Read, visit: &mut Visit<'_>) -> io::Result<()> {
    for entry in tar::Archive::new(read).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            visit(entry.size(), &mut entry)?;
        }
    }
    Ok(())
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> UnpackError {
    move |cause| UnpackError::Read { path: path.to_owned(), cause }
}
