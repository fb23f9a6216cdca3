//! How an attempt ends or continues: its lease is renewed, or the job is finished, given up, deferred, released or yields.
//!
//! Each of these changes nothing and returns `false` if the attempt has lost its lease.

use std::time::Duration;

use database::Db;
use entity::job::{Column, Entity, Model};
use entity::{document, user};
use sea_orm::sea_query::{Alias, Expr, ExprTrait, Query, SimpleExpr};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, DeleteMany, EntityTrait, QueryFilter, UpdateMany,
};
use values::id::DocumentId;
use values::kind::JobState;
use values::time::Timestamp;

use super::claim::LeaseOwner;
use super::inspect::has_state;
use super::kind::{JobKind, Priority, has_known_kind};
use super::{LEASE_DURATION, MAX_CRASHES, fairness};

/// Why a job is given up of which every attempt crashed the process.
pub const REPEATED_CRASH: &str = "the server crashed each time it processed this";

/// Renews the lease. Returns whether the attempt still holds it.
pub async fn renew(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let renewed =
        Entity::update_owned(job.user_id).col_expr(Column::LeaseUntil, Expr::value(now + LEASE_DURATION));
    Ok(renewed.filter(is_leased(job)).exec(db).await?.rows_affected > 0)
}

/// Ends the job successfully, within the transaction that did the work. If it returns `false`, the attempt has lost its
/// lease, and the transaction must not be committed.
pub async fn finish(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    Ok(end(job, JobState::Done, None, now).exec(db).await?.rows_affected > 0)
}

/// Ends the job as failed: no further attempt would succeed, or none is left.
pub async fn give_up(
    db: &impl ConnectionTrait,
    job: &Model,
    reason: &str,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let end_as_given_up = end(job, JobState::GivenUp, Some(reason), now);
    replace_given_up(db, job, end_as_given_up).await
}

/// Gives up a job and removes former ones of the same kind and subject: only the last reason is kept.
async fn replace_given_up(
    db: &impl ConnectionTrait,
    job: &Model,
    end_as_given_up: UpdateMany<Entity>,
) -> Result<bool, DbErr> {
    if end_as_given_up.exec(db).await?.rows_affected == 0 {
        return Ok(false);
    }
    // After the update, whose row count tells whether the attempt still holds its lease.
    let former = Entity::delete_many()
        .filter(Column::Kind.eq(&job.kind))
        .filter(Column::Subject.eq(job.subject))
        .filter(Column::State.eq(JobState::GivenUp))
        .filter(Column::Id.ne(job.id));
    former.exec(db).await?;
    Ok(true)
}

/// Ends a job whose last attempt crashed the process, with [`crash_reason`]. Returns `false` if that is no longer so.
pub async fn give_up_crashed(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    // The worker may have renewed its lease since the claim listed the job.
    let has_expired = Column::LeaseUntil.lt(now);
    replace_given_up(db, job, end(job, JobState::GivenUp, Some(crash_reason(job)), now).filter(has_expired))
        .await
}

/// Returns why a job is given up whose last attempt crashed the process: every attempt did, or else the reason of an earlier
/// failure.
pub fn crash_reason(job: &Model) -> &str {
    let all_crashed = job.crashes + 1 >= MAX_CRASHES;
    job.error.as_deref().filter(|_| !all_crashed).unwrap_or(REPEATED_CRASH)
}

fn end(job: &Model, state: JobState, reason: Option<&str>, now: Timestamp) -> UpdateMany<Entity> {
    Entity::update_owned(job.user_id)
        .col_expr(Column::State, Expr::value(state))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(reason.map(str::to_owned)))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(is_leased(job))
}

/// The way in which [`defer`] puts a job back.
#[derive(Clone, Copy, Debug)]
pub struct Deferral<'a> {
    /// Whether the attempt counts, because something went wrong. Otherwise it is as if there had been none, because something
    /// that the job needs is not available.
    pub counts_attempt: bool,
    /// Why the attempt failed, or what the job waits for; a sentence for the user. If there is none, the last reason stays.
    pub reason: Option<&'a str>,
    /// Minimum delay of the next attempt.
    pub delay: Duration,
}

