//! Inserts new documents together with their texts, with a few statements for all of them.

use database::insert_all;
use entity::{chunk, document};
use sea_orm::ConnectionTrait;
use values::id::UserId;
use values::time::Timestamp;

use super::store::ChunkedDocument;
use errors::Error;
use jobs::{JobKind, Priority};

/// Inserts a user's new documents with the first versions of their texts, and enqueues their indexing, in the caller's transaction. The
/// result is the same as that of an insert and [`replace_text`](super::replace_text) for each. Of the metadata of the texts only the
/// language is stored, and nothing may refer to the documents yet: notes have no other metadata, and no highlights.
pub async fn insert_with_texts(
    txn: &impl ConnectionTrait,
    user: UserId,
    texts: Vec<(document::Model, ChunkedDocument)>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), Error> {
    let (mut documents, mut passages) = (Vec::with_capacity(texts.len()), Vec::new());
    for (document, text) in texts {
        let (document, rows) = text.into_rows(document, now);
        documents.push(document);
        passages.extend(rows);
    }
    let ids: Vec<_> = documents.iter().map(|document| document.id.0).collect();
    insert_all::<document::Entity>(txn, documents, None).await?;
    insert_all::<chunk::Entity>(txn, passages, None).await?;
    jobs::enqueue_all(txn, user, JobKind::Index, ids, priority, now).await?;
    Ok(())
}
