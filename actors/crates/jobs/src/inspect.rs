//! Reads the queue: what waits, what runs, and what was given up.

use entity::job::{Column, Entity, Model};
use sea_orm::sea_query::{Expr, ExprTrait, IntoIden, Query, SelectStatement, SimpleExpr};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, QueryTrait, Select,
};
use uuid::Uuid;
use values::id::UserId;
use values::kind::JobState;
use values::time::Timestamp;

use super::kind::{JobKind, Track, has_known_kind};

/// The number of jobs of all users on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The track.
    pub track: Track,
    /// Number of queued jobs, including deferred ones.
    pub waiting: u64,
    /// Number of jobs under a lease, including those whose lease has expired.
    pub running: u64,
    /// The earliest `run_at` of the queued jobs; `None` if none is queued. It is in the future if all of them are deferred.
    pub since: Option<Timestamp>,
}

/// Counts the jobs of each track, of the kinds that this version knows: [`unknown_by_kind`] counts the others, which would make a track
/// appear late whose jobs all run in time.
pub async fn depths(db: &impl ConnectionTrait) -> Result<Vec<Depth>, DbErr> {
    let rows: Vec<(i16, JobState, i64, Option<Timestamp>)> = select_depths().into_tuple().all(db).await?;
    let row = |track: Track, state: JobState| {
        rows.iter().find(|(number, found, ..)| (*number, *found) == (track.number(), state))
    };
    let jobs = |track: Track, state: JobState| {
        row(track, state).map_or(0, |(_, _, jobs, _)| u64::try_from(*jobs).unwrap_or_default())
    };
    let depth = |track: Track| Depth {
        track,
        waiting: jobs(track, JobState::Queued),
        running: jobs(track, JobState::Running),
        since: row(track, JobState::Queued).and_then(|(.., since)| *since),
    };
    Ok(Track::ALL.into_iter().map(depth).collect())
}

/// Selects the numbers of jobs by track and state, each with the earliest `run_at`.
fn select_depths() -> Select<Entity> {
    Entity::of_every_user()
        .select_only()
        .column(Column::Track)
        .column(Column::State)
        // Not the ids, which the index `job_user_pending` does not have.
        .column_as(Column::Subject.count(), "jobs")
        .column_as(Column::RunAt.min(), "since")
        .filter(is_pending())
        .filter(has_known_kind())
        .group_by(Column::Track)
        .group_by(Column::State)
}

/// Counts the waiting jobs of all users of kinds that this version does not know, by kind. They run when a version that knows them does.
pub async fn unknown_by_kind(db: &impl ConnectionTrait) -> Result<Vec<(String, i64)>, DbErr> {
    Entity::of_every_user()
        .select_only()
        .column(Column::Kind)
        .column_as(Column::Id.count(), "jobs")
        .filter(has_state(JobState::Queued))
        .filter(has_known_kind().not())
        .group_by(Column::Kind)
        .order_by_asc(Column::Kind)
        .into_tuple()
        .all(db)
        .await
}

/// Selects the jobs of a user, or of all users, that were given up.
pub fn given_up(user: Option<UserId>) -> Select<Entity> {
    user.map_or_else(Entity::of_every_user, Entity::owned_by).filter(has_state(JobState::GivenUp))
}

/// Returns the condition that a job is in this state. The state is part of the SQL text, as in the partial indexes: with a bound
/// parameter the planners would not use them. It names the table, as [`is_due`], [`is_deferred`] and [`is_pending`] do, so it
/// holds only in a statement that gives the table no alias.
pub fn has_state(state: JobState) -> SimpleExpr {
    Expr::cust(format!("job.state = '{}'", state.name()))
}

/// Returns the condition that a job waits and has a queue position, so that it is not deferred; spelled out as in the partial indexes,
/// so that both databases see that these contain all the rows.
pub(crate) fn is_due() -> SimpleExpr {
    Expr::cust("job.state = 'queued' AND job.queue_position IS NOT NULL")
}

/// Returns the condition that a job waits without a queue position, because it is deferred; spelled out as in the partial index
/// `job_deferred`.
pub(crate) fn is_deferred() -> SimpleExpr {
    Expr::cust("job.state = 'queued' AND job.queue_position IS NULL")
}

/// Returns the condition that a job waits or runs, spelled out as in the partial index `job_user_pending`.
pub fn is_pending() -> SimpleExpr {
    Expr::cust("job.state IN ('queued', 'running')")
}

