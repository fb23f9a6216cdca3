//! Reads the text layer of a page of a PDF.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::DocumentId;
use values::scope::Scope;

use super::find_pdf;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::pdf_pages::PlacedPage;
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Reads the text layer of a page of a PDF.
#[derive(Debug)]
pub struct ReadPdfPage {
    /// The document.
    pub document: DocumentId,
    /// The number of the page, from 1.
    pub number: u32,
}

impl FromRequest for ReadPdfPage {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { document: target.id(0)?, number: target.id(1)? })
    }
}

/// The text layer of a page: the runs of its text, each with its place. Lengths are in units of 1/72 inch; y grows downwards from the
/// upper left corner of the page as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadPdfPageResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which all offsets belong.
    pub version: i32,
    /// Number of the page, from 1.
    pub number: u32,
    /// Width of the page as it is shown.
    pub width: f32,
    /// Height of the page as it is shown.
    pub height: f32,
    /// Offset of the page's first character in the document's text, in Unicode scalar values.
    pub start_offset: usize,
    /// Offset after the page's last character.
    pub end_offset: usize,
    /// Whether the stored text is another one than that of the file. Then there are no runs until the document is fetched again.
    pub outdated: bool,
    /// The runs in the order of the text.
    pub runs: Vec<PdfRun>,
}

/// A run of text: a piece of one line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PdfRun {
    /// Left end of its base line.
    pub x: f32,
    /// Height of its base line.
    pub y: f32,
    /// Height of its font.
    pub size: f32,
    /// Length along the base line.
    pub length: f32,
    /// Direction in degrees clockwise around the left end; 0 for upright text.
    pub turn: f32,
    /// Whether it is read from right to left.
    pub rtl: bool,
    /// Offset of its first character in the document's text, in Unicode scalar values.
    pub start: usize,
    /// Its text.
    pub text: String,
}

impl ReadPdfPageResponse {
    fn of_page(document: DocumentId, version: i32, page: &PlacedPage) -> Self {
        let run = |run: &parse::pdf::TextRun| PdfRun {
            x: run.x,
            y: run.y,
            size: run.size,
            length: run.length,
            turn: run.turn,
            rtl: run.is_rtl,
            start: run.start,
            text: page.text_of(run).to_owned(),
        };
        Self {
            document_id: document,
            version,
            number: page.number,
            width: page.size.width,
            height: page.size.height,
            start_offset: page.start,
            end_offset: page.end(),
            outdated: page.is_outdated,
            runs: page.runs.iter().map(run).collect(),
        }
    }
}

impl Operation for ReadPdfPage {
    type Reply = ReadPdfPageResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &ReadPdfPageResponse) -> Option<usize> {
        Some(reply.runs.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ReadPdfPageResponse, Error> {
        let document = find_pdf(ctx, caller, self.document).await?;
        let page = ctx.pdf_pages.layer(&document, self.number).await?;
        Ok(ReadPdfPageResponse::of_page(document.id, document.version, &page))
    }
}
