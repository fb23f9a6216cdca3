//! Pages of PDFs as they are shown: their sizes, their pictures, and the places of their words.
//!
//! All of it is made in the sandbox when it is asked for, and kept in memory for a while by document and version. After a crash it is made
//! again.

mod caches;
mod overview;
mod page_layer;
mod page_spans;
mod picture_width;

use std::sync::Arc;
use std::time::Duration;

use concurrency::FairSemaphore;
use database::Db;
use entity::document;
use errors::Error;
use sandbox::{DrawnPage, Sandbox, SandboxError, SandboxSettings};
use values::id::UserId;

use crate::originals::{FileVersion, Originals};
use caches::{Caches, PagePictureKey, PdfPageKey};

pub use overview::PdfOverview;
pub use page_layer::PlacedPage;
pub use page_spans::PageSpan;
pub use picture_width::PictureWidth;

/// Maximum wait for the turn of a page: longer than the sandbox works at one page, so a page that hangs is given up first.
const MAX_TURN_WAIT: Duration = Duration::from_secs(120);

/// Makes and keeps pages of PDFs. Clones share them.
#[derive(Clone)]
pub struct PdfPages {
    originals: Originals,
    sandbox: Sandbox,
    db: Db,
    /// As many as the sandbox has children for pages, which users get in turn. A bound of each user below that number would leave a user
    /// nothing on a machine with one core, whose sandbox has one child; with turns, a user who opens many pages delays another by one.
    turns: FairSemaphore<UserId>,
    caches: Caches,
}

impl PdfPages {
    /// Creates the maker of pages.
    pub fn new(originals: Originals, sandbox: Sandbox, db: Db) -> Self {
        let turns = FairSemaphore::new(SandboxSettings::pictures().children, MAX_TURN_WAIT);
        Self { originals, sandbox, db, turns, caches: Caches::default() }
    }

    /// Returns the sizes of all pages, and where their texts are.
    ///
    /// # Errors
    /// [`Error::Conflict`] with the reason when the file cannot be opened; [`Error::Busy`] when no turn came within 120 seconds, or too many
    /// pages wait; the errors of the database and of the store.
    pub async fn overview(&self, document: &document::Model) -> Result<Arc<PdfOverview>, Error> {
        let version = FileVersion::of(document);
        if let Some(known) = self.caches.overviews.get(&version) {
            return known.map_err(Error::conflict);
        }
        let _turn = self.turns.acquire(document.user_id).await?;
        if let Some(known) = self.caches.overviews.get(&version) {
            return known.map_err(Error::conflict);
        }
        let mut file = self.originals.open(document).await?;
        let sizes = known_failure(self.sandbox.read_pdf_sizes(&mut file).await)?;
        let overview = match sizes {
            Ok(sizes) => {
                Ok(Arc::new(PdfOverview { sizes, spans: page_spans::read(&self.db, document).await? }))
            }
            Err(reason) => Err(reason),
        };
        self.caches.overviews.insert(version, overview.clone());
        overview.map_err(Error::conflict)
    }

    /// Returns a page, counted from 1, with the places of its words.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the document has no such page; otherwise as [`Self::overview`].
    pub async fn layer(&self, document: &document::Model, number: u32) -> Result<Arc<PlacedPage>, Error> {
        let key = PdfPageKey { version: FileVersion::of(document), number };
        if let Some(known) = self.caches.layers.get(&key) {
            return known.map_err(Error::conflict);
        }
        let _turn = self.turns.acquire(document.user_id).await?;
        if let Some(known) = self.caches.layers.get(&key) {
            return known.map_err(Error::conflict);
        }
        let mut file = self.originals.open(document).await?;
        let page = match known_failure(self.sandbox.read_pdf_layer(&mut file, number).await)? {
            Ok(None) => return Err(Error::not_found()),
            Ok(Some(layer)) => {
                let stored = page_spans::read_text(&self.db, document, number).await?;
                Ok(Arc::new(PlacedPage::new(number, layer, stored)))
            }
            Err(reason) => Err(reason),
        };
        self.caches.layers.insert(key, page.clone());
        page.map_err(Error::conflict)
    }

    /// Returns the picture of a page, counted from 1, as a WebP file.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the document has no such page; otherwise as [`Self::overview`].
    pub async fn picture(
        &self,
        document: &document::Model,
        number: u32,
        width: PictureWidth,
    ) -> Result<Arc<DrawnPage>, Error> {
        let key = PagePictureKey { page: PdfPageKey { version: FileVersion::of(document), number }, width };
        if let Some(known) = self.caches.pictures.get(&key) {
            return known.map_err(Error::conflict);
        }
        let _turn = self.turns.acquire(document.user_id).await?;
        if let Some(known) = self.caches.pictures.get(&key) {
            return known.map_err(Error::conflict);
        }
        let mut file = self.originals.open(document).await?;
        let drawn = known_failure(self.sandbox.draw_pdf_page(&mut file, number, width.pixels()).await)?;
        let drawn = match drawn {
            Ok(None) => return Err(Error::not_found()),
            Ok(Some(drawn)) => Ok(Arc::new(drawn)),
            Err(reason) => Err(reason),
        };
        self.caches.pictures.insert(key, drawn.clone());
        drawn.map_err(Error::conflict)
    }
}

/// Returns the result, or the reason why this file has none, which holds for each further attempt.
///
/// # Errors
/// [`Error::Internal`] when no child can be started.
fn known_failure<T>(result: Result<T, SandboxError>) -> Result<Result<T, String>, Error> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error @ SandboxError::Unavailable(_)) => Err(Error::internal(error)),
        Err(
            error @ (SandboxError::Crashed
            | SandboxError::OutOfMemory
            | SandboxError::TimedOut
            | SandboxError::TooLarge
            | SandboxError::Article(_)
            | SandboxError::Audio(_)
            | SandboxError::Pdf(_)
            | SandboxError::Picture(_)
            | SandboxError::Import(_)),
        ) => Ok(Err(error.to_string())),
    }
}
