//! Normalizes text before it is split into words: compatibility forms (ligatures, full-width digits) are unified, invisible
//! characters are removed, and scripts without spaces are split into n-grams, so that a word is found inside of a sentence.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

/// The role of a text, a passage or a query: passages get all n-grams that queries may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// A text that is searched.
    Passage,
    /// The text of a query.
    Query,
}

/// Normalizes a text. The result is to be split at every character that is neither a letter nor a digit.
pub fn normalize(text: &str, role: TextRole) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Most texts are normalized already, and then nothing is copied.
    let text: Cow<str> = match is_nfkc_quick(text.chars()) {
        IsNormalized::Yes => Cow::Borrowed(text),
        IsNormalized::No | IsNormalized::Maybe => Cow::Owned(text.nfkc().collect()),
    };
    let is_normal = |c| !is_ignorable(c) && ngram_length(c).is_none() && unify_letter(c) == c;
    if text.chars().all(is_normal) { text } else { Cow::Owned(split_ngrams(&text, role)) }
}

/// Length of the n-grams of a script without spaces; `None` for letters of other scripts, and for marks.
fn ngram_length(letter: char) -> Option<usize> {
    let length = match letter {
        // Chinese and Japanese; Korean too, because its words have endings.
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{20000}'..='\u{323af}' => 2,
        '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30ff}' | '\u{ac00}'..='\u{d7af}' => 2,
        // Thai, Lao, Tibetan, Burmese and Khmer, whose letters carry less meaning.
        '\u{e01}'..='\u{eff}' | '\u{f40}'..='\u{fbc}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17d3}' => {
            3
        }
        _ => return None,
    };
    letter.is_alphabetic().then_some(length)
}

/// Returns whether a character only changes how a word looks or breaks.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
        // Tone marks of Thai and Lao, which would split their words.
        || matches!(c, '\u{e47}'..='\u{e4c}' | '\u{ec8}'..='\u{ecc}')
        // Accents that form no letter with the one before, such as the stress of Russian, and the nukta of Devanagari. They would split
        // words too, and are mostly not written.
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{93c}')
}

/// Returns whether a letter is of a script whose texts are split into n-grams.
pub fn is_ngram_letter(letter: char) -> bool {
    ngram_length(letter).is_some()
}

/// Replaces a letter or digit by the one that is mostly written in its place.
fn unify_letter(c: char) -> char {
    match c {
        'ё' => 'е',
        'Ё' => 'Е',
        // The digits of Arabic, Persian and Devanagari.
        '\u{660}'..='\u{669}' => ascii_digit(c, '\u{660}'),
        '\u{6f0}'..='\u{6f9}' => ascii_digit(c, '\u{6f0}'),
        '\u{966}'..='\u{96f}' => ascii_digit(c, '\u{966}'),
        _ => c,
    }
}

/// Returns the digit of ASCII for a digit of a script whose zero is given.
fn ascii_digit(digit: char, zero: char) -> char {
    char::from_digit(u32::from(digit) - u32::from(zero), 10).unwrap_or(digit)
}

/// Returns a text in compatibility forms, without characters that only change how it looks, and with one letter or digit for each that
/// is written in several ways. The text is not split.
pub fn unify(text: &str) -> String {
    text.nfkc().filter(|c| !is_ignorable(*c)).map(unify_letter).collect()
}

fn split_ngrams(text: &str, role: TextRole) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut run: Vec<char> = Vec::new();
    let mut run_ngram_length = None;
    for c in text.chars().filter(|c| !is_ignorable(*c)).map(unify_letter) {
        let length = ngram_length(c);
        if length != run_ngram_length {
            write_ngrams(&mut out, &run, run_ngram_length, role);
            run.clear();
            run_ngram_length = length;
        }
        match length {
            Some(_) => run.push(c),
            None => out.push(c),
        }
    }
    write_ngrams(&mut out, &run, run_ngram_length, role);
    out
}

/// Writes the n-grams of a run of letters. A query has the longest only. A passage has those one letter shorter too, for queries of
/// fewer letters.
fn write_ngrams(out: &mut String, run: &[char], ngram_length: Option<usize>, role: TextRole) {
    let Some(ngram_length) = ngram_length else { return };
    let longest = ngram_length.min(run.len());
    let shortest = match role {
        TextRole::Passage => ngram_length.saturating_sub(1).min(longest),
        TextRole::Query => longest,
    };
    out.push(' ');
    for length in shortest..=longest {
        for ngram in run.windows(length.max(1)) {
            out.extend(ngram);
            out.push(' ');
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str, role: TextRole) -> Vec<String> {
        normalize(text, role)
            .split(|c: char| !c.is_alphanumeric())
            .filter(|p| !p.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn normal_text_with_spaces_is_unchanged() {
        for text in ["plain words, 3 of them", "Straße über Äcker", "Быстрая лиса"] {
            assert!(matches!(normalize(text, TextRole::Passage), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn ligatures_wide_letters_and_soft_hyphens_are_normalized() {
        assert_eq!(
            words("ﬁnance Ｒｕｓｔ２ Donau\u{ad}dampf", TextRole::Query),
            ["finance", "Rust2", "Donaudampf"]
        );
    }

    #[test]
    fn yo_becomes_ye() {
        assert_eq!(words("ёлка Ёж", TextRole::Query), ["елка", "Еж"]);
    }

    #[test]
    fn digits_of_other_scripts_become_ascii() {
        assert_eq!(words("٢٠٢٤ ۲۰۲۴ २०२४", TextRole::Query), ["2024", "2024", "2024"]);
    }

    #[test]
    fn stress_and_nukta_do_not_split_words() {
        assert_eq!(words("за\u{301}мок ज\u{93c}मीन", TextRole::Query), ["замок", "जमीन"]);
    }

    #[test]
    fn query_without_spaces_becomes_bigrams() {
        assert_eq!(words("东京塔", TextRole::Query), ["东京", "京塔"]);
        assert_eq!(words("猫", TextRole::Query), ["猫"]);
    }

    #[test]
    fn passage_without_spaces_becomes_letters_and_bigrams() {
        assert_eq!(words("猫在 home", TextRole::Passage), ["猫", "在", "猫在", "home"]);
    }

    #[test]
    fn runs_are_separated_from_words_of_other_scripts() {
        assert_eq!(words("用Rust写", TextRole::Query), ["用", "Rust", "写"]);
    }

    proptest! {
        #[test]
        fn every_part_of_a_passage_is_found_in_it(before in "[一-龥]{0,6}", word in "[一-龥]{1,5}", after in "[一-龥]{0,6}") {
            let passage = words(&format!("{before}{word}{after}"), TextRole::Passage);
            for ngram in words(&word, TextRole::Query) {
                prop_assert!(passage.contains(&ngram));
            }
        }

        #[test]
        fn any_text_can_be_normalized(text in any::<String>()) {
            normalize(&text, TextRole::Passage);
            normalize(&text, TextRole::Query);
        }
    }
}
