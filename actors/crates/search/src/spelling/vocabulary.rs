//! The distinct words of many texts, and the search for one that is spelt almost like another.

use std::collections::HashMap;
use std::ops::Range;

use super::distance::ComparedWord;
use crate::lexical::WordSequence;

/// Minimum number of letters of a word. Shorter ones resemble too many others.
const MIN_WORD_CHARS: usize = 3;

/// Maximum number of letters of a word.
const MAX_WORD_CHARS: usize = 24;

/// From this many letters on two edits are allowed; below, one.
const MIN_CHARS_OF_TWO_EDITS: usize = 8;

/// Minimum number of letters of the rest of a compound that begins or ends with a word.
const MIN_COMPOUND_REST_CHARS: usize = 3;

/// Maximum number of distinct words of a vocabulary.
const MAX_VOCABULARY_WORDS: usize = 400_000;

/// Bytes of letters from which on a vocabulary is full. Letters of most scripts take two or three bytes each.
const MAX_LETTER_BYTES: usize = 8 << 20;

/// The words of 3 to 24 letters of many texts, at most 400,000 of eight megabytes, in lower case and without accents. Words with digits and
/// words in scripts without spaces are none of them. They are kept in one string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Vocabulary {
    /// All words, by their number of letters, then in the order of the alphabet.
    letters: String,
    /// The end of each word in the string, in bytes, with the number of texts that have it.
    words: Vec<VocabularyWord>,
    /// Where the words of each number of letters end, from the minimum on.
    length_ends: Vec<usize>,
}

/// A word of a vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct VocabularyWord {
    /// The end of the word in the string, in bytes.
    end: u32,
    /// The number of texts that have it.
    texts: u32,
}

/// Returns the word of some vocabularies that is spelt almost like this one, which is folded first: with one edit, or two from eight letters
/// on, where letters are inserted, left out, replaced or swapped with their neighbour. Of several, that with the fewest edits, then in the
/// most texts of a vocabulary, then the first in the alphabet; only words that `is_meant` accepts. `None` if a vocabulary has the word
/// itself or, for one of at most seven letters, a compound that begins or ends with it (`Tür`, `Haustür`): then it is spelt right. `None`
/// too if nothing resembles it, and for what is no word of a vocabulary.
#[must_use]
pub fn nearest_word<'a>(
    vocabularies: impl IntoIterator<Item = &'a Vocabulary>,
    word: &str,
    is_meant: impl Fn(&str) -> bool,
) -> Option<&'a str> {
    let folded = single_word(word)?;
    let length = folded.chars().count();
    let max_edits = if length < MIN_CHARS_OF_TWO_EDITS { 1 } else { 2 };
    let compared = ComparedWord::new(&folded)?;
    let mut best: Option<(usize, u32, &str)> = None;
    let vocabularies: Vec<&Vocabulary> = vocabularies.into_iter().collect();
    for vocabulary in vocabularies.iter() {
        for chars in length.saturating_sub(max_edits)..=length + max_edits {
            for (candidate, letters) in vocabulary.words_of_length(chars) {
                let edits = compared.edits_to(letters);
                if edits == 0 {
                    return None;
                }
                let is_better = best.is_none_or(|(least, texts, name)| {
                    (edits, texts, letters) < (least, candidate.texts, name)
                });
                if edits <= max_edits && is_better && is_meant(letters) {
                    best = Some((edits, candidate.texts, letters));
                }
            }
        }
    }
    let (_, _, nearest) = best?;
    let is_part = || vocabularies.iter().any(|vocabulary| vocabulary.has_compound_of(&folded, length));
    let is_short = length < MIN_CHARS_OF_TWO_EDITS;
    (!is_short || !is_part()).then_some(nearest)
}

impl Vocabulary {
    /// Returns the words of this many letters, in the order of the alphabet.
    fn words_of_length(&self, chars: usize) -> impl Iterator<Item = (VocabularyWord, &str)> {
        let range = self.range_of_length(chars);
        let start = match range.start.checked_sub(1).and_then(|before| self.words.get(before)) {
            Some(before) => before.end,
            None => 0,
        };
        let words = self.words.get(range).unwrap_or_default();
        words.iter().scan(start, move |start, word| {
            let letters = self.letters.get(to_index(*start)..to_index(word.end))?;
            *start = word.end;
            Some((*word, letters))
        })
    }

