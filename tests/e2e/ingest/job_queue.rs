//! The durable job queue without a server: leases, attempts, crashes and fairness.

use std::sync::Arc;
use std::time::Duration;

use actors::auth::accounts::{self, NewAccount};
use carrel::settings::Settings;
use database::Db;
use entity::{document, job};
use jobs::{
    ClaimOrder, Deferral, JobKind, LEASE_DURATION, LeaseOwner, MAX_CRASHES, Priority, SlotBudget, Track,
};
use library::clock::{Clock, TestClock};
use library::context::CoreContext;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};
use uuid::Uuid;
use values::id::UserId;
use values::kind::{ContentType, JobState};
use values::plan::Plan;
use values::time::Timestamp;

use crate::support::{Home, NOON};

const OWNER: LeaseOwner = LeaseOwner(Uuid::from_u128(1));
const OTHER_OWNER: LeaseOwner = LeaseOwner(Uuid::from_u128(2));

/// A queue in an empty database, with a clock of the test and one user.
struct Queue {
    core: CoreContext,
    clock: Arc<TestClock>,
    user: UserId,
    _home: Home,
}

impl Queue {
    async fn new() -> Self {
        let (home, clock) = (Home::new().await, Arc::new(TestClock::at(NOON)));
        let settings = Settings::load(None, home.settings("data").into_iter()).unwrap();
        let url = settings.database_url();
        let folder = settings.data_dir.clone();
        let db = Db::open(url.expose()).await.unwrap();
        let core = CoreContext::new(db, folder, "http://127.0.0.1", settings.plans, clock.clone());
        let (email, password) = ("queue@reader.example".to_owned(), "nine herons in the reeds".to_owned());
        let new = NewAccount { email, name: None, password, plan: Plan::Pro };
        let user = accounts::create(&core, new).await.unwrap().id;
        Self { core, clock, user, _home: home }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Enqueues a job that a user waits for.
    async fn enqueue(&self, kind: JobKind, subject: Uuid) {
        jobs::enqueue(self.core.db.write(), self.user, kind, subject, Priority::Now, self.now())
            .await
            .unwrap();
    }

    /// Claims the next job, track by track.
    async fn claim(&self) -> Option<job::Model> {
        for track in Track::ALL {
            if let Some(job) = jobs::claim(
                &self.core.db,
                OWNER,
                track,
                ClaimOrder::InteractiveFirst,
                self.now(),
                SlotBudget::unrestricted(1),
            )
            .await
            .unwrap()
            .jobs
            .pop()
            {
                return Some(job.row);
            }
        }
        None
    }

    async fn other_user(&self) -> UserId {
        let (email, password) = ("other@reader.example".to_owned(), "nine herons in the reeds".to_owned());
        let new = NewAccount { email, name: None, password, plan: Plan::Pro };
        accounts::create(&self.core, new).await.unwrap().id
    }

    async fn row(&self, job: &job::Model) -> job::Model {
        job::Entity::find_by_id(job.id).one(self.core.db.read()).await.unwrap().unwrap()
    }
}

/// Covers the fault table (row 34).
#[actix_web::test]
async fn job_is_claimed_again_only_after_its_lease_expires() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let first = queue.claim().await.unwrap();

    // The lease still holds at its last moment.
    queue.clock.advance(LEASE_DURATION);
    assert!(queue.claim().await.is_none());
    queue.clock.advance(Duration::from_secs(1));
    let second = queue.claim().await.unwrap();

    assert_eq!((first.id, first.attempts), (second.id, 1));
    assert_eq!(second.attempts, 2);
}

#[actix_web::test]
async fn leases_of_dead_owner_end_once_at_its_next_start() {
    let queue = Queue::new().await;
    let db = queue.core.db.write();
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let killed = queue.claim().await.unwrap();

    assert_eq!(jobs::end_leases(db, OTHER_OWNER, queue.now()).await.unwrap(), 0);
    assert!(queue.claim().await.is_none());
    assert_eq!(jobs::end_leases(db, OWNER, queue.now()).await.unwrap(), 1);
    let reclaimed = queue.claim().await.unwrap();

    assert_eq!((reclaimed.id, reclaimed.attempts, reclaimed.crashes), (killed.id, 2, 1));
    assert!(!jobs::renew(db, &killed, queue.now()).await.unwrap());
    // A job that crashed twice waits for its lease: it may be the cause of the crashes.
    assert_eq!(jobs::end_leases(db, OWNER, queue.now()).await.unwrap(), 0);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn renewed_lease_holds() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let claimed = queue.claim().await.unwrap();

    for _ in 0..10 {
        queue.clock.advance(LEASE_DURATION / 2);
        assert!(jobs::renew(queue.core.db.write(), &claimed, queue.now()).await.unwrap());
        assert!(queue.claim().await.is_none());
    }
}

