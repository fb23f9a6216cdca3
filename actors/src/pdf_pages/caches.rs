//! What is kept of pages, by document and version, with the reason for what could not be made.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use sandbox::DrawnPage;

use super::overview::PdfOverview;
use super::page_layer::PlacedPage;
use super::picture_width::PictureWidth;
use crate::originals::FileVersion;

/// Bytes of all pictures that are kept: some hundred pages.
const MAX_PICTURE_BYTES: u64 = 64 << 20;
/// Bytes of all text layers that are kept.
const MAX_LAYER_BYTES: u64 = 32 << 20;
/// Pages of all documents whose sizes are kept.
const MAX_PAGE_SIZES: u64 = 500_000;
/// Bytes that an entry takes besides its contents.
const OVERHEAD_BYTES: usize = 512;
/// Time after which a page that is not shown again makes room.
const MAX_IDLE: Duration = Duration::from_secs(1800);

/// A page of a version of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PdfPageKey {
    /// The version of the document.
    pub version: FileVersion,
    /// The number of the page, from 1.
    pub number: u32,
}

/// A picture of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PagePictureKey {
    /// The page.
    pub page: PdfPageKey,
    /// The width of the picture.
    pub width: PictureWidth,
}

/// Something that was made of a file, or why it could not be made.
type CachedResult<T> = Result<Arc<T>, String>;

/// What is kept of pages. Clones share it.
#[derive(Clone)]
pub struct Caches {
    /// The sizes of the pages of documents.
    pub overviews: Cache<FileVersion, CachedResult<PdfOverview>>,
    /// The text layers of pages.
    pub layers: Cache<PdfPageKey, CachedResult<PlacedPage>>,
    /// The pictures of pages.
    pub pictures: Cache<PagePictureKey, CachedResult<DrawnPage>>,
}

impl Default for Caches {
    fn default() -> Self {
        let pages = |_: &FileVersion, made: &CachedResult<PdfOverview>| {
            made.as_ref().map_or(1, |overview| weight(overview.sizes.len().max(1)))
        };
        let layer_bytes = |_: &PdfPageKey, made: &CachedResult<PlacedPage>| {
            weight(made.as_ref().map_or(0, |page| page.bytes()) + OVERHEAD_BYTES)
        };
        let picture_bytes = |_: &PagePictureKey, made: &CachedResult<DrawnPage>| {
            weight(made.as_ref().map_or(0, |drawn| drawn.webp.len()) + OVERHEAD_BYTES)
        };
        Self {
            overviews: Cache::builder()
                .weigher(pages)
                .max_capacity(MAX_PAGE_SIZES)
                .time_to_idle(MAX_IDLE)
                .build(),
            layers: Cache::builder()
                .weigher(layer_bytes)
                .max_capacity(MAX_LAYER_BYTES)
                .time_to_idle(MAX_IDLE)
                .build(),
            pictures: Cache::builder()
                .weigher(picture_bytes)
                .max_capacity(MAX_PICTURE_BYTES)
                .time_to_idle(MAX_IDLE)
                .build(),
        }
    }
}

fn weight(amount: usize) -> u32 {
    u32::try_from(amount).unwrap_or(u32::MAX)
}
