//! Which jobs of a user a batch of the backlog takes: those of the newest documents, because users search for what they saved last.
//!
//! The queue positions decide how many jobs of each user a batch takes ([`super::fairness`]). Of these jobs, those that are not about the
//! newest documents change places with jobs that are: they get the positions of the latter. So the positions that wait afterwards are
//! the same as if the user's jobs ran in the order in which they were requested.

use std::collections::HashSet;

use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, Select};
use uuid::Uuid;
use values::groups::group_by_user;
use values::id::{JobId, UserId};

use super::inspect::{is_due, without_running_subjects};
use super::kind::JobKind;
use super::slots::ClaimedJob;

/// Replaces jobs of a batch that this transaction has locked and not leased. `subjects` are those of all jobs that the claim has taken.
pub(crate) async fn prefer_newest(
    txn: &impl ConnectionTrait,
    batch: &mut Vec<ClaimedJob>,
    subjects: &mut HashSet<Uuid>,
) -> Result<(), DbErr> {
    let by_user = group_by_user(batch.drain(..).map(|job| (job.row.user_id, job)));
    for (user, jobs) in by_user {
        batch.extend(prefer_newest_of(txn, user, jobs, subjects).await?);
    }
    Ok(())
}

async fn prefer_newest_of(
    txn: &impl ConnectionTrait,
    user: UserId,
    jobs: Vec<ClaimedJob>,
    subjects: &mut HashSet<Uuid>,
) -> Result<Vec<ClaimedJob>, DbErr> {
    let Some(place) = jobs.first().map(|job| (job.row.track, job.row.priority)) else { return Ok(jobs) };
    let newest = newest_jobs(user, place)
        .limit(jobs.len() as u64)
        // As in the claim: rows that another process claims at this moment are left to it.
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked);
    let newest = newest.all(txn).await?;
    let newest_ids: HashSet<JobId> = newest.iter().map(|row| row.id).collect();
    let (mut preferred, mut older): (Vec<_>, Vec<_>) =
        jobs.into_iter().partition(|job| newest_ids.contains(&job.row.id));
    for row in newest {
        // It may be taken already, or another job of its document.
        if subjects.contains(&row.subject) {
            continue;
        }
        let Some(kind) = JobKind::named(&row.kind) else { continue };
        let Some(left) = older.pop() else { break };
        move_to(txn, &left.row, row.queue_position).await?;
        subjects.remove(&left.row.subject);
        subjects.insert(row.subject);
        preferred.push(ClaimedJob { kind, row });
    }
    preferred.extend(older);
    preferred.sort_by_key(|job| std::cmp::Reverse(job.row.subject));
    Ok(preferred)
}

/// The condition that a due job may share a slot ([`super::choice`]), as SQL: exactly as in the partial index `job_user_newest`, so that
/// the planners use it. Otherwise each batch would read all other jobs of a user, such as those that update labels.
const MAY_SHARE_SLOT_SQL: &str =
    "job.attempts = 0 AND job.crashes = 0 AND job.progress = 0 AND job.kind IN ('process_text', 'index')";

/// Selects the due jobs of a user that may run in batches, those of the newest documents first: ids of documents are ordered by time.
fn newest_jobs(user: UserId, (track, priority): (i16, i16)) -> Select<Entity> {
    let due = Entity::owned_by(user)
        .filter(is_due())
        .filter(Expr::cust(MAY_SHARE_SLOT_SQL))
        .filter(Column::Track.eq(track))
        .filter(Column::Priority.eq(priority));
    without_running_subjects(due).order_by_desc(Column::Subject)
}

