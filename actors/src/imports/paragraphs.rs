//! Notes that several imports and their person wrote, in paragraphs.

/// Parts the notes of one from those of another.
const BETWEEN: &str = "\n\n";

/// Notes with more behind them.
pub fn with(body: &str, more: &str) -> String {
    if body.is_empty() { more.to_owned() } else { format!("{body}{BETWEEN}{more}") }
}

/// Whether these stand in the notes as paragraphs of their own.
pub fn says(body: &str, words: &str) -> bool {
    without(body, words).is_some()
}

/// What is left of notes without what was written to them.
pub fn left_of(body: &str, written: &[String]) -> String {
    written.iter().fold(body.to_owned(), |body, more| without(&body, more).unwrap_or(body))
}

/// Notes without what was added to them, where that still stands there as paragraphs of its own.
fn without(body: &str, more: &str) -> Option<String> {
    let parted = |at: usize| {
        let (before, behind) = (body.get(..at)?, body.get(at + more.len()..)?);
        let begins = before.is_empty() || before.ends_with(BETWEEN);
        (begins && (behind.is_empty() || behind.starts_with(BETWEEN))).then_some((before, behind))
    };
    let (before, behind) = body.rmatch_indices(more).find_map(|(at, _)| parted(at))?;
    let left = format!("{}{behind}", before.strip_suffix(BETWEEN).unwrap_or(before));
    Some(left.strip_prefix(BETWEEN).map(str::to_owned).unwrap_or(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_lose_what_was_added_wherever_it_stands() {
        let left = |body, more| without(body, more);

        assert_eq!(left("One\n\nTwo\n\nThree", "Three").as_deref(), Some("One\n\nTwo"));
        assert_eq!(left("One\n\nTwo\n\nThree", "Two").as_deref(), Some("One\n\nThree"));
        assert_eq!(left("One\n\nTwo", "One").as_deref(), Some("Two"));
        assert_eq!(left("Two\n\nThree", "Two").as_deref(), Some("Three"));
        assert_eq!(left("One", "One").as_deref(), Some(""));
        assert_eq!(left_of("One\n\nTwo\n\nThree", &["One".to_owned(), "Three".to_owned()]), "Two");
    }

    #[test]
    fn only_whole_paragraphs_say_the_same() {
        assert!(says("One\n\nart\n\nTwo", "art") && says("One\n\nTwo", "One\n\nTwo"));
        assert!(!says("One\n\nstart", "art") && !says("", "art"));
    }

    #[test]
    fn what_its_person_wrote_on_stays() {
        assert_eq!(without("One\n\nTwofold", "Two"), None);
        assert_eq!(without("One and Two", "Two"), None);
        assert_eq!(without("Else", "Two"), None);
    }
}
