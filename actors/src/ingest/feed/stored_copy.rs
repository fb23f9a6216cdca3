//! The copies of sources, parsed on a worker: a copy has megabytes, and a parser that ran where it was called would delay everything
//! else there.

use std::sync::Arc;
use std::time::Duration;

use concurrency::Lane;
use errors::Error;
use library::context::CoreContext;
use library::feeds::source;
use moka::sync::Cache;
use parse::feed::Feed;
use values::id::FeedSourceId;

use super::incoming_entry::{IncomingEntry, prepare_entries};

/// Bytes of copies whose prepared entries stay in memory.
const MAX_PREPARED_BYTES: u64 = 32 << 20;
/// Time for which prepared entries stay in memory after a delivery. The deliveries of one fetch follow each other.
const PREPARED_IDLE: Duration = Duration::from_secs(60);

/// Returns the feed that the last successful fetch of a source returned; `None` without a copy that can be read.
///
/// # Errors
/// [`Error::Internal`] when the database or the worker fails.
pub(super) async fn load_copy(
    core: &CoreContext,
    lane: Lane,
    source: FeedSourceId,
) -> Result<Option<Feed>, Error> {
    let Some(copy) = source::load_content(core.db.read(), source).await? else { return Ok(None) };
    Ok(core.workers.run(lane, move || source::parse_content(&copy.body)).await?)
}

/// A version of a source's copy, for the followers who entered the same URL. An entry without a page has the URL of the feed if the
/// feed names no site.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct CopyVersion {
    source: FeedSourceId,
    version: i64,
    feed_url: String,
}

/// The entries of a copy, prepared for the delivery to each follower.
#[derive(Debug, Default)]
pub(super) struct PreparedEntries {
    pub(super) entries: Vec<IncomingEntry>,
    /// Length of the copy, by which the memory is bounded.
    bytes: usize,
}

/// Keeps the prepared entries of copies, so that a copy is read, parsed and hashed once and not for each of its followers. Clones share
/// them.
#[derive(Clone, Debug)]
pub struct PreparedCopies(Cache<CopyVersion, Arc<PreparedEntries>>);

impl Default for PreparedCopies {
    fn default() -> Self {
        let weight =
            |_: &CopyVersion, copy: &Arc<PreparedEntries>| u32::try_from(copy.bytes).unwrap_or(u32::MAX);
        let cache = Cache::builder().weigher(weight).max_capacity(MAX_PREPARED_BYTES);
        Self(cache.time_to_idle(PREPARED_IDLE).build())
    }
}

impl PreparedCopies {
    /// Returns the entries of a source's copy, prepared for a feed with this URL. Without a copy that can be read there are none.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database or the worker fails.
    pub(super) async fn load(
        &self,
        core: &CoreContext,
        source: FeedSourceId,
        feed_url: String,
    ) -> Result<Arc<PreparedEntries>, Error> {
        let db = core.db.read();
        let Some(version) = source::content_version(db, source).await? else { return Ok(Arc::default()) };
        let name = CopyVersion { source, version, feed_url };
        if let Some(prepared) = self.0.get(&name) {
            return Ok(prepared);
        }
        let Some(copy) = source::load_content(db, source).await? else { return Ok(Arc::default()) };
        // Of the version that was read now: a fetch may have replaced the other meanwhile.
        let name = CopyVersion { version: copy.version, ..name };
        let cache = self.0.clone();
        let prepare = move || {
            let feed_url = name.feed_url.clone();
            // Deliveries at the same time wait for the first of them.
            cache.get_with(name, || {
                let feed = source::parse_content(&copy.body).unwrap_or_default();
                let entries = prepare_entries(feed, &feed_url);
                Arc::new(PreparedEntries { entries, bytes: copy.body.len() })
            })
        };
        Ok(core.workers.run(Lane::Background, prepare).await?)
    }
}