async fn move_to(txn: &impl ConnectionTrait, job: &Model, position: Option<i64>) -> Result<(), DbErr> {
    Entity::update_owned(job.user_id)
        .col_expr(Column::QueuePosition, Expr::value(position))
        .filter(Column::Id.eq(job.id))
        .exec(txn)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use sea_orm::{DbBackend, QueryTrait, Statement};

    use super::*;
    use crate::test_queue::{NOON, OWNER, TestQueue, subject};
    use crate::{BatchBudget, ClaimOrder, Priority, SlotBudget, Track, claim, enqueue_all, fairness, finish};

    async fn enqueue_backlog(queue: &TestQueue, user: UserId, numbers: std::ops::Range<u128>) {
        let (kind, numbers) = (JobKind::ProcessText, numbers.map(subject));
        enqueue_all(queue.db.write(), user, kind, numbers, Priority::Backlog, NOON).await.unwrap();
    }

    /// Claims a batch of four jobs, finishes them and returns their subjects.
    async fn run_batch(queue: &TestQueue) -> Vec<Uuid> {
        let batches = Some(BatchBudget { free: 1, free_for_backlog: 1, max_jobs: 4 });
        let slots = SlotBudget { batches, ..SlotBudget::unrestricted(1) };
        let order = ClaimOrder::InteractiveFirst;
        let claimed = claim(&queue.db, OWNER, Track::Library, order, NOON, slots).await.unwrap();
        let mut subjects = Vec::new();
        for job in claimed.batches.into_iter().flatten().chain(claimed.jobs) {
            assert!(finish(queue.db.write(), &job.row, NOON).await.unwrap());
            subjects.push(job.row.subject);
        }
        subjects
    }

    fn numbered<const N: usize>(numbers: [u128; N]) -> [Uuid; N] {
        numbers.map(subject)
    }

    #[tokio::test]
    async fn newest_documents_of_a_backlog_come_first() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        enqueue_backlog(&queue, user, 0..7).await;
        assert_eq!(run_batch(&queue).await, numbered([6, 5, 4, 3]));
        enqueue_backlog(&queue, user, 8..10).await;

        assert_eq!(run_batch(&queue).await, numbered([9, 8, 2, 1]));
        assert_eq!(run_batch(&queue).await, numbered([0]));
    }

    #[tokio::test]
    async fn newest_first_leaves_other_users_their_turns() {
        let queue = TestQueue::new().await;
        let (many, few) = (queue.add_user().await, queue.add_user().await);
        enqueue_backlog(&queue, many, 0..20).await;
        run_batch(&queue).await;
        enqueue_backlog(&queue, few, 30..34).await;

        for _ in 0..2 {
            let subjects = run_batch(&queue).await;
            assert_eq!(subjects.iter().filter(|one| **one >= subject(30)).count(), 2, "{subjects:?}");
        }
        let place = (Track::Library.number(), Priority::Backlog.number());
        let name = JobKind::Index.name();
        let next = fairness::next_position(queue.db.read(), many, name, place).await.unwrap();
        assert_eq!(next, 20, "the positions that wait are the last");
    }

    #[tokio::test]
    async fn newest_jobs_are_found_by_an_index_in_its_order() {
        let queue = TestQueue::new().await;

        let newest = newest_jobs(UserId::new(NOON), (1, 10)).limit(4).build(DbBackend::Sqlite);

        let index = "job_user_newest (user_id=? AND track=? AND priority=?";
        queue.assert_uses_index(newest, index).await;
    }

    #[tokio::test]
    async fn index_of_newest_jobs_has_the_kinds_that_run_in_batches() {
        let queue = TestQueue::new().await;
        let shared = JobKind::ALL.into_iter().filter(|kind| kind.runs_in_batches());
        let names: Vec<String> = shared.map(|kind| format!("'{}'", kind.name())).collect();
        let kinds = format!("kind IN ({})", names.join(", "));

        let index = "SELECT sql FROM sqlite_master WHERE name = 'job_user_newest'";
        let statement = Statement::from_string(DbBackend::Sqlite, index);
        let row = queue.db.read().query_one_raw(statement).await.unwrap().unwrap();

        let sql: String = row.try_get("", "sql").unwrap();
        assert!(sql.contains(&kinds) && MAY_SHARE_SLOT_SQL.contains(&kinds), "{sql}");
    }
}
