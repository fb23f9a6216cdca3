//! Words as a text says them with other white space, quotation marks or emphasis: by their letters and digits alone. Where
//! somebody else's program marked them, it had read the page in its own way.

/// Fewer letters and digits stand anywhere by chance.
const FEWEST: usize = 12;

/// The letters and digits of a text.
pub fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// What words are known by: by their letters, or as they are where these are too few.
pub fn key(words: &str) -> String {
    let letters = letters(words);
    if letters.chars().count() < FEWEST { words.to_owned() } else { letters }
}

/// Where a text, of which these are the letters, says the words first: from their first letter to behind their last, in
/// Unicode scalar values.
pub fn place(text: &str, all: &str, words: &str) -> Option<(usize, usize)> {
    let words = letters(words);
    let count = words.chars().count();
    if count < FEWEST {
        return None;
    }
    let before = all.get(..all.find(&words)?)?.chars().count();
    let mut places = text.chars().enumerate().filter(|(_, c)| c.is_alphanumeric()).map(|(place, _)| place);
    Some((places.nth(before)?, places.nth(count - 2)? + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, words: &str) -> Option<String> {
        let (start, end) = place(text, &letters(text), words)?;
        Some(text.chars().skip(start).take(end - start).collect())
    }

    #[test]
    fn words_are_found_as_the_text_writes_them() {
        let text = "Größer: “The  heron\nstands — in the reeds.” Waiting.";

        assert_eq!(
            found(text, "**The heron** stands - in the reeds").as_deref(),
            Some("The  heron\nstands — in the reeds")
        );
        assert_eq!(found(text, "Größer: \"The heron").as_deref(), Some("Größer: “The  heron"));
        assert_eq!(found(text, "in the reeds.\" Waiting.").as_deref(), Some("in the reeds.” Waiting"));
    }

    #[test]
    fn few_letters_and_words_that_are_not_there_are_found_nowhere() {
        assert_eq!(found("It was his own.", "hi's"), None);
        assert_eq!(found("The heron stands in the reeds.", "The heron stands in the water"), None);
        assert_eq!((found("", "Words of some length"), found("Words", "")), (None, None));
    }
}
