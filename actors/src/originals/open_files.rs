//! Files that were opened a short time ago. A file in a bucket is copied to this machine to be opened, which takes too long for each page
//! of a PDF.

use std::sync::Arc;
use std::time::Duration;

use concurrency::KeyedMutex;
use entity::document;
use moka::sync::Cache;
use storage::blobs::LocalFile;
use tokio::sync::OwnedMutexGuard;
use values::id::DocumentId;

/// KiB of all files that stay open.
const MAX_KIB: u64 = 2 << 20;
/// Time after which a file that is not used again is closed.
const MAX_IDLE: Duration = Duration::from_secs(300);

/// The file of a version of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileVersion {
    /// The document.
    pub document: DocumentId,
    /// The version of its text.
    pub version: i32,
}

impl FileVersion {
    /// Returns that of a document as it is now.
    pub fn of(document: &document::Model) -> Self {
        Self { document: document.id, version: document.version }
    }
}

/// Files that were opened a short time ago. Clones share them.
#[derive(Clone)]
pub struct OpenFiles {
    files: Cache<FileVersion, (Arc<LocalFile>, u32)>,
    locks: KeyedMutex<FileVersion>,
}

impl Default for OpenFiles {
    fn default() -> Self {
        let weight = |_: &FileVersion, (_, kib): &(Arc<LocalFile>, u32)| *kib;
        let files = Cache::builder().weigher(weight).max_capacity(MAX_KIB).time_to_idle(MAX_IDLE).build();
        Self { files, locks: KeyedMutex::default() }
    }
}

impl OpenFiles {
    /// Returns the file, if it is open.
    pub fn get(&self, version: FileVersion) -> Option<Arc<LocalFile>> {
        self.files.get(&version).map(|(file, _)| file)
    }

    /// Waits until no other request opens the file.
    pub async fn lock(&self, version: FileVersion) -> OwnedMutexGuard<()> {
        self.locks.lock(version).await
    }

    /// Keeps a file open.
    pub async fn insert(&self, version: FileVersion, file: LocalFile) -> Arc<LocalFile> {
        // A stored file takes no additional space.
        let kib = match &file {
            LocalFile::Stored(_) => 1,
            LocalFile::Temporary(copy) => {
                tokio::fs::metadata(copy.path()).await.map_or(1, |found| found.len() >> 10)
            }
        };
        let file = Arc::new(file);
        self.files.insert(version, (file.clone(), u32::try_from(kib).unwrap_or(u32::MAX)));
        file
    }
}
