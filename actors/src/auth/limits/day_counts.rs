//! The counts of a UTC day, and the days whose counts are in memory. This module knows no clock and no database.

use entity::time::Day;

/// Days whose counts stay in memory: today, and days that a clock which is set may return to.
const MAX_RECENT_DAYS: usize = 3;

/// The calls of one user on one surface and day, and how many of them the table does not hold yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayCounter {
    total: i64,
    unwritten: i64,
}

impl DayCounter {
    /// Returns the calls of this day.
    pub fn total(&self) -> u32 {
        u32::try_from(self.total).unwrap_or(u32::MAX)
    }

    /// Returns whether a call of this weight fits under the limit.
    pub fn has_room(&self, weight: u32, limit: u32) -> bool {
        u64::from(self.total()) + u64::from(weight) <= u64::from(limit)
    }

    /// Counts a call of this weight.
    pub fn count(&mut self, weight: u32) {
        self.total += i64::from(weight);
        self.unwritten += i64::from(weight);
    }

    /// Takes the calls that the table does not hold yet.
    pub fn take_unwritten(&mut self) -> i64 {
        std::mem::take(&mut self.unwritten)
    }

    /// Returns whether the table lacks some of the calls.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// Raises the count to that of the table, to which other processes may have added. A count never falls.
    pub fn merge_total(&mut self, written: i64) {
        self.total = self.total.max(written.saturating_add(self.unwritten));
    }
}

/// The days whose counts are in memory, the most recently used one last.
///
/// Each day keeps its own counts, so a clock that jumps over midnight and back, in either direction, resets none of them
/// (faults-and-threats, row 22).
#[derive(Debug, Default)]
pub struct RecentDays(Vec<Day>);

/// What is known about a day when it becomes today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DayChange {
    /// Its counts are in memory.
    Known,
    /// It is later than every day in memory: only other processes may have counted on it.
    Later,
    /// It is earlier than a day in memory, because the clock was set back: its rows must be read before anything counts.
    Earlier,
}

impl RecentDays {
    /// Makes this day today. The least recently used days are dropped.
    pub fn enter(&mut self, day: Day) -> DayChange {
        if self.0.last() == Some(&day) {
            return DayChange::Known;
        }
        let entered = match () {
            () if self.contains(day) => DayChange::Known,
            () if self.0.iter().all(|kept| *kept < day) => DayChange::Later,
            () => DayChange::Earlier,
        };
        self.forget(day);
        self.0.push(day);
        if self.0.len() > MAX_RECENT_DAYS {
            self.0.remove(0);
        }
        entered
    }

    /// Drops a day. When it becomes today again, its rows are read.
    pub fn forget(&mut self, day: Day) {
        self.0.retain(|kept| *kept != day);
    }

    /// Returns whether the counts of this day are in memory.
    pub fn contains(&self, day: Day) -> bool {
        self.0.contains(&day)
    }

    /// Returns whether this is the only day in memory.
    pub fn is_only(&self, day: Day) -> bool {
        self.0 == [day]
    }
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;

    fn day(text: &str) -> Day {
        Timestamp::parse(&format!("{text}T12:00:00Z")).unwrap().day()
    }

    #[test]
    fn call_beyond_the_limit_has_no_room() {
        let mut count = DayCounter::default();
        count.merge_total(8);

        assert!(count.has_room(2, 10) && !count.has_room(3, 10));
        count.count(2);
        assert_eq!((count.total(), count.take_unwritten(), count.take_unwritten()), (10, 2, 0));
    }

    #[test]
    fn counts_of_other_processes_are_added_and_none_falls() {
        let mut count = DayCounter::default();
        count.count(1);
        count.take_unwritten();
        count.count(1);

        count.merge_total(5);
        assert_eq!(count.total(), 6);
        count.merge_total(1);
        assert_eq!(count.total(), 6);
    }

    /// Of the fault table (row 22).
    #[test]
    fn clock_that_is_set_back_enters_known_or_earlier_days() {
        let mut days = RecentDays::default();
        let (sunday, monday, tuesday) = (day("2024-05-05"), day("2024-05-06"), day("2024-05-07"));

        assert_eq!(days.enter(monday), DayChange::Later);
        assert_eq!(days.enter(tuesday), DayChange::Later);
        assert_eq!(days.enter(monday), DayChange::Known);
        assert_eq!(days.enter(tuesday), DayChange::Known);
        assert_eq!(days.enter(sunday), DayChange::Earlier);
        assert_eq!(days.enter(sunday), DayChange::Known);
    }

    #[test]
    fn least_recently_used_day_is_dropped() {
        let mut days = RecentDays::default();
        for text in ["2024-05-05", "2024-05-06", "2024-05-07", "2024-05-08"] {
            days.enter(day(text));
        }

        assert!(!days.contains(day("2024-05-05")) && days.contains(day("2024-05-06")));
        assert_eq!(days.enter(day("2024-05-05")), DayChange::Earlier);
    }
}
