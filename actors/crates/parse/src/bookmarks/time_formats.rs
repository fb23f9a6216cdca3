//! Parses times as other programs write them, to RFC 3339.

use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, UtcOffset};

use crate::html::with_offset_colon;

/// Parses a time; `None` if it is none, zero, or in a year of more than four digits.
pub fn parse_time(text: &str) -> Option<String> {
    let text = text.trim();
    let at = match text.parse::<f64>() {
        Ok(number) => since_1970(number),
        Err(_) => written(text),
    };
    at?.to_offset(UtcOffset::UTC).format(&Rfc3339).ok()
}

/// Seconds, milliseconds or microseconds, distinguished by their size, which is unambiguous until the year 5138.
fn since_1970(number: f64) -> Option<OffsetDateTime> {
    let seconds = match number {
        // Zero and less are what programs write for no time.
        1.0..1e11 => number,
        1e11..1e14 => number / 1e3,
        1e14..1e17 => number / 1e6,
        _ => return None,
    };
    #[expect(clippy::cast_possible_truncation, reason = "below 1e11")]
    OffsetDateTime::from_unix_timestamp(seconds as i64).ok()
}

fn written(text: &str) -> Option<OffsetDateTime> {
    let text = text.trim_end_matches("UTC").trim_end();
    // As RFC 3339 writes it: a `T` between date and time, and no space before the offset.
    let with_t = text.replacen(' ', "T", 1).replace(' ', "");
    let parse = |text: &str| OffsetDateTime::parse(text, &Rfc3339).ok();
    let date = || Date::parse(text, format_description!("[year]-[month]-[day]")).ok();
    let american =
        || Date::parse(text, format_description!("[month padding:none]/[day padding:none]/[year]")).ok();
    parse(&with_t)
        .or_else(|| parse(&format!("{with_t}Z")))
        .or_else(|| parse(&with_offset_colon(&with_t)?))
        .or_else(|| date().or_else(american).map(|date| date.midnight().assume_utc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_formats_of_many_programs_are_parsed() {
        for same in [
            "1700000000",
            "1700000000000",
            "1700000000000000",
            "1700000000.5",
            "2023-11-14T22:13:20Z",
            "2023-11-14T23:13:20+01:00",
            "2023-11-14 22:13:20",
            "2023-11-14 22:13:20+00:00",
            "2023-11-14T23:13:20+0100",
            "2023-11-14 22:13:20 UTC",
        ] {
            assert_eq!(parse_time(same).as_deref(), Some("2023-11-14T22:13:20Z"), "{same}");
        }
        assert_eq!(parse_time("2023-11-14").as_deref(), Some("2023-11-14T00:00:00Z"));
        assert_eq!(parse_time("11/14/2023").as_deref(), Some("2023-11-14T00:00:00Z"));
    }

    #[test]
    fn meaningless_values_are_not_times() {
        for none in ["", "0", "-5", "yesterday", "1e30", "NaN", "inf", "99999-01-01T00:00:00Z"] {
            assert_eq!(parse_time(none), None, "{none}");
        }
    }
}
