//! Visits the files in a folder or an archive. Their names are never used as paths, so an archive cannot write outside of the staging
//! folder.

use std::{
    fs::{self, File},
    io::{self, BufReader, Read, Seek},
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;

/// Why a folder or archive cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// A file cannot be read, or an archive is damaged.
    #[error("could not read {}", path.display())]
    Read {
        /// The folder or the archive, not the file in it.
        path: PathBuf,
        /// The error of the operating system or of the decoder.
        #[source]
        cause: io::Error,
    },
    /// It is neither a folder nor a zip, wheel, tar or tar.gz file.
    #[error("{} is neither a folder nor a zip, wheel, tar or tar.gz file", .0.display())]
    Unknown(PathBuf),
}

/// Called with each file: its declared length and its content.
type FileVisitor<'a> = dyn FnMut(u64, &mut dyn Read) -> io::Result<()> + 'a;

/// Calls `visit` for every file in a folder and its subfolders, or in an archive.
pub(super) fn visit_files(path: &Path, visit: &mut FileVisitor<'_>) -> Result<(), UnpackError> {
    if path.is_dir() {
        return visit_folder(path, visit).map_err(read_error(path));
    }
    match detect_archive(path).map_err(read_error(path))? {
        Some(ArchiveKind::Zip) => visit_zip(path, visit),
        Some(ArchiveKind::Gzip) => {
            let file = File::open(path);
            file.and_then(|file| visit_tar(&mut GzDecoder::new(BufReader::new(file)), visit))
        }
        Some(ArchiveKind::Tar) => {
            File::open(path).and_then(|file| visit_tar(&mut BufReader::new(file), visit))
        }
        None => return Err(UnpackError::Unknown(path.to_owned())),
    }
    .map_err(read_error(path))
}

enum ArchiveKind {
    Zip,
    Gzip,
    Tar,
}

/// Detects the kind of an archive from its first bytes, because file names may be wrong.
fn detect_archive(path: &Path) -> io::Result<Option<ArchiveKind>> {
    // The signature of a tar file ends at byte 262.
    let mut start = Vec::new();
    File::open(path)?.take(262).read_to_end(&mut start)?;
    Ok(if start.starts_with(b"PK\x03\x04") {
        Some(ArchiveKind::Zip)
    } else if start.starts_with(&[0x1f, 0x8b]) {
        Some(ArchiveKind::Gzip)
    } else if start.ends_with(b"ustar") {
        Some(ArchiveKind::Tar)
    } else {
        None
    })
}

fn visit_folder(path: &Path, visit: &mut FileVisitor<'_>) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let (file_type, path) = (entry.file_type()?, entry.path());
        // Links to files are followed, because the cache of the Hugging Face hub uses them. Links to folders are not, because they could
        // form a cycle.
        let metadata = fs::metadata(&path)?;
        if file_type.is_dir() {
            visit_folder(&path, visit)?;
        } else if metadata.is_file() {
            visit(metadata.len(), &mut File::open(&path)?)?;
        }
    }
    Ok(())
}

fn visit_zip(path: &Path, visit: &mut FileVisitor<'_>) -> io::Result<()> {
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

fn visit_tar(read: &mut dyn Read, visit: &mut FileVisitor<'_>) -> io::Result<()> {
    for entry in tar::Archive::new(read).entries()? {
        let mut entry = entry?;
        if entry.header().entry_type().is_file() {
            visit(entry.size(), &mut entry)?;
        }
    }
    Ok(())
}

fn read_error(path: &Path) -> impl FnOnce(io::Error) -> UnpackError {
    move |cause| UnpackError::Read { path: path.to_owned(), cause }
}
