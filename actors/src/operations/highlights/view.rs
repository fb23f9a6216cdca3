//! The view of highlights.

use entity::highlight;
use schemars::JsonSchema;
use serde::Serialize;
use values::id::HighlightId;
use values::kind::AnchorState;
use values::time::Timestamp;

/// A highlight (contract.md, section 6).
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HighlightView {
    highlight_id: HighlightId,
    /// The highlighted text, exactly as in the document.
    text: String,
    /// The user's note on the highlight; null without one.
    note: Option<String>,
    /// Name of the colour; null if none was set.
    color: Option<String>,
    /// Offset of the first character in the document's text, in Unicode scalar values. An imported highlight begins and ends at 0
    /// until the text is ready, and if the text does not contain it.
    start_offset: i32,
    /// Offset after the last character, in Unicode scalar values.
    end_offset: i32,
    created_at: Timestamp,
}

impl From<highlight::Model> for HighlightView {
    fn from(row: highlight::Model) -> Self {
        Self {
            highlight_id: row.id,
            text: row.text,
            note: row.note,
            color: row.color,
            start_offset: row.start_offset,
            end_offset: row.end_offset,
            created_at: row.created_at,
        }
    }
}

/// A highlight as the web app shows it, with the state of its anchor.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnchoredHighlight {
    /// Id of the highlight.
    pub highlight_id: HighlightId,
    /// The highlighted text, as it was marked or found again.
    pub text: String,
    /// The user's note on the highlight; null without one.
    pub note: Option<String>,
    /// Name of the colour; null if none was set.
    pub color: Option<String>,
    /// Offset of the first character in the document's text, in Unicode scalar values. Of a lost highlight the last offset that it had.
    pub start_offset: i32,
    /// Offset after the last character, in Unicode scalar values.
    pub end_offset: i32,
    /// `exact`, `moved` (the words were found elsewhere in a new text) or `lost` (the current text does not contain them).
    pub anchor_state: AnchorState,
    /// When the words were highlighted.
    pub created_at: Timestamp,
}

impl From<highlight::Model> for AnchoredHighlight {
    fn from(row: highlight::Model) -> Self {
        Self {
            highlight_id: row.id,
            text: row.text,
            note: row.note,
            color: row.color,
            start_offset: row.start_offset,
            end_offset: row.end_offset,
            anchor_state: row.anchor_state,
            created_at: row.created_at,
        }
    }
}

/// A highlight with the state of its anchor, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnchoredHighlightResponse {
    /// The highlight.
    pub highlight: AnchoredHighlight,
}

/// A highlight, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HighlightResponse {
    pub(super) highlight: HighlightView,
}
