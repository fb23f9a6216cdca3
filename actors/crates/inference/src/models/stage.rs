//! Where the files of a model are gathered and checked before the model appears, whole.
//!
//! The stage is a hidden folder beside the model's own. It outlives an interrupted pull, so that the next goes on
//! where that one stopped.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read},
    path::{Path, PathBuf},
};

use super::{
    ConvertError, Digest, Model, ModelFile, Piece, convert,
    digest::copy,
    unpack::{UnpackError, each_file},
};

/// Why a model's files cannot be put into place.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Another process is fetching the same model.
    #[error("another process is fetching this model")]
    Busy,
    /// A folder or file cannot be written.
    #[error("could not write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// What was fetched cannot be turned into what is used.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// A file came whole but with other bytes than it should have.
    #[error("the SHA-256 of {file} is {found}, which is not the expected one")]
    Digest {
        /// The file's name.
        file: String,
        /// What it is instead.
        found: Digest,
    },
}

/// Folder for things that are no files of the model.
const SPARE: &str = ".spare";

pub(super) struct Stage {
    model: Model,
    root: PathBuf,
    folder: PathBuf,
    target: PathBuf,
    /// Held as long as the stage is.
    _lock: File,
}

impl Stage {
    /// Opens the stage of `model` under `root`, alone.
    pub(super) fn open(root: &Path, model: &Model) -> Result<Self, StageError> {
        let folder = root.join(format!(".pull-{}", model.name));
        fs::create_dir_all(&folder).map_err(writing(&folder))?;
        let path = root.join(format!(".pull-{}.lock", model.name));
        let lock = File::create(&path).map_err(writing(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StageError::Busy),
            Err(TryLockError::Error(cause)) => return Err(StageError::Write { path, cause }),
        }
        let (root, target) = (root.to_owned(), root.join(&model.name));
        Ok(Self { model: model.clone(), root, folder, target, _lock: lock })
    }

    /// The files that are not here yet, of those that are fetched.
    pub(super) fn missing(&self) -> Vec<ModelFile> {
        if self.is_made() {
            return Vec::new();
        }
        self.model.fetched().iter().filter(|file| !self.has(&file.name)).cloned().collect()
    }

    fn is_made(&self) -> bool {
        self.model.files.iter().all(|file| self.has(&file.name))
    }

    fn has(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    /// Where a file grows until it is whole.
    pub(super) fn part(&self, file: &ModelFile) -> PathBuf {
        self.folder.join(format!("{}.part", file.name))
    }

    /// A new, empty folder for things that are no files of the model; gone with the stage.
    pub(super) fn spare(&self) -> Result<PathBuf, StageError> {
        let spare = self.folder.join(SPARE);
        remove(&spare)?;
        fs::create_dir(&spare).map_err(writing(&spare))?;
        Ok(spare)
    }

    /// Checks a part that is complete and keeps it; throws it away when it is not what it should be.
    pub(super) fn keep(&self, file: &ModelFile) -> Result<(), StageError> {
        let part = self.part(file);
        let found = Digest::of(&part).map_err(writing(&part))?;
        if found != file.sha256 {
            fs::remove_file(&part).map_err(writing(&part))?;
            return Err(StageError::Digest { file: file.name.clone(), found });
        }
        self.settle(&part, file)
    }

    /// Takes every file of the model that lies in a folder or an archive, whatever its name there, and what it is made
    /// of, whole or in pieces.
    pub(super) fn take_from(&self, path: &Path) -> Result<(), UnpackError> {
        each_file(path, &mut |bytes, read| {
            let fits = self.wanted().iter().any(|file| file.bytes == bytes);
            if fits { self.take(bytes, read) } else { Ok(()) }
        })
    }

    /// Everything that may be taken now.
    fn wanted(&self) -> Vec<ModelFile> {
        let missing = self.missing();
        let pieces: Vec<_> = missing.iter().flat_map(pieces).filter(|piece| !self.has(&piece.name)).collect();
        let made = self.model.files.iter().filter(|file| !self.has(&file.name)).cloned();
        made.chain(missing).chain(pieces).collect()
    }

    /// Makes the model appear.
    pub(super) fn finish(&self) -> Result<PathBuf, StageError> {
        remove(&self.folder.join(SPARE))?;
        self.make()?;
        // What stands there is not what it should be, else it would not be replaced.
        let old = self.root.join(format!(".old-{}", self.model.name));
        remove(&old)?;
        if self.target.exists() {
            fs::rename(&self.target, &old).map_err(writing(&self.target))?;
        }
        fs::rename(&self.folder, &self.target).map_err(writing(&self.target))?;
        remove(&old)?;
        Ok(self.target.clone())
    }

    /// Turns the sources into the files, and leaves nothing else.
    fn make(&self) -> Result<(), StageError> {
        if !self.is_made() {
            for file in &self.model.files {
                convert::whisper(&self.folder, &self.part(file))?;
                self.keep(file)?;
            }
        }
        self.model.sources.iter().try_for_each(|source| self.forget(source))?;
        self.model.fetched().iter().flat_map(pieces).try_for_each(|piece| self.forget(&piece))
    }

    fn forget(&self, file: &ModelFile) -> Result<(), StageError> {
        for path in [self.folder.join(&file.name), self.part(file)] {
            match fs::remove_file(&path) {
                Err(cause) if cause.kind() != io::ErrorKind::NotFound => return Err(writing(&path)(cause)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Puts a file together of which the last piece came.
    fn join(&self) -> Result<(), StageError> {
        for file in self.missing() {
            let pieces = pieces(&file);
            if pieces.is_empty() || !pieces.iter().all(|piece| self.has(&piece.name)) {
                continue;
            }
            let part = self.part(&file);
            let join = || {
                let mut whole = File::create(&part)?;
                pieces.iter().try_for_each(|piece| {
                    io::copy(&mut File::open(self.folder.join(&piece.name))?, &mut whole).map(drop)
                })
            };
            join().map_err(writing(&part))?;
            self.keep(&file)?;
        }
        Ok(())
    }

    fn take(&self, bytes: u64, read: &mut dyn Read) -> io::Result<()> {
        let taken = self.folder.join(".taken");
        // An archive may hold more than it tells.
        let (length, digest) = copy(&mut read.take(bytes + 1), &mut File::create(&taken)?)?;
        let wanted = self.wanted();
        match wanted.iter().find(|file| file.bytes == length && file.sha256 == digest) {
            Some(file) => self.settle(&taken, file).and_then(|()| self.join()).map_err(io::Error::other),
            None => fs::remove_file(&taken),
        }
    }

    fn settle(&self, part: &Path, file: &ModelFile) -> Result<(), StageError> {
        let whole = self.folder.join(&file.name);
        // On disk before it has its name: a name must never stand for half a file, after a power cut neither.
        let on_disk = File::open(part).and_then(|part| part.sync_all());
        on_disk.and_then(|()| fs::rename(part, &whole)).map_err(writing(&whole))
    }
}

/// The pieces of a file, under names of their own.
fn pieces(file: &ModelFile) -> Vec<ModelFile> {
    let named = |(number, piece): (u32, &Piece)| ModelFile {
        name: format!("{}.{number}", file.name),
        bytes: piece.bytes,
        sha256: piece.sha256,
        pieces: Vec::new(),
    };
    (1..).zip(&file.pieces).map(named).collect()
}

/// Removes a folder with all that is in it, if it is there.
fn remove(folder: &Path) -> Result<(), StageError> {
    match fs::remove_dir_all(folder) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(writing(folder)(cause)),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> StageError {
    move |cause| StageError::Write { path: path.to_owned(), cause }
}