/// Leaves out jobs whose subject another job works on: the index `job_running` would refuse the lease of such a job and so roll back the
/// whole claim.
pub(crate) fn without_running_subjects(jobs: Select<Entity>) -> Select<Entity> {
    let running_subjects = Query::select()
        .column(Column::Subject)
        .from(Entity)
        .and_where(has_state(JobState::Running))
        .to_owned();
    jobs.filter(Column::Subject.not_in_subquery(running_subjects))
}

/// Selects the jobs of a kind whose subject is this column of the outer statement, for conditions that such a job exists or does not. The
/// index `job_subject` finds the few jobs of a subject, however long the queue is.
pub fn jobs_for(subject: (impl IntoIden, impl IntoIden), kind: JobKind) -> SelectStatement {
    jobs_of_kinds_for(subject, [kind.name()])
}

/// Selects the jobs of these kinds whose subject is this column of the outer statement, as [`jobs_for`].
pub(crate) fn jobs_of_kinds_for(
    subject: (impl IntoIden, impl IntoIden),
    kinds: impl IntoIterator<Item = &'static str>,
) -> SelectStatement {
    Query::select()
        .column(Column::Id)
        .from(Entity)
        .and_where(Expr::col((Entity, Column::Subject)).equals(subject))
        .and_where(Column::Kind.is_in(kinds))
        .to_owned()
}

/// Returns the condition that a job runs or is due by this time.
pub fn runs_or_is_due(now: Timestamp) -> SimpleExpr {
    has_state(JobState::Running).or(has_state(JobState::Queued).and(Column::RunAt.lte(now)))
}

/// Returns whether a job of this kind is queued for the subject.
pub async fn is_waiting(db: &impl ConnectionTrait, kind: JobKind, subject: Uuid) -> Result<bool, DbErr> {
    let waiting = Entity::of_every_user()
        .filter(Column::Kind.eq(kind.name()))
        .filter(Column::Subject.eq(subject))
        .filter(Column::State.eq(JobState::Queued));
    Ok(waiting.one(db).await?.is_some())
}

/// Returns whether the last job of this kind for the subject was given up and none was requested since.
pub async fn is_given_up(db: &impl ConnectionTrait, kind: JobKind, subject: Uuid) -> Result<bool, DbErr> {
    let own =
        Entity::of_every_user().filter(Column::Kind.eq(kind.name())).filter(Column::Subject.eq(subject));
    let open = own.clone().filter(Column::State.is_in([JobState::Queued, JobState::Running]));
    let given_up = own.filter(Column::State.eq(JobState::GivenUp));
    Ok(given_up.one(db).await?.is_some() && open.one(db).await?.is_none())
}

/// Returns whether a job of another user, or one of a more urgent priority, is due on the track of this job. Long jobs yield then,
/// but not to jobs of kinds that this version does not run.
pub async fn others_wait(db: &impl ConnectionTrait, job: &Model) -> Result<bool, DbErr> {
    any_exists(db, jobs_to_yield_to(job)).await
}

/// Selects the due jobs to which this job yields.
fn jobs_to_yield_to(job: &Model) -> Vec<Select<Entity>> {
    let kinds = has_known_kind();
    let mut jobs = due_jobs_of_others((job.track, job.priority), &kinds, &[job.user_id]);
    jobs.push(due_jobs(job.track, &kinds).filter(Column::Priority.lt(job.priority)));
    jobs
}

/// Selects the due jobs of a track and a priority that are of none of these users, with this condition on their kinds: one query for each
/// range of ids between theirs, so that an index finds them however many jobs these users have. It is `job_user_due`, or the one of the kinds
/// of the condition.
pub(crate) fn due_jobs_of_others(
    (track, priority): (i16, i16),
    kinds: &SimpleExpr,
    users: &[UserId],
) -> Vec<Select<Entity>> {
    let mut users = users.to_vec();
    users.sort_unstable();
    let ends = users.iter().copied().map(Some);
    let ranges = std::iter::once(None).chain(ends.clone()).zip(ends.chain([None]));
    let of_range = |(after, before): (Option<UserId>, Option<UserId>)| {
        let is_between = Condition::all()
            .add_option(after.map(|user| Column::UserId.gt(user)))
            .add_option(before.map(|user| Column::UserId.lt(user)));
        due_jobs(track, kinds).filter(Column::Priority.eq(priority)).filter(is_between)
    };
    ranges.map(of_range).collect()
}

