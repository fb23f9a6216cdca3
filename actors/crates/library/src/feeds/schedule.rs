//! When a source is fetched next: about four times as often as new entries appear, within bounds, and with growing delays while
//! its fetches fail.

use std::time::Duration;

use parse::feed::Feed;
use values::id::FeedSourceId;
use values::time::Timestamp;

/// Shortest interval between scheduled fetches.
const MIN_FETCH_INTERVAL: Duration = Duration::from_secs(15 * 60);
/// Longest interval between scheduled fetches, also of a quiet or failing feed.
const MAX_FETCH_INTERVAL: Duration = Duration::from_secs(24 * 3600);
/// Interval for a feed whose entries have no dates.
const DEFAULT_FETCH_INTERVAL: Duration = Duration::from_secs(6 * 3600);
/// Delay after the first failure; each further one doubles it.
const FIRST_RETRY_DELAY: Duration = Duration::from_secs(30 * 60);
/// Newest entries from whose dates the interval is computed.
const SAMPLED_ENTRIES: usize = 10;

/// Returns the interval from a successful fetch to the next. It is at least as long as the feed asks for (`ttl`).
pub(super) fn interval(feed: &Feed, now: Timestamp) -> Duration {
    let mut dates: Vec<i64> = feed.items.iter().filter_map(|item| item.published_at).collect();
    // Dates in the future, such as those of announced events, say nothing about how often entries appear.
    dates.retain(|date| *date <= now.millis());
    dates.sort_unstable_by(|a, b| b.cmp(a));
    dates.truncate(SAMPLED_ENTRIES);
    let span = dates.last().map(|oldest| now.since(Timestamp::from_millis(*oldest)));
    let count = u32::try_from(dates.len()).unwrap_or(u32::MAX).max(1);
    let estimate = span.map_or(DEFAULT_FETCH_INTERVAL, |span| span / count / 4);
    let asked = Duration::from_secs(60 * u64::from(feed.ttl_minutes.unwrap_or(0)));
    estimate.max(asked).clamp(MIN_FETCH_INTERVAL, MAX_FETCH_INTERVAL)
}

/// Returns the interval that a source has stored, within the bounds.
pub(super) fn interval_of_seconds(seconds: i64) -> Duration {
    let stored = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    stored.clamp(MIN_FETCH_INTERVAL, MAX_FETCH_INTERVAL)
}

/// Returns the delay after this number of failures in a row. It is at least as long as the server asks for. The first retry
/// comes soon even for a feed that is fetched rarely, because most failures are temporary.
pub(super) fn retry_delay(failures: i32, retry_after: Option<Duration>) -> Duration {
    // At most 16, so that the shift below does not overflow after years of failures.
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(16);
    let wait = FIRST_RETRY_DELAY.saturating_mul(1 << doublings).min(MAX_FETCH_INTERVAL);
    wait.max(retry_after.unwrap_or_default())
}

/// Lengthens an interval by up to a tenth, by a share that depends on the source's id, so that sources that were followed at
/// the same time are not always fetched at the same time.
pub(super) fn spread(source: FeedSourceId, wait: Duration) -> Duration {
    // The last byte of a UUIDv7 is random; the first ones are the time, which sources of one import share.
    let share = source.0.as_bytes().last().copied().unwrap_or_default();
    wait + wait * u32::from(share) / 2560
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use parse::feed::Item;

    const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);
    const HOUR: Duration = Duration::from_secs(3600);

    fn feed_with_ages(ages: impl IntoIterator<Item = Duration>) -> Feed {
        let item = |age| Item { published_at: Some((NOW - age).millis()), ..Item::default() };
        Feed { items: ages.into_iter().map(item).collect(), ..Feed::default() }
    }

    fn feed_with_gap(gap: Duration) -> Feed {
        feed_with_ages((1..=30).map(|n| gap * n))
    }

    #[test]
    fn interval_is_a_quarter_of_the_time_between_entries() {
        assert_eq!(interval(&feed_with_gap(24 * HOUR), NOW), 6 * HOUR);
        assert_eq!(interval(&feed_with_gap(HOUR), NOW), HOUR / 4);
        assert_eq!(interval(&feed_with_gap(HOUR / 60), NOW), MIN_FETCH_INTERVAL);
        assert_eq!(interval(&feed_with_gap(24 * 30 * HOUR), NOW), MAX_FETCH_INTERVAL);
        assert_eq!(interval(&feed_with_ages([]), NOW), DEFAULT_FETCH_INTERVAL);
    }

    #[test]
    fn interval_is_at_least_the_ttl_of_the_feed() {
        let feed = Feed { ttl_minutes: Some(120), ..feed_with_gap(HOUR) };
        assert_eq!(interval(&feed, NOW), 2 * HOUR);
    }

    #[test]
    fn stored_interval_is_within_the_bounds() {
        assert_eq!(interval_of_seconds(i64::MIN), MIN_FETCH_INTERVAL);
        assert_eq!(interval_of_seconds(6 * 3600), 6 * HOUR);
        assert_eq!(interval_of_seconds(i64::MAX), MAX_FETCH_INTERVAL);
    }

    #[test]
    fn failures_double_the_retry_delay_up_to_a_day() {
        let waits = [1, 2, 3, 9, i32::MAX].map(|failures| retry_delay(failures, None));
        assert_eq!(waits, [HOUR / 2, HOUR, 2 * HOUR, MAX_FETCH_INTERVAL, MAX_FETCH_INTERVAL]);
        assert_eq!(retry_delay(1, Some(5 * HOUR)), 5 * HOUR);
    }

    proptest! {
        #[test]
        fn interval_of_any_feed_is_within_the_bounds(
            ages in proptest::collection::vec(any::<i64>(), 0..20), ttl in any::<Option<u32>>()
        ) {
            let item = |date| Item { published_at: Some(date), ..Item::default() };
            let feed = Feed { items: ages.into_iter().map(item).collect(), ttl_minutes: ttl, ..Feed::default() };
            prop_assert!((MIN_FETCH_INTERVAL..=MAX_FETCH_INTERVAL).contains(&interval(&feed, NOW)));
        }
    }
}
