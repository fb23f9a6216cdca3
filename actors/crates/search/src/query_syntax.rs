//! The operators of a query: `"..."` means the phrase, `-word` leaves out what contains the word. Everything else is text.

/// Maximum number of phrases of a query. Further ones are text.
const MAX_PHRASES: usize = 8;

/// Maximum number of exclusions of a query. Further ones are text.
const MAX_EXCLUSIONS: usize = 16;

/// Quotation marks that begin a phrase, each with those that end it.
const QUOTATION_MARKS: [(char, &[char]); 5] =
    [('"', &['"']), ('“', &['”']), ('„', &['“', '”']), ('«', &['»']), ('»', &['«'])];

/// A query, divided by its operators.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    /// The text outside of phrases and exclusions. A result need not contain all of its words.
    pub words: String,
    /// The phrases in their order, each with at least one letter or digit. A result contains all of them.
    pub phrases: Vec<String>,
    /// The excluded words and phrases in their order, each with at least one letter or digit. A result contains none of them.
    pub excluded: Vec<String>,
    /// The words and phrases in their order, without the signs of the operators: the text whose meaning is searched for. It is the query
    /// itself if that has no operator.
    pub plain: String,
}

impl ParsedQuery {
    /// Divides a query. A quotation mark begins a phrase where no letter or digit stands before it, if it is closed and has a word. A
    /// hyphen at the start or after a space excludes the word or the phrase that follows it directly. Before a digit it does so only
    /// after a word or a phrase of the query: at the start it is the sign of a number (`-40 degrees`).
    #[must_use]
    pub fn of(query: &str) -> Self {
        let mut parsed = Self::default();
        let mut before = None;
        let mut rest = query;
        while !rest.is_empty() {
            let part = QueryPart::first_of(before, has_word(&parsed.plain), rest);
            parsed.add(&part);
            before = part.source.chars().next_back();
            rest = rest.get(part.source.len()..).unwrap_or_default();
        }
        if !parsed.has_operators() {
            return Self::of_text(query);
        }
        Self { words: collapse_spaces(&parsed.words), plain: collapse_spaces(&parsed.plain), ..parsed }
    }

    /// Returns the query of a text in which quotation marks and hyphens are text, such as a question.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self { words: text.to_owned(), plain: text.to_owned(), ..Self::default() }
    }

    /// Returns the query for results that contain all of its words as they are written: each word is a phrase, as long as the query has
    /// fewer than the maximum.
    #[must_use]
    pub fn requiring_words(mut self) -> Self {
        let (mut required, mut rest) = (Vec::new(), Vec::new());
        for word in self.words.split_whitespace() {
            let is_required = has_word(word) && self.phrases.len() + required.len() < MAX_PHRASES;
            if is_required { &mut required } else { &mut rest }.push(word.to_owned());
        }
        self.words = rest.join(" ");
        self.phrases.splice(0..0, required);
        self
    }

    /// Returns whether the query has phrases or exclusions.
    #[must_use]
    pub fn has_operators(&self) -> bool {
        !self.phrases.is_empty() || !self.excluded.is_empty()
    }

    /// Returns whether the query only says what results do not contain, so that it finds nothing.
    #[must_use]
    pub fn is_only_exclusions(&self) -> bool {
        !self.excluded.is_empty() && self.plain.is_empty()
    }

    fn add(&mut self, part: &QueryPart<'_>) {
        match part.meaning {
            PartMeaning::Phrase(phrase) if self.phrases.len() < MAX_PHRASES => {
                self.phrases.push(collapse_spaces(phrase));
                self.words.push(' ');
                self.plain.extend([" ", phrase, " "]);
            }
            PartMeaning::Exclusion(excluded) if self.excluded.len() < MAX_EXCLUSIONS => {
                self.excluded.push(collapse_spaces(excluded));
                self.words.push(' ');
                self.plain.push(' ');
            }
            PartMeaning::Phrase(_) | PartMeaning::Exclusion(_) | PartMeaning::Text => {
                self.words.push_str(part.source);
                self.plain.push_str(part.source);
            }
        }
    }
}

/// A part of a query.
struct QueryPart<'a> {
    /// The part as it is written.
    source: &'a str,
    meaning: PartMeaning<'a>,
}