    /// Returns whether a longer word begins or ends with this one, which has this many letters.
    fn has_compound_of(&self, word: &str, chars: usize) -> bool {
        let mut longer = (chars + MIN_COMPOUND_REST_CHARS..=MAX_WORD_CHARS)
            .flat_map(|length| self.words_of_length(length));
        longer.any(|(_, compound)| compound.starts_with(word) || compound.ends_with(word))
    }

    /// Returns all words with the number of texts that have them, by their number of letters, then in the order of the alphabet.
    pub fn words(&self) -> impl Iterator<Item = (&str, u32)> {
        let lengths = MIN_WORD_CHARS..=MAX_WORD_CHARS;
        lengths
            .flat_map(move |chars| self.words_of_length(chars))
            .map(|(word, letters)| (letters, word.texts))
    }

    fn range_of_length(&self, chars: usize) -> Range<usize> {
        let end_of = |at: usize| self.length_ends.get(at).copied();
        let Some(at) = chars.checked_sub(MIN_WORD_CHARS) else { return 0..0 };
        let Some(end) = end_of(at) else { return 0..0 };
        at.checked_sub(1).and_then(end_of).unwrap_or_default()..end
    }

    /// Returns the memory that the words take, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.letters.len() + size_of_val(self.words.as_slice()) + size_of_val(self.length_ends.as_slice())
    }
}

/// Returns a word in lower case and without accents; `None` if it is no single word of a vocabulary.
fn single_word(word: &str) -> Option<String> {
    let folded = WordSequence::of(word);
    let mut words = folded.words();
    let first = words.next()?;
    (words.next().is_none() && is_vocabulary_word(first)).then(|| first.to_owned())
}

/// Returns whether a folded word may be in a vocabulary.
fn is_vocabulary_word(word: &str) -> bool {
    // A word has at least as many bytes as letters: most short words end here.
    word.len() >= MIN_WORD_CHARS
        && (MIN_WORD_CHARS..=MAX_WORD_CHARS).contains(&word.chars().count())
        && word.chars().all(char::is_alphabetic)
}

#[expect(clippy::cast_possible_truncation, reason = "at most 400,000 words of 24 letters")]
fn to_offset(index: usize) -> u32 {
    index as u32
}

fn to_index(offset: u32) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

/// Collects the words of texts.
#[derive(Debug, Default)]
pub struct VocabularyBuilder {
    /// The words, each with the number of the last text that has it and the number of those texts.
    words: HashMap<String, (u32, u32)>,
    /// The number of the current text.
    current: u32,
    /// Bytes of the letters of all words.
    letter_bytes: usize,
}

impl VocabularyBuilder {
    /// Adds the words of a text. New ones are left out once the vocabulary is full.
    pub fn add(&mut self, text: &str) {
        self.current = self.current.saturating_add(1);
        let folded = WordSequence::of(text);
        for word in folded.words().filter(|word| is_vocabulary_word(word)) {
            // Most words are known, and then nothing is copied.
            if let Some((last, texts)) = self.words.get_mut(word) {
                *texts = texts.saturating_add(u32::from(*last != self.current));
                *last = self.current;
            } else if !self.is_full() {
                self.letter_bytes += word.len();
                self.words.insert(word.to_owned(), (self.current, 1));
            }
        }
    }

    /// Adds a word of a vocabulary that this many texts have. A new one is left out once the vocabulary is full, and what is no word of
    /// a vocabulary always.
    pub fn add_word(&mut self, word: &str, texts: u32) {
        if let Some((_, known)) = self.words.get_mut(word) {
            *known = known.saturating_add(texts);
        } else if !self.is_full() && is_vocabulary_word(word) {
            self.letter_bytes += word.len();
            // No text has the number 0: the first one is the first.
            self.words.insert(word.to_owned(), (0, texts));
        }
    }

    /// Adds the words of a former vocabulary. If there is no space for all, those that only one text has are left out first: many of
    /// them are misspelt themselves.
    pub fn add_vocabulary(&mut self, former: &Vocabulary) {
        let (rare, common): (Vec<_>, Vec<_>) = former.words().partition(|(_, texts)| *texts < 2);
        for (word, texts) in common.into_iter().chain(rare) {
            self.add_word(word, texts);
        }
    }

