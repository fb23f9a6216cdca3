//! The entries of the palette.

/// An entry of the palette.
pub struct PaletteEntry {
    pub icon: &'static str,
    pub text: String,
    /// What the entry is, in a word, or how many things are in it.
    pub detail: String,
    pub href: String,
    /// The address for Ctrl and Enter.
    pub other: Option<String>,
    /// Whether the text was written by people, and not by us.
    pub is_foreign: bool,
}

/// Returns whether a name has the words that were typed, whatever their case.
pub fn contains(name: &str, query: &str) -> bool {
    name.to_lowercase().contains(&query.to_lowercase())
}