/// What a part of a query means.
enum PartMeaning<'a> {
    /// It is text.
    Text,
    /// The phrase between quotation marks.
    Phrase(&'a str),
    /// The word or phrase after a hyphen.
    Exclusion(&'a str),
}

impl<'a> QueryPart<'a> {
    /// Returns the first part of the rest of a query, before which this character stands: an operator, or one character of text.
    /// `follows_word` tells whether the query has a word before it that is searched for.
    fn first_of(before: Option<char>, follows_word: bool, rest: &'a str) -> Self {
        let is_start = before.is_none_or(char::is_whitespace);
        if let Some(excluded) = rest.strip_prefix('-').filter(|_| is_start)
            && let Some((length, meaning)) = exclusion(follows_word, excluded)
        {
            return Self { source: rest.get(..'-'.len_utf8() + length).unwrap_or(rest), meaning };
        }
        if !before.is_some_and(char::is_alphanumeric)
            && let Some((length, content)) = quotation(rest)
        {
            // A pair of quotation marks without a word is text as a whole: its second one begins no phrase.
            let meaning = if has_word(content) { PartMeaning::Phrase(content) } else { PartMeaning::Text };
            return Self { source: rest.get(..length).unwrap_or(rest), meaning };
        }
        let length = rest.chars().next().map_or(0, char::len_utf8);
        Self { source: rest.get(..length).unwrap_or(rest), meaning: PartMeaning::Text }
    }
}

/// Returns what a hyphen before this text excludes, with its length in bytes. A number is excluded only where a word stands before it.
fn exclusion(follows_word: bool, text: &str) -> Option<(usize, PartMeaning<'_>)> {
    if let Some((length, content)) = quotation(text) {
        return has_word(content).then_some((length, PartMeaning::Exclusion(content)));
    }
    let word = text.split(char::is_whitespace).next()?;
    let is_excluded = |first: char| first.is_alphabetic() || (follows_word && first.is_numeric());
    word.starts_with(is_excluded).then_some((word.len(), PartMeaning::Exclusion(word)))
}

/// Returns the length in bytes of the quotation with which a text begins, and what stands between its marks.
fn quotation(text: &str) -> Option<(usize, &str)> {
    let first = text.chars().next()?;
    let (_, closing) = QUOTATION_MARKS.iter().find(|(opening, _)| *opening == first)?;
    let after = text.get(first.len_utf8()..)?;
    let end = after.find(*closing)?;
    let mark = after.get(end..)?.chars().next()?;
    Some((first.len_utf8() + end + mark.len_utf8(), after.get(..end)?))
}

/// Returns a text without its quotation marks and with single spaces, such as that of a query whose only quotation mark is not closed.
#[must_use]
pub fn without_quotation_marks(text: &str) -> String {
    let is_mark =
        |c: char| QUOTATION_MARKS.iter().any(|(opening, closing)| c == *opening || closing.contains(&c));
    collapse_spaces(&text.replace(is_mark, " "))
}

fn has_word(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

fn collapse_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(words: &str, phrases: &[&str], excluded: &[&str], plain: &str) -> ParsedQuery {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        ParsedQuery {
            words: words.to_owned(),
            phrases: owned(phrases),
            excluded: owned(excluded),
            plain: plain.to_owned(),
        }
    }

    #[test]
    fn quoted_words_are_a_phrase() {
        for (query, words, phrases, plain) in [
            ("\"grey heron\"", "", vec!["grey heron"], "grey heron"),
            ("birds \"grey  heron\" reed", "birds reed", vec!["grey heron"], "birds grey heron reed"),
            ("“grey heron”", "", vec!["grey heron"], "grey heron"),
            ("„grauer Reiher“ im Schilf", "im Schilf", vec!["grauer Reiher"], "grauer Reiher im Schilf"),
            ("„szara czapla”", "", vec!["szara czapla"], "szara czapla"),
            ("«серая цапля» в камышах", "в камышах", vec!["серая цапля"], "серая цапля в камышах"),
            ("« héron cendré »", "", vec!["héron cendré"], "héron cendré"),
            ("»grauer Reiher«", "", vec!["grauer Reiher"], "grauer Reiher"),
            ("\"heron\"reed", "reed", vec!["heron"], "heron reed"),
            ("(\"heron\")", "( )", vec!["heron"], "( heron )"),
            ("\"a\" \"b\"", "", vec!["a", "b"], "a b"),
            ("\"\" heron \"reed\"", "\"\" heron", vec!["reed"], "\"\" heron reed"),
        ] {
            assert_eq!(ParsedQuery::of(query), parsed(words, &phrases, &[], plain), "{query}");
        }
    }

    #[test]
    fn hyphen_before_a_word_excludes_it() {
        for (query, words, excluded) in [
            ("heron -grey", "heron", vec!["grey"]),
            ("-grey heron -“night heron”", "heron", vec!["grey", "night heron"]),
            ("heron -e-mail -O'Neill", "heron", vec!["e-mail", "O'Neill"]),
            ("-grey", "", vec!["grey"]),
        ] {
            assert_eq!(ParsedQuery::of(query), parsed(words, &[], &excluded, words), "{query}");
        }
    }

    #[test]
    fn number_is_excluded_after_a_word_and_searched_without_one() {
        for (query, words, excluded) in [
            ("exit code -137", "exit code", vec!["137"]),
            ("meeting notes -2024-06-06", "meeting notes", vec!["2024-06-06"]),
            ("linux kernel -6.2.14 -6.1", "linux kernel", vec!["6.2.14", "6.1"]),
            ("-137 exit code -138", "-137 exit code", vec!["138"]),
            ("-grey -5 heron", "-5 heron", vec!["grey"]),
        ] {
            assert_eq!(ParsedQuery::of(query), parsed(words, &[], &excluded, words), "{query}");
        }
        for query in ["-137", "-5 degrees", "- -5", "5-3", "range 5-3", "5 - 3"] {
            assert_eq!(ParsedQuery::of(query), parsed(query, &[], &[], query), "{query}");
        }
        assert_eq!(ParsedQuery::of("\"exit code\" -137").excluded, ["137"]);
    }

    #[test]
    fn phrases_and_exclusions_stand_in_one_query() {
        assert_eq!(
            ParsedQuery::of("birds -grey \"night heron\" reed"),
            parsed("birds reed", &["night heron"], &["grey"], "birds night heron reed")
        );
    }

    #[test]
    fn required_words_are_phrases_up_to_the_maximum() {
        let query = ParsedQuery::of("grey - \"night heron\" -reed").requiring_words();
        assert_eq!(query, parsed("-", &["grey", "night heron"], &["reed"], "grey - night heron"));

        let many = ParsedQuery::of("a b c d e f g h i j").requiring_words();
        assert_eq!((many.phrases.len(), many.words.as_str()), (MAX_PHRASES, "i j"));
    }

    #[test]
    fn everything_else_is_text() {
        for query in [
            "",
            " ",
            "heron",
            "-",
            "heron - reed",
            "a-b",
            "-5 degrees",
            "--flag",
            "heron -",
            "5\" and 6\" pipes",
            "\"heron",
            "“heron\"",
            "\"...\"",
            "-\"...\"",
            "-\"heron",
            "\u{2013}heron",
            "two  spaces",
        ] {
            assert_eq!(ParsedQuery::of(query), parsed(query, &[], &[], query), "{query}");
        }
    }

    #[test]
    fn operators_beyond_the_maximum_are_text() {
        let phrases = ParsedQuery::of(&"\"heron\" ".repeat(MAX_PHRASES + 1));
        assert_eq!(phrases.phrases.len(), MAX_PHRASES);
        assert_eq!(phrases.words, "\"heron\"");
        let exclusions = ParsedQuery::of(&"-heron ".repeat(MAX_EXCLUSIONS + 1));
        assert_eq!(exclusions.excluded.len(), MAX_EXCLUSIONS);
        assert_eq!(exclusions.plain, "-heron");
    }

    #[test]
    fn only_exclusions_are_told_from_other_queries() {
        for (query, expected) in [
            ("-grey", true),
            ("-grey -\"night heron\"", true),
            ("heron -grey", false),
            ("\"heron\"", false),
            ("", false),
        ] {
            assert_eq!(ParsedQuery::of(query).is_only_exclusions(), expected, "{query}");
        }
    }

    #[test]
    fn operators_of_a_question_are_text() {
        let question = "What does -x mean in \"tar -x\"?";
        assert_eq!(ParsedQuery::of_text(question), parsed(question, &[], &[], question));
    }

    proptest! {
        #[test]
        fn any_query_can_be_divided(query in "[-\"“”„«» a5é\t]{0,24}") {
            let parsed = ParsedQuery::of(&query);
            for part in parsed.phrases.iter().chain(&parsed.excluded) {
                prop_assert!(has_word(part));
                prop_assert_eq!(&collapse_spaces(part), part);
            }
            if !parsed.has_operators() {
                prop_assert_eq!(&parsed.plain, &query);
                prop_assert_eq!(&parsed.words, &query);
            }
        }

        #[test]
        fn plain_text_has_no_operator(
            words in prop::collection::vec("[a-z]{1,6}", 0..4),
            phrase in "[a-z]{1,6} [a-z]{1,6}",
            excluded in "[a-z]{1,6}",
        ) {
            let words = words.join(" ");
            let parsed = ParsedQuery::of(&format!("{words} \"{phrase}\" -{excluded}"));
            let plain = format!("{words} {phrase}");
            prop_assert_eq!(&parsed.plain, plain.trim());
            prop_assert!(!ParsedQuery::of(&parsed.plain).has_operators());
        }
    }
}
