//! The operators of the app's search box that are filters: `tag:tides`, `type:pdf`, `is:archived`, `before:2025`.
//!
//! They are words of the query. What remains is the query itself, in which phrases and exclusions have their meaning
//! ([`search::query_syntax`]). A word with a colon that names no operator is text, such as an address.

use std::str::FromStr;
use std::time::Duration;

use values::kind::ContentType;
use values::time::Timestamp;

use crate::operations::search::{LibrarySearch, SearchMode, SearchScope};

/// Maximum length of a tag in characters.
const MAX_TAG_CHARS: usize = 100;

/// The operators of a query, and the rest of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchOperators {
    /// The query without the operators.
    pub words: String,
    tag: Option<String>,
    content_type: Option<ContentType>,
    source: Option<SearchScope>,
    archived: Option<bool>,
    favorite: Option<bool>,
    saved_after: Option<Timestamp>,
    saved_before: Option<Timestamp>,
}

/// What is wrong with an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperatorFault {
    /// `is:` is followed by no state.
    State,
    /// `type:` is followed by no type.
    Type,
    /// `before:` or `after:` is followed by no year, month or day.
    Date,
    /// `tag:` is followed by no tag.
    Tag,
    /// A `-` stands before an operator that cannot be excluded.
    Exclusion,
    /// There are only operators, which find nothing without words.
    NoWords,
}

/// A fault of a query, with the word that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryWordFault {
    /// What is wrong.
    pub fault: OperatorFault,
    /// The word of the query; empty if the query as a whole is wrong.
    pub word: String,
}

impl OperatorFault {
    /// Returns the reason in English, for the API.
    pub fn reason(self) -> &'static str {
        match self {
            Self::State => "has `is:` without `archived`, `favorite` or `saved` behind it",
            Self::Type => "has `type:` without a content type behind it",
            Self::Date => {
                "has `before:` or `after:` without a year, a month or a day behind it, such as 2025-03"
            }
            Self::Tag => "has `tag:` without a tag of at most 100 characters behind it",
            Self::Exclusion => "excludes an operator; only `-is:archived` and `-is:favorite` can be excluded",
            Self::NoWords => "has no words to search for",
        }
    }
}

impl SearchOperators {
    /// Divides a query into its operators and the rest.
    ///
    /// # Errors
    /// [`QueryWordFault`] with the first word that is wrong.
    pub fn parse(query: &str) -> Result<Self, QueryWordFault> {
        let mut operators = Self::default();
        let mut rest: Vec<&str> = Vec::new();
        for word in words(query) {
            let (is_excluded, plain) = word.strip_prefix('-').map_or((false, word), |plain| (true, plain));
            let Some((name, value)) = plain.split_once(':').filter(|(name, _)| is_operator(name)) else {
                rest.push(word);
                continue;
            };
            let fault = operators.read(name, value.trim_matches('"'), is_excluded).err();
            if let Some(fault) = fault {
                return Err(QueryWordFault { fault, word: word.to_owned() });
            }
        }
        operators.words = rest.join(" ");
        if operators.words.is_empty() {
            return Err(QueryWordFault { fault: OperatorFault::NoWords, word: String::new() });
        }
        Ok(operators)
    }

    fn read(&mut self, name: &str, value: &str, is_excluded: bool) -> Result<(), OperatorFault> {
        if is_excluded && name != "is" {
            return Err(OperatorFault::Exclusion);
        }
        match name {
            "tag" if value.is_empty() || text::char_count(value) > MAX_TAG_CHARS => {
                return Err(OperatorFault::Tag);
            }
            "tag" => self.tag = Some(value.to_owned()),
            "type" => {
                let content_type = ContentType::from_str(value).map_err(|_| OperatorFault::Type)?;
                self.content_type = Some(content_type);
            }
            "before" => self.saved_before = Some(start_of(value).ok_or(OperatorFault::Date)?),
            "after" => {
                // The condition leaves out what was saved at that moment; the operator does not.
                let start = start_of(value).ok_or(OperatorFault::Date)?;
                self.saved_after = Some(start - Duration::from_millis(1));
            }
            _ => return self.read_state(value, is_excluded),
        }
        Ok(())
    }