/// Covers the fault table (row 34).
#[actix_web::test]
async fn attempt_without_lease_cannot_change_its_job() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let stale = queue.claim().await.unwrap();
    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    let current = queue.claim().await.unwrap();
    let (db, now, before) = (queue.core.db.write(), queue.now(), queue.row(&current).await);

    assert!(!jobs::renew(db, &stale, now).await.unwrap());
    assert!(!jobs::finish(db, &stale, now).await.unwrap());
    assert!(!jobs::give_up(db, &stale, "late", now).await.unwrap());
    let later = |reason, delay| Deferral { counts_attempt: true, reason: Some(reason), delay };
    assert!(!jobs::defer(db, &stale, later("late", Duration::ZERO), now).await.unwrap());
    assert!(!jobs::release(db, &stale, now).await.unwrap());

    assert_eq!(queue.row(&current).await, before);
    assert!(jobs::finish(db, &current, now).await.unwrap());
    assert_eq!(queue.row(&current).await.state, JobState::Done);
}

/// Covers the fault table (row 35).
#[actix_web::test]
async fn job_whose_attempts_all_crash_is_given_up() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let mut last = None;
    while let Some(tried) = queue.claim().await {
        last = Some(tried);
        queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    }

    let given_up = jobs::claim(
        &queue.core.db,
        OWNER,
        Track::Web,
        ClaimOrder::InteractiveFirst,
        queue.now(),
        SlotBudget::unrestricted(1),
    )
    .await
    .unwrap()
    .crashed
    .remove(0)
    .row;
    let db = queue.core.db.write();
    // A slow worker that renews in time keeps the job.
    assert!(jobs::renew(db, &last.unwrap(), queue.now()).await.unwrap());
    assert!(!jobs::give_up_crashed(db, &given_up, queue.now()).await.unwrap());
    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    assert!(jobs::give_up_crashed(db, &given_up, queue.now()).await.unwrap());
    assert!(!jobs::give_up_crashed(db, &given_up, queue.now()).await.unwrap());

    let row = queue.row(&given_up).await;
    assert_eq!((row.state, row.attempts), (JobState::GivenUp, MAX_CRASHES));
    assert_eq!(row.error.as_deref(), Some(jobs::REPEATED_CRASH));
}

#[actix_web::test]
async fn sweep_keeps_the_last_given_up_job_of_an_existing_document() {
    let queue = Queue::new().await;
    let db = queue.core.db.write();
    let document =
        document::Model::pending(queue.user, ContentType::Article, "A page".to_owned(), queue.now());
    document::Entity::insert(document.clone().into_active_model()).exec_without_returning(db).await.unwrap();
    let (existing, deleted) = (document.id.0, Uuid::now_v7());
    for subject in [existing, existing, deleted] {
        queue.enqueue(JobKind::FetchPage, subject).await;
        let tried = queue.claim().await.unwrap();
        assert!(jobs::give_up(db, &tried, "not there", queue.now()).await.unwrap());
    }
    let given_up = async || {
        let given_up =
            job::Entity::find().filter(job::Column::State.eq(JobState::GivenUp)).all(db).await.unwrap();
        let mut given_up: Vec<Uuid> = given_up.into_iter().map(|job| job.subject).collect();
        given_up.sort();
        given_up
    };
    assert_eq!(given_up().await, [existing, deleted]);

    jobs::sweep(&queue.core.db, queue.now(), queue.now()).await.unwrap();

    assert_eq!(given_up().await, [existing]);
}

#[actix_web::test]
async fn failed_attempts_do_not_count_as_crashes() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let later = Deferral { counts_attempt: true, reason: Some("no answer"), delay: Duration::ZERO };
    for _ in 1..MAX_CRASHES {
        let failed = queue.claim().await.unwrap();
        assert!(jobs::defer(queue.core.db.write(), &failed, later, queue.now()).await.unwrap());
        jobs::promote(&queue.core.db, queue.now()).await.unwrap();
    }
    assert_eq!(queue.claim().await.unwrap().attempts, MAX_CRASHES);

    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));

    assert_eq!(queue.claim().await.unwrap().attempts, MAX_CRASHES + 1, "the attempt after the first crash");
}

