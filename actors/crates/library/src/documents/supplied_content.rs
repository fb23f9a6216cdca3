//! Content that comes with a save or a feed entry, so that nothing is fetched. It is stored until a job turns it into text.

use database::insert_all;
use entity::source;
use sea_orm::ConnectionTrait;
use sea_orm::sea_query::OnConflict;
use values::id::{DocumentId, UserId};
use values::kind::SourceFormat;

use errors::Error;

/// The content of a document, as a client or a feed supplied it.
#[derive(Clone, Debug)]
pub struct SuppliedContent {
    /// Whether the body is HTML or plain text.
    pub format: SourceFormat,
    /// The content as it was given. A job parses it in the sandbox later.
    pub body: String,
    /// The same as sanitized HTML, if that is known already.
    pub html: Option<String>,
    /// The headings as JSON, if they are known already.
    pub outline: Option<String>,
}

/// Stores supplied contents until they are read; each replaces what was stored for its document before.
pub async fn store_supplied_content(
    txn: &impl ConnectionTrait,
    user: UserId,
    contents: impl IntoIterator<Item = (DocumentId, SuppliedContent)>,
) -> Result<(), Error> {
    let rows = contents.into_iter().map(|(document_id, SuppliedContent { format, body, html, outline })| {
        source::Model { document_id, user_id: user, format, body, html, outline }
    });
    // A document may get other content before the job of the first one has run. That job then reads the last one.
    let replace = OnConflict::column(source::Column::DocumentId)
        .update_columns([
            source::Column::Format,
            source::Column::Body,
            source::Column::Html,
            source::Column::Outline,
        ])
        .to_owned();
    insert_all::<source::Entity>(txn, rows, Some(&replace)).await?;
    Ok(())
}
