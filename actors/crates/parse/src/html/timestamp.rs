//! Dates and times as pages write them.

use time::{Date, OffsetDateTime, format_description::well_known::Rfc3339, macros::format_description};

/// Returns a date, or a time with its offset, as RFC 3339 writes it; `None` for any other form.
pub fn parse_timestamp(text: &str) -> Option<String> {
    let text = text.trim();
    exact(text).or_else(|| exact(&with_offset_colon(text)?)).or_else(|| date(text))
}

fn exact(text: &str) -> Option<String> {
    OffsetDateTime::parse(text, &Rfc3339).ok()?.format(&Rfc3339).ok()
}

/// Puts a colon before the last two bytes: ISO 8601 also writes an offset as `+0100`, RFC 3339 only as `+01:00`.
pub fn with_offset_colon(text: &str) -> Option<String> {
    let (head, minutes) = text.split_at_checked(text.len().checked_sub(2)?)?;
    Some(format!("{head}:{minutes}"))
}

fn date(text: &str) -> Option<String> {
    // A time without an offset does not identify a moment, so only its date is kept.
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
