//! Whether a document has a transcript, how far it is, and what it replaces.

use entity::{document, entry, source, transcript};
use errors::Error;
use jobs::JobKind;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter};
use values::id::{DocumentId, UserId};

use super::recording_file;

/// Returns whether the text of a document is the finished transcript of its recording.
pub async fn has_transcript(db: &impl ConnectionTrait, user: UserId, id: DocumentId) -> Result<bool, Error> {
    let finished = transcript::Entity::owned_by(user)
        .filter(transcript::Column::DocumentId.eq(id))
        .filter(transcript::Column::IsFinished.eq(true));
    Ok(finished.one(db).await?.is_some())
}

/// Returns the part of a document's transcript that is done, from 0 to 1: of the one in progress, else of the one that is
/// shown; none if the document has neither.
pub async fn transcript_progress(
    db: &impl ConnectionTrait,
    document: &document::Model,
) -> Result<Option<f64>, Error> {
    let own =
        transcript::Entity::owned_by(document.user_id).filter(transcript::Column::DocumentId.eq(document.id));
    let all = own.all(db).await?;
    Ok(all.into_iter().max_by_key(|row| row.version).map(|row| row.progress))
}

/// Makes a finished transcript the whole text of its document: neither what a feed says of the
/// episode nor its page may replace it.
pub async fn supersede_other_texts(
    txn: &impl ConnectionTrait,
    document: &document::Model,
) -> Result<(), Error> {
    let (user, id) = (document.user_id, document.id);
    entry::Entity::update_owned(user)
        .col_expr(entry::Column::HasFullText, Expr::value(true))
        .filter(entry::Column::DocumentId.eq(id))
        .exec(txn)
        .await?;
    source::Entity::delete_owned(user).filter(source::Column::DocumentId.eq(id)).exec(txn).await?;
    for kind in [JobKind::ProcessText, JobKind::FetchPage] {
        jobs::withdraw(txn, user, kind, id.0).await?;
    }
    Ok(recording_file::release(txn, id).await?)
}
