//! Compares the titles of documents with a query.

use crate::counts::to_f32;
use crate::lexical::WordSequence;

/// What stands between a title and the name of its site.
const SITE_SEPARATORS: [&str; 5] = [" | ", " - ", " · ", " — ", " – "];

/// Maximum number of words of the name of a site.
const MAX_SITE_WORDS: usize = 6;

/// Maximum number of words of a title or of a query that are compared. No exact match is longer.
const MAX_WORDS: usize = 128;

/// How far the title of a document is the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TitleMatch {
    /// The words of the title are those of the query, in the same order. Case, accents, punctuation and the name of a site after the
    /// title do not matter.
    Exact,
    /// The share of the query's words that the title has times the share of the title's words that the query has: above 0, at most 1.
    Share(f32),
    /// They share no word, or one of them has no words.
    None,
}

/// Compares titles with one query.
#[derive(Debug, Clone)]
pub struct TitleMatcher {
    query: WordSequence,
}

impl TitleMatcher {
    /// Returns the matcher for a query.
    #[must_use]
    pub fn new(query: &str) -> Self {
        Self { query: WordSequence::of(query) }
    }

    /// Compares a title with the query. Words are compared whole: their forms count as different words. In scripts without spaces each
    /// letter is a word.
    #[must_use]
    pub fn compare(&self, title: &str) -> TitleMatch {
        let title_words = WordSequence::of(title);
        let (all, asked) = (first_words(&title_words), first_words(&self.query));
        if asked.is_empty() || all.is_empty() {
            return TitleMatch::None;
        }
        if is_exact(title, &all, &asked) {
            return TitleMatch::Exact;
        }
        let share = shared_share(&asked, &all) * shared_share(&all, &asked);
        if share > 0.0 { TitleMatch::Share(share) } else { TitleMatch::None }
    }

    /// Returns whether a title is the query: [`TitleMatch::Exact`].
    #[must_use]
    pub fn is_exact(&self, title: &str) -> bool {
        let title_words = WordSequence::of(title);
        let (all, asked) = (first_words(&title_words), first_words(&self.query));
        !asked.is_empty() && is_exact(title, &all, &asked)
    }
}

/// Returns whether a title with these words consists of the words of the query, but for the name of a site at its end.
fn is_exact(title: &str, all: &[&str], asked: &[&str]) -> bool {
    asked.len() <= MAX_WORDS && all.starts_with(asked) && (all == asked || is_title_before_site(title, asked))
}

/// Returns whether the title without the name of a site at its end consists of these words.
fn is_title_before_site(title: &str, asked: &[&str]) -> bool {
    let is_match = |separator: &str| {
        title.match_indices(separator).any(|(at, _)| {
            let (before, after) = (title.get(..at), title.get(at + separator.len()..));
            after.is_some_and(is_site_name)
                && before.is_some_and(|before| first_words(&WordSequence::of(before)) == asked)
        })
    };
    SITE_SEPARATORS.into_iter().any(is_match)
}

/// Returns whether a text may be the name of a site, and not a part of the title that tells it from others, such as a date or a number.
fn is_site_name(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_number = |word: &str| word.chars().all(char::is_numeric);
    let count = words.clone().take(MAX_SITE_WORDS + 1).count();
    (1..=MAX_SITE_WORDS).contains(&count) && !words.any(is_number)
}

/// Returns the first words of a text. One more than the maximum, so that a longer text equals no text of the maximum length.
fn first_words(words: &WordSequence) -> Vec<&str> {
    words.words().take(MAX_WORDS + 1).collect()
}

