//! A queue in a temporary database, for the tests of this crate.

use database::{Db, QueryPlan};
use entity::job::{Entity, Model};
use entity::user;
use sea_orm::{EntityTrait, IntoActiveModel, Statement};
use uuid::Uuid;
use values::id::{JobId, UserId};
use values::plan::Plan;
use values::time::Timestamp;

use super::{ClaimOrder, ClaimedJobs, JobKind, LeaseOwner, Priority, SlotBudget, Track, claim, enqueue};

/// The time at which the tests begin.
pub(crate) const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// The holder of the leases of [`TestQueue::claim`].
pub(crate) const OWNER: LeaseOwner = LeaseOwner(Uuid::from_u128(1));

/// An empty queue. Its jobs are of the kind [`JobKind::Index`] unless a test says otherwise.
pub(crate) struct TestQueue {
    pub(crate) db: Db,
    _folder: tempfile::TempDir,
}

impl TestQueue {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Self { db: Db::open(&url).await.unwrap(), _folder: folder }
    }

    pub(crate) async fn add_user(&self) -> UserId {
        let id = UserId::new(NOON);
        let user = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
        user::Entity::insert(user.into_active_model()).exec_without_returning(self.db.write()).await.unwrap();
        id
    }

    /// Enqueues a job that a user waits for.
    pub(crate) async fn enqueue(&self, user: UserId, subject: Uuid) {
        enqueue(self.db.write(), user, JobKind::Index, subject, Priority::Now, NOON).await.unwrap();
    }

    /// Returns a due job of a kind that this version does not know, on the track of [`JobKind::Index`].
    pub(crate) fn unknown(&self, user: UserId, subject: Uuid) -> Model {
        let place = (Track::Library.number(), Priority::Now.number());
        Model { queue_position: Some(0), ..Model::queued(user, "a_later_kind", subject, place, NOON) }
    }

    pub(crate) async fn insert_unknown(&self, user: UserId, subject: Uuid) -> Model {
        let job = self.unknown(user, subject);
        self.insert(&job).await;
        job
    }

    pub(crate) async fn insert(&self, job: &Model) {
        let row = job.clone().into_active_model();
        Entity::insert(row).exec_without_returning(self.db.write()).await.unwrap();
    }

    /// Claims as many jobs as there are free slots.
    pub(crate) async fn claim(&self, free: u64, now: Timestamp) -> ClaimedJobs {
        let slots = SlotBudget::unrestricted(free);
        claim(&self.db, OWNER, Track::Library, ClaimOrder::InteractiveFirst, now, slots).await.unwrap()
    }

    /// Claims the one job that is due.
    pub(crate) async fn claim_one(&self, now: Timestamp) -> Model {
        let claimed = self.claim(10, now).await;
        assert_eq!((claimed.jobs.len(), claimed.crashed.len()), (1, 0), "{claimed:?}");
        claimed.jobs.into_iter().next().unwrap().row
    }

    /// Asserts that SQLite finds the rows of the statement by this index, and in its order: it neither reads all jobs nor sorts them.
    pub(crate) async fn assert_uses_index(&self, statement: Statement, index: &str) {
        let plan = QueryPlan::of(&self.db, statement).await.unwrap();
        let is_served = plan.has_step(index) && plan.full_scans().is_empty() && !plan.has_step("TEMP B-TREE");
        assert!(is_served, "{plan:#?}");
    }

    pub(crate) async fn job(&self, id: JobId) -> Option<Model> {
        self.jobs().await.into_iter().find(|job| job.id == id)
    }

    pub(crate) async fn jobs(&self) -> Vec<Model> {
        Entity::of_every_user().all(self.db.read()).await.unwrap()
    }
}

pub(crate) fn subject(number: u128) -> Uuid {
    Uuid::from_u128(number)
}
