//! Jobs that one attempt works on together: their leases are renewed, and they end or continue, with a few statements for all of them.

use std::collections::BTreeMap;

use database::padded;
use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, Query, SelectStatement};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, UpdateMany};
use uuid::Uuid;
use values::groups::group_by_user;
use values::id::{JobId, UserId};
use values::kind::JobState;
use values::time::Timestamp;

use super::LEASE_DURATION;
use super::inspect::has_state;
use super::kind::JobKind;
use super::slots::ClaimedJob;

/// Renews the leases of jobs. Those that have ended, or whose lease is lost, stay as they are.
pub async fn renew_all(db: &impl ConnectionTrait, jobs: &[ClaimedJob], now: Timestamp) -> Result<(), DbErr> {
    for (user, jobs) in rows_by_user(jobs) {
        let renewed =
            Entity::update_owned(user).col_expr(Column::LeaseUntil, Expr::value(now + LEASE_DURATION));
        renewed.filter(are_leased(&jobs)).exec(db).await?;
    }
    Ok(())
}

/// Reads the rows of those of these jobs whose leases the attempt still holds and which have not ended. A job that made progress since
/// the claim has another kind, or other numbers of attempts and crashes, than when it was claimed.
pub async fn reload_all(db: &impl ConnectionTrait, jobs: &[ClaimedJob]) -> Result<Vec<Model>, DbErr> {
    let mut leased = Vec::new();
    for (user, jobs) in rows_by_user(jobs) {
        leased.extend(Entity::owned_by(user).filter(are_leased(&jobs)).all(db).await?);
    }
    Ok(leased)
}

/// Ends jobs of a user successfully, within the transaction that did their work. If it returns `false`, the attempt has lost the lease of
/// one of them, and the transaction must not be committed.
pub async fn finish_all(
    db: &impl ConnectionTrait,
    user: UserId,
    jobs: &[&Model],
    now: Timestamp,
) -> Result<bool, DbErr> {
    let finished = Entity::update_owned(user)
        .col_expr(Column::State, Expr::value(JobState::Done))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)));
    change_all(db, finished, jobs).await
}

/// Turns jobs of a user that made the passages of documents into the jobs that index these documents, within the transaction that stores
/// the passages: the attempt continues with them under the same leases, and after a crash they are claimed as index jobs. They get all
/// their attempts again. If it returns `false`, the attempt has lost the lease of one of them, and the transaction must not be committed.
pub async fn continue_as_index(
    db: &impl ConnectionTrait,
    user: UserId,
    jobs: &[&Model],
    now: Timestamp,
) -> Result<bool, DbErr> {
    let continued = Entity::update_owned(user)
        .col_expr(Column::Kind, Expr::value(JobKind::Index.name()))
        // 1 and not 0, because this attempt is still in progress.
        .col_expr(Column::Attempts, Expr::value(1))
        .col_expr(Column::Crashes, Expr::value(0))
        .col_expr(Column::Progress, Expr::value(0))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE_DURATION));
    change_all(db, continued, jobs).await
}

/// Selects those of these subjects for which a job of this kind is queued.
pub fn queued_subjects(kind: JobKind, subjects: impl IntoIterator<Item = Uuid>) -> SelectStatement {
    Query::select()
        .column(Column::Subject)
        .from(Entity)
        .and_where(Column::Kind.eq(kind.name()))
        .and_where(Column::Subject.is_in(subjects))
        .and_where(has_state(JobState::Queued))
        .to_owned()
}

/// Changes the rows of leased jobs. Returns whether all of them were leased.
async fn change_all(
    db: &impl ConnectionTrait,
    change: UpdateMany<Entity>,
    jobs: &[&Model],
) -> Result<bool, DbErr> {
    Ok(change.filter(are_leased(jobs)).exec(db).await?.rows_affected == jobs.len() as u64)
}

