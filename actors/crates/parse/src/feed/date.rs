//! Parses dates of feeds: RFC 3339, RFC 822, and variants.
//!
//! Strict parsers reject dates with a missing zone, a wrong weekday or another order of the parts, so each part is recognised by its form.
//! A time without a zone, or with an unknown one, is UTC.

use time::{Date, Month, PrimitiveDateTime, Time, UtcOffset};

/// Offsets of named zones in hours (RFC 822, section 5.1, and the zones of Central Europe, Britain, India and Japan).
const ZONE_HOURS: [(&str, f32); 14] = [
    ("EST", -5.0),
    ("EDT", -4.0),
    ("CST", -6.0),
    ("CDT", -5.0),
    ("MST", -7.0),
    ("MDT", -6.0),
    ("PST", -8.0),
    ("PDT", -7.0),
    ("CET", 1.0),
    ("CEST", 2.0),
    ("BST", 1.0),
    ("MSK", 3.0),
    ("IST", 5.5),
    ("JST", 9.0),
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Parses a date to milliseconds since the Unix epoch; `None` if it is not a full date. A date without a time is its first moment.
pub fn parse_millis(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, clock, zone) = by_number(text).or_else(|| by_name(text))?;
    let at = PrimitiveDateTime::new(date, clock).assume_offset(zone);
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).ok()
}

type DateParts = (Date, Time, UtcOffset);

/// Parses `2026-01-02T03:04:05.678+01:00` and shorter forms.
fn by_number(text: &str) -> Option<DateParts> {
    let (date, rest) = text.split_at_checked(10)?;
    let mut parts = date.split(['-', '/']);
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let date = calendar(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?)?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    // What follows the digits of the time is the zone, with or without a space.
    let end = rest.find(|c: char| !c.is_ascii_digit() && !matches!(c, ':' | '.')).unwrap_or(rest.len());
    let (clock_text, behind) = rest.split_at_checked(end)?;
    let time = if clock_text.is_empty() { Time::MIDNIGHT } else { clock(clock_text)? };
    Some((date, time, zone(behind.trim())))
}

fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty())
}

/// Parses `Fri, 2 Jan 2026 03:04:05 +0100` and its parts in another order.
fn by_name(whole: &str) -> Option<DateParts> {
    let (mut month, mut time, mut offset) = (None, None, None);
    let mut numbers = Vec::new();
    let mut afternoon = None;
    // The weekday, which in some languages begins like a month.
    let names_month = |text: &str| parts(text).any(|part| month_of(&part.to_ascii_lowercase()).is_some());
    let text = whole.split_once(',').filter(|(_, behind)| names_month(behind));
    let text = text.map_or(whole, |(_, behind)| behind);
    for part in parts(text) {
        let small = part.to_ascii_lowercase();
        if part.contains(':') && time.is_none() {
            // A time that cannot be read makes the date doubtful, so the whole is refused.
            time = Some(clock(part)?);
        } else if let Some(number) = number(&small) {
            numbers.push(number);
        } else if let Some(found) = month_of(&small) {
            month = Some(found);
        } else if matches!(&*small, "am" | "pm") {
            afternoon = Some(small == "pm");
        // Only after the time: words before it are weekdays.
        } else if time.is_some() && offset.is_none() {
            offset = Some(zone(part));
        }
    }
    let [one, other] = numbers.as_slice() else { return None };
    // Day and year come in either order. A number above 31 can only be the year.
    let (day, year) = if *one > 31 { (*other, *one) } else { (*one, *other) };
    let date = calendar(whole_year(year), month?, u8::try_from(day).ok()?)?;
    let time = time.unwrap_or(Time::MIDNIGHT);
    let time = afternoon.map_or(Some(time), |afternoon| of_half_day(time, afternoon))?;
    Some((date, time, offset.unwrap_or(UtcOffset::UTC)))
}

/// Parses `2`, `2nd` or `2026`.
fn number(small: &str) -> Option<u16> {
    // The letters of `st`, `nd`, `rd` and `th`.
    let digits = small.trim_end_matches(['s', 't', 'n', 'd', 'r', 'h']);
    digits.parse().ok().filter(|_| digits.starts_with(|first: char| first.is_ascii_digit()))
}

fn month_of(small: &str) -> Option<u8> {
    // By beginning, so that long names and those of some other languages are recognised.
    let place = MONTHS.iter().position(|month| small.starts_with(month))?;
    u8::try_from(place + 1).ok()
}

/// Completes years of two digits (RFC 2822, section 4.3).
fn whole_year(year: u16) -> i32 {
    match year {
        0..=49 => 2_000 + i32::from(year),
        50..=99 => 1_900 + i32::from(year),
        whole => i32::from(whole),
    }
}

fn calendar(year: i32, month: u8, day: u8) -> Option<Date> {
    Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()
}

