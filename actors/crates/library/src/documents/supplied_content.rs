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

/// Length up to which a text counts as short: about forty passages. In bytes before it is split into passages, and in Unicode scalar
/// values, of which it has no more, once it is stored.
pub const MAX_SHORT_TEXT_LENGTH: i32 = 64 << 10;
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
    fn is_short_text(&self) -> bool {
        let is_plain = self.format == SourceFormat::Text && self.html.is_none() && self.outline.is_none();
        is_plain && i32::try_from(self.body.len()).is_ok_and(|bytes| bytes <= MAX_SHORT_TEXT_LENGTH)
    }
}

/// The content that comes with the save of a page.
#[derive(Clone, Debug)]
pub enum PageContent {
    /// Content as the client gave it.
    Supplied(SuppliedContent),
    /// Plain text with its passages.
    Split(Box<ChunkedDocument>),
}

impl PageContent {
    /// Returns the bytes of the text, or of the HTML that it is made from.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Supplied(content) => content.body.len(),
            Self::Split(text) => text.document.text.len(),
        }
    }

    /// Splits short plain text into passages, so that no job has to. Other content stays as it is.
    ///
    /// # Errors
    /// [`Error::Internal`] when the splitting panics.
    pub(crate) async fn split_if_short(self, core: &CoreContext) -> Result<Self, Error> {
        let content = match self {
            Self::Supplied(content) if content.is_short_text() => content,
            Self::Supplied(_) | Self::Split(_) => return Ok(self),
        };
        let (content, text) = if content.body.len() <= MAX_BYTES_IN_PLACE {
            split(content)
        } else {
            core.workers.run(Lane::Foreground, move || split(content)).await?
        };
        Ok(if text.is_empty() { Self::Supplied(content) } else { Self::Split(Box::new(text)) })
    }

    /// Returns the content as it is stored for the job that makes a text of it. Splitting has changed no more of a text than that job does.
    pub(crate) fn into_supplied(self) -> SuppliedContent {
        match self {
            Self::Supplied(content) => content,
            Self::Split(text) => SuppliedContent {
                format: SourceFormat::Text,
                body: text.document.text,
                html: None,
                outline: None,
            },
        }
    }
}

/// Splits plain text into passages. Blocks.
fn split(content: SuppliedContent) -> (SuppliedContent, ChunkedDocument) {
    let text = ChunkedDocument::of_input(&content.body);
    (content, text)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn supplied(format: SourceFormat, body: String) -> SuppliedContent {
        SuppliedContent { format, body, html: None, outline: None }
    }

    #[test]
    fn plain_text_up_to_the_bound_is_short() {
        let longest = "a".repeat(usize::try_from(MAX_SHORT_TEXT_LENGTH).unwrap());

        assert!(supplied(SourceFormat::Text, longest.clone()).is_short_text());
        assert!(!supplied(SourceFormat::Text, format!("{longest}a")).is_short_text());
        assert!(!supplied(SourceFormat::Html, "<p>A heron.</p>".to_owned()).is_short_text());
        let with_html = supplied(SourceFormat::Text, "A heron.".to_owned());
        assert!(!SuppliedContent { html: Some("<p>A heron.".to_owned()), ..with_html }.is_short_text());
    }

    #[test]
    fn split_text_is_supplied_in_its_normal_form() {
        let content = PageContent::Split(Box::new(ChunkedDocument::of_input("A cafe\u{301}.\r\n")));

        assert_eq!(content.bytes(), "A caf\u{e9}.\r\n".len());
        let supplied = content.into_supplied();
        assert_eq!((supplied.format, supplied.body.as_str()), (SourceFormat::Text, "A caf\u{e9}.\r\n"));
        assert_eq!((supplied.html, supplied.outline), (None, None));
    }
}
