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
    Digest, Model, ModelFile,
    digest::copy,
    unpack::{UnpackError, each_file},
};

/// Why a model's files cannot be put into place.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Another process is fetching the same model.
    #[error("start: another process is fetching this model")]
    Busy,
    /// A folder or file cannot be written.
    #[error("write {}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// A file came whole but with other bytes than it should have.
    #[error("trust {file}: its SHA-256 is {found}")]
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

    /// The files that are not here yet.
    pub(super) fn missing(&self) -> Vec<ModelFile> {
        let here = |file: &&ModelFile| self.folder.join(&file.name).is_file();
        self.model.files.iter().filter(|file| !here(file)).cloned().collect()
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

    /// Takes every file of the model that lies in a folder or an archive, whatever its name there.
    pub(super) fn take_from(&self, path: &Path) -> Result<(), UnpackError> {
        each_file(path, &mut |bytes, read| {
            let fits = self.missing().iter().any(|file| file.bytes == bytes);
            if fits { self.take(bytes, read) } else { Ok(()) }
        })
    }

    /// Makes the model appear.
    pub(super) fn finish(&self) -> Result<PathBuf, StageError> {
        remove(&self.folder.join(SPARE))?;
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

    fn take(&self, bytes: u64, read: &mut dyn Read) -> io::Result<()> {
        let taken = self.folder.join(".taken");
        // An archive may hold more than it tells.
        let (length, digest) = copy(&mut read.take(bytes + 1), &mut File::create(&taken)?)?;
        let missing = self.missing();
        match missing.iter().find(|file| file.bytes == length && file.sha256 == digest) {
            Some(file) => self.settle(&taken, file).map_err(io::Error::other),
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
