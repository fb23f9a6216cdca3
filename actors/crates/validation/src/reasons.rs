//! The reasons of faults that more than one reader states. Each follows the name of its field.

/// The field occurs more than once.
pub const REPEATED_FIELD: &str = "is given more than once";
/// The value is not a flag.
pub const INVALID_FLAG: &str = "must be true or false";
/// The text has control characters, with which a terminal or a line of a list would show something else.
pub const CONTROL_CHARACTERS: &str = "must not contain control characters";
/// The text has characters by which it looks like another one.
pub const DECEPTIVE_TEXT: &str = "must not contain control characters or invisible characters";

/// Returns the reason of a value that is none of the names.
pub fn must_be_one_of(names: &[&str]) -> String {
    format!("must be one of {}", names.join(", "))
}