/// Parses `03:04`, `3:04:05` or `03:04:05.678`; hour 24 is hour 0 of the same day.
fn clock(text: &str) -> Option<Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':').map(|part| part.parse::<u8>().ok());
    let (hour, minute) = (parts.next()??, parts.next().unwrap_or(Some(0))?);
    let second = parts.next().unwrap_or(Some(0))?;
    let thousandths = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // A leap second is the second before it, because `Time` has none.
    Time::from_hms_milli(if hour == 24 { 0 } else { hour }, minute, second.min(59), thousandths).ok()
}

/// Converts a time of the 12-hour clock.
fn of_half_day(time: Time, afternoon: bool) -> Option<Time> {
    let hour = match (time.hour(), afternoon) {
        (12, false) => 0,
        (hour @ 1..=11, true) => hour + 12,
        (hour, _) => hour,
    };
    time.replace_hour(hour).ok()
}

/// Parses `Z`, `+0100`, `-01:00`, `GMT+1` or a name.
fn zone(text: &str) -> UtcOffset {
    let text = text.trim_matches(['(', ')']);
    // `UTC` before `UT`, which is a prefix of it.
    let text = ["GMT", "UTC", "UT"].into_iter().find_map(|utc| text.strip_prefix(utc)).unwrap_or(text);
    let minutes = numeric(text).unwrap_or_else(|| {
        let named = ZONE_HOURS.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        #[expect(clippy::cast_possible_truncation, reason = "half hours of a day")]
        named.map_or(0, |(_, hours)| (hours * 60.0) as i32)
    });
    UtcOffset::from_whole_seconds(minutes * 60).unwrap_or(UtcOffset::UTC)
}

/// Parses the minutes of `+0100`, `-01:00` or `+1`.
fn numeric(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text.strip_prefix(['+', '-'])?.chars().filter(|c| *c != ':').collect();
    let number: i32 = digits.parse().ok()?;
    // Up to two digits are hours, as in `GMT+1`.
    Some(sign * if digits.len() > 2 { number / 100 * 60 + number % 100 } else { number * 60 })
}

#[cfg(test)]
mod tests {
    use time::format_description::well_known::Rfc3339;

    use super::*;

    fn formatted(text: &str) -> Option<String> {
        let at = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(parse_millis(text)?) * 1_000_000);
        at.unwrap().format(&Rfc3339).ok()
    }

    #[test]
    fn date_formats_give_the_same_time() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T04:04:05+01:00",
            "2026-01-02T04:04:05+0100",
            "2026-01-02T03:04:05.000",
            "2026-01-02 03:04:05",
            "2026-01-01 22:04:05 -0500",
            "2026/01/02 03:04:05",
            "Fri, 02 Jan 2026 03:04:05 GMT",
            "Fri, 02 Jan 2026 03:04:05",
            "Thursday, 2 January 2026 03:04:05 UTC",
            "02 Jan 26 03:04:05 Z",
            "Thu, 01 Jan 2026 22:04:05 EST",
            "Fri, 02 Jan 2026 04:04:05 +0100",
            "Fri, 02 Jan 2026 04:04:05 GMT+01:00",
            "Fri, 02 Jan 2026 3:04:05 -0000",
            "Jan 2, 2026 03:04:05",
            "Jan, 02 2026 03:04:05",
            "January 2nd, 2026 3:04:05 AM",
            "Fri Jan 02 04:04:05 +0100 2026",
            "Fri Jan 02 04:04:05 CET 2026",
            "mar., 02 janv. 2026 04:04:05 +0100",
            "mar 02 jan 2026 04:04:05 +0100",
        ] {
            assert_eq!(formatted(text).as_deref(), Some("2026-01-02T03:04:05Z"), "{text}");
        }
    }

    #[test]
    fn incomplete_date_means_its_start() {
        for (text, whole) in [
            ("2026-01-02", "2026-01-02T00:00:00Z"),
            ("2026-01-02T03:04", "2026-01-02T03:04:00Z"),
            ("2 Jan 2026", "2026-01-02T00:00:00Z"),
            ("Fri, 02 Jan 2026 24:00:00 GMT", "2026-01-02T00:00:00Z"),
            ("Jan 2, 2026 3:04 PM", "2026-01-02T15:04:00Z"),
            ("2026-01-02T03:04:05.6789Z", "2026-01-02T03:04:05.678Z"),
        ] {
            assert_eq!(formatted(text).as_deref(), Some(whole), "{text}");
        }
    }

    #[test]
    fn other_text_is_not_a_date() {
        for text in ["", "yesterday", "2026", "2026-13-02", "32 Jan 2026", "Jan 2026", "ééééééééé", "12:30"]
        {
            assert_eq!(formatted(text), None, "{text}");
        }
    }
}
