//! Parts of compound words in German, Dutch and Swedish, so that `Baum` finds `Olivenbäume`, and `Datenschutz` finds
//! `Datenschutzverordnung`. There is no dictionary: each beginning and each end of a long word that may be a word by its sounds is indexed,
//! with a small weight. A beginning has less than an end, which says what kind of thing the compound is, and must be longer: many words
//! that are no compounds begin like a short word (`Frankreich`, `Organisation`, `Bestimmung`).

use super::fold::{fold_word, without_accents};
use super::stem::{beginning_id, part_id, stem};
use crate::index::Language;

/// How many occurrences of a word a part of a compound counts as. The weight is then about 0.4 of that of a word.
pub const COMPOUND_PART_OCCURRENCES: f32 = 0.27;

/// The factor of a word in a query as the end of a compound.
const END_FACTOR: f32 = 0.4;

/// The factor of a word in a query as the beginning of a compound.
const BEGINNING_FACTOR: f32 = 0.25;

/// Languages that write compounds as one word, of those that are not split into n-grams.
const LANGUAGES: [Language; 3] = [Language::German, Language::Dutch, Language::Swedish];

/// Minimum length of a compound and of its first and last part, in letters.
const MIN_COMPOUND_LETTERS: usize = 10;
const MIN_PART_LETTERS: usize = 4;

/// Minimum length of a beginning by which a compound is found, with the letters that link it to the next part (`Kranken` of
/// `Krankenhaus`), in letters. Its stem has at least as many as any part.
const MIN_BEGINNING_LETTERS: usize = 6;

/// Longer words are no words, and would have too many parts.
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

/// Calls a function with the id of each beginning and of each end of a long word in lower case that may be a separate word.
pub fn each_part(language: Language, word: &str, mut add: impl FnMut(u32)) {
    if !may_be_compound(language, word) {
        return;
    }
    let Some(stem) = folded_stem(language, word) else { return };
    // Stems are shorter than words by an ending, so a long word may have a stem of fewer letters.
    if word.chars().count() < MIN_COMPOUND_LETTERS || stem.len() > MAX_COMPOUND_LETTERS {
        return;
    }
    let mut last_beginning = None;
    for at in MIN_PART_LETTERS..=stem.len().saturating_sub(MIN_PART_LETTERS) {
        let Some((before, end)) = stem.split_at_checked(at).filter(|(before, end)| may_be_word(before, end))
        else {
            continue;
        };
        add(part_id(language, end));
        // `Arbeit` and `Arbeits` are one beginning of `Arbeitsplatz`.
        let beginning = folded_beginning_id(language, before).filter(|id| last_beginning != Some(*id));
        if let Some(id) = beginning {
            add(id);
            last_beginning = beginning;
        }
    }
}

/// Returns the ids of a word of a query in lower case as a part of compounds, each with its factor. None if the language has no compounds,
/// or if the word is too short.
pub fn part_factors(language: Language, word: &str) -> impl Iterator<Item = (u32, f32)> {
    let has_compounds = LANGUAGES.contains(&language);
    let end = if has_compounds { end_id(language, word) } else { None };
    let beginning = if has_compounds { folded_beginning_id(language, &fold_word(word)) } else { None };
    let factors = [(end, END_FACTOR), (beginning, BEGINNING_FACTOR)];
    factors.into_iter().filter_map(|(id, factor)| Some((id?, factor)))
}

fn end_id(language: Language, word: &str) -> Option<u32> {
    let stem = folded_stem(language, word)?;
    (stem.len() >= MIN_PART_LETTERS).then(|| part_id(language, &stem))
}

/// Returns the id of a word in lower case and without accents as the beginning of a compound; `None` if it is too short.
fn folded_beginning_id(language: Language, word: &str) -> Option<u32> {
    if word.len() < MIN_BEGINNING_LETTERS {
        return None;
    }
    let stem = stem(language, word)?;
    (stem.len() >= MIN_PART_LETTERS).then(|| beginning_id(language, &stem))
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

    fn has_part(language: Language, compound: &str, word: &str) -> bool {
        let mut parts = Vec::new();
        each_part(language, compound, |id| parts.push(id));
        part_factors(language, word).any(|(id, _)| parts.contains(&id))
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
            assert!(has_part(language, compound, word), "{compound}");
        }
    }

    #[test]
    fn first_word_of_a_compound_is_a_beginning_of_it() {
        for (language, compound, word) in [
            (Language::German, "datenschutzgrundverordnung", "datenschutz"),
            (Language::German, "krankenhäuser", "kranken"),
            (Language::German, "versicherungsvertrag", "versicherung"),
            (Language::German, "universitätsbibliothek", "universität"),
            (Language::German, "straßenbeleuchtung", "straße"),
            (Language::German, "arbeitsplatz", "arbeit"),
            (Language::Dutch, "verzekeringspremie", "verzekering"),
            (Language::Swedish, "sommarstugor", "sommar"),
        ] {
            assert!(has_part(language, compound, word), "{compound}");
        }
    }

    #[test]
    fn word_is_no_part_of_what_only_begins_with_its_letters() {
        for (compound, word) in [
            ("frankreich", "frank"),
            ("organisation", "organ"),
            ("ministerpräsident", "mini"),
            ("bestimmungen", "best"),
            ("datenschutzgrundverordnung", "daten"),
            ("wissenschaften", "wissen"),
        ] {
            assert!(!has_part(Language::German, compound, word), "{compound}");
        }
    }

    #[test]
    fn short_words_and_other_languages_have_no_parts() {
        assert!(!has_part(Language::German, "haustür", "tür"));
        assert!(!has_part(Language::German, "autobahn", "bahn"));
        assert!(!has_part(Language::English, "workstation", "station"));
        assert!(!has_part(Language::English, "waterproofing", "waterproof"));
        assert!(!has_part(Language::German, "olivenbäume", "bäumchen"));
    }

    #[test]
    fn beginning_has_a_lower_factor_than_an_end() {
        let factors: Vec<f32> =
            part_factors(Language::German, "versicherung").map(|(_, factor)| factor).collect();
        assert_eq!(factors, [END_FACTOR, BEGINNING_FACTOR]);
        assert_eq!(part_factors(Language::German, "baum").count(), 1);
    }

    #[test]
    fn beginning_with_and_without_a_linking_letter_counts_once() {
        let arbeit = folded_beginning_id(Language::German, "arbeit");
        let mut count = 0;
        each_part(Language::German, "arbeitsplatz", |id| count += usize::from(Some(id) == arbeit));
        assert_eq!(count, 1);
    }

    #[test]
    fn long_word_has_few_parts() {
        for (word, max) in
            [("wissenschaften", 2), ("bundesverfassungsgericht", 14), ("krankenversicherungen", 10)]
        {
            let mut count = 0;
            each_part(Language::German, word, |_| count += 1);
            assert!(count <= max, "{word}: {count}");
        }
    }
}
