//! Highlights: marked words of a bookmark's text (contract.md, section 6).

mod change;
mod create;
mod list;
mod view;

pub use change::{ChangeHighlight, DeleteHighlight};
pub use create::CreateHighlight;
pub use list::ListHighlights;
pub use view::{HighlightResponse, HighlightView};

/// What fields of highlights may hold.
mod kinds {
    use validation::Kind;

    /// The highlighted words.
    pub const TEXT: Kind = Kind::Words { min: 1, max: 10_000 };
    /// An offset in the text, in Unicode scalar values.
    pub const OFFSET: Kind = Kind::Integer { min: 0, max: i32::MAX as i64 };
    /// A note on the highlight.
    pub const NOTE: Kind = Kind::Text { max: 100_000 };
    /// Name of a colour.
    pub const COLOR: Kind = Kind::Words { min: 1, max: 50 };
}
