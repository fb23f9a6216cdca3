//! The URL of a document's recording: the enclosure of its feed entry, a separate URL, or the URL of the document itself.

use entity::{document, entry};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder};
use values::id::{DocumentId, UserId};

/// Returns the URL of the document's recording where it differs from that of the document.
pub async fn find_separate(
    db: &impl ConnectionTrait,
    document: &document::Model,
) -> Result<Option<String>, DbErr> {
    let entry = entry::Entity::owned_by(document.user_id)
        .filter(entry::Column::DocumentId.eq(document.id))
        .filter(entry::Column::EnclosureUrl.is_not_null())
        .order_by_asc(entry::Column::Id)
        .one(db)
        .await?;
    Ok(entry.and_then(|entry| entry.enclosure_url).or_else(|| document.recording_url.clone()))
}

/// Sets the separate URL of the document's recording; `None` if the document's own URL leads to it.
pub async fn set(
    db: &impl ConnectionTrait,
    user: UserId,
    document: DocumentId,
    url: Option<&str>,
) -> Result<(), DbErr> {
    document::Entity::update_owned(user)
        .col_expr(document::Column::RecordingUrl, Expr::value(url))
        .filter(document::Column::Id.eq(document))
        .exec(db)
        .await?;
    Ok(())
}