/// Puts the job back for later. Progress since the claim counts: see [`advance`].
pub async fn defer(
    db: &impl ConnectionTrait,
    job: &Model,
    deferral: Deferral<'_>,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let queued = QueuedState {
        // The claim counted the attempt.
        attempts: if deferral.counts_attempt { job.attempts } else { job.attempts - 1 },
        crashes: job.crashes,
        progress: job.progress,
        reason: deferral.reason.or(job.error.as_deref()),
        run_at: now + deferral.delay,
        // `promote` computes it when the delay has passed: positions of other jobs advance meanwhile.
        position: None,
        priority: job.priority,
    };
    queued.write(db, job, now).await
}

/// Reads the row of a job, or returns `None` if the attempt has lost its lease. A job that made progress since the claim has
/// other numbers of attempts and crashes than when it was claimed.
pub async fn reload(db: &impl ConnectionTrait, job: &Model) -> Result<Option<Model>, DbErr> {
    Entity::owned_by(job.user_id).filter(is_leased(job)).one(db).await
}

/// Ends the wait of all deferred jobs with this reason: they are due now.
pub async fn end_wait(db: &impl ConnectionTrait, reason: &str, now: Timestamp) -> Result<(), DbErr> {
    let due = Entity::update_many().col_expr(Column::RunAt, Expr::value(now));
    due.filter(is_deferred_with(reason)).exec(db).await.map(drop)
}

fn is_deferred_with(reason: &str) -> Condition {
    Condition::all()
        .add(has_state(JobState::Queued))
        .add(Column::QueuePosition.is_null())
        .add(Column::Error.eq(reason))
}

/// Renews the lease of a job that made progress, in the transaction that keeps the progress. The job gets all its attempts again.
pub async fn advance(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let renewed = Entity::update_owned(job.user_id)
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE_DURATION))
        // 1 and not 0, because this attempt is still in progress.
        .col_expr(Column::Attempts, Expr::value(1))
        .col_expr(Column::Crashes, Expr::value(0));
    Ok(renewed.filter(is_leased(job)).exec(db).await?.rows_affected > 0)
}

/// Puts the job back as if there had been no attempt, because the server stops. Progress since the claim counts. See
/// [`release_all`] for all jobs of a process.
pub async fn release(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    // The row and not the claim, because `advance` may have reset the attempts since.
    let Some(job) = &reload(db, job).await? else { return Ok(false) };
    let position =
        Some(fairness::next_position(db, job.user_id, &job.kind, (job.track, job.priority)).await?);
    let queued = QueuedState {
        // The claim counted the attempt.
        attempts: job.attempts - 1,
        crashes: job.crashes,
        progress: job.progress,
        reason: job.error.as_deref(),
        run_at: now,
        position,
        priority: job.priority,
    };
    queued.write(db, job, now).await
}

/// Puts back all jobs that an owner has under lease, as if there had been no attempt, because its process stops. Progress since the
/// claims counts. Returns the number of jobs that wait again; each gets its queue position from the next
/// [`promote`](super::promote).
///
/// A job that was requested again meanwhile and waits is replaced by that one, and is finished.
///
/// # Errors
/// [`DbErr`] when the database fails; then the leases expire.
pub async fn release_all(db: &Db, owner: LeaseOwner, now: Timestamp) -> Result<u64, DbErr> {
    let leased = Condition::all().add(has_state(JobState::Running)).add(Column::LeaseOwner.eq(owner.0));
    requeue_all(db, leased, (Column::Attempts, Expr::col(Column::Attempts).sub(1)), now).await
}

/// Puts back the jobs of kinds that this version does not know whose leases have expired. [`claim`](super::claim()) leaves them, and a
/// running job blocks the other jobs of its subject. The crash of each counts, as when it is claimed again. Returns the number of jobs
/// that wait again.
pub async fn requeue_unknown(db: &Db, now: Timestamp) -> Result<u64, DbErr> {
    let expired = Condition::all()
        .add(has_state(JobState::Running))
        .add(Column::LeaseUntil.lt(now))
        .add(has_known_kind().not());
    // A read first: most of the time there is none, and the transaction would take the lock of the database.
    if Entity::of_every_user().filter(expired.clone()).one(db.read()).await?.is_none() {
        return Ok(0);
    }
    requeue_all(db, expired, (Column::Crashes, Expr::col(Column::Crashes).add(1)), now).await
}

