//! Finds words in a text by their letters and digits alone, whatever white space, quotation marks or emphasis are between them.
//! Highlights of other programs need it: those read the page differently.

/// Words with fewer letters and digits may occur in a text by chance.
const MIN_MATCH_CHARS: usize = 12;

/// Returns the letters and digits of a text.
pub(super) fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Returns the key by which equal highlights are recognised: the letters and digits of the words, or the words themselves if they
/// have fewer than 12 letters and digits.
pub fn match_key(words: &str) -> String {
    let letters = letters(words);
    if letters.chars().count() < MIN_MATCH_CHARS { words.to_owned() } else { letters }
}

/// Returns the range of the first occurrence of the words, from their first letter to behind their last one, in Unicode scalar
/// values. `text_letters` are the [`letters`] of the text.
pub(super) fn find_letters(text: &str, text_letters: &str, words: &str) -> Option<(usize, usize)> {
    let words = letters(words);
    let count = words.chars().count();
    if count < MIN_MATCH_CHARS {
        return None;
    }
    let before = text_letters.get(..text_letters.find(&words)?)?.chars().count();
    let mut offsets = text.chars().enumerate().filter(|(_, c)| c.is_alphanumeric()).map(|(offset, _)| offset);
    // `nth` consumes: after the first letter, the last one is `count - 2` letters behind the next. `count` is at least 12.
    Some((offsets.nth(before)?, offsets.nth(count - 2)? + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched_text(text: &str, words: &str) -> Option<String> {
        let (start, end) = find_letters(text, &letters(text), words)?;
        Some(text.chars().skip(start).take(end - start).collect())
    }

    #[test]
    fn match_has_the_punctuation_of_the_text() {
        let text = "Größer: “The  heron\nstands — in the reeds.” Waiting.";

        assert_eq!(
            matched_text(text, "**The heron** stands - in the reeds").as_deref(),
            Some("The  heron\nstands — in the reeds")
        );
        assert_eq!(matched_text(text, "Größer: \"The heron").as_deref(), Some("Größer: “The  heron"));
        assert_eq!(matched_text(text, "in the reeds.\" Waiting.").as_deref(), Some("in the reeds.” Waiting"));
    }

    #[test]
    fn short_or_missing_words_do_not_match() {
        assert_eq!(matched_text("It was his own.", "hi's"), None);
        assert_eq!(matched_text("The heron stands in the reeds.", "The heron stands in the water"), None);
        assert_eq!((matched_text("", "Words of some length"), matched_text("Words", "")), (None, None));
    }
}
