//! Dates, numbers, lengths and lists as a language writes them, in the time zone of the page.

use jiff::Zoned;
use jiff::civil::Weekday;
use values::kind::AppLanguage;
use values::time::Timestamp;

use super::locale::Locale;
use super::numbers::number_text;
use super::strings::MessageValue::{self, Number, Text};

const MINUTE_SECONDS: i64 = 60;
const HOUR_SECONDS: i64 = 3_600;
/// A time is shown as a span before now for less than this, and as a date from then on.
const MAX_SPAN_DAYS: i64 = 7;
/// The factor between the units of sizes: those of files are decimal.
const UNIT_BYTES: f64 = 1_000.0;

impl Locale {
    /// Writes a whole number: `4,812`.
    pub fn number(&self, number: i64) -> String {
        number_text(self.language, number)
    }

    /// Writes a number with one decimal: `2.5`, `2,5`; without it where it is zero.
    pub fn decimal(&self, number: f64) -> String {
        let text = format!("{number:.1}");
        let text = text.strip_suffix(".0").unwrap_or(&text);
        match self.language {
            AppLanguage::English => text.to_owned(),
            AppLanguage::German => text.replace('.', ","),
        }
    }

    /// Writes a fraction of 0 to 1 as a percentage: `62 %`.
    pub fn percent(&self, fraction: f64) -> String {
        self.t_with("format-percent", &[("number", Number((fraction * 100.0).round() as i64))])
    }

    /// Writes a number of bytes: `840 bytes`, `1.2 MB`.
    pub fn bytes(&self, bytes: u64) -> String {
        let mut size = bytes as f64;
        for unit in ["bytes", "kB", "MB", "GB", "TB"] {
            if size < UNIT_BYTES || unit == "TB" {
                if unit == "bytes" {
                    return self.t_with("format-bytes", &[("count", number_of(bytes))]);
                }
                return format!("{}\u{a0}{unit}", self.decimal(size));
            }
            size /= UNIT_BYTES;
        }
        String::new()
    }

    /// Writes a position or length of a recording: `14:32`, `1:02:03`.
    pub fn clock(&self, seconds: i64) -> String {
        let (hours, rest) = (seconds / HOUR_SECONDS, seconds % HOUR_SECONDS);
        let (minutes, seconds) = (rest / MINUTE_SECONDS, rest % MINUTE_SECONDS);
        if hours > 0 {
            format!("{hours}:{minutes:02}:{seconds:02}")
        } else {
            format!("{minutes}:{seconds:02}")
        }
    }

    /// Writes a length of time in words, rounded up: `42 seconds`, `9 minutes`, `2 hours`, `3 days`.
    pub fn duration(&self, seconds: i64) -> String {
        let (key, count) = match seconds {
            ..MINUTE_SECONDS => ("format-seconds", seconds.max(0)),
            MINUTE_SECONDS..HOUR_SECONDS => ("format-minutes", rounded_up(seconds, MINUTE_SECONDS)),
            HOUR_SECONDS..172_800 => ("format-hours", rounded_up(seconds, HOUR_SECONDS)),
            _ => ("format-days", rounded_up(seconds, 86_400)),
        };
        self.t_with(key, &[("count", Number(count))])
    }

    /// Writes a reading time: `9 min`, `1 h 20 min`.
    pub fn minutes(&self, minutes: i64) -> String {
        let (hours, rest) = (minutes / 60, minutes % 60);
        match (hours, rest) {
            (0, minutes) => self.t_with("format-min", &[("minutes", Number(minutes))]),
            (hours, 0) => self.t_with("format-h", &[("hours", Number(hours))]),
            (hours, minutes) => {
                self.t_with("format-h-min", &[("hours", Number(hours)), ("minutes", Number(minutes))])
            }
        }
    }

    /// Writes a time as briefly as a row of a list shows it: `now`, `5 min`, `2 h`, `3 d`, and then a date.
    pub fn ago(&self, time: Timestamp) -> String {
        let seconds = (self.now.millis() - time.millis()) / 1_000;
        match seconds {
            ..0 => self.date(time),
            0..MINUTE_SECONDS => self.t("format-now"),
            MINUTE_SECONDS..HOUR_SECONDS => self.minutes(seconds / MINUTE_SECONDS),
            HOUR_SECONDS..86_400 => self.t_with("format-h", &[("hours", Number(seconds / HOUR_SECONDS))]),
            _ if seconds < MAX_SPAN_DAYS * 86_400 => {
                self.t_with("format-d", &[("days", Number(seconds / 86_400))])
            }
            _ => self.date(time),
        }
    }

    /// Writes a date as a row of a list shows it: `today`, `yesterday`, `14 Nov`, `14 Nov 2024`.
    pub fn day(&self, time: Timestamp) -> String {
        let (day, today) = (self.zoned(time).date(), self.zoned(self.now).date());
        if day == today {
            self.t("format-today")
        } else if today.yesterday().ok() == Some(day) {
            self.t("format-yesterday")
        } else {
            self.date(time)
        }
    }

