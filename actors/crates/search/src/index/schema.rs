//! The names of the vectors and payload fields of a passage, which are the same in every engine: an index can then be copied from one to
//! another as it is.

/// Name of the vector of a passage's words. It is part of the format of an index, as the payload fields with an index are: a change of the
/// ids or of the weights of words needs a new name.
pub const WORDS_VECTOR: &str = "words2";

/// Payload field of the user. The names are short, because every point stores them.
pub const USER: &str = "user";
/// Payload field of the document.
pub const DOCUMENT: &str = "doc";
/// Payload field of the version of the document's text.
pub const VERSION: &str = "ver";
/// Payload field of all [labels](super::label::Label).
pub const LABELS: &str = "label";