#[actix_web::test]
async fn job_that_only_waited_is_given_up_after_three_crashes() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::Transcribe, Uuid::now_v7()).await;
    let later = Deferral {
        counts_attempt: false,
        reason: Some("waiting for the speech model"),
        delay: Duration::ZERO,
    };
    let waited = queue.claim().await.unwrap();
    assert!(jobs::defer(queue.core.db.write(), &waited, later, queue.now()).await.unwrap());
    jobs::promote(&queue.core.db, queue.now()).await.unwrap();

    let mut attempts = 0;
    while queue.claim().await.is_some() {
        attempts += 1;
        queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    }

    assert_eq!(attempts, MAX_CRASHES);
}

#[actix_web::test]
async fn crash_count_is_independent_of_failures_and_waits() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let db = queue.core.db.write();
    let defer_next = async |counts_attempt: bool, reason: &'static str| {
        let job = queue.claim().await.unwrap();
        let later = Deferral { counts_attempt, reason: Some(reason), delay: Duration::ZERO };
        assert!(jobs::defer(db, &job, later, queue.now()).await.unwrap());
        jobs::promote(&queue.core.db, queue.now()).await.unwrap();
    };

    // Three attempts failed, and the server stopped during the fourth, which does not count.
    for _ in 0..3 {
        defer_next(true, "no answer").await;
    }
    assert!(jobs::release(db, &queue.claim().await.unwrap(), queue.now()).await.unwrap());
    let job = queue.claim().await.unwrap();
    assert_eq!((job.attempts, job.crashes, job.error.as_deref()), (4, 0, Some("no answer")));
    // Waiting for its host between crashes does not reset the count.
    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    defer_next(false, "waiting for its host").await;
    assert_eq!(queue.claim().await.unwrap().crashes, 1);
    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    assert_eq!(queue.claim().await.unwrap().crashes, 2);
    queue.clock.advance(LEASE_DURATION + Duration::from_secs(1));
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn shared_feed_fetches_take_turns_with_all_users() {
    let (queue, other) = (Queue::new().await, Uuid::now_v7());
    let (db, now) = (queue.core.db.write(), queue.now());
    for _ in 0..20 {
        jobs::enqueue(db, queue.user, JobKind::FetchFeed, Uuid::now_v7(), Priority::Backlog, now)
            .await
            .unwrap();
    }

    jobs::enqueue(db, queue.user, JobKind::FetchPage, other, Priority::Backlog, now).await.unwrap();

    let first_two = [queue.claim().await.unwrap().subject, queue.claim().await.unwrap().subject];
    assert!(first_two.contains(&other));
}

#[actix_web::test]
async fn shared_feed_fetch_does_not_wait_for_an_import() {
    let (queue, feed) = (Queue::new().await, Uuid::now_v7());
    let (db, now) = (queue.core.db.write(), queue.now());
    for _ in 0..20 {
        jobs::enqueue(db, queue.user, JobKind::FetchPage, Uuid::now_v7(), Priority::Backlog, now)
            .await
            .unwrap();
    }

    jobs::enqueue(db, queue.user, JobKind::FetchFeed, feed, Priority::Backlog, now).await.unwrap();

    let first_two = [queue.claim().await.unwrap().subject, queue.claim().await.unwrap().subject];
    assert!(first_two.contains(&feed));
}

