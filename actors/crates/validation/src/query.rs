//! Reads a query string. Numbers are plain ASCII digits. An empty parameter is a fault and does not count as absent; a repeated
//! parameter is a fault (contract.md, sections 2 and 11).

use std::collections::BTreeSet;

use deserr::{IntoValue, Map, Sequence, Value, ValueKind, deserialize};
use percent_encoding::percent_decode_str;

use super::faults::{FaultList, Faults, QueryMode};
use super::invalid::Invalid;
use super::reasons;
use super::request::{Request, check_rules};

/// Reads a query string, without its question mark. A `+` stands for a space.
///
/// # Errors
/// [`Invalid`] with every fault of the parameters; with one fault of `query` when it is not UTF-8.
pub fn read_query<R: Request>(query: &str) -> Result<R, Invalid> {
    // `form_urlencoded` would replace bytes that are not UTF-8 without an error.
    if percent_decode_str(query).decode_utf8().is_err() {
        return Err(Invalid::new("query", "is not UTF-8"));
    }
    let parameters: Vec<(String, String)> =
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let repeated = repeated_names::<R>(&parameters);
    let broken_rules = check_rules::<R>(|name| is_given(&parameters, name));
    let read = deserialize::<R, _, Faults<QueryMode>>(QueryValue::Parameters(parameters));
    let mut other_faults = FaultList::default();
    for name in repeated {
        other_faults.add(name, reasons::REPEATED_FIELD);
    }
    other_faults.extend(broken_rules);
    // The reason of a value is more useful than that of its repetition or of a rule.
    match read {
        Ok(request) => other_faults.into_result(request),
        Err(faults) => {
            let mut faults = faults.into_list();
            faults.extend(other_faults);
            Err(faults.into_invalid())
        }
    }
}

/// Returns the names of the request's fields that are given more than once.
fn repeated_names<R: Request>(parameters: &[(String, String)]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    // A parameter that the request does not have is a fault already.
    let known = parameters.iter().map(|(name, _)| name).filter(|name| R::has_field(name));
    known.filter(|name| !seen.insert(name.as_str())).cloned().collect()
}

/// Returns whether a parameter counts as given for the rules of a request ([`FieldRule`](super::request::FieldRule)).
fn is_given(parameters: &[(String, String)], name: &str) -> bool {
    parameters.iter().any(|(given, text)| given == name && text != "false" && !text.trim().is_empty())
}

/// A query string as deserr reads it: an object of texts.
enum QueryValue {
    Parameters(Vec<(String, String)>),
    Text(String),
}

/// The parameters, in their order, repeated ones too.
struct Parameters(Vec<(String, String)>);

/// No parameter is a list.
struct NoItems;

impl IntoValue for QueryValue {
    type Sequence = NoItems;
    type Map = Parameters;

    fn kind(&self) -> ValueKind {
        match self {
            QueryValue::Parameters(_) => ValueKind::Map,
            QueryValue::Text(_) => ValueKind::String,
        }
    }

    fn into_value(self) -> Value<Self> {
        match self {
            QueryValue::Parameters(parameters) => Value::Map(Parameters(parameters)),
            QueryValue::Text(text) => Value::String(text),
        }
    }
}

impl Map for Parameters {
    type Value = QueryValue;
    type Iter =
        std::iter::Map<std::vec::IntoIter<(String, String)>, fn((String, String)) -> (String, QueryValue)>;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn remove(&mut self, name: &str) -> Option<QueryValue> {
        let index = self.0.iter().position(|(parameter, _)| parameter == name)?;
        Some(QueryValue::Text(self.0.remove(index).1))
    }

    fn into_iter(self) -> Self::Iter {
        IntoIterator::into_iter(self.0).map(|(name, text)| (name, QueryValue::Text(text)))
    }
}

impl Sequence for NoItems {
    type Value = QueryValue;
    type Iter = std::iter::Empty<QueryValue>;

    fn len(&self) -> usize {
        0
    }

