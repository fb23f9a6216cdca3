//! Reads queries.

use std::iter::Peekable;
use std::str::{Chars, FromStr};

use values::kind::ContentType;

use super::fault::{QueryFault, QueryFaultKind};
use super::{LibraryQuery, MAX_QUERY_MINUTES, QueryCondition, QueryDate, QueryGroup, QueryState, QueryTerm};

/// The sign that begins and ends a quoted text.
pub(super) const QUOTE: char = '"';
/// The sign by which a quoted text contains [`QUOTE`] and the sign itself.
pub(super) const ESCAPE: char = '\\';
/// The sign that excludes the term behind it.
pub(super) const EXCLUSION: char = '-';
/// The word between alternatives, in lower case.
const ALTERNATIVE: &str = "or";

/// The fields of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryField {
    Tag,
    Is,
    Type,
    Site,
    Feed,
    Collection,
    Before,
    After,
    UpTo,
}

/// The fields with their names, which are written in any case.
pub(super) const QUERY_FIELDS: [(&str, QueryField); 9] = [
    ("tag", QueryField::Tag),
    ("is", QueryField::Is),
    ("type", QueryField::Type),
    ("site", QueryField::Site),
    ("feed", QueryField::Feed),
    ("collection", QueryField::Collection),
    ("before", QueryField::Before),
    ("after", QueryField::After),
    ("upto", QueryField::UpTo),
];

impl LibraryQuery {
    /// Reads a query. A text of white space alone is the query that matches all bookmarks.
    ///
    /// # Errors
    /// [`QueryFault`] names the first place that is not in the language.
    pub fn parse(text: &str) -> Result<Self, QueryFault> {
        let mut reader = QueryReader { chars: text.chars().peekable(), position: 0 };
        let mut query = Self::default();
        let mut is_alternative = false;
        reader.skip_spaces();
        while reader.chars.peek().is_some() {
            if !is_alternative && !query.groups.is_empty() && reader.skip_alternative() {
                is_alternative = true;
                continue;
            }
            let term = reader.read_term()?;
            match query.groups.last_mut().filter(|_| is_alternative) {
                Some(group) => group.terms.push(term),
                None => query.groups.push(QueryGroup { terms: vec![term] }),
            }
            is_alternative = false;
            reader.skip_spaces();
        }
        Ok(query)
    }
}

/// Returns whether a word is the one between alternatives.
pub(super) fn is_alternative(word: &str) -> bool {
    word.eq_ignore_ascii_case(ALTERNATIVE)
}

/// Returns the field whose name and colon a word begins with.
pub(super) fn field_of(word: &str) -> Option<QueryField> {
    let (name, _) = word.split_once(':')?;
    QUERY_FIELDS.iter().find(|(field, _)| name.eq_ignore_ascii_case(field)).map(|(_, field)| *field)
}

/// The rest of a query.
#[derive(Clone)]
struct QueryReader<'a> {
    chars: Peekable<Chars<'a>>,
    /// The number of characters that were read.
    position: usize,
}

impl QueryReader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.chars.next();
        self.position = self.position.saturating_add(usize::from(next.is_some()));
        next
    }

    fn skip_spaces(&mut self) {
        while self.chars.peek().is_some_and(|c| c.is_whitespace()) {
            self.next();
        }
    }

    /// Skips the word between alternatives and the spaces behind it, if it is next and a term follows. Returns whether it did.
    fn skip_alternative(&mut self) -> bool {
        let mut ahead = self.clone();
        if !is_alternative(&ahead.read_word()) {
            return false;
        }
        ahead.skip_spaces();
        let has_term = ahead.chars.peek().is_some();
        if has_term {
            *self = ahead;
        }
        has_term
    }

    /// Reads the characters before the next white space.
    fn read_word(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.chars.peek().copied().filter(|c| !c.is_whitespace()) {
            word.push(c);
            self.next();
        }
        word
    }

    /// Reads a term, of which at least one character is left.
    fn read_term(&mut self) -> Result<QueryTerm, QueryFault> {
        let mut ahead = self.clone();
        ahead.next();
        let is_excluded =
            self.chars.peek() == Some(&EXCLUSION) && ahead.chars.peek().is_some_and(|c| !c.is_whitespace());
        if is_excluded {
            *self = ahead;
        }
        Ok(QueryTerm { is_excluded, condition: self.read_condition()? })
    }

    fn read_condition(&mut self) -> Result<QueryCondition, QueryFault> {
        if self.chars.peek() == Some(&QUOTE) {
            return self.read_quoted().map(QueryCondition::Text);
        }
        let field = field_of(&self.clone().read_word());
        match field {
            Some(field) => self.read_field(field),
            None => Ok(QueryCondition::Text(self.read_word())),
        }
    }

    /// Reads a quoted text.
    fn read_quoted(&mut self) -> Result<String, QueryFault> {
        let start = self.position;
        let fault = |kind, length| QueryFault { kind, start, length };
        self.next();
        let mut text = String::new();
        while let Some(c) = self.next() {
            match c {
                QUOTE if text.is_empty() => return Err(fault(QueryFaultKind::EmptyValue, 2)),
                QUOTE => return Ok(text),
                ESCAPE => match self.chars.peek().copied() {
                    Some(escaped @ (QUOTE | ESCAPE)) => {
                        self.next();
                        text.push(escaped);
                    }
                    Some(_) | None => text.push(ESCAPE),
                },
                _ => text.push(c),
            }
        }
        Err(fault(QueryFaultKind::OpenQuote, 1))
    }

    /// Reads a field with its value.
    fn read_field(&mut self, field: QueryField) -> Result<QueryCondition, QueryFault> {
        let start = self.position;
        while self.next().is_some_and(|c| c != ':') {}
        let (value_start, is_quoted) = (self.position, self.chars.peek() == Some(&QUOTE));
        let value = if is_quoted { self.read_quoted()? } else { self.read_word() };
        if value.is_empty() {
            let length = self.position.saturating_sub(start);
            return Err(QueryFault { kind: QueryFaultKind::EmptyValue, start, length });
        }
        let length = self.position.saturating_sub(value_start);
        condition(field, value).map_err(|kind| QueryFault { kind, start: value_start, length })
    }
}

/// Returns the condition of a field with a value that is not empty.
fn condition(field: QueryField, value: String) -> Result<QueryCondition, QueryFaultKind> {
    let date = |value: &str| QueryDate::parse(value).ok_or(QueryFaultKind::InvalidDate);
    let lower = || value.to_ascii_lowercase();
    Ok(match field {
        QueryField::Tag => QueryCondition::Tag(value),
        QueryField::Is => {
            let state = QueryState::from_str(&lower()).map_err(|_| QueryFaultKind::UnknownState)?;
            QueryCondition::Is(state)
        }
        QueryField::Type => {
            let kind = ContentType::from_str(&lower()).map_err(|_| QueryFaultKind::UnknownType)?;
            QueryCondition::Type(kind)
        }
        QueryField::Site => QueryCondition::Site(lower()),
        QueryField::Feed => QueryCondition::Feed(value),
        QueryField::Collection => QueryCondition::Collection(value),
        QueryField::Before => QueryCondition::Before(date(&value)?),
        QueryField::After => QueryCondition::After(date(&value)?),
        QueryField::UpTo => QueryCondition::UpTo(minutes(&value)?),
    })
}

fn minutes(value: &str) -> Result<u32, QueryFaultKind> {
    let minutes = value.parse().ok().filter(|minutes| (1..=MAX_QUERY_MINUTES).contains(minutes));
    minutes.ok_or(QueryFaultKind::InvalidMinutes)
}