/// Puts running jobs back, with a new value of one column. Of jobs that were requested again meanwhile and wait, the running ones are
/// finished. Returns the number of jobs that wait again.
async fn requeue_all(
    db: &Db,
    running: Condition,
    (column, value): (Column, SimpleExpr),
    now: Timestamp,
) -> Result<u64, DbErr> {
    let waiting = Alias::new("waiting_job");
    let same_job = Query::select()
        .expr(Expr::val(1))
        .from_as(Entity, waiting.clone())
        .and_where(Expr::col((waiting.clone(), Column::Kind)).equals((Entity, Column::Kind)))
        .and_where(Expr::col((waiting, Column::Subject)).equals((Entity, Column::Subject)))
        .and_where(Expr::cust("waiting_job.state = 'queued'"))
        .to_owned();
    // Two statements for all jobs, however many there are: the process may end soon, and another one may hold the lock of the
    // database. Each is a transaction: on PostgreSQL the second counts jobs of several users, and must not wait for a transaction that
    // requests a job and waits for the first.
    let requeued = Entity::update_many()
        .col_expr(Column::State, Expr::value(JobState::Queued))
        .col_expr(column, value)
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::RunAt, Expr::value(now))
        .filter(running.clone())
        .filter(Expr::exists(same_job.clone()).not())
        .exec(db.write())
        .await?;
    Entity::update_many()
        .col_expr(Column::State, Expr::value(JobState::Done))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(None::<String>))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(running)
        // A job that the process claims between the two statements stays leased: its claim took the only waiting row of that job.
        .filter(Expr::exists(same_job))
        .exec(db.write())
        .await?;
    Ok(requeued.rows_affected)
}

/// Puts a long job back with the progress that it made, so that others run in between. It gets all its attempts again. Its
/// priority does not rise, and falls to `priority` if that is lower.
pub async fn yield_job(
    db: &impl ConnectionTrait,
    job: &Model,
    progress: i32,
    priority: Priority,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let priority = Ord::max(job.priority, priority.number());
    // After the jobs that are due now: at the same position the older job, this one, would be first again.
    let position = fairness::next_position(db, job.user_id, &job.kind, (job.track, priority)).await?;
    let position = Some(position.saturating_add(1));
    let queued =
        QueuedState { attempts: 0, crashes: 0, progress, reason: None, run_at: now, position, priority };
    queued.write(db, job, now).await
}

/// The values that are written to the row of a job that waits again.
struct QueuedState<'a> {
    attempts: i32,
    crashes: i32,
    progress: i32,
    reason: Option<&'a str>,
    run_at: Timestamp,
    position: Option<i64>,
    priority: i16,
}

impl QueuedState<'_> {
    /// Writes the row. If the same job was requested meanwhile and waits, that one replaces this one, which is finished. If
    /// that happens in another process at this very moment, the unique index refuses the statement, and the lease expires.
    async fn write(self, db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
        let same_job = Query::select()
            .column(Column::Id)
            .from(Entity)
            .and_where(Column::Kind.eq(job.kind.clone()))
            .and_where(Column::Subject.eq(job.subject))
            .and_where(Column::State.eq(JobState::Queued))
            .to_owned();
        let requeued = Entity::update_owned(job.user_id)
            .col_expr(Column::State, Expr::value(JobState::Queued))
            .col_expr(Column::Attempts, Expr::value(self.attempts))
            .col_expr(Column::Crashes, Expr::value(self.crashes))
            .col_expr(Column::Progress, Expr::value(self.progress))
            .col_expr(Column::RunAt, Expr::value(self.run_at))
            .col_expr(Column::QueuePosition, Expr::value(self.position))
            .col_expr(Column::Priority, Expr::value(self.priority))
            .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
            .col_expr(Column::Error, Expr::value(self.reason.map(str::to_owned)))
            .filter(is_leased(job))
            .filter(Expr::exists(same_job).not())
            .exec(db)
            .await?;
        // No row: the lease is lost, or the same job waits already. `finish` changes nothing in the first case.
        if requeued.rows_affected > 0 { Ok(true) } else { finish(db, job, now).await }
    }
}

/// Selects the row of a job as long as this attempt holds its lease: a later claim writes another token.
fn is_leased(job: &Model) -> Condition {
    Condition::all()
        .add(Column::Id.eq(job.id))
        .add(Column::State.eq(JobState::Running))
        .add(Column::LeaseToken.eq(job.lease_token))
}

