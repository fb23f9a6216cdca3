//! The files from which texts were made: stored uploads, and files of the web that are fetched again while a user looks at them.
//!
//! A PDF or a recording that was saved by its URL is not stored permanently. When its user opens it, it is fetched again and kept for a
//! day after its last use ([`recording_file`]).

mod media_type;
mod open_files;

use entity::{document, stored_file, upload};
use errors::Error;
use library::context::CoreContext;
use library::uploads::Uploads;
use sea_orm::{ColumnTrait, QueryFilter};
use storage::blobs::{BlobError, LocalFile};
use values::id::{DocumentId, UserId};
use values::kind::ContentType;
use web::{BodyPolicy, FetchOutcome, FetchRequest, Fetcher, PageUrl, SaveError};

use crate::ingest::media::{recording_file, recording_url};
use concurrency::{KeyedMutex, KeyedSemaphore};

pub use media_type::media_type_of;
pub use open_files::{FileVersion, OpenFiles};

/// Files that are fetched for one user at the same time.
const USER_FETCHES: usize = 2;

/// Finds the files from which texts were made. Clones share what is open.
#[derive(Clone)]
pub struct Originals {
    core: CoreContext,
    fetcher: Fetcher,
    uploads: Uploads,
    open_files: OpenFiles,
    /// Held while the file of a document is fetched, so that the pages of a PDF do not fetch it each.
    fetches: KeyedMutex<DocumentId>,
    /// Slots of each user for fetches: each file may take gigabytes, and minutes.
    slots: KeyedSemaphore<UserId>,
}

/// A file from which a text was made.
#[derive(Clone, Debug)]
pub struct Original {
    /// Its path in the store.
    pub path: String,
    /// The name under which its user uploaded it; `None` for files of the web.
    pub filename: Option<String>,
}

impl Originals {
    /// Creates the finder of files.
    pub fn new(core: CoreContext, fetcher: Fetcher, uploads: Uploads) -> Self {
        let (open_files, fetches) = (OpenFiles::default(), KeyedMutex::default());
        Self { core, fetcher, uploads, open_files, fetches, slots: KeyedSemaphore::new(USER_FETCHES) }
    }

    /// Returns the store in which the files are.
    pub fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// Finds the file of a document. A file of the web that is not kept is fetched, which may take minutes.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the document is neither a PDF nor a recording; [`Error::Conflict`] with the reason when there is no
    /// file any more; the errors of the database and of the store.
    pub async fn find(&self, document: &document::Model) -> Result<Original, Error> {
        match document.content_type {
            ContentType::Pdf | ContentType::Audio | ContentType::Video => {}
            ContentType::Article | ContentType::Note => return Err(Error::not_found()),
        }
        if let Some(original) = self.find_upload(document.user_id, document.id).await? {
            return Ok(original);
        }
        if let Some(path) = recording_file::find_path(&self.core, document.id).await? {
            return Ok(Original { path, filename: None });
        }
        let _lock = self.fetches.lock(document.id).await;
        if recording_file::find_path(&self.core, document.id).await?.is_none() {
            let _slot = self.slots.acquire(document.user_id).await.map_err(Error::internal)?;
            self.fetch(document).await?;
        }
        let path = recording_file::find_path(&self.core, document.id).await?.ok_or_else(gone)?;
        Ok(Original { path, filename: None })
    }

    /// Opens the file of a document on this machine. A copy that was made of a file in a bucket stays open for a few minutes.
    ///
    /// # Errors
    /// The same errors as [`Self::find`].
    pub async fn open(&self, document: &document::Model) -> Result<tokio::fs::File, Error> {
        let version = FileVersion::of(document);
        let open = match self.open_files.get(version) {
            Some(open) => open,
            None => {
                let _lock = self.open_files.lock(version).await;
                match self.open_files.get(version) {
                    Some(open) => open,
                    None => self.open_files.insert(version, self.local_file(document).await?).await,
                }
            }
        };
        Ok(tokio::fs::File::open(open.path()).await.map_err(BlobError::from)?)
    }

    async fn local_file(&self, document: &document::Model) -> Result<LocalFile, Error> {
        let original = self.find(document).await?;
        match self.uploads.store.local_file(&original.path).await {
            Ok(file) => Ok(file),
            Err(BlobError::Missing) => Err(gone()),
            Err(error) => Err(error.into()),
        }
    }

    async fn find_upload(&self, user: UserId, document: DocumentId) -> Result<Option<Original>, Error> {
        let own = upload::Entity::owned_by(user).filter(upload::Column::DocumentId.eq(document));
        let Some(upload) = own.one(self.core.db.read()).await? else { return Ok(None) };
        let row = stored_file::Entity::of_upload(upload.id).one(self.core.db.read()).await?;
        let path = row.ok_or_else(gone)?.path;
        Ok(Some(Original { path, filename: Some(upload.filename) }))
    }

    /// Fetches the file of a document and keeps it.
    async fn fetch(&self, document: &document::Model) -> Result<(), Error> {
        let url = match document.content_type {
            ContentType::Audio | ContentType::Video => {
                recording_url::find_separate(self.core.db.read(), document).await?
            }
            ContentType::Article | ContentType::Pdf | ContentType::Note => None,
        };
        let url = url.or_else(|| document.url.clone());
        let url = url.and_then(|url| PageUrl::parse(&url).ok()).ok_or_else(gone)?;
        let policy = |_: Option<&str>| BodyPolicy::File;
        match self.fetcher.get_or_save(&url, FetchRequest::page(), &self.uploads.scratch, policy).await {
            Ok(FetchOutcome::File(file)) => {
                recording_file::keep_file(&self.core, &*self.uploads.store, document.id, file.path()).await
            }
            Ok(FetchOutcome::Page(_) | FetchOutcome::Skipped) => Err(gone()),
            Err(SaveError::Fetch(error)) => {
                Err(Error::conflict(format!("the file could not be fetched again: {error}")))
            }
            Err(SaveError::Disk(cause)) => Err(BlobError::from(cause).into()),
        }
    }
}

fn gone() -> Error {
    Error::conflict("the file is not stored any more; its text can still be read")
}
