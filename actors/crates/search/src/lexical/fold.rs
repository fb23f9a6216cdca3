//! Spellings of a word: in lower case, without accents, and with two letters in place of an umlaut.

use std::borrow::Cow;

use unicode_normalization::char::decompose_compatible;

use crate::index::Language;

/// Languages whose texts have names with umlauts that are also written with two letters. Short texts count as English.
const UMLAUT_LANGUAGES: [Language; 3] = [Language::English, Language::German, Language::Swedish];

/// Returns a word in lower case. Capital letters with a dot above and the two forms of sigma become one letter.
pub fn lowercase(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        return Cow::Borrowed(word);
    }
    if word.is_ascii() {
        return Cow::Owned(word.to_ascii_lowercase());
    }
    // In lower case, the Turkish capital I with a dot has the dot as a separate combining mark.
    Cow::Owned(word.chars().flat_map(lowercase_letter).filter(|letter| *letter != '\u{307}').collect())
}

/// Returns a letter in lower case, which may be several letters. The two forms of sigma become one letter.
pub fn lowercase_letter(letter: char) -> impl Iterator<Item = char> {
    letter.to_lowercase().map(|letter| if letter == 'ς' { 'σ' } else { letter })
}

/// Returns a word in lower case without accents. Marks that are part of a letter stay, such as vowel signs: `й` is not `и`.
pub fn fold_word(word: &str) -> Cow<'_, str> {
    let lower = lowercase(word);
    match without_accents(&lower) {
        Some(folded) => Cow::Owned(folded),
        None => lower,
    }
}

/// Returns a word in lower case without accents; `None` if it has none.
pub fn without_accents(word: &str) -> Option<String> {
    if word.is_ascii() {
        return None;
    }
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        push_folded(letter, &mut out);
    }
    // A word of marks alone would become empty.
    (out != word && !out.is_empty()).then_some(out)
}

/// Returns a word in lower case with two letters in place of each umlaut (`mueller`), and without other accents; `None` if it has no
/// umlaut, or if such a spelling is not usual in the language.
pub fn with_spelled_umlauts(language: Language, word: &str) -> Option<String> {
    if word.is_ascii() || !UMLAUT_LANGUAGES.contains(&language) {
        return None;
    }
    let spelled = |letter| match letter {
        'ä' => Some("ae"),
        'ö' => Some("oe"),
        'ü' => Some("ue"),
        'å' if language == Language::Swedish => Some("aa"),
        _ => None,
    };
    if !word.chars().any(|letter| spelled(letter).is_some()) {
        return None;
    }
    let mut out = String::with_capacity(word.len() + 2);
    for letter in word.chars() {
        match spelled(letter) {
            Some(letters) => out.push_str(letters),
            None => push_folded(letter, &mut out),
        }
    }
    Some(out)
}

fn push_folded(letter: char, out: &mut String) {
    if letter.is_ascii() {
        out.push(letter);
    } else if has_accents(letter) {
        decompose_compatible(letter, |part| push_plain(part, out));
    } else {
        push_plain(letter, out);
    }
}

fn push_plain(letter: char, out: &mut String) {
    match plain_letters(letter) {
        Some(letters) => out.push_str(letters),
        None if is_accent(letter) => {}
        None => out.push(letter),
    }
}

/// Returns whether a letter is taken apart. Cyrillic letters are not: й and и are two letters.
fn has_accents(letter: char) -> bool {
    matches!(letter,
        // Latin and Greek.
        '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' | '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}'
        // Arabic letters with hamza or madda.
        | '\u{622}'..='\u{626}')
}

/// Returns whether a character only modifies the letter before it: accents, Arabic vowel signs and tatweel.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Returns what is written in place of a letter that is not taken apart by Unicode.
fn plain_letters(letter: char) -> Option<&'static str> {
    Some(match letter {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'þ' => "th",
        'ħ' => "h",
        'ŧ' => "t",
        'ŋ' => "n",
        'ı' => "i",
        'ς' => "σ",
        // Alef with wasla; alef maksura and the Persian yeh; teh marbuta; the Persian kaf.
        '\u{671}' => "\u{627}",
        '\u{649}' | '\u{6cc}' => "\u{64a}",
        '\u{629}' => "\u{647}",
        '\u{6a9}' => "\u{643}",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accents_of_every_language_are_folded() {
        for (written, folded) in [
            ("أحمد", "احمد"),
            ("مدرسة", "مدرسه"),
            ("كِتَاب", "كتاب"),
            ("coördinatie", "coordinatie"),
            ("reünie", "reunie"),
            ("naïve", "naive"),
            ("søren", "soren"),
            ("élève", "eleve"),
            ("cœur", "coeur"),
            ("straße", "strasse"),
            ("größe", "grosse"),
            ("αθήνα", "αθηνα"),
            ("ελλάς", "ελλασ"),
            ("perché", "perche"),
            ("città", "citta"),
            ("coração", "coracao"),
            ("avó", "avo"),
            ("niño", "nino"),
            ("corazón", "corazon"),
            ("smörgås", "smorgas"),
            ("älg", "alg"),
            ("çiçek", "cicek"),
            ("ışık", "isik"),
            ("phở", "pho"),
            ("đường", "duong"),
            ("žižek", "zizek"),
            ("łódź", "lodz"),
        ] {
            assert_eq!(without_accents(written).as_deref(), Some(folded), "{written}");
        }
    }

    #[test]
    fn words_without_accents_are_not_folded() {
        for word in ["heron", "2026", "мой", "東京", "がく", "서울", "ไทย", "हिन्दी"]
        {
            assert_eq!(without_accents(word), None, "{word}");
        }
    }

    #[test]
    fn umlauts_are_spelled_with_two_letters() {
        assert_eq!(with_spelled_umlauts(Language::German, "müller").as_deref(), Some("mueller"));
        assert_eq!(with_spelled_umlauts(Language::German, "größe").as_deref(), Some("groesse"));
        assert_eq!(with_spelled_umlauts(Language::Swedish, "ångström").as_deref(), Some("aangstroem"));
        assert_eq!(with_spelled_umlauts(Language::Turkish, "gün"), None);
        assert_eq!(with_spelled_umlauts(Language::German, "café"), None);
    }

    #[test]
    fn capitals_become_small_letters() {
        for (written, lower) in
            [("LM385", "lm385"), ("İzmir", "izmir"), ("ΕΛΛΑΣ", "ελλασ"), ("ελλάς", "ελλάσ")]
        {
            assert_eq!(lowercase(written), lower);
        }
    }

    proptest! {
        #[test]
        fn folded_word_is_folded_no_further(word in "\\PC{1,12}") {
            let lower = lowercase(&word);
            if let Some(folded) = without_accents(&lower) {
                prop_assert_eq!(without_accents(&folded), None);
            }
        }
    }
}
