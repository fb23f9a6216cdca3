//! Notes on a bookmark as paragraphs, because several imports and the user may each have written some.

const SEPARATOR: &str = "\n\n";

/// Returns the notes with a text appended as a paragraph.
pub fn append(notes: &str, text: &str) -> String {
    if notes.is_empty() { text.to_owned() } else { format!("{notes}{SEPARATOR}{text}") }
}

/// Returns whether the notes contain the text as whole paragraphs.
pub fn contain(notes: &str, text: &str) -> bool {
    let is_whole = |at: usize| {
        let (Some(before), Some(behind)) = (notes.get(..at), notes.get(at + text.len()..)) else {
            return false;
        };
        (before.is_empty() || before.ends_with(SEPARATOR))
            && (behind.is_empty() || behind.starts_with(SEPARATOR))
    };
    notes.rmatch_indices(text).any(|(at, _)| is_whole(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_text_is_a_paragraph() {
        assert_eq!(append("", "Two"), "Two");
        assert_eq!(append("One", "Two"), "One\n\nTwo");
    }

    #[test]
    fn part_of_a_paragraph_is_not_contained() {
        assert!(contain("One\n\nart\n\nTwo", "art") && contain("One\n\nTwo", "One\n\nTwo"));
        assert!(!contain("One\n\nstart", "art") && !contain("One and Two", "Two") && !contain("", "art"));
    }
}
