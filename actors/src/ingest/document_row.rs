//! Changes to the row of a job's document that several stages make.

use entity::{document, job};
use errors::Error;
use library::context::CoreContext;
use library::documents::unindexed_since;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_owned;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use values::kind::ContentType;

/// Titles, authors and names of sites are cut to this length.
pub const MAX_TITLE_CHARS: usize = 300;

/// Refuses to fetch or to read the first text of a document when its owner's library is full.
///
/// # Errors
/// [`Error::LibraryFull`] when the library is full; [`Error::NotFound`] when the account does not exist any more.
pub async fn ensure_library_has_room(core: &CoreContext, document: &document::Model) -> Result<(), Error> {
    // A text that replaces another may be smaller, so it is checked when it is stored.
    if document.version > 0 {
        return Ok(());
    }
    LibraryRoom::of_owner(core.db.read(), core, document.user_id).await?.must_fit(0)
}

/// Returns whether documents of this type are transcribed.
pub fn is_recording(content_type: ContentType) -> bool {
    matches!(content_type, ContentType::Audio | ContentType::Video)
}

/// Sets the content type of the job's document, if it has another one.
pub async fn set_content_type(
    core: &CoreContext,
    job: &job::Model,
    content_type: ContentType,
) -> Result<(), Error> {
    // A transaction of the owner, because a trigger also changes the bookmark: on PostgreSQL a single statement, which locks the document
    // first, and a deletion, which locks the bookmark first, would deadlock.
    let txn = begin_owned(&core.db, job.user_id).await?;
    document::Entity::update_owned(job.user_id)
        .col_expr(document::Column::ContentType, Expr::value(content_type))
        .col_expr(document::Column::UnindexedSince, unindexed_since(core.clock.now()))
        .filter(document::Column::Id.eq(job.subject))
        // Most documents have their type already, and a row that is not matched is not written.
        .filter(document::Column::ContentType.ne(content_type))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

/// Gives the job's document a title if its title is still its URL. `title_of` receives
/// that URL, and is called only then.
pub async fn replace_url_title(
    core: &CoreContext,
    job: &job::Model,
    title_of: impl FnOnce(&str) -> Option<String>,
) -> Result<(), Error> {
    let own = document::Entity::with_hidden(job.user_id).filter(document::Column::Id.eq(job.subject));
    let Some(document) = own.one(core.db.read()).await? else { return Ok(()) };
    let url = document.url.filter(|url| *url == document.title && !document.has_user_title);
    let Some(title) = url.as_deref().and_then(title_of) else { return Ok(()) };
    let txn = begin_owned(&core.db, job.user_id).await?;
    document::Entity::update_owned(job.user_id)
        .col_expr(document::Column::Title, Expr::value(title))
        .col_expr(document::Column::UnindexedSince, unindexed_since(core.clock.now()))
        .filter(document::Column::Id.eq(job.subject))
        // The user may have set a title since the row was read.
        .filter(document::Column::Title.eq(url))
        .filter(document::Column::HasUserTitle.eq(false))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}