fn due_jobs(track: i16, kinds: &SimpleExpr) -> Select<Entity> {
    Entity::of_every_user().filter(is_due()).filter(kinds.clone()).filter(Column::Track.eq(track))
}

/// Returns whether any of these queries finds a job, by one statement.
pub(crate) async fn any_exists(
    db: &impl ConnectionTrait,
    queries: impl IntoIterator<Item = Select<Entity>>,
) -> Result<bool, DbErr> {
    let exists = |jobs: Select<Entity>| Expr::exists(jobs.select_only().column(Column::Id).into_query());
    let Some(any) = queries.into_iter().map(exists).reduce(|any, one| any.or(one)) else { return Ok(false) };
    let row = db.query_one(&Query::select().expr_as(any, "is_found").take()).await?;
    row.map_or(Ok(false), |row| row.try_get("", "is_found"))
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use entity::job::KindColumn;
    use sea_orm::DbBackend;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};

    #[tokio::test]
    async fn jobs_of_unknown_kinds_are_counted_apart() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        queue.enqueue(user, subject(1)).await;
        queue.insert_unknown(user, subject(2)).await;

        let waiting: u64 = depths(queue.db.read()).await.unwrap().iter().map(|depth| depth.waiting).sum();
        let unknown = unknown_by_kind(queue.db.read()).await.unwrap();

        assert_eq!((waiting, unknown), (1, vec![("a_later_kind".to_owned(), 1)]));
    }

    #[tokio::test]
    async fn computed_column_tells_the_kinds_that_make_documents() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        for (kind, number) in JobKind::ALL.into_iter().zip(0..) {
            queue.insert(&Model::queued(user, kind.name(), subject(number), (1, 0), NOON)).await;
        }
        queue.insert_unknown(user, subject(100)).await;

        let makes_document = Expr::col((Entity, KindColumn::MakesDocument)).eq(true);
        let kinds = Entity::owned_by(user).filter(makes_document).select_only().column(Column::Kind);
        let mut found: Vec<String> = kinds.into_tuple().all(queue.db.read()).await.unwrap();

        let mut expected: Vec<&str> = JobKind::that_make_documents().collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn depths_are_counted_in_an_index_alone() {
        let queue = TestQueue::new().await;

        let query = select_depths().build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&queue.db, query).await.unwrap();

        assert!(plan.has_step("COVERING INDEX job_user_pending"), "{plan:#?}");
    }

    #[tokio::test]
    async fn long_job_does_not_yield_to_unknown_kinds() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let job = queue.claim_one(NOON).await;
        let other = queue.add_user().await;

        queue.insert_unknown(other, subject(2)).await;
        assert!(!others_wait(queue.db.read(), &job).await.unwrap());
        queue.enqueue(other, subject(3)).await;
        assert!(others_wait(queue.db.read(), &job).await.unwrap());
    }

    #[tokio::test]
    async fn jobs_to_which_others_yield_are_found_by_an_index() {
        let queue = TestQueue::new().await;
        queue.enqueue(queue.add_user().await, subject(1)).await;
        let job = queue.claim_one(NOON).await;

        let [before, after, urgent] = <[_; 3]>::try_from(jobs_to_yield_to(&job)).unwrap();

        for (query, index) in [
            (before, "job_user_due (track=? AND priority=? AND user_id<?"),
            (after, "job_user_due (track=? AND priority=? AND user_id>?"),
            (urgent, "(track=? AND priority<?"),
        ] {
            queue.assert_uses_index(query.limit(1).build(DbBackend::Sqlite), index).await;
        }
    }

    #[tokio::test]
    async fn jobs_of_others_are_those_between_the_users() {
        let queue = TestQueue::new().await;
        let mut users = Vec::new();
        for number in 0..5 {
            users.push(queue.add_user().await);
            queue.enqueue(users[number], subject(number as u128)).await;
        }
        let of_others =
            |users: &[UserId]| due_jobs_of_others((Track::Library.number(), 0), &has_known_kind(), users);

        let mut found = Vec::new();
        for query in of_others(&[users[3], users[1]]) {
            found.extend(query.all(queue.db.read()).await.unwrap().into_iter().map(|job| job.user_id));
        }

        found.sort_unstable();
        assert_eq!(found, [users[0], users[2], users[4]]);
        assert!(any_exists(queue.db.read(), of_others(&users[..4])).await.unwrap());
        assert!(!any_exists(queue.db.read(), of_others(&users)).await.unwrap());
    }
}
