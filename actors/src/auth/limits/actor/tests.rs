//! Tests of the actor of rate limits.

use database::{QueryPlan, insert_all};
use entity::user;
use library::clock::TestClock;
use sea_orm::{EntityTrait, IntoActiveModel};
use values::id::{KeyId, UsageCounterId};
use values::kind::MeteredSurface;
use values::plan::Plan;
use values::time::Timestamp;

use super::super::{RateLimits, sweep};
use super::*;

const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);
const DAY: Duration = Duration::from_secs(24 * 3600);

async fn write_row(db: &Db, user: UserId, day: Day, calls: i64) {
    let counter_id = UsageCounterId::new(NOON);
    let row = usage_day::Model { user_id: user, day, surface: MeteredSurface::Rest, counter_id, calls };
    usage_day::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
}

fn user_row(email: String) -> user::Model {
    user::Model::new(UserId::new(NOON), email, "h".to_owned(), Plan::Pro, NOON)
}

/// A database in this folder, with one user.
async fn database_with_user(folder: &tempfile::TempDir) -> (Db, UserId) {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    let db = Db::open(&url).await.unwrap();
    let owner = user_row("a@b".to_owned());
    let id = owner.id;
    user::Entity::insert(owner.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    (db, id)
}

#[actix::test]
async fn counts_are_found_by_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let ((mut db, id), clock) = (database_with_user(&folder).await, Arc::new(TestClock::at(NOON)));
    let (unrecorded, sent) = (db.clone(), db.record_statements());
    let batch = CountBatch::from([((id, MeteredSurface::Rest, NOON.day()), (UsageCounterId::new(NOON), 3))]);

    write(&db, &batch).await.unwrap();
    sweep(&db, NOON).await.unwrap();
    let limits = RateLimits::start(&actix::Arbiter::current(), db, clock);
    while let Err(Error::Busy(_)) = limits.today(id).await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    let plans = QueryPlan::of_each(&unrecorded, sent.take()).await.unwrap();
    assert!(plans.iter().any(|plan| plan.has_step("usage_day_day (day=?)")), "{plans:#?}");
    assert!(plans.iter().all(|plan| plan.full_scans().is_empty()), "{plans:#?}");
}