/// Selects the rows of jobs as long as this attempt holds their leases: a later claim writes another token.
fn are_leased(jobs: &[&Model]) -> Condition {
    let mut tokens: Vec<Uuid> = jobs.iter().filter_map(|job| job.lease_token).collect();
    tokens.sort_unstable();
    tokens.dedup();
    let ids: Vec<JobId> = jobs.iter().map(|job| job.id).collect();
    Condition::all()
        .add(Column::Id.is_in(padded(&ids)))
        .add(Column::State.eq(JobState::Running))
        .add(Column::LeaseToken.is_in(padded(&tokens)))
}

fn rows_by_user(jobs: &[ClaimedJob]) -> BTreeMap<UserId, Vec<&Model>> {
    group_by_user(jobs.iter().map(|job| (job.row.user_id, &job.row)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{Priority, enqueue};

    /// Claims jobs of this kind for two subjects.
    async fn claim_two(queue: &TestQueue, user: UserId, kind: JobKind) -> Vec<ClaimedJob> {
        for number in [1, 2] {
            let subject = subject(number);
            enqueue(queue.db.write(), user, kind, subject, Priority::Backlog, NOON).await.unwrap();
        }
        queue.claim(2, NOON).await.jobs
    }

    fn rows(jobs: &[ClaimedJob]) -> Vec<&Model> {
        jobs.iter().map(|job| &job.row).collect()
    }

    #[tokio::test]
    async fn batch_that_lost_one_lease_does_not_finish() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        let claimed = claim_two(&queue, user, JobKind::Index).await;
        let taken = Entity::update_owned(user)
            .col_expr(Column::LeaseToken, Expr::value(Some(Uuid::from_u128(9))))
            .filter(Column::Subject.eq(subject(2)));
        taken.exec(queue.db.write()).await.unwrap();

        let txn = queue.db.begin().await.unwrap();
        assert!(!finish_all(&txn, user, &rows(&claimed), NOON).await.unwrap());
        drop(txn);

        let left = reload_all(queue.db.read(), &claimed).await.unwrap();
        assert_eq!(left.iter().map(|job| job.subject).collect::<Vec<_>>(), [subject(1)]);
        assert!(finish_all(queue.db.write(), user, &left.iter().collect::<Vec<_>>(), NOON).await.unwrap());
    }

    #[tokio::test]
    async fn texts_that_are_stored_continue_as_index_jobs() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        let claimed = claim_two(&queue, user, JobKind::ProcessText).await;

        assert!(continue_as_index(queue.db.write(), user, &rows(&claimed), NOON).await.unwrap());

        // The process crashes: the jobs are claimed again as what they have become.
        let later = NOON + LEASE_DURATION + Duration::from_secs(1);
        let again = queue.claim(2, later).await.jobs;
        assert_eq!(again.iter().map(|job| job.kind).collect::<Vec<_>>(), [JobKind::Index; 2]);
        assert!(reload_all(queue.db.read(), &claimed).await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn renewal_of_a_batch_leaves_jobs_that_ended() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        let claimed = claim_two(&queue, user, JobKind::Index).await;
        assert!(finish_all(queue.db.write(), user, &rows(&claimed[..1]), NOON).await.unwrap());
        let later = NOON + Duration::from_secs(5);

        renew_all(queue.db.write(), &claimed, later).await.unwrap();

        let leases: Vec<_> = Entity::owned_by(user).all(queue.db.read()).await.unwrap();
        let mut until: Vec<_> = leases.into_iter().map(|job| job.lease_until).collect();
        until.sort_unstable();
        assert_eq!(until, [None, Some(later + LEASE_DURATION)]);
    }

    #[tokio::test]
    async fn queued_subjects_are_those_of_the_kind() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        queue.enqueue(user, subject(2)).await;

        let queued = queued_subjects(JobKind::Index, [subject(2), subject(3)]);
        let other_kind = queued_subjects(JobKind::ProcessText, [subject(2)]);
        let found = async |subjects| {
            let jobs = Entity::owned_by(user).filter(Column::Subject.in_subquery(subjects));
            jobs.all(queue.db.read()).await.unwrap().into_iter().map(|job| job.subject).collect::<Vec<_>>()
        };

        assert_eq!(found(queued).await, [subject(2)]);
        assert!(found(other_kind).await.is_empty());
    }
}
