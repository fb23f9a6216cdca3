//! Finds the marks of footnotes and notes, such as `[1]`, `[a]`, `[note 2]` and `[citation needed]`.

/// Characters between the brackets of a mark.
const MAX_NOTE_CHARS: usize = 16;

/// Returns the text behind the marks with which it begins.
pub(super) fn after_all(text: &str) -> &str {
    let mut rest = text;
    while let Some(after) = after_one(rest) {
        rest = after;
    }
    rest
}

/// Returns the text before the marks with which it ends.
pub(super) fn before_all(text: &str) -> &str {
    let mut rest = text;
    while let Some(before) = before_one(rest) {
        rest = before;
    }
    rest
}

fn after_one(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('[')?;
    // Bounded: a text may have many brackets that are not closed.
    let (end, _) = rest.char_indices().take(MAX_NOTE_CHARS + 1).find(|(_, c)| *c == ']')?;
    let (inner, after) = rest.split_at_checked(end)?;
    after.strip_prefix(']').filter(|_| is_note(inner))
}

fn before_one(text: &str) -> Option<&str> {
    let rest = text.strip_suffix(']')?;
    let (start, _) = rest.char_indices().rev().take(MAX_NOTE_CHARS + 1).find(|(_, c)| *c == '[')?;
    let (before, inner) = rest.split_at_checked(start)?;
    inner.strip_prefix('[').filter(|inner| is_note(inner)).map(|_| before)
}

/// Returns whether the text between brackets is that of a mark: a number of at most three digits, a lower-case letter, or words that are
/// used for it.
fn is_note(inner: &str) -> bool {
    let number = inner.strip_prefix("note ").unwrap_or(inner);
    let is_number = (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = inner.len() == 1 && inner.bytes().all(|byte| byte.is_ascii_lowercase());
    is_number || is_letter || inner == "citation needed"
}
