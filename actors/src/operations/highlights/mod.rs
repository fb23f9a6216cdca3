//! Highlights: marked words of a bookmark's text (contract.md, section 6).

mod change;
mod create;
mod list;
mod view;

pub use change::{ChangeHighlight, DeleteHighlight};
pub use create::CreateHighlight;
pub use list::ListHighlights;
pub use view::{HighlightResponse, HighlightView};

/// The types of the fields of highlights.
mod field_types {
    use validation::{DisplayName, Integer, Text, Words};

    /// The field `text`: 1 to 10,000 characters.
    pub type HighlightText = Words<1, 10_000>;
    /// An offset in the text, in Unicode scalar values.
    pub type TextOffset = Integer<0, { i32::MAX as i64 }>;
    /// The field `note`, which may be empty.
    pub type HighlightNote = Text<100_000>;
    /// The field `color`: a name of 1 to 50 characters, without control characters.
    pub type ColorName = DisplayName<1, 50>;
}
