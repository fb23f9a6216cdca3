//! What is wrong with a query, and where.

use std::fmt;

/// What is wrong with a query, and with which of its characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryFault {
    /// What is wrong.
    pub kind: QueryFaultKind,
    /// The first character that is wrong, counted from 0.
    pub start: usize,
    /// The number of characters that are wrong; at least 1.
    pub length: usize,
}

/// What can be wrong with a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryFaultKind {
    /// A quotation mark has no partner.
    OpenQuote,
    /// A field, or quotation marks, have no value.
    EmptyValue,
    /// `is:` has no state.
    UnknownState,
    /// `type:` has no content type.
    UnknownType,
    /// `before:` or `after:` has no date.
    InvalidDate,
    /// `upto:` has no number of minutes.
    InvalidMinutes,
}

impl QueryFaultKind {
    /// Returns what is wrong, as a phrase about the text at the place of the fault.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::OpenQuote => "the quotation mark is not closed",
            Self::EmptyValue => "a text is missing",
            Self::UnknownState => {
                "the state must be one of unread, read, started, archived, favorite, processing, ready, failed"
            }
            Self::UnknownType => "the type must be one of article, pdf, audio, video, note",
            Self::InvalidDate => "the date must be YYYY, YYYY-MM or YYYY-MM-DD",
            Self::InvalidMinutes => "the minutes must be a whole number from 1 to 10000",
        }
    }
}

/// A phrase that follows the name of a parameter, such as `is wrong at character 5: the quotation mark is not closed`.
impl fmt::Display for QueryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "is wrong at character {}: {}", self.start.saturating_add(1), self.kind.reason())
    }
}
