//! When a feed is fetched next: about four times as often as something new appears in it, within bounds; ever more seldom
//! while it fails. Plain.

use std::time::Duration;

use entity::id::FeedSourceId;
use entity::time::Timestamp;

use parse::feed::Feed;

/// No feed is fetched more often by itself.
const SHORTEST: Duration = Duration::from_secs(15 * 60);
/// No feed is fetched more seldom, however quiet or broken it is.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Where the dates tell nothing.
const ORDINARY: Duration = Duration::from_secs(6 * 3600);
/// After the first failure.
const AGAIN: Duration = Duration::from_secs(30 * 60);
/// So many of the newest entries tell how often something appears.
const LOOKED_AT: usize = 10;

/// From a good fetch to the next; at least what the feed itself asks for.
pub fn interval(feed: &Feed, now: Timestamp) -> Duration {
    let mut dates: Vec<i64> = feed.items.iter().filter_map(|item| item.published_at).collect();
    dates.retain(|date| *date <= now.millis());
    dates.sort_unstable_by(|a, b| b.cmp(a));
    dates.truncate(LOOKED_AT);
    let told = dates.last().map(|oldest| now.since(Timestamp::from_millis(*oldest)));
    let count = u32::try_from(dates.len()).unwrap_or(u32::MAX).max(1);
    let every = told.map_or(ORDINARY, |span| span / count / 4);
    let asked = Duration::from_secs(60 * u64::from(feed.ttl_minutes.unwrap_or(0)));
    every.max(asked).clamp(SHORTEST, LONGEST)
}

/// How long to wait after this many failures in a row, at least as long as its server asks. However seldom a feed is fetched,
/// after its first failure it is asked soon: most of them pass.
pub fn after_failure(failures: i32, asked: Option<Duration>) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(16);
    let wait = AGAIN.saturating_mul(1 << doublings).min(LONGEST);
    wait.max(asked.unwrap_or_default())
}

/// A little later, by a share that is the source's own: what was followed together is not fetched together for ever.
pub fn spread(source: FeedSourceId, wait: Duration) -> Duration {
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

    fn feed(ages: impl IntoIterator<Item = Duration>) -> Feed {
        let item = |age| Item { published_at: Some((NOW - age).millis()), ..Item::default() };
        Feed { items: ages.into_iter().map(item).collect(), ..Feed::default() }
    }

    fn every(gap: Duration) -> Feed {
        feed((1..=30).map(|n| gap * n))
    }

    #[test]
    fn a_feed_is_fetched_about_four_times_as_often_as_something_appears() {
        assert_eq!(interval(&every(24 * HOUR), NOW), 6 * HOUR);
        assert_eq!(interval(&every(HOUR), NOW), HOUR / 4);
        assert_eq!(interval(&every(HOUR / 60), NOW), SHORTEST);
        assert_eq!(interval(&every(24 * 30 * HOUR), NOW), LONGEST);
        assert_eq!(interval(&feed([]), NOW), ORDINARY);
    }

    #[test]
    fn a_feed_that_asks_for_rest_gets_it() {
        let feed = Feed { ttl_minutes: Some(120), ..every(HOUR) };
        assert_eq!(interval(&feed, NOW), 2 * HOUR);
    }

    #[test]
    fn failures_double_the_wait_up_to_a_day() {
        let waits = [1, 2, 3, 9, i32::MAX].map(|failures| after_failure(failures, None));
        assert_eq!(waits, [HOUR / 2, HOUR, 2 * HOUR, LONGEST, LONGEST]);
        assert_eq!(after_failure(1, Some(5 * HOUR)), 5 * HOUR);
    }

    proptest! {
        #[test]
        fn whatever_a_feed_says_it_is_fetched_between_every_quarter_of_an_hour_and_every_day(
            ages in proptest::collection::vec(any::<i64>(), 0..20), ttl in any::<Option<u32>>()
        ) {
            let item = |date| Item { published_at: Some(date), ..Item::default() };
            let feed = Feed { items: ages.into_iter().map(item).collect(), ttl_minutes: ttl, ..Feed::default() };
            prop_assert!((SHORTEST..=LONGEST).contains(&interval(&feed, NOW)));
        }
    }
}
