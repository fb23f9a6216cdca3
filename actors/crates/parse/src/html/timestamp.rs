//! Dates and times as pages write them.

use time::{Date, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// A date, or a time with its offset, as RFC 3339 writes it.
pub fn parse_timestamp(text: &str) -> Option<String> {
    let text = text.trim();
    exact(text).or_else(|| exact(&with_offset_colon(text)?)).or_else(|| date(text))
}

fn exact(text: &str) -> Option<String> {
    OffsetDateTime::parse(text, &Rfc3339).ok()?.format(&Rfc3339).ok()
}

/// ISO 8601 writes the offset +0100 too.
pub fn with_offset_colon(text: &str) -> Option<String> {
    let (head, minutes) = text.split_at_checked(text.len().checked_sub(2)?)?;
    Some(format!("{head}:{minutes}"))
}

fn date(text: &str) -> Option<String> {
    let date = Date::parse(text.get(..10)?, format_description!("[year]-[month]-[day]")).ok()?;
    Some(date.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_the_precision_of_the_page() {
        assert_eq!(parse_timestamp(" 2026-01-02T03:04:05Z\n").as_deref(), Some("2026-01-02T03:04:05Z"));
        assert_eq!(parse_timestamp("2026-01-02T03:04:05+0100").as_deref(), Some("2026-01-02T03:04:05+01:00"));
        assert_eq!(parse_timestamp("2026-01-02 03:04").as_deref(), Some("2026-01-02"));
    }

    #[test]
    fn other_text_is_not_a_time() {
        for text in ["", "yesterday", "2026-13-02", "ééééééééé", "é"] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
