//! Highlights: marked words of a bookmark's text (contract.md, section 6), and what the web app does with them beyond that: it marks words
//! of a document whose version it read, lists the highlights of all documents, and places lost ones again.

mod across;
mod anchor;
mod change;
mod create;
mod export;
mod list;
mod lost;
mod mark;
mod of_document;
mod view;
mod with_documents;

pub use across::{HighlightFilter, ListAllHighlights, ListAllHighlightsRequest, ListAllHighlightsResponse};
pub use anchor::{FindHighlight, FindHighlightResponse, HighlightCandidate, PlaceHighlight};
pub use change::{ChangeHighlight, ChangeHighlightRequest, DeleteHighlight};
pub use create::CreateHighlight;
pub use export::{ExportFormat, HighlightExport};
pub use list::ListHighlights;
pub use lost::{CountLostHighlights, CountLostHighlightsResponse};
pub use mark::{MarkDocument, MarkDocumentRequest, MarkDocumentResponse};
pub use of_document::{
    ListDocumentHighlights, ListDocumentHighlightsResponse, ListHighlightsInRange,
    ListHighlightsInRangeResponse, highlights_of,
};
pub use view::{AnchoredHighlight, AnchoredHighlightResponse, HighlightResponse, HighlightView};
pub use with_documents::HighlightOfDocument;

/// The types of the fields of highlights.
mod field_types {
    use validation::{DisplayName, Integer, Text, Words};

    /// The maximum length of the field `text`, in characters.
    pub const MAX_HIGHLIGHT_CHARS: usize = 10_000;
    /// The field `text`: 1 to 10,000 characters.
    pub type HighlightText = Words<1, MAX_HIGHLIGHT_CHARS>;
    /// An offset in the text, in Unicode scalar values.
    pub type TextOffset = Integer<0, { i32::MAX as i64 }>;
    /// A version of the text of a document.
    pub type VersionNumber = Integer<1, { i32::MAX as i64 }>;
    /// The field `note`, which may be empty.
    pub type HighlightNote = Text<100_000>;
    /// The field `color`: a name of 1 to 50 characters, without control characters.
    pub type ColorName = DisplayName<1, 50>;
}
