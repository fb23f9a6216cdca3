//! One count of a UTC day. Plain: no clock, no database.

use entity::time::{Day, Timestamp};

/// What was counted on one day, and how much of it the table does not hold yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayCount {
    day: Day,
    total: i64,
    unwritten: i64,
}

impl DayCount {
    /// Of today, with what the table says.
    pub fn new(now: Timestamp, written: i64) -> Self {
        Self { day: now.day(), total: written, unwritten: 0 }
    }

    /// Calls counted today.
    pub fn total(&self, now: Timestamp) -> u32 {
        if self.day == now.day() { u32::try_from(self.total).unwrap_or(u32::MAX) } else { 0 }
    }

    /// Whether so many more fit under the limit.
    pub fn has_room(&self, now: Timestamp, weight: u32, limit: u32) -> bool {
        u64::from(self.total(now)) + u64::from(weight) <= u64::from(limit)
    }

    /// Counts; what an earlier day left unwritten is handed back.
    pub fn count(&mut self, now: Timestamp, weight: u32) -> Option<(Day, i64)> {
        let left = (self.day != now.day()).then(|| {
            let left = (self.day, self.unwritten);
            *self = Self::new(now, 0);
            left
        });
        self.total += i64::from(weight);
        self.unwritten += i64::from(weight);
        left.filter(|(_, unwritten)| *unwritten > 0)
    }

    /// Takes what is to be written.
    pub fn take(&mut self) -> Option<(Day, i64)> {
        let unwritten = std::mem::take(&mut self.unwritten);
        (unwritten > 0).then_some((self.day, unwritten))
    }

    /// Whether the table lacks some of it.
    pub fn has_unwritten(&self) -> bool {
        self.unwritten > 0
    }

    /// The table now says so much for the day: others may have counted too.
    pub fn learn(&mut self, day: Day, written: i64) {
        if self.day == day {
            self.total = written + self.unwritten;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn a_call_that_would_pass_the_limit_has_no_room_and_a_new_day_begins_at_nothing() {
        let evening = at("2024-05-06T23:59:59.999Z");
        let mut day = DayCount::new(evening, 8);

        assert!(day.has_room(evening, 2, 10) && !day.has_room(evening, 3, 10));
        assert_eq!(day.count(evening, 2), None);
        assert_eq!(day.total(evening), 10);

        let morning = at("2024-05-07T00:00:00.000Z");
        assert_eq!(day.total(morning), 0);
        assert_eq!(day.count(morning, 1), Some((evening.day(), 2)));
        assert_eq!(day.take(), Some((morning.day(), 1)));
        assert_eq!(day.take(), None);
    }

    #[test]
    fn what_others_counted_is_learned() {
        let now = at("2024-05-06T12:00:00Z");
        let mut day = DayCount::new(now, 0);
        day.count(now, 1);
        day.take();
        day.count(now, 1);

        day.learn(now.day(), 5);

        assert_eq!(day.total(now), 6);
    }
}
