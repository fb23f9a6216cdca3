//! Lists the pages of a PDF.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;

use super::find_pdf;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::{Integer, request};

const DEFAULT_PAGES: usize = 200;

/// Lists pages of a PDF.
#[derive(Debug)]
pub struct ReadPdfPages {
    /// The document.
    pub document: DocumentId,
    /// The number of the first page.
    pub from: usize,
    /// The maximum number of pages.
    pub limit: usize,
}

request! {
    /// A part of the pages of a PDF.
    pub struct ReadPdfPagesRequest {
        /// Number of the first page, from 1. Default 1.
        pub from?: Integer<1, 20_000>,
        /// Maximum number of pages. Default 200.
        pub limit?: Integer<1, 1000>,
    }
}

impl FromRequest for ReadPdfPages {
    type Request = ReadPdfPagesRequest;

    fn from_request(target: &Target, request: ReadPdfPagesRequest) -> Result<Self, Error> {
        Ok(Self {
            document: target.id(0)?,
            from: request.from.and_then(Integer::convert).unwrap_or(1),
            limit: request.limit.and_then(Integer::convert).unwrap_or(DEFAULT_PAGES),
        })
    }
}

/// Pages of a PDF, in order.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPdfPagesResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which all offsets belong.
    pub version: i32,
    /// Number of all pages.
    pub total_pages: usize,
    /// The pages, at most as many as requested.
    pub pages: Vec<PdfPage>,
    /// Number of the first page that follows; null on the last part.
    pub next_from: Option<usize>,
}

/// A page of a PDF.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PdfPage {
    /// Number of the page, from 1.
    pub number: usize,
    /// Width as the page is shown, in units of 1/72 inch.
    pub width: f32,
    /// Height as the page is shown, in the same units.
    pub height: f32,
    /// Offset of its first character in the document's text, in Unicode scalar values; null for a page without text.
    pub start_offset: Option<usize>,
    /// Offset after its last character; null for a page without text.
    pub end_offset: Option<usize>,
}

impl Operation for ReadPdfPages {
    type Reply = ReadPdfPagesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ReadPdfPagesResponse) -> Option<usize> {
        Some(reply.pages.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadPdfPagesResponse, Error> {
        let document = find_pdf(ctx, caller, self.document).await?;
        let overview = ctx.pdf_pages.overview(&document).await?;
        let mut spans = overview.spans.iter().peekable();
        let mut pages = Vec::new();
        for (size, number) in overview.sizes.iter().zip(1..).skip(self.from - 1).take(self.limit) {
            while spans.next_if(|span| (span.number as usize) < number).is_some() {}
            let span = spans.peek().filter(|span| span.number as usize == number);
            pages.push(PdfPage {
                number,
                width: size.width,
                height: size.height,
                start_offset: span.map(|span| span.start),
                end_offset: span.map(|span| span.end),
            });
        }
        let next_from = self.from + pages.len();
        let total_pages = overview.sizes.len();
        Ok(ReadPdfPagesResponse {
            document_id: document.id,
            version: document.version,
            total_pages,
            pages,
            next_from: (next_from <= total_pages).then_some(next_from),
        })
    }
}
