//! How much the meaning of a query counts beside its words: as much as the model knows the words.

/// Up to this many word pieces per word the model knows the words of a query.
const MAX_PIECES_OF_KNOWN_WORDS: f32 = 2.0;

/// From this many word pieces per word on the model spells the words out, and they mean nothing to it.
const MIN_PIECES_OF_UNKNOWN_WORDS: f32 = 4.0;

/// The number of pieces into which a model splits a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WordPieceCounts {
    /// Number of all pieces.
    pub all: usize,
    /// Number of unknown pieces. The model cannot distinguish them.
    pub unknown: usize,
}

impl WordPieceCounts {
    /// Returns whether a query with these pieces has one for each whole word. Words that are rare or misspelt are split.
    pub(super) fn has_each_word(self, query: &str) -> bool {
        let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        let signs = query.chars().filter(|c| !c.is_alphanumeric() && !c.is_whitespace()).count();
        self.all > 0 && self.unknown == 0 && self.all <= words + signs
    }
}

/// Weight of the meaning of a query, from 0 (left out) to 1 (as much as its words).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QueryWeight(f32);

impl QueryWeight {
    /// The weight of a query whose words the model knows, or whose pieces say nothing about that.
    pub const FULL: Self = Self(1.0);

    /// Returns this weight; less than 0 counts as 0, and more than 1 as 1.
    #[must_use]
    pub fn new(weight: f32) -> Self {
        Self(weight.clamp(0.0, 1.0))
    }

    /// Returns the weight for a query that the model splits into these word pieces. Names made of letters and digits, gibberish, and
    /// scripts that the model was not trained on have many pieces per word. Characters outside of its vocabulary, such as some symbols
    /// and scripts, all become the same unknown piece, which counts as a word that is spelled out.
    pub(super) fn for_word_pieces(query: &str, pieces: WordPieceCounts) -> Self {
        let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
        // A symbol such as an emoji counts as a word only if the model does not know it; punctuation it knows.
        let symbols = query.split_whitespace().filter(|part| !part.contains(char::is_alphanumeric)).count();
        let words = words + symbols.min(pieces.unknown);
        let known = to_f32(pieces.all.saturating_sub(pieces.unknown));
        let per_word = (known + MIN_PIECES_OF_UNKNOWN_WORDS * to_f32(pieces.unknown)) / to_f32(words.max(1));
        Self::new(
            (MIN_PIECES_OF_UNKNOWN_WORDS - per_word)
                / (MIN_PIECES_OF_UNKNOWN_WORDS - MAX_PIECES_OF_KNOWN_WORDS),
        )
    }

    /// Returns the weight for a query that the model splits into these pieces, regardless of words: the share that it knows. For models
    /// of languages without spaces between words.
    pub(super) fn for_known_share(pieces: WordPieceCounts) -> Self {
        Self::new(1.0 - to_f32(pieces.unknown) / to_f32(pieces.all.max(1)))
    }

    /// Returns the weight as a number from 0 to 1.
    #[must_use]
    pub fn get(self) -> f32 {
        self.0
    }

    /// Returns whether the meaning has any weight, so that it is worth computing.
    #[must_use]
    pub fn is_positive(self) -> bool {
        self.0 > 0.0
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of words or pieces, far below 2^24")]
fn to_f32(count: usize) -> f32 {
    count as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(all: usize) -> WordPieceCounts {
        WordPieceCounts { all, unknown: 0 }
    }

    #[test]
    fn word_that_the_model_spells_out_has_no_weight() {
        for (query, pieces) in [("zebu3fa91c0d", 8), ("东京塔在哪里", 6)] {
            assert!(!QueryWeight::for_word_pieces(query, known(pieces)).is_positive(), "{query}");
        }
        assert!(QueryWeight::for_word_pieces("kubernetes", known(3)).is_positive());
        for (query, pieces) in [("how do I make bread at home", 7), ("?!", 2)] {
            assert_eq!(QueryWeight::for_word_pieces(query, known(pieces)), QueryWeight::FULL, "{query}");
        }
    }

    #[test]
    fn unknown_pieces_count_as_words_that_are_spelled_out() {
        // As the tokenizer of all-MiniLM counts them: tests.rs.
        for (query, all, unknown) in [("🚗", 1, 1), ("🚗🚗 🐜", 2, 2), ("ትምህርት ቤት", 2, 2)]
        {
            let weight = QueryWeight::for_word_pieces(query, WordPieceCounts { all, unknown });
            assert!(!weight.is_positive(), "{query}");
        }
        for (query, all, unknown) in [("ants 🐜", 2, 1), ("a car 🚗🚗🚗🚗", 3, 1)] {
            let weight = QueryWeight::for_word_pieces(query, WordPieceCounts { all, unknown });
            assert!(weight.is_positive(), "{query}");
        }
    }

    #[test]
    fn words_in_one_piece_are_known() {
        for (query, all, unknown, expected) in [
            ("heron", 1, 0, true),
            ("grey heron?", 3, 0, true),
            ("herron", 2, 0, false),
            ("heron", 1, 1, false),
            ("heron", 0, 0, false),
        ] {
            assert_eq!(WordPieceCounts { all, unknown }.has_each_word(query), expected, "{query}");
        }
    }

    #[test]
    fn known_share_counts_pieces_of_any_language() {
        let weigh = |all, unknown| QueryWeight::for_known_share(WordPieceCounts { all, unknown }).get();

        assert_eq!([weigh(6, 0), weigh(4, 1), weigh(2, 2), weigh(0, 0)], [1.0, 0.75, 0.0, 1.0]);
    }
}