    /// Returns whether no further words are added.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.words.len() >= MAX_VOCABULARY_WORDS || self.letter_bytes >= MAX_LETTER_BYTES
    }

    /// Returns the vocabulary of the texts that were added.
    #[must_use]
    pub fn build(self) -> Vocabulary {
        let mut words: Vec<(usize, String, u32)> =
            self.words.into_iter().map(|(word, (_, texts))| (word.chars().count(), word, texts)).collect();
        words.sort_unstable();
        let mut vocabulary = Vocabulary::default();
        vocabulary.words.reserve_exact(words.len());
        vocabulary.letters.reserve_exact(words.iter().map(|(_, word, _)| word.len()).sum());
        let mut rest = words.into_iter().peekable();
        for length in MIN_WORD_CHARS..=MAX_WORD_CHARS {
            while let Some((_, word, texts)) = rest.next_if(|(chars, _, _)| *chars == length) {
                vocabulary.letters.push_str(&word);
                vocabulary.words.push(VocabularyWord { end: to_offset(vocabulary.letters.len()), texts });
            }
            vocabulary.length_ends.push(vocabulary.words.len());
        }
        vocabulary
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vocabulary(texts: &[&str]) -> Vocabulary {
        let mut builder = VocabularyBuilder::default();
        for text in texts {
            builder.add(text);
        }
        builder.build()
    }

    fn any_word(_: &str) -> bool {
        true
    }

    impl Vocabulary {
        fn nearest(&self, word: &str, is_meant: impl Fn(&str) -> bool) -> Option<&str> {
            nearest_word([self], word, is_meant)
        }
    }

    #[test]
    fn nearest_word_is_the_best_of_all_vocabularies() {
        let (old, new) = (vocabulary(&["boat", "coat coats"]), vocabulary(&["boat", "boat", "heron"]));
        let nearest = |word| nearest_word([&old, &new], word, any_word);

        assert_eq!(
            (nearest("doat"), nearest("herron"), nearest("coatss")),
            (Some("boat"), Some("heron"), Some("coats"))
        );
        assert_eq!((nearest("heron"), nearest("coat")), (None, None), "one of them has the word");
        assert_eq!(nearest_word([], "doat", any_word), None);
    }

    #[test]
    fn misspelt_word_has_its_neighbour() {
        let words = vocabulary(&[
            "Ignaz Semmelweis washed hands.",
            "Penicillin, a café",
            "Die Größe der Цапля",
            "heron",
        ]);
        for (written, expected) in [
            ("Semelweis", Some("semmelweis")),
            ("penicilin", Some("penicillin")),
            ("penecilin", Some("penicillin")),
            ("heorn", Some("heron")),
            ("geron", Some("heron")),
            ("herron", Some("heron")),
            ("cafe", None),
            ("caffé", Some("cafe")),
            ("groesse", Some("grosse")),
            ("Цалпя", Some("цапля")),
            ("heron", None),
            ("Heron", None),
            ("hxrxn", None),
            ("hands2", None),
            ("han", None),
            ("dre", Some("der")),
            ("de", None),
            ("wash hands", None),
            ("", None),
            ("zebu3fa91c0d", None),
            ("flarbotron", None),
        ] {
            assert_eq!(words.nearest(written, any_word), expected, "{written}");
        }
    }

    #[test]
    fn part_of_a_compound_is_not_misspelt() {
        let words = vocabulary(&["Die Haustür und die Waschmaschine", "hans fur wash bart"]);
        for part in ["Tür", "Haus", "Wasch"] {
            assert_eq!(words.nearest(part, any_word), None, "{part}");
        }
        assert_eq!(words.nearest("hanz", any_word), Some("hans"));
        // An ending makes no compound.
        assert_eq!(vocabulary(&["bird", "brides"]).nearest("brid", any_word), Some("bird"));
    }

    #[test]
    fn fewest_edits_then_most_texts_then_alphabet_decide() {
        let words = vocabulary(&["boat coat goat", "coat", "moat", "beats"]);
        assert_eq!(words.nearest("doat", any_word), Some("coat"));
        assert_eq!(vocabulary(&["goat boat", "boats"]).nearest("doat", any_word), Some("boat"));
        assert_eq!(
            vocabulary(&["penicillins", "penicillins", "penicillin"]).nearest("penicilin", any_word),
            Some("penicillin")
        );
    }

    #[test]
    fn word_counts_once_in_a_text() {
        let words = vocabulary(&["goat goat goat", "boat", "boat"]);
        assert_eq!(words.nearest("doat", any_word), Some("boat"));
    }

    #[test]
    fn words_without_letters_of_an_alphabet_are_left_out() {
        let words = vocabulary(&["lm385 ab 2026 我们昨天去了东京塔 heron2", &"a".repeat(MAX_WORD_CHARS + 1)]);
        assert!(words.words.is_empty());
        assert_eq!(words, VocabularyBuilder::default().build());
        assert_eq!(words.nearest("heron", any_word), None);
    }

    /// Returns a word of five letters for each number below a million.
    fn numbered_word(number: usize) -> String {
        let letter = |place: u32| char::from(b'a' + u8::try_from(number / 16_usize.pow(place) % 16).unwrap());
        (0..5).map(letter).collect()
    }

    #[test]
    fn vocabulary_ends_at_its_maximum() {
        let mut builder = VocabularyBuilder::default();
        for number in 0..=MAX_VOCABULARY_WORDS {
            builder.add(&numbered_word(number));
        }
        assert!(builder.is_full());
        let words = builder.build();
        assert_eq!(words.words.len(), MAX_VOCABULARY_WORDS);
        assert!(words.size_bytes() < 20 * MAX_VOCABULARY_WORDS);
    }

    #[test]
    fn vocabulary_of_long_words_has_bounded_letters() {
        let mut builder = VocabularyBuilder::default();
        for number in 0..MAX_VOCABULARY_WORDS {
            builder.add(&format!("abcdefghijklmnopqrs{}", numbered_word(number)));
        }
        assert!(builder.is_full());
        let words = builder.build();
        assert!((MAX_LETTER_BYTES..MAX_LETTER_BYTES + 100).contains(&words.letters.len()));
    }

    #[test]
    fn words_of_a_former_vocabulary_are_added() {
        let former = vocabulary(&["boat heron", "boat"]);
        assert_eq!(former.words().collect::<Vec<_>>(), [("boat", 2), ("heron", 1)]);
        let mut builder = VocabularyBuilder::default();
        builder.add("goat boat");
        builder.add_vocabulary(&former);
        builder.add("goat");

        assert_eq!(builder.build().words().collect::<Vec<_>>(), [("boat", 3), ("goat", 2), ("heron", 1)]);
    }

    #[test]
    fn what_is_no_word_is_not_added() {
        let mut builder = VocabularyBuilder::default();
        for text in ["", "ab", "two words", "lm385", "heron"] {
            builder.add_word(text, 1);
        }
        assert_eq!(builder.build(), vocabulary(&["heron"]));
    }

    #[test]
    fn full_vocabulary_keeps_the_common_former_words() {
        let mut former = VocabularyBuilder::default();
        for number in 0..MAX_VOCABULARY_WORDS {
            former.add_word(&numbered_word(number), 1);
        }
        former.add_word(&numbered_word(MAX_VOCABULARY_WORDS - 1), 1);
        let former = former.build();
        let mut builder = VocabularyBuilder::default();
        builder.add("heron");
        builder.add_vocabulary(&former);

        let words: HashMap<String, u32> =
            builder.build().words().map(|(word, texts)| (word.to_owned(), texts)).collect();

        assert_eq!(words.len(), MAX_VOCABULARY_WORDS);
        assert_eq!(words.get("heron"), Some(&1));
        assert_eq!(words.get(&numbered_word(MAX_VOCABULARY_WORDS - 1)), Some(&2));
    }

    proptest! {
        #[test]
        fn each_word_is_known_and_found_with_one_letter_more(
            texts in prop::collection::vec("[a-dé ]{0,30}", 0..4),
            word in "[a-d]{4,12}",
        ) {
            let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            texts.push(&word);
            let words = vocabulary(&texts);
            prop_assert_eq!(words.nearest(&word, any_word), None);
            let nearest = words.nearest(&format!("{word}x"), any_word);
            prop_assert!(nearest.is_some());
        }
    }
}