    /// Writes a date: `14 Nov`, with the year if it is another one than now.
    pub fn date(&self, time: Timestamp) -> String {
        let date = self.zoned(time);
        let key = if date.year() == self.zoned(self.now).year() { "format-date" } else { "format-date-year" };
        self.t_with(key, &self.date_values(&date, "month-short"))
    }

    /// Writes a date with its day of the week: `Saturday, 21 November`; with the year if it is another one than now.
    pub fn date_long(&self, time: Timestamp) -> String {
        let date = self.zoned(time);
        let is_this_year = date.year() == self.zoned(self.now).year();
        let key = if is_this_year { "format-date-long" } else { "format-date-long-year" };
        self.t_with(key, &self.date_values(&date, "month"))
    }

    /// Writes a month: `November 2025`.
    pub fn month(&self, time: Timestamp) -> String {
        self.t_with("format-month", &self.date_values(&self.zoned(time), "month"))
    }

    /// Writes the time of a day: `09:12`.
    pub fn time(&self, time: Timestamp) -> String {
        let time = self.zoned(time);
        format!("{:02}:{:02}", time.hour(), time.minute())
    }

    /// Writes a date with its time: `14 Nov, 09:12`.
    pub fn date_time(&self, time: Timestamp) -> String {
        self.t_with("format-date-time", &[("date", Text(self.date(time))), ("time", Text(self.time(time)))])
    }

    /// Writes a list: `a, b and c`.
    pub fn list(&self, items: &[String]) -> String {
        match items {
            [] => String::new(),
            [one] => one.clone(),
            [first @ .., last] => {
                self.t_with("format-list", &[("first", Text(first.join(", "))), ("last", Text(last.clone()))])
            }
        }
    }

    /// Returns a time in the time zone of the page.
    pub fn zoned(&self, time: Timestamp) -> Zoned {
        let time = jiff::Timestamp::from_millisecond(time.millis()).unwrap_or_default();
        time.to_zoned(self.zone.clone())
    }

    /// Returns the start of the day of a time in the time zone of the page.
    pub fn start_of_day(&self, time: Timestamp) -> Timestamp {
        let start = self.zoned(time).start_of_day();
        start.map_or(time, |start| Timestamp::from_millis(start.timestamp().as_millisecond()))
    }

    fn date_values(&self, date: &Zoned, month: &str) -> [(&'static str, MessageValue); 4] {
        let weekday = match date.weekday() {
            Weekday::Monday => "weekday-1",
            Weekday::Tuesday => "weekday-2",
            Weekday::Wednesday => "weekday-3",
            Weekday::Thursday => "weekday-4",
            Weekday::Friday => "weekday-5",
            Weekday::Saturday => "weekday-6",
            Weekday::Sunday => "weekday-7",
        };
        [
            ("weekday", Text(self.t(weekday))),
            ("day", Text(date.day().to_string())),
            ("month", Text(self.t(&format!("{month}-{}", date.month())))),
            // As a text: years have no separators.
            ("year", Text(date.year().to_string())),
        ]
    }
}

fn number_of(count: u64) -> MessageValue {
    Number(i64::try_from(count).unwrap_or(i64::MAX))
}

fn rounded_up(seconds: i64, unit: i64) -> i64 {
    seconds.div_euclid(unit) + i64::from(seconds.rem_euclid(unit) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locale(language: AppLanguage) -> Locale {
        let zone = jiff::tz::db().get("Europe/Berlin").unwrap();
        Locale { language, is_pseudo: false, zone, now: Timestamp::parse("2025-11-22T08:30:00Z").unwrap() }
    }

    #[test]
    fn dates_are_those_of_the_time_zone() {
        let (english, german) = (locale(AppLanguage::English), locale(AppLanguage::German));
        let time = Timestamp::parse("2025-11-20T23:30:00Z").unwrap();

        assert_eq!(english.date_time(time), "21 Nov, 00:30");
        assert_eq!(german.date_long(time), "Freitag, 21. November");
        assert_eq!(english.day(time), "yesterday");
        assert_eq!(english.date(Timestamp::parse("2024-05-01T12:00:00Z").unwrap()), "1 May 2024");
    }

    #[test]
    fn spans_become_dates_after_a_week() {
        let english = locale(AppLanguage::English);
        let before = |seconds: i64| Timestamp::from_millis(english.now.millis() - seconds * 1_000);

        for (seconds, text) in
            [(5, "now"), (300, "5\u{a0}min"), (7_300, "2\u{a0}h"), (200_000, "2\u{a0}d"), (800_000, "13 Nov")]
        {
            assert_eq!(english.ago(before(seconds)), text);
        }
    }

    #[test]
    fn numbers_have_the_separators_of_the_language() {
        let (english, german) = (locale(AppLanguage::English), locale(AppLanguage::German));

        assert_eq!(
            (english.number(1_234_567), german.number(-1_234)),
            ("1,234,567".into(), "\u{2212}1.234".into())
        );
        assert_eq!((english.bytes(840), german.bytes(1_250_000)), ("840 bytes".into(), "1,2\u{a0}MB".into()));
        assert_eq!((english.clock(872), english.clock(3_723)), ("14:32".into(), "1:02:03".into()));
        assert_eq!(german.list(&["a".into(), "b".into(), "c".into()]), "a, b und c");
    }
}
