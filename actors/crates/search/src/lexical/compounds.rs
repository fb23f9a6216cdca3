//! Ends of compound words in German, Dutch and Swedish, so that `Baum` finds `Olivenbäume`. There is no dictionary: each end of a long word
//! that may be a word by its sounds is indexed, with a small weight.

use super::fold::without_accents;
use super::stem::{part_id, stem};
use crate::index::Language;

/// How many occurrences of a word the end of a compound counts as. The weight is then about 0.4 of that of a word.
pub const END_OCCURRENCES: f32 = 0.27;

/// The factor of the end of a compound in a query.
pub const END_FACTOR: f32 = 0.4;

/// Languages that write compounds as one word, of those that are not split into n-grams.
const LANGUAGES: [Language; 3] = [Language::German, Language::Dutch, Language::Swedish];

/// Minimum length of a compound and of its first and last part, in letters.
const MIN_COMPOUND_LETTERS: usize = 10;
const MIN_PART_LETTERS: usize = 4;

/// Longer words are no words, and would have too many ends.
const MAX_COMPOUND_LETTERS: usize = 40;

/// Consonants that begin words of these languages.
const ONSETS: [&str; 67] = [
    "b", "bl", "br", "d", "dr", "dw", "f", "fj", "fl", "fr", "g", "gl", "gn", "gr", "h", "j", "k", "kl",
    "kn", "kr", "kv", "kw", "l", "lj", "m", "n", "p", "pf", "pfl", "ph", "pl", "pr", "q", "r", "s", "sch",
    "schl", "schm", "schn", "schr", "schw", "sj", "sk", "skr", "sl", "sm", "sn", "sp", "spl", "spr", "st",
    "str", "sv", "t", "th", "tr", "tv", "tw", "v", "vl", "vr", "w", "wr", "z", "zw", "c", "kj",
];

/// Endings that are no words.
const ENDINGS: [&str; 30] = [
    "lich", "keit", "heit", "isch", "ierung", "zierung", "rung", "sung", "lung", "tung", "dung", "gung",
    "nung", "ungs", "ment", "tion", "ation", "iert", "siert", "tiert", "niert", "liert", "lijk", "elijk",
    "heid", "atie", "ning", "ningar", "schaft", "haft",
];

/// Returns whether a word may be a compound, by its language and its length.
#[must_use]
pub fn may_be_compound(language: Language, word: &str) -> bool {
    // In bytes, because most words are shorter by any count.
    word.len() >= MIN_COMPOUND_LETTERS && LANGUAGES.contains(&language)
}

/// Calls a function with the id of each end of a long word in lower case that may be a separate word.
pub fn each_end(language: Language, word: &str, mut add: impl FnMut(u32)) {
    if !may_be_compound(language, word) {
        return;
    }
    let Some(stem) = folded_stem(language, word) else { return };
    // Stems are shorter than words by an ending, so a long word may have a stem of fewer letters.
    if word.chars().count() < MIN_COMPOUND_LETTERS || stem.len() > MAX_COMPOUND_LETTERS {
        return;
    }
    for at in MIN_PART_LETTERS..=stem.len().saturating_sub(MIN_PART_LETTERS) {
        if let Some((before, end)) = stem.split_at_checked(at)
            && may_be_word(before, end)
        {
            add(part_id(language, end));
        }
    }
}

/// Returns the id of a word in lower case as the end of a compound; `None` if the language has no compounds, or if the word is too short.
pub fn end_id(language: Language, word: &str) -> Option<u32> {
    if !LANGUAGES.contains(&language) {
        return None;
    }
    let stem = folded_stem(language, word)?;
    (stem.len() >= MIN_PART_LETTERS).then(|| part_id(language, &stem))
}

fn folded_stem(language: Language, word: &str) -> Option<String> {
    let stem = stem(language, word)?;
    Some(without_accents(&stem).unwrap_or_else(|| stem.into_owned()))
}

/// Returns whether the end of a word sounds like a word, and the beginning like one before it.
fn may_be_word(before: &str, end: &str) -> bool {
    let onset = end.find(is_vowel).and_then(|at| end.get(..at));
    // Without a vowel it is no word.
    let Some(onset) = onset.filter(|_| before.contains(is_vowel)) else { return false };
    if ENDINGS.contains(&end) {
        return false;
    }
    let mut letters = before.chars().rev();
    let (last, second_last) = (letters.next().unwrap_or(' '), letters.next().unwrap_or(' '));
    match onset.len() {
        // Before a vowel, most first parts end with one of these.
        0 => matches!(last, 'r' | 's' | 't' | 'n') && end.len() > MIN_PART_LETTERS,
        // After one of these vowels alone, a consonant belongs to the same word.
        1 if matches!(last, 'a' | 'i' | 'o' | 'u' | 'y') && !is_vowel(second_last) => false,
        1 if onset == "h" && matches!(last, 'c' | 's' | 'p' | 't') => false,
        _ => ONSETS.contains(&onset),
    }
}

fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_end(language: Language, compound: &str, word: &str) -> bool {
        let mut ends = Vec::new();
        each_end(language, compound, |id| ends.push(id));
        end_id(language, word).is_some_and(|id| ends.contains(&id))
    }

    #[test]
    fn last_word_of_a_compound_is_an_end_of_it() {
        for (language, compound, word) in [
            (Language::German, "olivenbäume", "baum"),
            (Language::German, "dampfschiffe", "schiff"),
            (Language::German, "kühlschränke", "schrank"),
            (Language::German, "bundesverfassungsgericht", "gericht"),
            (Language::Dutch, "fietsenwinkels", "winkel"),
            (Language::Dutch, "appelboomgaard", "boomgaard"),
            (Language::Swedish, "brandstationer", "station"),
            (Language::Swedish, "sommarstugor", "stuga"),
        ] {
            assert!(has_end(language, compound, word), "{compound}");
        }
    }

    #[test]
    fn short_words_and_other_languages_have_no_ends() {
        assert!(!has_end(Language::German, "haustür", "tür"));
        assert!(!has_end(Language::English, "workstation", "station"));
        assert!(!has_end(Language::German, "olivenbäume", "bäumchen"));
    }

    #[test]
    fn long_word_has_few_ends() {
        for (word, max) in
            [("wissenschaften", 2), ("bundesverfassungsgericht", 8), ("krankenversicherungen", 6)]
        {
            let mut count = 0;
            each_end(Language::German, word, |_| count += 1);
            assert!(count <= max, "{word}: {count}");
        }
    }
}
