//! Highlights: marking words of a saved text (contract.md, section 6).

mod change;
mod create;
mod list;
mod view;

pub use change::{ChangeHighlight, DeleteHighlight};
pub use create::CreateHighlight;
pub use list::ListHighlights;
pub use view::{HighlightResponse, HighlightView, Marked, must_stand};

/// What fields of highlights may hold.
mod kinds {
    use validation::Kind;

    /// The marked words.
    pub const TEXT: Kind = Kind::Words { min: 1, max: 10_000 };
    /// A place in the text, in Unicode scalar values.
    pub const PLACE: Kind = Kind::Integer { min: 0, max: i32::MAX as i64 };
    /// A note beside them.
    pub const NOTE: Kind = Kind::Text { max: 100_000 };
    /// A colour's name.
    pub const COLOR: Kind = Kind::Words { min: 1, max: 50 };
}
