//! A cache of pictures of documents as they are shown, and of those that cannot be shown. Browsers keep pictures for a year; this one serves
//! several browsers of a user, and spares other servers requests for pictures that they do not have.
//!
//! A key contains the user, so no user learns from it what others read. It is in memory: after a restart pictures are fetched again.

use std::sync::Arc;
use std::time::Duration;

use concurrency::{KeyedMutex, KeyedSemaphore};
use moka::sync::Cache;
use parse::picture::ShownPicture;
use values::id::UserId;

/// Bytes of all pictures that are kept.
const MAX_BYTES: u64 = 32 << 20;
/// Bytes that a picture takes besides its file.
const OVERHEAD_BYTES: usize = 128;
/// Time for which a picture is kept, and after which one that could not be shown is fetched again.
const MAX_AGE: Duration = Duration::from_secs(900);
/// Pictures that are fetched for one user at the same time.
const FETCHES_PER_USER: usize = 6;
/// Pictures that are fetched from one host at the same time, for all users together. Browsers open six connections to a host; this server
/// is one of many clients, so it takes fewer.
const FETCHES_PER_HOST: usize = 4;

/// The hash of a user and of the URL of a picture.
pub type WebPictureKey = Vec<u8>;

/// The pictures that were shown recently. Clones share them.
#[derive(Clone)]
pub struct PictureCache {
    /// `None` for a picture that cannot be shown.
    pictures: Cache<WebPictureKey, Option<Arc<ShownPicture>>>,
    /// One fetch of a picture at a time: a page asks for the same one twice.
    pub(crate) fetches: KeyedMutex<WebPictureKey>,
    /// Slots of each user for fetches.
    pub(crate) slots: KeyedSemaphore<UserId>,
    /// Slots of each host for fetches, by [`web::site_key`].
    pub(crate) host_slots: KeyedSemaphore<String>,
}

impl Default for PictureCache {
    fn default() -> Self {
        let bytes = |key: &WebPictureKey, picture: &Option<Arc<ShownPicture>>| {
            let file = picture.as_ref().map_or(0, |picture| picture.webp.len());
            u32::try_from(OVERHEAD_BYTES + key.len() + file).unwrap_or(u32::MAX)
        };
        Self {
            pictures: Cache::builder().max_capacity(MAX_BYTES).weigher(bytes).time_to_live(MAX_AGE).build(),
            fetches: KeyedMutex::default(),
            slots: KeyedSemaphore::new(FETCHES_PER_USER),
            host_slots: KeyedSemaphore::new(FETCHES_PER_HOST),
        }
    }
}

impl PictureCache {
    /// Returns what is known of a picture: `Some(None)` means that it cannot be shown.
    pub(crate) fn get(&self, key: &WebPictureKey) -> Option<Option<Arc<ShownPicture>>> {
        self.pictures.get(key)
    }

    /// Keeps a picture, or that it cannot be shown.
    pub(crate) fn insert(&self, key: WebPictureKey, picture: Option<Arc<ShownPicture>>) {
        self.pictures.insert(key, picture);
    }
}