/// Returns the delay before the next attempt. It grows with the attempts; the id of the job spreads it by up to a quarter, so
/// that jobs that failed together do not run together again.
pub fn backoff(job: &Model) -> Duration {
    let minutes = match job.attempts {
        i32::MIN..=1 => 1,
        2 => 5,
        3 => 30,
        4 => 120,
        5..=i32::MAX => 720,
    };
    // The last byte of a UUIDv7 is random; its first ones are a time, which jobs of one burst share.
    let spread = job.id.0.as_bytes().last().copied().unwrap_or_default();
    let base = Duration::from_secs(60 * minutes);
    base + base * u32::from(spread) / 1024
}

/// Records with the document that a job makes why it is not ready: its attempt failed, or it waits. Only for kinds that
/// [make documents](JobKind::makes_document).
pub async fn record_document_reason(
    db: &impl ConnectionTrait,
    job: &Model,
    reason: &str,
) -> Result<(), DbErr> {
    document::Entity::update_owned(job.user_id)
        .filter(document::Column::Id.eq(DocumentId(job.subject)))
        .col_expr(document::Column::Error, Expr::value(reason))
        .exec(db)
        .await
        .map(drop)
}

/// Removes jobs that finished before `done_before`. Jobs that were given up are kept with their reason as long as their documents exist;
/// those that are about no document until they ended before `given_up_before`.
pub async fn sweep(db: &Db, done_before: Timestamp, given_up_before: Timestamp) -> Result<(), DbErr> {
    done_jobs(done_before).exec(db.write()).await?;
    let makes_document = Column::Kind.is_in(JobKind::that_make_documents());
    let own_document = Query::select()
        .column(document::Column::Id)
        .from(document::Entity)
        .and_where(Expr::col((document::Entity, document::Column::Id)).equals((Entity, Column::Subject)))
        .to_owned();
    let is_obsolete = Condition::any()
        .add(makes_document.clone().and(Expr::exists(own_document).not()))
        .add(makes_document.not().and(Column::FinishedAt.lt(given_up_before)));
    let given_up = Entity::delete_many().filter(has_state(JobState::GivenUp)).filter(is_obsolete);
    given_up.exec(db.write()).await.map(drop)
}

