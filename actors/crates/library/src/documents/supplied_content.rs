//! Content that comes with a save or a feed entry, so that nothing is fetched. Short plain text is the text of the document at once; all
//! other content is stored until a job turns it into text.

use concurrency::Lane;
use database::insert_all;
use entity::source;
use sea_orm::ConnectionTrait;
use sea_orm::sea_query::OnConflict;
use values::id::{DocumentId, UserId};
use values::kind::SourceFormat;

use super::store::ChunkedDocument;
use crate::context::CoreContext;
use errors::Error;

/// Bytes of plain text that are split into passages with the save: tens of passages.
const MAX_SHORT_BYTES: usize = 64 << 10;
/// Bytes of plain text that are split on the thread of the request: a fraction of a millisecond.
const MAX_BYTES_IN_PLACE: usize = 4 << 10;

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

impl SuppliedContent {
    /// Splits short plain text into passages, so that no job has to; `None` for other content.
    ///
    /// # Errors
    /// [`Error::Internal`] when the splitting panics.
    pub(crate) async fn split_if_short(&self, core: &CoreContext) -> Result<Option<ChunkedDocument>, Error> {
        let is_plain = self.format == SourceFormat::Text && self.html.is_none() && self.outline.is_none();
        if !is_plain || self.body.len() > MAX_SHORT_BYTES {
            return Ok(None);
        }
        let text = if self.body.len() <= MAX_BYTES_IN_PLACE {
            ChunkedDocument::of_input(&self.body)
        } else {
            let body = self.body.clone();
            core.workers.run(Lane::Foreground, move || ChunkedDocument::of_input(&body)).await?
        };
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
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
