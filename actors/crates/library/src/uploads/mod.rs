//! Uploads: announced with a ticket, sent to a signed address, completed, and read like a saved page.
//!
//! An upload is a row from its announcement on. Its bytes are files of the store ([`stored`]): they arrive here
//! ([`Arrival`]), or go to the store past us and are looked at when the upload is completed ([`complete()`]). Completion
//! makes the document, the bookmark and the job for its text in one transaction, once.

mod address;
mod announce;
mod complete;
mod media;
mod receive;
pub mod stored;
mod sweep;
mod turns;

use std::sync::Arc;
use std::time::Duration;

use disk::Scratch;
use entity::id::UserId;
use entity::time::Timestamp;
use entity::upload::{Column, Entity};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter, QuerySelect};
use storage::blobs::{BlobError, BlobStore, ReceivedObject, incoming_path};

pub use address::Signatures;
pub use announce::{Announced, Ticket, announce, put_address};
pub use complete::{Completed, Completion, complete};
pub use media::MediaType;
pub use receive::{Arrival, Pass, Said};
pub use sweep::{KEPT, sweep};
pub use turns::Turns;

use errors::Error;

/// What uploads need of the service.
#[derive(Clone)]
pub struct Uploads {
    /// Where files are.
    pub store: Arc<dyn BlobStore>,
    /// Where they are worked on.
    pub scratch: Scratch,
    /// Signs addresses.
    pub signatures: Signatures,
    /// How long an address is good (`uploads.put_seconds`).
    pub put_for: Duration,
    /// The longest file of an import (`uploads.import_bytes`).
    pub import_bytes: u64,
    /// Whose bytes come in.
    pub turns: Turns,
}

/// Bytes that a user's uploads take up or may still come to: completed ones, those whose bytes are here or on their way,
/// and announced ones whose address is still good.
///
/// # Errors
/// The database.
pub async fn stored_bytes(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<u64, Error> {
    let sum = Expr::cust("CAST(COALESCE(SUM(upload.bytes), 0) AS BIGINT)");
    let counted = Entity::owned_by(user).filter(counts(now)).select_only().column_as(sum, "sum");
    let sum: Option<i64> = counted.into_tuple().one(db).await?;
    Ok(sum.and_then(|sum| u64::try_from(sum).ok()).unwrap_or_default())
}

fn counts(now: Timestamp) -> Condition {
    Condition::any()
        .add(Column::CompletedAt.is_not_null())
        .add(Column::ArrivedAt.is_not_null())
        .add(Column::ReceivingUntil.gt(now))
        .add(Column::ExpiresAt.gt(now))
}

/// What came for an upload whose bytes go past this service; `None` where they come here, and while there is nothing.
///
/// # Errors
/// The store does not say.
pub async fn arrived_directly(
    uploads: &Uploads,
    upload: &entity::upload::Model,
) -> Result<Option<ReceivedObject>, BlobError> {
    let Some(presigned) = uploads.store.presigned_uploads() else { return Ok(None) };
    let received = presigned.head(&incoming_path(upload.id)).await?;
    Ok(received.filter(|received| {
        let declared = received.content_type.as_deref().and_then(MediaType::parse);
        u64::try_from(upload.bytes) == Ok(received.bytes)
            && declared == MediaType::parse(&upload.content_type)
    }))
}
