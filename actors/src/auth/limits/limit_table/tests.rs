//! Tests of the table of limits.

use std::time::Duration;

use library::clock::TestClock;
use values::id::KeyId;

use super::*;

const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn request(hourly: u32, daily: u32) -> RateLimitRequest {
    RateLimitRequest {
        bucket: Principal::Key(KeyId::new(NOON)),
        hourly,
        user: UserId::new(NOON),
        surface: MeteredSurface::Rest,
        daily,
        weight: 1,
    }
}

/// A table that is open today, and in which the actor has admitted one call of this request.
fn open_table(request: &RateLimitRequest) -> (Arc<TestClock>, LimitTable) {
    let clock = Arc::new(TestClock::at(NOON));
    let table = LimitTable::new(clock.clone());
    table.admit(request, NOON).unwrap();
    table.open(NOON.day());
    (clock, table)
}

fn remaining(table: &LimitTable, request: &RateLimitRequest) -> u32 {
    table.remaining(request.user, request.bucket, request.hourly)
}

/// Admits calls on several threads at once. Returns how many were admitted.
fn admit_on_threads(table: &LimitTable, request: &RateLimitRequest) -> usize {
    let admitted = || (0..100).filter(|_| matches!(table.try_admit(request, NOON), Some(Ok(_)))).count();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(admitted)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    })
}

#[test]
fn threads_together_stay_within_both_limits() {
    for (hourly, daily) in [(50, 1_000), (1_000, 50)] {
        let request = request(hourly, daily);
        let (_, table) = open_table(&request);

        assert_eq!(admit_on_threads(&table, &request), 49);

        assert_eq!(table.counts_of(request.user, NOON.day()).rest, 50);
        assert_eq!(remaining(&table, &request), hourly - 50);
    }
}

#[test]
fn call_that_one_limit_refuses_counts_in_neither() {
    let narrow = request(1, 100);
    let (_, table) = open_table(&narrow);

    let by_hour = table.try_admit(&narrow, NOON).unwrap().unwrap_err();
    assert_eq!((by_hour.window, by_hour.limit), (RateWindow::Hour, 1));
    assert_eq!(table.counts_of(narrow.user, NOON.day()).rest, 1);

    let heavy = request(100, 2);
    let (_, table) = open_table(&heavy);
    let by_day =
        table.try_admit(&RateLimitRequest { weight: 2, ..heavy.clone() }, NOON).unwrap().unwrap_err();
    assert_eq!((by_day.window, by_day.reset), (RateWindow::Day, DAY / 2));
    assert_eq!(remaining(&table, &heavy), 99);
}

#[test]
fn quota_of_a_taken_call_is_that_of_the_nearest_limit() {
    let by_hour = request(10, 1_000);
    let (_, table) = open_table(&by_hour);
    let quota = table.try_admit(&by_hour, NOON).unwrap().unwrap();
    assert_eq!(quota, Quota { limit: 10, remaining: 8, reset: Duration::from_secs(720) });

    let by_day = request(1_000, 10);
    let (_, table) = open_table(&by_day);
    let quota = table.try_admit(&by_day, NOON).unwrap().unwrap();
    assert_eq!(quota, Quota { limit: 10, remaining: 8, reset: DAY / 2 });
}

#[test]
fn actor_decides_misses_new_limits_and_other_days() {
    let request = request(10, 100);
    let (clock, table) = open_table(&request);
    let tomorrow = NOON + DAY;
    let others = [
        RateLimitRequest { bucket: Principal::Key(KeyId::new(NOON)), ..request.clone() },
        RateLimitRequest { hourly: 11, ..request.clone() },
        RateLimitRequest { surface: MeteredSurface::Mcp, ..request.clone() },
    ];

    assert!(others.iter().all(|other| table.try_admit(other, NOON).is_none()));
    assert!(table.try_admit(&request, tomorrow).is_none());
    assert!(table.try_counts(request.user, tomorrow.day()).is_none());
    assert!(table.try_remaining(request.user, request.bucket, 11).is_none());
    assert_eq!(table.try_remaining(request.user, request.bucket, 10), Some(9));
    clock.advance(DAY);
    assert!(table.try_remaining(request.user, request.bucket, 10).is_none());
    table.close();
    assert!(table.try_admit(&request, NOON).is_none());
}

#[test]
fn cleared_table_admits_nothing_until_it_is_opened() {
    let request = request(3, 100);
    let (_, table) = open_table(&request);
    table.try_admit(&request, NOON).unwrap().unwrap();

    table.clear();
    assert!(table.try_admit(&request, NOON).is_none());
    assert!(table.unwritten().is_empty());
    table.open(NOON.day());

    assert!(table.try_admit(&request, NOON).is_none());
    assert_eq!(table.admit(&request, NOON).unwrap().remaining, 2);
}

#[test]
fn write_of_a_dropped_counter_marks_nothing_of_the_new_one() {
    let request = request(100, 100);
    let (_, table) = open_table(&request);
    table.try_admit(&request, NOON).unwrap().unwrap();
    let of_dropped = table.unwritten();

    table.clear();
    table.admit(&request, NOON).unwrap();
    table.record_written(of_dropped, Vec::new());

    assert_eq!(table.unwritten().into_values().map(|(_, calls)| calls).collect::<Vec<_>>(), [1]);
}

#[test]
fn sweep_keeps_used_buckets_and_unwritten_counts() {
    let request = request(10, 100);
    let (clock, table) = open_table(&request);

    table.sweep(|_| false);
    assert_eq!(table.try_remaining(request.user, request.bucket, 10), Some(9));
    table.record_written(table.unwritten(), Vec::new());
    clock.advance(Duration::from_secs(3600));
    table.sweep(|_| false);

    assert_eq!(table.try_remaining(request.user, request.bucket, 10), None);
    assert_eq!(table.counts_of(request.user, NOON.day()), DayCounts::default());
}