#[actix_web::test]
async fn concurrent_workers_claim_each_job_once() {
    let queue = Queue::new().await;
    for _ in 0..20 {
        queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    }

    // A claim may return fewer jobs than there are: it skips rows that another one has locked (PostgreSQL).
    let mut claimed_ids = Vec::new();
    while claimed_ids.len() < 20 {
        let now = queue.now();
        let claims = (0..10).map(|_| {
            jobs::claim(
                &queue.core.db,
                OWNER,
                Track::Web,
                ClaimOrder::InteractiveFirst,
                now,
                SlotBudget::unrestricted(2),
            )
        });
        let claimed = futures_util::future::try_join_all(claims).await.unwrap();
        claimed_ids.extend(claimed.into_iter().flat_map(|claimed| claimed.jobs).map(|job| job.row.id));
    }

    claimed_ids.sort_unstable_by_key(|id| id.0);
    claimed_ids.dedup();
    assert_eq!(claimed_ids.len(), 20);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn jobs_of_one_document_run_one_at_a_time() {
    let (queue, document) = (Queue::new().await, Uuid::now_v7());
    queue.enqueue(JobKind::FetchPage, document).await;
    let first = queue.claim().await.unwrap();
    queue.enqueue(JobKind::Index, document).await;

    assert!(queue.claim().await.is_none());

    assert!(jobs::finish(queue.core.db.write(), &first, queue.now()).await.unwrap());
    assert_eq!(queue.claim().await.unwrap().kind, JobKind::Index.name());
}

#[actix_web::test]
async fn job_is_enqueued_once_while_waiting_and_again_while_running() {
    let (queue, document) = (Queue::new().await, Uuid::now_v7());
    queue.enqueue(JobKind::Index, document).await;
    queue.enqueue(JobKind::Index, document).await;
    let first = queue.claim().await.unwrap();
    queue.enqueue(JobKind::Index, document).await;

    assert!(jobs::finish(queue.core.db.write(), &first, queue.now()).await.unwrap());
    let second = queue.claim().await.unwrap();
    assert!(jobs::finish(queue.core.db.write(), &second, queue.now()).await.unwrap());

    assert_ne!(first.id, second.id);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn job_released_at_shutdown_loses_no_attempt() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let claimed = queue.claim().await.unwrap();

    assert!(jobs::release(queue.core.db.write(), &claimed, queue.now()).await.unwrap());

    assert_eq!(queue.claim().await.unwrap().attempts, 1);
}

/// Covers the fault table (row 36).
#[actix_web::test]
async fn all_jobs_of_a_stopping_process_are_released_together() {
    let queue = Queue::new().await;
    let (waits, replaced) = (Uuid::now_v7(), Uuid::now_v7());
    queue.enqueue(JobKind::FetchPage, waits).await;
    queue.enqueue(JobKind::Index, replaced).await;
    let running = [queue.claim().await.unwrap(), queue.claim().await.unwrap()];
    // A second index job of this document is queued while the first runs. It takes the place of the released one.
    queue.enqueue(JobKind::Index, replaced).await;

    assert_eq!(jobs::release_all(&queue.core.db, OTHER_OWNER, queue.now()).await.unwrap(), 0);
    assert_eq!(jobs::release_all(&queue.core.db, OWNER, queue.now()).await.unwrap(), 1);
    assert_eq!(jobs::release_all(&queue.core.db, OWNER, queue.now()).await.unwrap(), 0);

    // An attempt that still runs has lost its lease, so it cannot change the row of the next attempt.
    for job in &running {
        assert!(!jobs::finish(queue.core.db.write(), job, queue.now()).await.unwrap());
    }
    jobs::promote(&queue.core.db, queue.now()).await.unwrap();
    let mut reclaimed = [queue.claim().await.unwrap(), queue.claim().await.unwrap()];
    reclaimed.sort_by_key(|job| job.subject);
    assert_eq!(reclaimed.each_ref().map(|job| (job.subject, job.attempts)), [(waits, 1), (replaced, 1)]);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn job_with_progress_gets_its_attempts_back() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let (db, first) = (queue.core.db.write(), queue.claim().await.unwrap());
    let later = Deferral { counts_attempt: true, reason: None, delay: Duration::ZERO };
    assert!(jobs::defer(db, &first, later, queue.now()).await.unwrap());
    jobs::promote(&queue.core.db, queue.now()).await.unwrap();
    let second = queue.claim().await.unwrap();
    assert!(jobs::advance(db, &second, queue.now()).await.unwrap());

    assert!(jobs::release(db, &second, queue.now()).await.unwrap());

    assert_eq!(queue.claim().await.unwrap().attempts, 1);
}

#[actix_web::test]
async fn users_take_turns_regardless_of_queue_length() {
    let queue = Queue::new().await;
    let other = queue.other_user().await;
    for _ in 0..20 {
        queue.enqueue(JobKind::Index, Uuid::now_v7()).await;
    }
    for _ in 0..5 {
        let done = queue.claim().await.unwrap();
        assert!(jobs::finish(queue.core.db.write(), &done, queue.now()).await.unwrap());
    }
    for _ in 0..3 {
        let (db, now) = (queue.core.db.write(), queue.now());
        jobs::enqueue(db, other, JobKind::Index, Uuid::now_v7(), Priority::Now, now).await.unwrap();
    }

    let mut order = Vec::new();
    while let Some(job) = queue.claim().await {
        order.push(job.user_id);
    }

    assert_eq!(order.len(), 18);
    assert_eq!(order.iter().take(6).filter(|user| **user == other).count(), 3, "{order:?}");
}

#[actix_web::test]
async fn interactive_job_runs_before_the_backlog_of_its_user() {
    let queue = Queue::new().await;
    let (db, now, wanted) = (queue.core.db.write(), queue.now(), Uuid::now_v7());
    for _ in 0..5 {
        jobs::enqueue(db, queue.user, JobKind::Index, Uuid::now_v7(), Priority::Backlog, now).await.unwrap();
    }
    queue.enqueue(JobKind::Index, wanted).await;

    assert_eq!(queue.claim().await.unwrap().subject, wanted);
}

#[actix_web::test]
async fn interactive_jobs_do_not_starve_a_backlog() {
    let (queue, imported) = (Queue::new().await, Uuid::now_v7());
    let other = queue.other_user().await;
    let (db, now) = (queue.core.db.write(), queue.now());
    jobs::enqueue(db, other, JobKind::Index, imported, Priority::Backlog, now).await.unwrap();
    for _ in 0..3 {
        queue.enqueue(JobKind::Index, Uuid::now_v7()).await;
    }
    let claim = async |order| {
        let claimed =
            jobs::claim(&queue.core.db, OWNER, Track::Library, order, now, SlotBudget::unrestricted(2))
                .await
                .unwrap();
        claimed.jobs.iter().map(|job| job.row.subject == imported).collect::<Vec<_>>()
    };

    assert_eq!(claim(ClaimOrder::InteractiveFirst).await, [false, false]);
    assert_eq!(claim(ClaimOrder::BacklogFirst).await, [true, false]);
}

#[actix_web::test]
async fn long_job_yields_to_waiting_jobs_and_continues() {
    let (queue, long, short) = (Queue::new().await, Uuid::now_v7(), Uuid::now_v7());
    queue.enqueue(JobKind::Index, long).await;
    let first = queue.claim().await.unwrap();
    queue.enqueue(JobKind::Index, short).await;

    assert!(
        jobs::yield_job(queue.core.db.write(), &first, 512, Priority::of(&first), queue.now()).await.unwrap()
    );

    assert_eq!(queue.claim().await.unwrap().subject, short);
    let second = queue.claim().await.unwrap();
    assert_eq!((second.subject, second.progress, second.attempts), (long, 512, 1));
    // A job that takes longer than a user would wait continues behind interactive jobs.
    let db = queue.core.db.write();
    assert!(jobs::yield_job(db, &second, 1024, Priority::Backlog, queue.now()).await.unwrap());
    assert_eq!(Priority::of(&queue.row(&second).await), Priority::Backlog);
}

#[actix_web::test]
async fn retry_waits_for_its_delay() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    let failed = queue.claim().await.unwrap();
    let (db, minute) = (queue.core.db.write(), Duration::from_secs(60));
    let later = Deferral { counts_attempt: true, reason: Some("no answer"), delay: minute };
    assert!(jobs::defer(db, &failed, later, queue.now()).await.unwrap());

    jobs::promote(&queue.core.db, queue.now()).await.unwrap();
    assert!(queue.claim().await.is_none());
    queue.clock.advance(minute);
    jobs::promote(&queue.core.db, queue.now()).await.unwrap();

    assert_eq!(queue.claim().await.unwrap().attempts, 2);
}