/// Returns the share of these words that the others contain.
fn shared_share(words: &[&str], others: &[&str]) -> f32 {
    let shared = words.iter().filter(|word| others.contains(word)).count();
    to_f32(shared) / to_f32(words.len().max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn matched(title: &str, query: &str) -> TitleMatch {
        let matcher = TitleMatcher::new(query);
        let found = matcher.compare(title);
        assert_eq!(matcher.is_exact(title), found == TitleMatch::Exact, "{title}");
        found
    }

    #[test]
    fn case_accents_and_punctuation_do_not_matter() {
        for (title, query) in [
            ("Exit code 137", "exit code 137"),
            ("Meeting notes 2024-06-06", "meeting notes 2024-06-06"),
            ("Meeting notes 2024-06-06", "Meeting notes, 2024/06/06"),
            ("Crème brûlée!", "creme brulee"),
            ("ΟΔΥΣΣΕΥΣ", "οδυσσεύς"),
            ("Große Straße", "GROSSE STRASSE"),
            ("ﬁnance Ｒust", "finance rust"),
            ("İstanbul", "istanbul"),
            ("东京塔", "东京塔"),
            ("Łódź", "lodz"),
            ("đường", "duong"),
            ("ёлка", "елка"),
        ] {
            assert_eq!(matched(title, query), TitleMatch::Exact, "{title}");
        }
    }

    #[test]
    fn marks_that_are_part_of_a_letter_matter() {
        for (title, query) in [("мой", "мои"), ("がく", "かく"), ("की", "का"), ("กี", "กา")]
        {
            assert_ne!(matched(title, query), TitleMatch::Exact, "{title}");
        }
    }

    #[test]
    fn name_of_a_site_after_the_title_does_not_matter() {
        for title in [
            "Exit code 137 | Docker Forum",
            "Exit code 137 - Blog of Ada",
            "Exit code 137 · GitHub",
            "Exit code 137 — The Register",
            "Exit code 137 - Containers | Docker Forum",
            "Exit code 137 | 京都新聞社ニュース",
        ] {
            assert_eq!(matched(title, "exit code 137"), TitleMatch::Exact, "{title}");
        }
        assert_eq!(matched("Tea - a history", "tea - a history"), TitleMatch::Exact);
    }

    #[test]
    fn what_tells_titles_apart_is_no_name_of_a_site() {
        for title in [
            "Exit code - 137",
            "Exit code-137",
            "Exit code 137",
            "Exit code - one two three four five six seven",
        ] {
            assert!(matches!(matched(title, "exit code"), TitleMatch::Share(_)), "{title}");
        }
        assert!(matches!(matched("Exit code 137", "exit code 137 | docker"), TitleMatch::Share(_)));
    }

    #[test]
    fn other_titles_have_the_product_of_both_shares() {
        for (title, query, share) in [
            ("Exit code 125", "exit code 137", 4.0 / 9.0),
            ("code exit 137", "exit code 137", 1.0),
            ("A history of tea", "tea", 0.25),
            ("tea", "history of tea", 1.0 / 3.0),
        ] {
            let TitleMatch::Share(found) = matched(title, query) else { panic!("{title}") };
            assert!((found - share).abs() < 1e-6, "{title}: {found}");
        }
    }

    #[test]
    fn texts_without_common_words_do_not_match() {
        for (title, query) in
            [("", ""), ("...", "?!"), ("tea", ""), ("", "tea"), ("teas", "tea"), ("bee", "being")]
        {
            assert_eq!(matched(title, query), TitleMatch::None, "{title}");
        }
    }

    #[test]
    fn titles_of_any_length_are_compared() {
        let long = "tea ".repeat(5_000);
        assert!(matches!(matched(&long, &long), TitleMatch::Share(_)));
        assert!(matches!(matched(&long, &"tea ".repeat(MAX_WORDS)), TitleMatch::Share(_)));
        let longest = "tea ".repeat(MAX_WORDS);
        assert_eq!(matched(&longest, &longest), TitleMatch::Exact);
    }

    proptest! {
        #[test]
        fn any_two_texts_have_a_share_of_one_at_most(title in any::<String>(), query in any::<String>()) {
            if let TitleMatch::Share(share) = matched(&title, &query) {
                prop_assert!(share > 0.0 && share <= 1.0);
            }
        }

        #[test]
        fn title_is_its_own_exact_match(title in "[a-zA-Z0-9éß東 |·-]{1,40}") {
            let has_words = title.contains(char::is_alphanumeric);
            let expected = if has_words { TitleMatch::Exact } else { TitleMatch::None };
            prop_assert_eq!(matched(&title, &title), expected);
        }
    }
}
