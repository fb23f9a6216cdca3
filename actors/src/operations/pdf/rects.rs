//! Finds where words of the text of a PDF are on its pages.

use std::ops::Range;

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

/// Pages on which words are looked for, at most. A passage is on one page, and a highlight seldom on more than two.
const MAX_PAGES: usize = 8;

/// Finds the rectangles of words of a PDF.
#[derive(Debug)]
pub struct LocatePdfText {
    /// The document.
    pub document: DocumentId,
    /// The offset of the first character.
    pub start: usize,
    /// The offset after the last character.
    pub end: usize,
}

request! {
    /// Words of the text of a PDF.
    pub struct LocatePdfTextRequest {
        /// Offset of the first character in the document's text, in Unicode scalar values.
        pub start: Integer<0, { i64::MAX }>,
        /// Offset after the last character.
        pub end: Integer<0, { i64::MAX }>,
    }
}

impl FromRequest for LocatePdfText {
    type Request = LocatePdfTextRequest;

    fn from_request(target: &Target, request: LocatePdfTextRequest) -> Result<Self, Error> {
        let (start, end) = (request.start.into_inner(), request.end.into_inner());
        if end <= start {
            return Err(Error::invalid("end", "must be greater than start"));
        }
        let offset = |offset: i64| usize::try_from(offset).unwrap_or(usize::MAX);
        Ok(Self { document: target.id(0)?, start: offset(start), end: offset(end) })
    }
}

/// The places of words on pages: one rectangle for each run of text, on at most 8 pages.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LocatePdfTextResponse {
    /// Id of the document.
    pub document_id: DocumentId,
    /// Version of the text, to which the offsets belong.
    pub version: i32,
    /// The rectangles in the order of the text.
    pub rects: Vec<PdfRect>,
    /// Whether the words are on more pages than were searched.
    pub truncated: bool,
}

/// A rectangle on a page, in units of 1/72 inch; y grows downwards from the upper left corner of the page as it is shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PdfRect {
    /// Number of the page, from 1.
    pub page: u32,
    /// Left edge, before it is turned.
    pub x: f32,
    /// Upper edge, before it is turned.
    pub y: f32,
    /// Width.
    pub width: f32,
    /// Height.
    pub height: f32,
    /// Angle in degrees clockwise by which it is turned around (`turnX`, `turnY`); 0 for upright text.
    pub turn: f32,
    /// Centre of the turn.
    pub turn_x: f32,
    /// Centre of the turn.
    pub turn_y: f32,
}

impl PdfRect {
    /// Makes it of a rectangle on a page.
    pub fn on_page(page: u32, rect: &parse::pdf::TextRect) -> Self {
        Self {
            page,
            x: rect.x,
            y: rect.y,
            width: rect.width,
            height: rect.height,
            turn: rect.turn,
            turn_x: rect.turn_x,
            turn_y: rect.turn_y,
        }
    }
}

impl Operation for LocatePdfText {
    type Reply = LocatePdfTextResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    fn count(reply: &LocatePdfTextResponse) -> Option<usize> {
        Some(reply.rects.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<LocatePdfTextResponse, Error> {
        let document = find_pdf(ctx, caller, self.document).await?;
        let overview = ctx.pdf_pages.overview(&document).await?;
        let touched = overview.spans.iter().filter(|span| span.start < self.end && self.start < span.end);
        let numbers: Vec<u32> = touched.map(|span| span.number).collect();
        let mut rects = Vec::new();
        for number in numbers.iter().take(MAX_PAGES) {
            let page = ctx.pdf_pages.layer(&document, *number).await?;
            let found = page.rects(self.start, self.end);
            rects.extend(found.iter().map(|rect| PdfRect::on_page(*number, rect)));
        }
        Ok(LocatePdfTextResponse {
            document_id: document.id,
            version: document.version,
            rects,
            truncated: numbers.len() > MAX_PAGES,
        })
    }
}

/// Finds the rectangles of several ranges of the text on one page, for the page of a PDF.
#[derive(Debug)]
pub struct LocateOnPdfPage {
    /// The document.
    pub document: DocumentId,
    /// The number of the page, from 1.
    pub page: u32,
    /// The ranges, as offsets in the document's text.
    pub ranges: Vec<Range<usize>>,
}

/// The rectangles of each range on one page, in the order of the ranges.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LocateOnPdfPageResponse {
    /// The rectangles of each range; none for a range that has no words on the page.
    pub ranges: Vec<Vec<PdfRect>>,
}

impl Operation for LocateOnPdfPage {
    type Reply = LocateOnPdfPageResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<LocateOnPdfPageResponse, Error> {
        let document = find_pdf(ctx, caller, self.document).await?;
        let page = ctx.pdf_pages.layer(&document, self.page).await?;
        let rects = |range: Range<usize>| {
            let found = page.rects(range.start, range.end);
            found.iter().map(|rect| PdfRect::on_page(self.page, rect)).collect()
        };
        Ok(LocateOnPdfPageResponse { ranges: self.ranges.into_iter().map(rects).collect() })
    }
}