#[actix::test]
async fn first_query_of_a_day_waits_for_its_rows() {
    let folder = tempfile::tempdir().unwrap();
    let ((db, id), clock) = (database_with_user(&folder).await, Arc::new(TestClock::at(NOON)));
    for (day, calls) in [(NOON - DAY, 3), (NOON, 5), (NOON + DAY, 7)] {
        write_row(&db, id, day.day(), calls).await;
    }
    let limits = RateLimits::start(&actix::Arbiter::current(), db, clock.clone());

    let first = loop {
        match limits.today(id).await {
            // The actor has not read its rows yet.
            Err(Error::Busy(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            counts => break counts,
        }
    };
    assert_eq!(first.unwrap().rest, 5);
    // Another process counted on the day that begins now.
    clock.advance(DAY);
    assert_eq!(limits.today(id).await.unwrap().rest, 7);
    clock.set_back(DAY * 2);
    assert_eq!(limits.today(id).await.unwrap().rest, 3);
}

/// Asks again until the actor has read its rows.
async fn when_ready<T>(mut ask: impl AsyncFnMut() -> Result<T, Error>) -> T {
    loop {
        match ask().await {
            Err(Error::Busy(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            answer => return answer.unwrap(),
        }
    }
}

#[actix::test]
async fn restarted_actor_reads_the_counts_of_today_again() {
    let folder = tempfile::tempdir().unwrap();
    let ((db, user), clock) = (database_with_user(&folder).await, Arc::new(TestClock::at(NOON)));
    let limits = RateLimits::start(&actix::Arbiter::current(), db, clock);
    let (surface, bucket) = (MeteredSurface::Rest, Principal::Key(KeyId::new(NOON)));
    let request = RateLimitRequest { bucket, hourly: 10, user, surface, daily: 100, weight: 1 };
    for left in [9, 8] {
        let quota = when_ready(async || limits.admit(request.clone()).await).await;
        assert_eq!(quota.remaining, left);
    }
    limits.flush().await.unwrap();

    limits.port().crash();
    while limits.port().health().report().restarts == 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }

    assert_eq!(when_ready(async || limits.today(user).await).await.rest, 2);
    // The hour starts full.
    assert_eq!(when_ready(async || limits.admit(request.clone()).await).await.remaining, 9);
    assert_eq!(limits.today(user).await.unwrap().rest, 3);
}

#[actix::test]
async fn any_query_opens_the_day_that_it_finds() {
    let folder = tempfile::tempdir().unwrap();
    let ((db, user), clock) = (database_with_user(&folder).await, Arc::new(TestClock::at(NOON)));
    let limits = RateLimits::start(&actix::Arbiter::current(), db, clock.clone());
    when_ready(async || limits.today(user).await).await;
    let bucket = Principal::Key(KeyId::new(NOON));

    clock.advance(DAY);
    assert_eq!(limits.remaining(user, bucket, 10).await.unwrap(), 10);
    // The actor handles it once it has read the rows of the day.
    limits.flush().await.unwrap();
    assert_eq!(limits.table.try_remaining(user, bucket, 10), Some(10));

    clock.set_back(DAY);
    limits.today(user).await.unwrap();
    assert!(limits.table.try_counts(user, NOON.day()).is_some());
}

fn new_actor(db: &Db, clock: Arc<TestClock>) -> LimitActor {
    LimitActor::new(db.clone(), clock.clone(), Arc::new(LimitTable::new(clock)))
}

fn count(actor: &LimitActor, user: UserId, weight: u32) {
    actor.table.count((user, MeteredSurface::Rest, NOON.day()), weight);
}

/// Writes the unwritten counts as a flush does.
async fn write_counts(actor: &mut LimitActor) {
    let batch = actor.take_batch();
    let rows = write(&actor.db, &batch).await.unwrap();
    actor.on_written(batch, rows);
}

async fn written_calls(db: &Db, user: UserId) -> i64 {
    let rows = usage_day::Entity::owned_by(user).all(db.read()).await.unwrap();
    rows.iter().map(|row| row.calls).sum()
}

#[actix::test]
async fn batch_whose_commit_went_unanswered_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let (db, id) = database_with_user(&folder).await;
    let mut actor = new_actor(&db, Arc::new(TestClock::at(NOON)));
    count(&actor, id, 3);
    let batch = actor.take_batch();

    // The rows are written, and the actor handles the batch as if the write had failed.
    write(&db, &batch).await.unwrap();
    actor.put_back(batch);
    count(&actor, id, 1);
    write_counts(&mut actor).await;

    assert_eq!(written_calls(&db, id).await, 4);
    assert_eq!(actor.table.counts_of(id, NOON.day()).rest, 4);
    assert!(actor.take_batch().is_empty());
}

#[actix::test]
async fn more_users_than_a_statement_binds_are_written() {
    const SQLITE_BOUND_VALUES: usize = 32_766;
    let folder = tempfile::tempdir().unwrap();
    let (db, id) = database_with_user(&folder).await;
    let others: Vec<_> = (0..SQLITE_BOUND_VALUES).map(|number| user_row(format!("{number}@b"))).collect();
    insert_all::<user::Entity>(db.write(), others.clone(), None).await.unwrap();
    write_row(&db, id, NOON.day(), 5).await;
    let mut actor = new_actor(&db, Arc::new(TestClock::at(NOON)));
    for user in others.iter().map(|row| row.id).chain([id]) {
        count(&actor, user, 1);
    }

    write_counts(&mut actor).await;

    assert!(actor.take_batch().is_empty());
    assert_eq!(written_calls(&db, id).await, 6);
    assert_eq!(actor.table.counts_of(id, NOON.day()).rest, 6);
    assert_eq!(written_calls(&db, others[0].id).await, 1);
}

#[actix::test]
async fn sweep_deletes_counts_older_than_400_days() {
    let folder = tempfile::tempdir().unwrap();
    let (db, id) = database_with_user(&folder).await;
    for (age, calls) in [(0, 1), (400, 2), (401, 4)] {
        write_row(&db, id, (NOON - DAY * age).day(), calls).await;
    }

    sweep(&db, NOON).await.unwrap();

    assert_eq!(written_calls(&db, id).await, 3);
}

#[actix::test]
async fn counts_of_several_processes_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let (db, id) = database_with_user(&folder).await;
    let clock = Arc::new(TestClock::at(NOON));
    let mut one = new_actor(&db, clock.clone());
    let mut other = new_actor(&db, clock);

    for (actor, weight) in [(&mut one, 3), (&mut other, 2)] {
        count(actor, id, weight);
        write_counts(actor).await;
    }
    count(&one, id, 1);
    write_counts(&mut one).await;

    assert_eq!(written_calls(&db, id).await, 6);
    assert_eq!(one.table.counts_of(id, NOON.day()).rest, 6);
}