#[actix_web::test]
async fn backlog_and_each_user_leave_slots_to_others() {
    let queue = Queue::new().await;
    let (db, now, other) = (queue.core.db.write(), queue.now(), queue.other_user().await);
    for _ in 0..4 {
        jobs::enqueue(db, queue.user, JobKind::FetchPage, Uuid::now_v7(), Priority::Backlog, now)
            .await
            .unwrap();
        queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    }
    jobs::enqueue(db, other, JobKind::FetchPage, Uuid::now_v7(), Priority::Now, now).await.unwrap();
    let claim = async |order, budget| {
        let jobs = jobs::claim(&queue.core.db, OWNER, Track::Web, order, now, budget).await.unwrap().jobs;
        let backlog = jobs.iter().filter(|job| Priority::of(&job.row) == Priority::Backlog).count();
        (jobs.len(), backlog, jobs.iter().filter(|job| job.row.user_id == other).count())
    };

    let user_is_at_limit =
        SlotBudget { used_by_user: [(queue.user, 5)].into(), max_per_user: 5, ..SlotBudget::unrestricted(3) };
    assert_eq!(claim(ClaimOrder::InteractiveFirst, user_is_at_limit).await, (1, 0, 1));
    let user_has_two_left =
        SlotBudget { used_by_user: [(queue.user, 3)].into(), max_per_user: 5, ..SlotBudget::unrestricted(6) };
    assert_eq!(claim(ClaimOrder::BacklogFirst, user_has_two_left).await, (2, 1, 0));
    assert_eq!(
        claim(
            ClaimOrder::InteractiveFirst,
            SlotBudget { free_for_backlog: 1, ..SlotBudget::unrestricted(6) }
        )
        .await,
        (4, 1, 0)
    );
    assert_eq!(
        claim(ClaimOrder::BacklogFirst, SlotBudget { free_for_backlog: 0, ..SlotBudget::unrestricted(6) })
            .await,
        (0, 0, 0)
    );
}

