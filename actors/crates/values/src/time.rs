//! Times as the database stores them (milliseconds since the Unix epoch) and as the wire represents them (RFC 3339).

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, UtcOffset};

const DAY_MILLIS: i64 = 86_400_000;

/// A point in time with millisecond precision, in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType))]
pub struct Timestamp(i64);

/// A day in UTC, counted from 1970-01-01. Days of limits and usage are UTC (spec.md: Limits, rule 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType))]
pub struct Day(i32);

/// A month in UTC, counted from January 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "sea-orm", derive(sea_orm::DeriveValueType))]
pub struct Month(i32);

impl Timestamp {
    /// Returns the time of milliseconds since 1970-01-01T00:00:00Z.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z.
    pub const fn millis(self) -> i64 {
        self.0
    }

    /// Parses a time of RFC 3339 with any offset; returns `None` for anything else and for years outside 1 to 9999.
    pub fn parse(text: &str) -> Option<Self> {
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(moment.unix_timestamp_nanos().div_euclid(1_000_000)).ok().map(Self)
    }

    /// Returns the UTC day of this time.
    pub fn day(self) -> Day {
        Day(i32::try_from(self.0.div_euclid(DAY_MILLIS)).unwrap_or(i32::MAX))
    }

    /// Returns the UTC month of this time.
    pub fn month(self) -> Month {
        let date = self.calendar();
        Month((date.year() - 1970) * 12 + i32::from(u8::from(date.month())) - 1)
    }

    /// Returns the duration from `earlier` to this time; zero if `earlier` is later.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }

    fn calendar(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
            .to_offset(UtcOffset::UTC)
    }
}

impl Day {
    /// Returns midnight UTC at the start of this day.
    pub fn start(self) -> Timestamp {
        Timestamp(i64::from(self.0) * DAY_MILLIS)
    }

    /// Returns the day that is this number of days earlier.
    #[must_use]
    pub fn days_before(self, days: u16) -> Self {
        Self(self.0.saturating_sub(i32::from(days)))
    }

    /// Returns the days from this one to the last, both included; none if the last one is earlier.
    pub fn through(self, last: Day) -> impl Iterator<Item = Day> {
        (self.0..=last.0).map(Day)
    }

    /// Returns midnight UTC at the end of this day.
    pub fn end(self) -> Timestamp {
        Timestamp((i64::from(self.0) + 1) * DAY_MILLIS)
    }
}

impl Month {
    /// Returns midnight UTC at the end of this month.
    pub fn end(self) -> Timestamp {
        let next = self.0 + 1;
        let month = u8::try_from(next.rem_euclid(12) + 1).ok().and_then(|m| time::Month::try_from(m).ok());
        let first = month.and_then(|m| time::Date::from_calendar_date(1970 + next.div_euclid(12), m, 1).ok());
        first.map_or(Timestamp(i64::MAX), |d| Timestamp(d.midnight().assume_utc().unix_timestamp() * 1000))
    }
}

/// The calendar date, such as `2026-11-27`.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = format_description!("[year]-[month]-[day]");
        f.write_str(&self.start().calendar().format(&shape).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Timestamp;

    fn add(self, more: Duration) -> Timestamp {
        Timestamp(self.0.saturating_add(i64::try_from(more.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Timestamp;

    fn sub(self, less: Duration) -> Timestamp {
        Timestamp(self.0.saturating_sub(i64::try_from(less.as_millis()).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape =
            format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");
        f.write_str(&self.calendar().format(&shape).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        Timestamp::parse(&text).ok_or_else(|| D::Error::custom("expected a time of RFC 3339"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_is_formatted_in_utc_with_milliseconds() {
        let moment = Timestamp::parse("2024-05-06T09:08:09.5+02:00").unwrap();

        assert_eq!(moment.to_string(), "2024-05-06T07:08:09.500Z");
        assert_eq!(Timestamp::parse(&moment.to_string()), Some(moment));
    }

    #[test]
    fn words_and_dates_without_a_time_are_rejected() {
        for text in ["tomorrow", "2024-05-06", "2024-05-06T07:08:09", "2024-13-06T07:08:09Z", ""] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn day_ends_at_midnight_and_month_on_its_last_day() {
        let moment = Timestamp::parse("2024-12-31T23:59:59.999Z").unwrap();

        assert_eq!(moment.day().end().to_string(), "2025-01-01T00:00:00.000Z");
        assert_eq!(moment.month().end().to_string(), "2025-01-01T00:00:00.000Z");
        assert_eq!(
            Timestamp::parse("2024-02-01T00:00:00Z").unwrap().month().end().to_string(),
            "2024-03-01T00:00:00.000Z"
        );
    }

    #[test]
    fn time_before_the_epoch_has_a_day() {
        let moment = Timestamp::from_millis(-1);

        assert_eq!(moment.day().end(), Timestamp::from_millis(0));
        assert_eq!(moment.to_string(), "1969-12-31T23:59:59.999Z");
    }
}
