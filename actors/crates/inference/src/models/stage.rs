//! The staging folder, in which the files of a model are collected and verified before the model appears.
//!
//! It is a hidden folder next to the folder of the model. It survives an interrupted download, so that the next one continues it.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::catalogue::{Model, ModelFile, Piece};
use super::convert::{self, ConvertError};
use super::digest::{Digest, copy};
use super::unpack::{UnpackError, visit_files};

/// Why the files of a model cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Another process is downloading the same model.
    #[error("another process is fetching this model; wait until it has ended")]
    Busy,
    /// A folder or file cannot be written.
    #[error("could not write {}", path.display())]
    Write {
        /// The file or folder that cannot be written.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        cause: io::Error,
    },
    /// The downloaded files cannot be converted.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A file has the expected length but another digest.
    #[error("the SHA-256 of {file} is {found}, which is not the expected one")]
    Digest {
        /// Name of the file or of its piece in the catalogue.
        file: String,
        /// SHA-256 of the bytes that were received.
        found: Digest,
    },
}

/// Folder for temporary files that are not files of the model.
const TEMPORARY_FOLDER: &str = ".spare";

pub(super) struct Stage {
    model: Model,
    root: PathBuf,
    folder: PathBuf,
    target: PathBuf,
    /// Keeps other processes out until it is dropped.
    _lock: File,
}

impl Stage {
    /// Opens the staging folder of `model` in `root` and locks it.
    pub(super) fn open(root: &Path, model: &Model) -> Result<Self, StageError> {
        let folder = root.join(format!(".pull-{}", model.name));
        fs::create_dir_all(&folder).map_err(write_error(&folder))?;
        // Beside the folder, not in it: the folder is moved when the model is complete.
        let path = root.join(format!(".pull-{}.lock", model.name));
        let lock = File::create(&path).map_err(write_error(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StageError::Busy),
            Err(TryLockError::Error(cause)) => return Err(StageError::Write { path, cause }),
        }
        let (root, target) = (root.to_owned(), root.join(&model.name));
        Ok(Self { model: model.clone(), root, folder, target, _lock: lock })
    }

    /// Returns the files that must still be downloaded.
    pub(super) fn missing(&self) -> Vec<ModelFile> {
        if self.has_all_files() {
            return Vec::new();
        }
        self.model.downloads().iter().filter(|file| !self.has(&file.name)).cloned().collect()
    }

    fn has_all_files(&self) -> bool {
        self.model.files.iter().all(|file| self.has(&file.name))
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    /// Returns the path of the incomplete file.
    pub(super) fn part_path(&self, file: &ModelFile) -> PathBuf {
        self.folder.join(format!("{}.part", file.name))
    }

    /// Creates an empty folder for temporary files; it is removed with the staging folder.
    pub(super) fn create_temporary_folder(&self) -> Result<PathBuf, StageError> {
        let folder = self.folder.join(TEMPORARY_FOLDER);
        remove_folder(&folder)?;
        fs::create_dir(&folder).map_err(write_error(&folder))?;
        Ok(folder)
    }

    /// Verifies the digest of a completely received file and renames it; removes it if the digest is wrong.
    pub(super) fn verify_part(&self, file: &ModelFile) -> Result<(), StageError> {
        let part = self.part_path(file);
        let found = Digest::of_file(&part).map_err(write_error(&part))?;
        if found != file.sha256 {
            fs::remove_file(&part).map_err(write_error(&part))?;
            return Err(StageError::Digest { file: file.name.clone(), found });
        }
        self.move_into_place(&part, file)
    }

    /// Adds the files of the model, its sources and their pieces from a folder or an archive, whatever their names.
    pub(super) fn add_from(&self, path: &Path) -> Result<(), UnpackError> {
        visit_files(path, &mut |bytes, read| {
            // Only files of a known length can be files of the model. Others are not copied: a folder may hold gigabytes of them.
            let has_known_length = self.wanted_files().iter().any(|file| file.bytes == bytes);
            if has_known_length { self.add_file(bytes, read) } else { Ok(()) }
        })
    }

    /// Returns all missing files, sources and pieces.
    fn wanted_files(&self) -> Vec<ModelFile> {
        let missing = self.missing();
        let pieces: Vec<_> =
            missing.iter().flat_map(piece_files).filter(|piece| !self.has(&piece.name)).collect();
        let files = self.model.files.iter().filter(|file| !self.has(&file.name)).cloned();
        files.chain(missing).chain(pieces).collect()
    }

    /// Converts the sources and moves the model to its folder, which is returned.
    pub(super) fn finish(&self) -> Result<PathBuf, StageError> {
        remove_folder(&self.folder.join(TEMPORARY_FOLDER))?;
        self.convert_sources()?;
        // An existing folder is incomplete or damaged; otherwise nothing would have been downloaded.
        let old = self.root.join(format!(".old-{}", self.model.name));
        remove_folder(&old)?;
        // A process that is killed between the two renames leaves no model, but a complete staging folder: the next download has
        // nothing to fetch and ends here.
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(write_error(&self.target))?;
        }
        fs::rename(&self.folder, &self.target).map_err(write_error(&self.target))?;
        remove_folder(&old)?;
        Ok(self.target.clone())
    }