/// Returns the deletion of the jobs that finished before this time, of one account after another, as the index `job_finished` has them.
fn done_jobs(before: Timestamp) -> DeleteMany<Entity> {
    let users = Query::select().column(user::Column::Id).from(user::Entity).to_owned();
    Entity::delete_many()
        .filter(has_state(JobState::Done))
        .filter(Column::UserId.in_subquery(users))
        .filter(Column::FinishedAt.lt(before))
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, QueryTrait};
    use uuid::Uuid;
    use values::id::{JobId, UserId};

    use super::*;
    use crate::test_queue::{NOON, OWNER, TestQueue, subject};
    use crate::{MAX_ATTEMPTS, promote};

    /// Returns a job whose id ends with this byte, after a number of attempts.
    fn attempted(last_byte: u8, attempts: i32) -> Model {
        let id = JobId(Uuid::from_u128(u128::from(last_byte)));
        let user = UserId(Uuid::from_u128(7));
        Model {
            id,
            attempts,
            ..Model::queued(user, JobKind::Index.name(), subject(1), (1, Priority::Now.number()), NOON)
        }
    }

    #[tokio::test]
    async fn finished_jobs_of_each_account_are_found_by_an_index() {
        let queue = TestQueue::new().await;

        let plan = QueryPlan::of(&queue.db, done_jobs(NOON).build(DbBackend::Sqlite)).await.unwrap();

        assert!(plan.has_step("job_finished (user_id=? AND finished_at<?)"), "{plan:#?}");
    }

    #[test]
    fn delay_grows_with_the_attempts() {
        let minutes: Vec<u64> =
            (1..=MAX_ATTEMPTS).map(|attempts| backoff(&attempted(0, attempts)).as_secs() / 60).collect();

        assert_eq!(minutes, [1, 5, 30, 120, 720, 720]);
    }

    #[test]
    fn delays_of_jobs_spread_by_up_to_a_quarter() {
        let (shortest, longest) = (backoff(&attempted(0, 2)), backoff(&attempted(u8::MAX, 2)));

        assert!(longest > shortest * 6 / 5 && longest < shortest * 5 / 4, "{longest:?}");
    }

    #[tokio::test]
    async fn failed_attempt_counts_and_its_reason_stays() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let first = queue.claim_one(NOON).await;
        let delay = backoff(&first);
        let deferral = Deferral { counts_attempt: true, reason: Some("the site is down"), delay };
        assert!(defer(queue.db.write(), &first, deferral, NOON).await.unwrap());

        promote(&queue.db, NOON + delay).await.unwrap();
        let second = queue.claim_one(NOON + delay).await;

        assert_eq!((second.attempts, second.error.as_deref()), (2, Some("the site is down")));
        assert!(backoff(&second) > delay);
    }

    #[tokio::test]
    async fn wait_without_an_attempt_does_not_count_and_can_end() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let (reason, delay) = ("no model yet", Duration::from_secs(3600));
        let deferral = Deferral { counts_attempt: false, reason: Some(reason), delay };
        assert!(defer(queue.db.write(), &job, deferral, NOON).await.unwrap());

        end_wait(queue.db.write(), reason, NOON).await.unwrap();
        promote(&queue.db, NOON).await.unwrap();

        let again = queue.claim_one(NOON).await;
        assert_eq!((again.attempts, again.error), (1, None));
    }

    #[tokio::test]
    async fn progress_gives_a_job_all_its_attempts_again() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let first = queue.claim_one(NOON).await;
        let deferral = Deferral { counts_attempt: true, reason: None, delay: Duration::ZERO };
        assert!(defer(queue.db.write(), &first, deferral, NOON).await.unwrap());
        promote(&queue.db, NOON).await.unwrap();
        let second = queue.claim_one(NOON).await;

        assert!(advance(queue.db.write(), &second, NOON).await.unwrap());

        let reloaded = reload(queue.db.read(), &second).await.unwrap();
        assert_eq!(reloaded.map(|job| (job.attempts, job.crashes)), Some((1, 0)));
    }

    #[tokio::test]
    async fn given_up_job_keeps_only_the_last_reason() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        for reason in ["no text", "not found"] {
            queue.enqueue(user, subject(1)).await;
            let job = queue.claim_one(NOON).await;
            assert!(give_up(queue.db.write(), &job, reason, NOON).await.unwrap());
        }

        let jobs = queue.jobs().await;

        let reasons: Vec<_> = jobs.iter().map(|job| (job.state, job.error.as_deref())).collect();
        assert_eq!(reasons, [(JobState::GivenUp, Some("not found"))]);
    }

    #[tokio::test]
    async fn job_of_a_stopping_process_waits_without_an_attempt() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        queue.enqueue(user, subject(2)).await;
        assert_eq!(queue.claim(2, NOON).await.jobs.len(), 2);
        // It waits again already, so that the running one is over.
        queue.enqueue(user, subject(1)).await;

        assert_eq!(release_all(&queue.db, OWNER, NOON).await.unwrap(), 1);

        promote(&queue.db, NOON).await.unwrap();
        let claimed = queue.claim(3, NOON).await.jobs;
        assert_eq!(claimed.iter().map(|job| job.row.attempts).collect::<Vec<_>>(), [1, 1]);
    }

    #[tokio::test]
    async fn crashed_job_of_unknown_kind_frees_its_subject() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        let running = Model {
            state: JobState::Running,
            attempts: 1,
            queue_position: None,
            lease_until: Some(NOON),
            ..queue.unknown(user, subject(1))
        };
        queue.insert(&running).await;
        queue.enqueue(user, subject(1)).await;
        assert!(queue.claim(1, NOON).await.jobs.is_empty());

        assert_eq!(requeue_unknown(&queue.db, NOON).await.unwrap(), 0);
        let later = NOON + Duration::from_millis(1);
        assert_eq!(requeue_unknown(&queue.db, later).await.unwrap(), 1);

        let waiting = queue.job(running.id).await.unwrap();
        assert_eq!((waiting.state, waiting.attempts, waiting.crashes), (JobState::Queued, 1, 1));
        assert_eq!(queue.claim_one(later).await.subject, subject(1));
    }

    #[tokio::test]
    async fn job_that_yields_waits_behind_others_with_its_progress() {
        let queue = TestQueue::new().await;
        let (long, other) = (queue.add_user().await, queue.add_user().await);
        queue.enqueue(long, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        queue.enqueue(other, subject(2)).await;

        assert!(yield_job(queue.db.write(), &job, 40, Priority::Now, NOON).await.unwrap());

        let claimed = queue.claim(2, NOON).await.jobs;
        assert_eq!(claimed.iter().map(|job| job.row.progress).collect::<Vec<_>>(), [0, 40]);
    }
}
