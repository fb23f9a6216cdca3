//! The counts of a UTC day, and the days whose counts are in memory. This module knows no clock and no database.

use values::id::UsageCounterId;
use values::time::{Day, Timestamp};

/// Days whose counts stay in memory: today, and days that a clock which is set may return to.
const MAX_RECENT_DAYS: usize = 3;

/// The calls of a user on the current UTC day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayCounts {
    /// REST requests that were admitted.
    pub rest: u32,
    /// MCP tool calls, by weight.
    pub mcp: u32,
}

/// The calls of one user on one surface and day.
///
/// The counter has a separate row, which holds what it counted itself, and which nothing else changes. Other processes, and
/// counters that were dropped, have theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayCounter {
    id: UsageCounterId,
    /// Calls that this counter counted.
    own_calls: i64,
    /// How many of them its row holds, as far as is known.
    written_calls: i64,
    /// Calls that other counters counted, as of the last read of their rows.
    other_calls: i64,
}

impl DayCounter {
    /// Creates a counter without calls.
    pub fn new(now: Timestamp) -> Self {
        Self { id: UsageCounterId::new(now), own_calls: 0, written_calls: 0, other_calls: 0 }
    }

    /// Returns the id of the counter's row.
    pub fn id(&self) -> UsageCounterId {
        self.id
    }

    /// Returns the calls of this day.
    pub fn total(&self) -> u32 {
        u32::try_from(self.own_calls.saturating_add(self.other_calls)).unwrap_or(u32::MAX)
    }

    /// Returns whether a call of this weight fits under the limit.
    pub fn has_room(&self, weight: u32, limit: u32) -> bool {
        u64::from(self.total()) + u64::from(weight) <= u64::from(limit)
    }

    /// Counts a call of this weight.
    pub fn count(&mut self, weight: u32) {
        self.own_calls += i64::from(weight);
    }

    /// Returns all calls that this counter counted, if its row may lack some of them.
    pub fn unwritten(&self) -> Option<i64> {
        (self.own_calls > self.written_calls).then_some(self.own_calls)
    }

    /// Records how many of the counter's own calls the row holds.
    pub fn mark_written(&mut self, own_calls: i64) {
        self.written_calls = self.written_calls.max(own_calls);
    }

    /// Raises the calls of other counters to those of their rows. A count never falls.
    pub fn merge_others(&mut self, other_calls: i64) {
        self.other_calls = self.other_calls.max(other_calls);
    }
}

/// The days whose counts are in memory, the most recently used one last.
///
/// Each day keeps its own counts. So a clock that jumps over midnight and back resets none of them (row 22).
#[derive(Debug, Default)]
pub struct RecentDays(Vec<Day>);

/// The relation of a day that becomes today to the days in memory.
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
    use values::time::Timestamp;

    use super::*;

    fn counter() -> DayCounter {
        DayCounter::new(Timestamp::from_millis(0))
    }

    fn day(text: &str) -> Day {
        Timestamp::parse(&format!("{text}T12:00:00Z")).unwrap().day()
    }

    #[test]
    fn call_beyond_the_limit_has_no_room() {
        let mut count = counter();
        count.merge_others(8);

        assert!(count.has_room(2, 10) && !count.has_room(3, 10));
        count.count(2);
        assert_eq!((count.total(), count.unwritten()), (10, Some(2)));
    }

    #[test]
    fn counts_of_other_processes_are_added_and_none_falls() {
        let mut count = counter();
        count.count(2);

        count.merge_others(4);
        assert_eq!(count.total(), 6);
        count.merge_others(1);
        assert_eq!(count.total(), 6);
    }

    #[test]
    fn calls_stay_unwritten_until_their_row_is_written() {
        let mut count = counter();
        count.count(2);
        let written = count.unwritten().unwrap();
        count.count(1);

        assert_eq!(count.unwritten(), Some(3));
        count.mark_written(written);
        assert_eq!(count.unwritten(), Some(3));
        count.mark_written(3);
        assert_eq!((count.unwritten(), count.total()), (None, 3));
    }

    /// Covers the fault table (row 22).
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
