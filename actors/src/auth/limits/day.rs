//! The counts of a UTC day, and which days are in memory. Plain: no clock, no database.

use entity::time::Day;

/// Days whose counts stay in memory: today, and those that a clock which jumps may come back to.
const MAX_KEPT_DAYS: usize = 3;

/// The calls of one user on one surface and day, and how many of them the table does not hold yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayCount {
    total: i64,
    unwritten: i64,
}

impl DayCount {
    /// Calls counted on this day.
    pub fn total(&self) -> u32 {
        u32::try_from(self.total).unwrap_or(u32::MAX)
    }

    /// Whether so many more fit under the limit.
    pub fn has_room(&self, weight: u32, limit: u32) -> bool {
        u64::from(self.total()) + u64::from(weight) <= u64::from(limit)
    }

    /// Counts a call of this weight.
    pub fn count(&mut self, weight: u32) {
        self.total += i64::from(weight);
        self.unwritten += i64::from(weight);
    }

    /// Takes what is to be written.
    pub fn take(&mut self) -> i64 {
        std::mem::take(&mut self.unwritten)
    }

    /// Whether the table lacks some of it.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// The table says so much for the day: other processes may have counted too. A count never falls.
    pub fn learn(&mut self, written: i64) {
        self.total = self.total.max(written.saturating_add(self.unwritten));
    }
}

/// The days whose counts are in memory, the one that was used last at the end.
///
/// Each day keeps its own counts, so a clock that jumps over midnight and back, in either direction, finds them as they were
/// and resets none. (faults-and-threats, row 22)
#[derive(Debug, Default)]
pub struct KeptDays(Vec<Day>);

/// What is known of a day when it becomes today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entered {
    /// Its counts are in memory.
    Known,
    /// It is later than every day in memory: nothing was counted on it, or little, by another process.
    Later,
    /// It is earlier than a day in memory, because the clock was set back: its rows are to be read before anything counts.
    Earlier,
}

impl KeptDays {
    /// Makes this day today. Days that were not today for longest are dropped.
    pub fn enter(&mut self, day: Day) -> Entered {
        if self.0.last() == Some(&day) {
            return Entered::Known;
        }
        let entered = match () {
            () if self.holds(day) => Entered::Known,
            () if self.0.iter().all(|kept| *kept < day) => Entered::Later,
            () => Entered::Earlier,
        };
        self.forget(day);
        self.0.push(day);
        if self.0.len() > MAX_KEPT_DAYS {
            self.0.remove(0);
        }
        entered
    }

    /// Drops a day: when it becomes today again, its rows are read.
    pub fn forget(&mut self, day: Day) {
        self.0.retain(|kept| *kept != day);
    }

    /// Whether the counts of this day are in memory.
    pub fn holds(&self, day: Day) -> bool {
        self.0.contains(&day)
    }

    /// Whether this is the only day in memory.
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
    fn a_call_that_would_pass_the_limit_has_no_room() {
        let mut count = DayCount::default();
        count.learn(8);

        assert!(count.has_room(2, 10) && !count.has_room(3, 10));
        count.count(2);
        assert_eq!((count.total(), count.take(), count.take()), (10, 2, 0));
    }

    #[test]
    fn what_others_counted_is_learned_and_no_count_falls() {
        let mut count = DayCount::default();
        count.count(1);
        count.take();
        count.count(1);

        count.learn(5);
        assert_eq!(count.total(), 6);
        count.learn(1);
        assert_eq!(count.total(), 6);
    }

    /// Of the fault table (row 22).
    #[test]
    fn clock_that_is_set_back_enters_known_or_earlier_days() {
        let mut days = KeptDays::default();
        let (sunday, monday, tuesday) = (day("2024-05-05"), day("2024-05-06"), day("2024-05-07"));

        assert_eq!(days.enter(monday), Entered::Later);
        assert_eq!(days.enter(tuesday), Entered::Later);
        assert_eq!(days.enter(monday), Entered::Known);
        assert_eq!(days.enter(tuesday), Entered::Known);
        assert_eq!(days.enter(sunday), Entered::Earlier);
        assert_eq!(days.enter(sunday), Entered::Known);
    }

    #[test]
    fn day_that_was_not_today_for_longest_is_dropped() {
        let mut days = KeptDays::default();
        for text in ["2024-05-05", "2024-05-06", "2024-05-07", "2024-05-08"] {
            days.enter(day(text));
        }

        assert!(!days.holds(day("2024-05-05")) && days.holds(day("2024-05-06")));
        assert_eq!(days.enter(day("2024-05-05")), Entered::Earlier);
    }
}
