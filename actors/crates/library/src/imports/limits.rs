//! How long the texts of an imported object may be. Longer ones are cut.

/// Characters of a name or a title.
pub const MAX_NAME_CHARS: usize = 300;
/// Characters of a text that the user wrote: a note, a description, a highlight.
pub const MAX_TEXT_CHARS: usize = 100_000;

/// Returns a name without control characters, trimmed and cut. It is blank if nothing else is in it.
pub fn read_name(name: &str) -> String {
    text::cut(text::without_controls(name).trim(), MAX_NAME_CHARS)
}
