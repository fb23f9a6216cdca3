//! Shows a picture of a document: it is fetched by the server, decoded and encoded again in the sandbox, so that a page neither tells other
//! servers who reads what nor shows anything but pixels.

use std::sync::Arc;

use concurrency::{Lane, QUEUE_RETRY_AFTER};
use entity::{document, picture_size, rendition};
use errors::Error;
use parse::html::display::picture_sources;
use parse::picture::ShownPicture;
use sea_orm::sea_query::OnConflict;
use sea_orm::{EntityTrait, IntoActiveModel, QuerySelect};
use values::id::{DocumentId, UserId};
use web::{FetchRequest, PageUrl, site_key};

use super::picture_address::picture_hash;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use library::owned_transaction::begin_owned;
use sandbox::SandboxError;

/// The longest file of a picture that is fetched.
const MAX_PICTURE_BYTES: u64 = 10 << 20;

/// Returns a picture that occurs in a document of the caller: in its HTML, or as the picture of its page. `hash` is that of its address.
///
/// # Errors
/// [`Error::NotFound`] when the document does not exist, does not show such a picture, or the picture cannot be fetched or decoded;
/// [`Error::Busy`] while the picture's host asks to be left alone; [`Error::Internal`] when the sandbox cannot be started; those of the
/// database.
pub async fn show_picture(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
    hash: &str,
) -> Result<Arc<ShownPicture>, Error> {
    let key = parse_hash(hash).ok_or(Error::not_found())?;
    // In any case, also for a picture in the cache: the document may have been deleted.
    let found = document::Entity::one_visible_to(caller.user, document).one(ctx.core.db.read()).await?;
    let document = found.ok_or(Error::not_found())?;
    let cache = &ctx.picture_cache;
    if let Some(known) = cache.get(&key) {
        return known.ok_or(Error::not_found());
    }
    let _lock = cache.fetches.lock(key.clone()).await;
    if let Some(known) = cache.get(&key) {
        return known.ok_or(Error::not_found());
    }
    let url = find_url(ctx, caller.user, &document, &key).await?.ok_or(Error::not_found())?;
    let _slot = cache.slots.acquire(caller.user).await.map_err(Error::internal)?;
    let picture = fetch(ctx, &url).await?.map(Arc::new);
    cache.insert(key.clone(), picture.clone());
    let picture = picture.ok_or(Error::not_found())?;
    record_size(ctx, &document, key, &picture).await?;
    Ok(picture)
}

fn parse_hash(hash: &str) -> Option<Vec<u8>> {
    let is_hash = hash.len() == 32 && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let bytes = (0..hash.len()).step_by(2).map(|at| u8::from_str_radix(hash.get(at..at + 2)?, 16).ok());
    bytes.collect::<Option<Vec<u8>>>().filter(|_| is_hash)
}

/// Returns the URL with this hash among the pictures of a document.
async fn find_url(
    ctx: &OperationContext,
    user: UserId,
    document: &document::Model,
    key: &[u8],
) -> Result<Option<String>, Error> {
    if let Some(url) = document.image_url.as_ref().filter(|url| picture_hash(user, url) == key) {
        return Ok(Some(url.clone()));
    }
    let html = rendition::Entity::one_of_document(user, document.id)
        .select_only()
        .column(rendition::Column::Html)
        .into_tuple::<Option<String>>();
    let html = html.one(ctx.core.db.read()).await?.flatten().unwrap_or_default();
    let key = key.to_vec();
    let search =
        move || picture_sources(&html).find(|url| picture_hash(user, url) == key).map(|url| url.into_owned());
    // On a worker thread, because the HTML may have 4 MiB.
    Ok(ctx.core.workers.run(Lane::Foreground, search).await?)
}

/// Fetches a picture; `None` if there is none that can be shown.
async fn fetch(ctx: &OperationContext, url: &str) -> Result<Option<ShownPicture>, Error> {
    let Ok(url) = PageUrl::parse(url) else { return Ok(None) };
    let Some(file) = download(ctx, &url).await? else { return Ok(None) };
    match ctx.ingest.sandbox.read_picture(&file).await {
        Ok(picture) => Ok(Some(picture)),
        Err(error @ SandboxError::Unavailable(_)) => Err(Error::internal(error)),
        Err(
            SandboxError::Crashed
            | SandboxError::OutOfMemory
            | SandboxError::TimedOut
            | SandboxError::TooLarge
            | SandboxError::Article(_)
            | SandboxError::Audio(_)
            | SandboxError::Pdf(_)
            | SandboxError::Picture(_)
            | SandboxError::Import(_),
        ) => Ok(None),
    }
}

/// Downloads the file of a picture; `None` if its host does not send it.
///
/// # Errors
/// [`Error::Busy`] while the host asks to be left alone. The cache keeps no errors, so the picture is shown later.
async fn download(ctx: &OperationContext, url: &PageUrl) -> Result<Option<Vec<u8>>, Error> {
    let hosts = &ctx.ingest.feeds.host_throttle;
    // Not the permit of `host_throttle`: it is one at a time and has no queue, for jobs that can be tried again later. A reader waits.
    let _slot = ctx.picture_cache.host_slots.acquire(site_key(url)).await.map_err(Error::internal)?;
    // After the wait, because the response to an earlier picture may have asked for the delay.
    if hosts.is_backing_off(url) {
        return Err(Error::Busy(QUEUE_RETRY_AFTER));
    }
    match ctx.ingest.fetcher.get(url, FetchRequest::picture(MAX_PICTURE_BYTES)).await {
        Ok(page) => Ok(Some(page.body)),
        Err(error) => {
            hosts.record_retry_after(&error);
            Ok(None)
        }
    }
}

/// Records the size of a picture, so that pages leave room for it.
async fn record_size(
    ctx: &OperationContext,
    document: &document::Model,
    url_hash: Vec<u8>,
    picture: &ShownPicture,
) -> Result<(), Error> {
    use picture_size::Column as C;
    let side = |pixels: u32| i32::try_from(pixels).unwrap_or(i32::MAX);
    let row = picture_size::Model {
        document_id: document.id,
        url_hash,
        user_id: document.user_id,
        width: side(picture.width),
        height: side(picture.height),
    };
    let replace =
        OnConflict::columns([C::DocumentId, C::UrlHash]).update_columns([C::Width, C::Height]).to_owned();
    let txn = begin_owned(&ctx.core.db, document.user_id).await?;
    picture_size::Entity::insert(row.into_active_model())
        .on_conflict(replace)
        .exec_without_returning(&txn)
        .await?;
    txn.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_has_32_digits() {
        assert_eq!(parse_hash(&"0f".repeat(16)), Some(vec![15; 16]));
        for other in ["", "0f", &"0F".repeat(16), &"é".repeat(16), &"+1".repeat(16)] {
            assert_eq!(parse_hash(other), None, "{other}");
        }
    }
}