    fn read_state(&mut self, value: &str, is_excluded: bool) -> Result<(), OperatorFault> {
        match (value, is_excluded) {
            ("archived", _) => self.archived = Some(!is_excluded),
            ("favorite", _) => self.favorite = Some(!is_excluded),
            ("saved", false) => self.source = Some(SearchScope::Bookmarks),
            ("saved", true) => self.source = Some(SearchScope::Feeds),
            _ => return Err(OperatorFault::State),
        }
        Ok(())
    }

    /// Adds the operators to a search, whose own conditions they replace.
    pub fn apply(self, search: &mut LibrarySearch, mode: SearchMode) {
        search.query = mode.parse(&self.words);
        search.tag = self.tag.or(search.tag.take());
        search.content_type = self.content_type.or(search.content_type);
        search.source = self.source.unwrap_or(search.source);
        search.archived = self.archived.or(search.archived);
        search.favorite = self.favorite.or(search.favorite);
        search.saved_after = self.saved_after.or(search.saved_after);
        search.saved_before = self.saved_before.or(search.saved_before);
    }
}

fn is_operator(name: &str) -> bool {
    ["tag", "type", "is", "before", "after"].contains(&name)
}

/// Returns the words of a query. Quotation marks keep words together.
fn words(query: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut is_quoted) = (None, false);
    for (at, character) in query.char_indices() {
        is_quoted ^= character == '"';
        match (character.is_whitespace() && !is_quoted, start) {
            (true, Some(from)) => {
                words.extend(query.get(from..at));
                start = None;
            }
            (false, None) => start = Some(at),
            (true, None) | (false, Some(_)) => {}
        }
    }
    words.extend(start.and_then(|from| query.get(from..)));
    words
}

/// Returns the start of a year, a month or a day in UTC: `2025`, `2025-03`, `2025-03-21`.
fn start_of(date: &str) -> Option<Timestamp> {
    let missing = ["", "-01", "-01-01"].into_iter().find(|missing| date.len() + missing.len() == 10)?;
    Timestamp::parse(&format!("{date}{missing}T00:00:00Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(text: &str) -> Option<Timestamp> {
        Some(Timestamp::parse(text).unwrap())
    }

    #[test]
    fn operators_are_taken_out_of_the_query() {
        let query =
            "high tag:tides water \"own time\" type:pdf -is:archived before:2025-03 -mud https://a.example";

        let operators = SearchOperators::parse(query).unwrap();

        assert_eq!(operators.words, "high water \"own time\" -mud https://a.example");
        assert_eq!(
            (operators.tag.as_deref(), operators.content_type),
            (Some("tides"), Some(ContentType::Pdf))
        );
        assert_eq!((operators.archived, operators.saved_before), (Some(false), time("2025-03-01T00:00:00Z")));
        assert_eq!(
            SearchOperators::parse("a tag:\"slack water\"").unwrap().tag.as_deref(),
            Some("slack water")
        );
        assert_eq!(
            SearchOperators::parse("a after:2025").unwrap().saved_after,
            time("2024-12-31T23:59:59.999Z")
        );
    }

    #[test]
    fn fault_names_the_word() {
        for (query, fault, word) in [
            ("mud is:blue", OperatorFault::State, "is:blue"),
            ("mud type:page", OperatorFault::Type, "type:page"),
            ("mud before:soon", OperatorFault::Date, "before:soon"),
            ("mud after:2025-13", OperatorFault::Date, "after:2025-13"),
            ("mud tag:", OperatorFault::Tag, "tag:"),
            ("mud -tag:a", OperatorFault::Exclusion, "-tag:a"),
            ("tag:tides", OperatorFault::NoWords, ""),
        ] {
            assert_eq!(
                SearchOperators::parse(query),
                Err(QueryWordFault { fault, word: word.to_owned() }),
                "{query}"
            );
        }
    }

    #[test]
    fn unclosed_quotation_mark_keeps_the_rest_together() {
        assert_eq!(words("a \"b c"), ["a", "\"b c"]);
        assert_eq!(words("  "), [""; 0]);
    }
}
