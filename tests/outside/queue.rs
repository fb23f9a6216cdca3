//! The queue of durable work, without a service: leases, and the tries that lost theirs.

use std::sync::Arc;
use std::time::Duration;

use actors::accounts::{self, NewAccount};
use actors::clock::{Clock, TestClock};
use actors::desk::Desk;
use actors::ingest::queue::{self, LEASE, MOST_ATTEMPTS, Priority, Work};
use carrel::settings::Settings;
use entity::id::UserId;
use entity::job;
use entity::kind::JobState;
use entity::plan::Plan;
use entity::time::Timestamp;
use sea_orm::EntityTrait;
use uuid::Uuid;

use crate::world::{Home, NOON};

struct Queue {
    desk: Desk,
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
        let desk = Desk::open(url.expose(), folder, "http://127.0.0.1", settings.plans, clock.clone())
            .await
            .unwrap();
        let (email, password) = ("queue@reader.example".to_owned(), "nine herons in the reeds".to_owned());
        let new = NewAccount { email, name: None, password, plan: Plan::Pro };
        let user = accounts::create(&desk, new).await.unwrap().id;
        Self { desk, clock, user, _home: home }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn ask(&self, work: Work, subject: Uuid) {
        queue::ask(self.desk.db.write(), self.user, work, subject, Priority::Now, self.now()).await.unwrap();
    }

    /// The row as its worker has it, where there is one to claim.
    async fn claim(&self) -> Option<job::Model> {
        queue::claim(&self.desk.db, self.now(), 1).await.unwrap().jobs.pop()
    }

    async fn row(&self, job: &job::Model) -> job::Model {
        job::Entity::find_by_id(job.id).one(self.desk.db.read()).await.unwrap().unwrap()
    }
}

#[actix_web::test]
async fn a_job_is_claimed_once_while_its_lease_holds_and_again_when_it_is_over() {
    let queue = Queue::new().await;
    queue.ask(Work::Page, Uuid::now_v7()).await;
    let first = queue.claim().await.unwrap();

    queue.clock.advance(LEASE);
    assert!(queue.claim().await.is_none());
    queue.clock.advance(Duration::from_secs(1));
    let second = queue.claim().await.unwrap();

    assert_eq!((first.id, first.attempts), (second.id, 1));
    assert_eq!(second.attempts, 2);
}

#[actix_web::test]
async fn a_lease_that_is_renewed_holds_on() {
    let queue = Queue::new().await;
    queue.ask(Work::Page, Uuid::now_v7()).await;
    let held = queue.claim().await.unwrap();

    for _ in 0..10 {
        queue.clock.advance(LEASE / 2);
        assert!(queue::renew(queue.desk.db.write(), &held, queue.now()).await.unwrap());
        assert!(queue.claim().await.is_none());
    }
}

#[actix_web::test]
async fn a_try_that_lost_its_lease_changes_nothing_more() {
    let queue = Queue::new().await;
    queue.ask(Work::Page, Uuid::now_v7()).await;
    let stale = queue.claim().await.unwrap();
    queue.clock.advance(Duration::from_secs(13));
    let current = queue.claim().await.unwrap();
    let (db, now, before) = (queue.desk.db.write(), queue.now(), queue.row(&current).await);

    assert!(!queue::renew(db, &stale, now).await.unwrap());
    assert!(!queue::finish(db, &stale, now).await.unwrap());
    assert!(!queue::give_up(db, &stale, "late", now).await.unwrap());
    assert!(!queue::retry(db, &stale, "late", Duration::ZERO, now).await.unwrap());
    assert!(!queue::release(db, &stale, now).await.unwrap());

    assert_eq!(queue.row(&current).await, before);
    assert!(queue::finish(db, &current, now).await.unwrap());
    assert_eq!(queue.row(&current).await.state, JobState::Done);
}

#[actix_web::test]
async fn a_job_whose_tries_all_died_with_their_process_is_given_up() {
    let queue = Queue::new().await;
    queue.ask(Work::Page, Uuid::now_v7()).await;
    let mut last = None;
    while let Some(tried) = queue.claim().await {
        last = Some(tried);
        queue.clock.advance(LEASE + Duration::from_secs(1));
    }

    let row = queue.row(&last.unwrap()).await;
    assert_eq!((row.state, row.attempts), (JobState::Dead, MOST_ATTEMPTS));
    assert_eq!(row.error.as_deref(), Some(queue::DIED));
}

#[actix_web::test]
async fn ten_workers_at_once_claim_each_of_twenty_jobs_once() {
    let queue = Queue::new().await;
    for _ in 0..20 {
        queue.ask(Work::Page, Uuid::now_v7()).await;
    }

    let mut taken = Vec::new();
    while taken.len() < 20 {
        let now = queue.now();
        let claims = (0..10).map(|_| queue::claim(&queue.desk.db, now, 2));
        let claimed = futures_util::future::try_join_all(claims).await.unwrap();
        taken.extend(claimed.into_iter().flat_map(|claimed| claimed.jobs).map(|job| job.id));
    }

    taken.sort_unstable_by_key(|id| id.0);
    taken.dedup();
    assert_eq!(taken.len(), 20);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn two_jobs_never_work_on_one_document_at_a_time() {
    let (queue, document) = (Queue::new().await, Uuid::now_v7());
    queue.ask(Work::Page, document).await;
    let first = queue.claim().await.unwrap();
    queue.ask(Work::Index, document).await;

    assert!(queue.claim().await.is_none());

    assert!(queue::finish(queue.desk.db.write(), &first, queue.now()).await.unwrap());
    assert_eq!(queue.claim().await.unwrap().kind, Work::Index.name());
}

#[actix_web::test]
async fn work_that_waits_already_is_not_asked_for_twice_and_work_that_runs_is() {
    let (queue, document) = (Queue::new().await, Uuid::now_v7());
    queue.ask(Work::Index, document).await;
    queue.ask(Work::Index, document).await;
    let first = queue.claim().await.unwrap();
    queue.ask(Work::Index, document).await;

    assert!(queue::finish(queue.desk.db.write(), &first, queue.now()).await.unwrap());
    let second = queue.claim().await.unwrap();
    assert!(queue::finish(queue.desk.db.write(), &second, queue.now()).await.unwrap());

    assert_ne!(first.id, second.id);
    assert!(queue.claim().await.is_none());
}

#[actix_web::test]
async fn a_job_that_is_put_back_at_a_stop_has_lost_no_try() {
    let queue = Queue::new().await;
    queue.ask(Work::Page, Uuid::now_v7()).await;
    let held = queue.claim().await.unwrap();

    assert!(queue::release(queue.desk.db.write(), &held, queue.now()).await.unwrap());

    assert_eq!(queue.claim().await.unwrap().attempts, 1);
}
