//! Reads a query string. Numbers are plain ASCII digits. An empty parameter is a fault and does not count as absent; a repeated
//! parameter is a fault (contract.md, sections 2 and 11).

use errors::Invalid;
use percent_encoding::percent_decode_str;

use super::{Faults, Field, Kind, Value, Values, bounds, from_text, integer, mismatch_reason, number};

/// Characters of an unknown name in a fault. Longer names are cut.
const MAX_SHOWN_NAME_CHARS: usize = 100;

/// Reads a query string.
///
/// # Errors
/// Every fault in it.
pub fn read(query: &str, fields: &'static [Field]) -> Result<Values, Invalid> {
    let (mut values, mut faults) = (Values::default(), Faults::default());
    if percent_decode_str(query).decode_utf8().is_err() {
        return Err(Invalid::new("query", "is not UTF-8"));
    }
    for (name, text) in url::form_urlencoded::parse(query.as_bytes()) {
        let Some(field) = fields.iter().find(|field| field.name == name) else {
            faults.add(
                name.chars().take(MAX_SHOWN_NAME_CHARS).collect::<String>(),
                "is not a parameter of this route",
            );
            continue;
        };
        match parameter(&field.kind, text.into_owned()) {
            Ok(_) if values.has(field.name) => faults.add(field.name, "is given more than once"),
            Ok(value) => drop(values.0.insert(field.name, value)),
            Err(reason) => faults.add(field.name, reason),
        }
    }
    for field in fields.iter().filter(|field| field.required && !values.has(field.name)) {
        faults.add(field.name, "is required");
    }
    faults.into_result(values)
}

fn parameter(kind: &Kind, text: String) -> Result<Value, String> {
    if text.is_empty() {
        return Err("must not be empty".to_owned());
    }
    match kind {
        Kind::Integer { min, max } => match digits(&text) {
            Some(whole) => integer(whole, *min, *max),
            None => Err(bounds(*min, *max)),
        },
        Kind::Number { min, max } => match text.parse::<f64>() {
            Ok(value) if text.bytes().all(|b| b.is_ascii_digit() || b == b'.') => number(value, *min, *max),
            Ok(_) | Err(_) => Err(mismatch_reason(kind)),
        },
        Kind::Flag => match text.as_str() {
            "true" => Ok(Value::Flag(true)),
            "false" => Ok(Value::Flag(false)),
            _ => Err(mismatch_reason(kind)),
        },
        Kind::Words { .. }
        | Kind::Text { .. }
        | Kind::Filename { .. }
        | Kind::Label { .. }
        | Kind::Content
        | Kind::Sha256
        | Kind::Id
        | Kind::Time
        | Kind::Choice(_)
        | Kind::List { .. }
        | Kind::Record(_)
        | Kind::Either { .. }
        | Kind::Open(_) => from_text(kind, text),
    }
}

fn digits(text: &str) -> Option<i64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: &[Field] = &[
        Field::required("q", Kind::Words { min: 1, max: 5 }, ""),
        Field::optional("limit", Kind::Integer { min: 1, max: 20 }, ""),
        Field::optional("source", Kind::Choice(&["all", "feeds"]), ""),
        Field::optional("id", Kind::Id, ""),
        Field::optional("unread", Kind::Flag, ""),
    ];

    fn faulty(query: &str) -> Vec<String> {
        read(query, FIELDS).unwrap_err().faults.into_iter().map(|fault| fault.field).collect()
    }

    #[test]
    fn valid_parameters_become_values() {
        let mut values = read("q=%F0%9D%92%B3+b&limit=7&source=all&unread=true", FIELDS).unwrap();

        assert_eq!(values.text("q").as_deref(), Some("𝒳 b"));
        assert_eq!(values.integer::<u32>("limit"), Some(7));
        assert_eq!(values.name("source"), Some("all"));
        assert_eq!(values.flag("unread"), Some(true));
        assert_eq!(values.id("id"), None);
    }

    /// Threat table (row J2).
    #[test]
    fn all_faults_are_reported_together() {
        assert_eq!(faulty("q=&limit=0&source=moon&id=nope&zap=1"), ["q", "limit", "source", "id", "zap"]);
    }

    /// Threat table (row J2).
    #[test]
    fn unusual_spellings_of_numbers_are_faults() {
        for limit in ["-1", "1.5", "1e1", "+5", "%205", "٣", "", "99999999999999999999"] {
            assert_eq!(faulty(&format!("q=x&limit={limit}")), ["limit"], "{limit}");
        }
    }

    /// Threat table (row J2).
    #[test]
    fn bytes_that_are_not_utf8_are_a_fault() {
        assert_eq!(faulty("q=%ff%fe"), ["query"]);
    }

    /// Threat table (row J2).
    #[test]
    fn missing_blank_long_and_repeated_parameters_are_faults() {
        for query in ["", "q=%20%09", "q=123456", "q=a&q=b", "q=a%00"] {
            assert_eq!(faulty(query), ["q"], "{query}");
        }
    }
}
