//! How long texts take to read, at the words a minute of the user's settings. Queries with `upto:` count with a pace that is the same for
//! all users.

/// Returns the minutes that a number of words takes to read, rounded up; at least 1.
pub fn reading_minutes(words: i32, words_per_minute: i32) -> i64 {
    let (words, pace) = (i64::from(words), i64::from(words_per_minute.max(1)));
    ((words + pace - 1) / pace).max(1)
}

/// Returns the minutes that are left of a text of which this part was read, rounded up.
#[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "minutes are small numbers")]
pub fn minutes_left(minutes: i64, progress: f64) -> i64 {
    ((minutes as f64) * (1.0 - progress)).ceil() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_are_rounded_up_at_the_pace_of_the_user() {
        assert_eq!((reading_minutes(300, 100), reading_minutes(301, 100)), (3, 4));
        assert_eq!((reading_minutes(0, 230), reading_minutes(5, 0)), (1, 5));
    }

    #[test]
    fn minutes_left_are_rounded_up() {
        assert_eq!(minutes_left(9, 0.0), 9);
        assert_eq!(minutes_left(9, 0.99), 1);
        assert_eq!(minutes_left(9, 1.0), 0);
    }
}