#[actix_web::test]
async fn library_track_does_not_wait_for_web_jobs() {
    let queue = Queue::new().await;
    queue.enqueue(JobKind::FetchPage, Uuid::now_v7()).await;
    queue.enqueue(JobKind::ProcessText, Uuid::now_v7()).await;

    let claimed = jobs::claim(
        &queue.core.db,
        OWNER,
        Track::Library,
        ClaimOrder::InteractiveFirst,
        queue.now(),
        SlotBudget::unrestricted(5),
    )
    .await
    .unwrap()
    .jobs;

    assert_eq!(claimed.iter().map(|job| job.kind.name()).collect::<Vec<_>>(), [JobKind::ProcessText.name()]);
}

#[actix_web::test]
async fn index_jobs_are_left_to_the_maintainer() {
    let queue = Queue::new().await;
    let others = [JobKind::ProcessText, JobKind::DeliverEntries];
    for kind in others.into_iter().chain([JobKind::Index, JobKind::RemoveFromIndex, JobKind::RemoveFeed]) {
        queue.enqueue(kind, Uuid::now_v7()).await;
    }
    let claim = async |budget| {
        let claimed = jobs::claim(
            &queue.core.db,
            OWNER,
            Track::Library,
            ClaimOrder::InteractiveFirst,
            queue.now(),
            budget,
        )
        .await;
        claimed.unwrap().jobs
    };

    let without_index = claim(SlotBudget { skips_index_jobs: true, ..SlotBudget::unrestricted(9) }).await;

    let mut kinds: Vec<_> = without_index.iter().map(|job| job.kind.name()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, [JobKind::DeliverEntries.name(), JobKind::ProcessText.name()]);
    assert_eq!(claim(SlotBudget::unrestricted(9)).await.len(), 3);
}

/// Covers the fault table (row 6).
#[actix_web::test]
async fn deletions_alone_are_claimed_below_the_disk_floor() {
    let queue = Queue::new().await;
    for kind in [JobKind::ProcessText, JobKind::RemoveFromIndex, JobKind::RemoveFeed, JobKind::Index] {
        queue.enqueue(kind, Uuid::now_v7()).await;
    }
    let claim = async |only_deletions| {
        let budget = SlotBudget { only_deletions, ..SlotBudget::unrestricted(5) };
        let (db, now) = (&queue.core.db, queue.now());
        let claimed =
            jobs::claim(db, OWNER, Track::Library, ClaimOrder::InteractiveFirst, now, budget).await.unwrap();
        let mut kinds: Vec<_> = claimed.jobs.into_iter().map(|job| job.kind.name()).collect();
        kinds.sort();
        kinds
    };

    assert_eq!(claim(true).await, [JobKind::RemoveFeed.name(), JobKind::RemoveFromIndex.name()]);
    assert_eq!(claim(false).await, [JobKind::Index.name(), JobKind::ProcessText.name()]);
}