    /// Converts the sources to the files of the model, and removes sources and pieces.
    fn convert_sources(&self) -> Result<(), StageError> {
        if !self.has_all_files() {
            for file in &self.model.files {
                convert::whisper(&self.folder, &self.part_path(file))?;
                self.verify_part(file)?;
            }
        }
        // Removed only after the conversion, so that a process that is killed before need not download them again.
        self.model.sources.iter().try_for_each(|source| self.remove_file(source))?;
        self.model.downloads().iter().flat_map(piece_files).try_for_each(|piece| self.remove_file(&piece))
    }

    fn remove_file(&self, file: &ModelFile) -> Result<(), StageError> {
        for path in [self.folder.join(&file.name), self.part_path(file)] {
            match fs::remove_file(&path) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                    return Err(write_error(&path)(cause));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Joins the files of which all pieces are present.
    fn join_pieces(&self) -> Result<(), StageError> {
        for file in self.missing() {
            let pieces = piece_files(&file);
            if pieces.is_empty() || !pieces.iter().all(|piece| self.has(&piece.name)) {
                continue;
            }
            let part = self.part_path(&file);
            let join = || {
                let mut whole = File::create(&part)?;
                pieces.iter().try_for_each(|piece| {
                    io::copy(&mut File::open(self.folder.join(&piece.name))?, &mut whole).map(drop)
                })
            };
            join().map_err(write_error(&part))?;
            self.verify_part(&file)?;
        }
        Ok(())
    }

    fn add_file(&self, bytes: u64, read: &mut dyn Read) -> io::Result<()> {
        // The digest is known only after the last byte, so an unknown file is copied first.
        let copied = self.folder.join(".taken");
        // The length declared in an archive may be too small.
        let (length, digest) = copy(&mut read.take(bytes + 1), &mut File::create(&copied)?)?;
        let wanted = self.wanted_files();
        match wanted.iter().find(|file| file.bytes == length && file.sha256 == digest) {
            Some(file) => self
                .move_into_place(&copied, file)
                .and_then(|()| self.join_pieces())
                .map_err(io::Error::other),
            None => fs::remove_file(&copied),
        }
    }

    fn move_into_place(&self, part: &Path, file: &ModelFile) -> Result<(), StageError> {
        // A file under its own name counts as verified; a later process does not compute its digest again.
        let target = self.folder.join(&file.name);
        // Synced before the rename, so that the file is complete even after a power failure.
        let on_disk = File::open(part).and_then(|part| part.sync_all());
        on_disk.and_then(|()| fs::rename(part, &target)).map_err(write_error(&target))
    }
}

/// Returns the pieces of a file as files with numbered names.
fn piece_files(file: &ModelFile) -> Vec<ModelFile> {
    let named = |(number, piece): (u32, &Piece)| ModelFile {
        name: format!("{}.{number}", file.name),
        bytes: piece.bytes,
        sha256: piece.sha256,
        pieces: Vec::new(),
    };
    (1..).zip(&file.pieces).map(named).collect()
}

/// Removes a folder with its contents, if it exists.
fn remove_folder(folder: &Path) -> Result<(), StageError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(write_error(folder)(cause)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn write_error(path: &Path) -> impl FnOnce(io::Error) -> StageError {
    move |cause| StageError::Write { path: path.to_owned(), cause }
}