    fn into_iter(self) -> Self::Iter {
        std::iter::empty()
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;
    use values::kind::UnknownName;

    use super::*;
    use crate::field_types::{Choice, Flag, Fraction, Id, Integer, Text, Time, Words};
    use crate::{choices, request};

    choices! {
        enum SourceChoice {
            All = "all",
            Feeds = "feeds",
        }
    }

    request! {
        struct QueryRequest {
            query as "q": Words<1, 5>,
            limit?: Integer<1, 20>,
            source?: Choice<SourceChoice>,
            id?: Id<Uuid>,
            unread?: Flag,
            share?: Fraction,
            after?: Time,
            folder?: Text<9>,
        }
    }

    fn read(query: &str) -> Result<QueryRequest, Invalid> {
        read_query(query)
    }

    fn faulty(query: &str) -> Vec<String> {
        read(query).unwrap_err().faults.into_iter().map(|fault| fault.field).collect()
    }

    fn reason(query: &str) -> String {
        read(query).unwrap_err().faults.swap_remove(0).reason
    }

    #[test]
    fn valid_parameters_become_values() {
        let read =
            read("q=%F0%9D%92%B3+b&limit=7&source=all&unread=true&share=0.5&after=2024-05-06T07:08:09Z");
        let read = read.unwrap();

        assert_eq!(read.query.into_inner(), "𝒳 b");
        assert_eq!(read.limit.and_then(Integer::convert::<u32>), Some(7));
        assert_eq!(read.source.map(Choice::into_inner), Some(SourceChoice::All));
        assert_eq!(read.unread.map(Flag::into_inner), Some(true));
        assert_eq!(read.share.map(Fraction::into_inner), Some(0.5));
        assert_eq!(read.after.unwrap().into_inner().to_string(), "2024-05-06T07:08:09.000Z");
        assert!(read.id.is_none() && read.folder.is_none());
        assert_eq!("moon".parse::<SourceChoice>(), Err(UnknownName));
    }

    /// Covers the threat table (row J2).
    #[test]
    fn all_faults_are_reported_together() {
        assert_eq!(faulty("q=&limit=0&source=moon&id=nope&zap=1"), ["q", "limit", "source", "id", "zap"]);
    }

    #[test]
    fn reasons_say_what_a_parameter_must_be() {
        for (query, expected) in [
            ("zap=1", "is not a parameter of this route"),
            ("q=a&q=b", "is given more than once"),
            ("", "is required"),
            ("q=", "must not be empty"),
            ("q=+", "must not be blank"),
            ("folder=&q=a", "must not be empty"),
            ("limit=&q=a", "must not be empty"),
            ("limit=x&q=a", "must be a whole number from 1 to 20"),
            ("source=x&q=a", "must be one of all, feeds"),
            ("unread=1&q=a", "must be true or false"),
            ("share=.5.&q=a", "must be a number from 0 to 1"),
            ("share=1e-1&q=a", "must be a number from 0 to 1"),
            ("after=x&q=a", "must be a time like 2024-05-06T07:08:09.000Z"),
            ("id=x&q=a", "must be an id (a UUID)"),
        ] {
            assert_eq!(reason(query), expected, "{query}");
        }
        let long = "n".repeat(1000);
        assert_eq!(faulty(&format!("{long}=1&q=a")), ["n".repeat(100)]);
    }

    /// Covers the threat table (row J2).
    #[test]
    fn unusual_spellings_of_numbers_are_faults() {
        for limit in ["-1", "1.5", "1e1", "+5", "%205", "٣", "", "99999999999999999999"] {
            assert_eq!(faulty(&format!("q=x&limit={limit}")), ["limit"], "{limit}");
        }
    }

    /// Covers the threat table (row J2).
    #[test]
    fn bytes_that_are_not_utf8_are_a_fault() {
        assert_eq!(faulty("q=%ff%fe"), ["query"]);
    }

    /// Covers the threat table (row J2).
    #[test]
    fn missing_blank_long_and_repeated_parameters_are_faults() {
        for query in ["", "q=%20%09", "q=123456", "q=a&q=b", "q=a%00"] {
            assert_eq!(faulty(query), ["q"], "{query}");
        }
    }
}
