//! Reads the rendition of a document: its HTML, and the outline of its headings.

use entity::{document, rendition};
use library::documents::parse_outline;
use parse::html::Heading;
use schemars::JsonSchema;
use sea_orm::{QuerySelect, Select};
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use validation::NoFields;

/// Reads a document as HTML, for reading with the structure and the pictures of its source.
#[derive(Debug)]
pub struct ReadHtml {
    document: DocumentId,
}

/// Reads the headings of a document, as a table of contents.
#[derive(Debug)]
pub struct ReadOutline {
    document: DocumentId,
}

/// The document as HTML for reading, without scripts, styles, forms and frames. It is third-party content all the same. The text of
/// an element with `data-start` begins at that offset of the document's text, in Unicode scalar values. A link with `data-to` leads to
/// the element that begins at that offset, such as a footnote.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadHtmlResponse {
    document_id: DocumentId,
    /// Null if the source has no markup, or if the HTML would be longer than 4 MiB.
    html: Option<String>,
}

/// The headings in the order of the text; of a PDF those of its outline.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadOutlineResponse {
    document_id: DocumentId,
    outline: Vec<OutlineHeading>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct OutlineHeading {
    title: String,
    /// Level of the heading, from 1.
    level: u8,
    /// Offset of the heading in the document's text, in Unicode scalar values.
    offset: usize,
    /// Page of a PDF, from 1; null for other documents.
    page: Option<u32>,
}

impl FromRequest for ReadHtml {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { document: target.id(0)? })
    }
}

impl FromRequest for ReadOutline {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { document: target.id(0)? })
    }
}

impl Operation for ReadHtml {
    type Reply = ReadHtmlResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadHtmlResponse, Error> {
        let rendition = select_rendition(self.document, caller, &ctx.core).await?;
        let html = rendition.select_only().column(rendition::Column::Html).into_tuple::<Option<String>>();
        let html = html.one(ctx.core.db.read()).await?;
        Ok(ReadHtmlResponse { document_id: self.document, html: html.flatten() })
    }
}

impl Operation for ReadOutline {
    type Reply = ReadOutlineResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ReadOutlineResponse) -> Option<usize> {
        Some(reply.outline.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadOutlineResponse, Error> {
        let rendition = select_rendition(self.document, caller, &ctx.core).await?;
        // Without the HTML, which may have 4 MiB.
        let outline = rendition.select_only().column(rendition::Column::Outline).into_tuple::<String>();
        let outline = outline.one(ctx.core.db.read()).await?;
        let outline = outline.as_deref().map(parse_outline).transpose()?.unwrap_or_default();
        Ok(ReadOutlineResponse {
            document_id: self.document,
            outline: outline.into_iter().map(OutlineHeading::from).collect(),
        })
    }
}

/// Selects the rendition of a document that the caller may read.
///
/// # Errors
/// [`Error::NotFound`] when there is no such document; the database fails.
async fn select_rendition(
    id: DocumentId,
    caller: &Caller,
    core: &CoreContext,
) -> Result<Select<rendition::Entity>, Error> {
    // The row of the rendition does not tell whether the document may still be read: one of a deleted bookmark is hidden.
    let found = document::Entity::one_visible_to(caller.user, id).one(core.db.read()).await?;
    let document = found.ok_or(Error::not_found())?;
    Ok(rendition::Entity::one_of_document(caller.user, document.id))
}

impl From<Heading> for OutlineHeading {
    fn from(Heading { title, level, offset, page }: Heading) -> Self {
        Self { title, level, offset, page }
    }
}
