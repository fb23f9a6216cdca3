//! What waits and what runs.

use entity::document;
use entity::id::{JobId, UserId};
use entity::job::{Column, Entity, Model};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, ExprTrait, Query, SelectStatement};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
};
use uuid::Uuid;

use super::MOST_WAITING;
use super::kind::{Priority, Track, JobKind};

/// Whether a person may ask for more: fewer than [`MOST_WAITING`] jobs of theirs that are wanted as soon wait for their turn.
/// Of a backlog those count too that wait for their time, at a host for example: a look takes longer then, and is taken
/// once for many.
pub async fn has_room(db: &impl ConnectionTrait, user: UserId, wanted: Priority) -> Result<bool, DbErr> {
    // Spelled out, as in the partial indexes.
    let waiting = match wanted {
        Priority::Now => Condition::all()
            .add(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
            .add(Column::Track.is_in(Track::ALL.map(Track::number))),
        Priority::Backlog => Condition::all()
            .add(Expr::cust("state IN ('queued', 'running')"))
            .add(Column::State.eq(JobState::Queued)),
    };
    let beyond = Entity::owned_by(user)
        .select_only()
        .column(Column::Id)
        .filter(waiting)
        .filter(Column::Priority.eq(wanted.number()))
        .offset(MOST_WAITING - 1)
        .limit(1);
    Ok(beyond.into_tuple::<JobId>().one(db).await?.is_none())
}

/// How many jobs of all users are in a state on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// The track's name.
    pub track: &'static str,
    /// Jobs that wait: for their turn, or for their time.
    pub waiting: u64,
    /// Jobs that run.
    pub running: u64,
    /// Since when the first of those that wait might have begun.
    pub since: Option<Timestamp>,
}

/// How much there is to do on each track.
pub async fn depths(db: &impl ConnectionTrait) -> Result<Vec<Depth>, DbErr> {
    let counted = Entity::find()
        .select_only()
        .column(Column::Track)
        .column(Column::State)
        .column_as(Column::Id.count(), "jobs")
        .column_as(Column::RunAt.min(), "since")
        .filter(Expr::cust("state IN ('queued', 'running')"))
        .group_by(Column::Track)
        .group_by(Column::State);
    let rows: Vec<(i16, JobState, i64, Option<Timestamp>)> = counted.into_tuple().all(db).await?;
    let row = |track: Track, state: JobState| {
        rows.iter().find(|(number, found, ..)| (*number, *found) == (track.number(), state))
    };
    let jobs = |track: Track, state: JobState| {
        row(track, state).map_or(0, |(_, _, jobs, _)| u64::try_from(*jobs).unwrap_or_default())
    };
    let depth = |track: Track| Depth {
        track: track.name(),
        waiting: jobs(track, JobState::Queued),
        running: jobs(track, JobState::Running),
        since: row(track, JobState::Queued).and_then(|(.., since)| *since),
    };
    Ok(Track::ALL.into_iter().map(depth).collect())
}

/// Counts the jobs of all users that were given up, by kind. What was made since, after another try, does not count. It reads
/// every job that was given up.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn failed_by_kind(db: &impl ConnectionTrait) -> Result<Vec<(String, i64)>, DbErr> {
    let makes_document = Column::Kind.is_in(JobKind::that_make_documents());
    let still_failed = Query::select()
        .column(document::Column::Id)
        .from(document::Entity)
        .and_where(Expr::col((document::Entity, document::Column::Id)).equals((Entity, Column::Subject)))
        .and_where(Expr::col((document::Entity, document::Column::Error)).is_not_null())
        .to_owned();
    Entity::find()
        .select_only()
        .column(Column::Kind)
        .column_as(Column::Id.count(), "jobs")
        .filter(Column::State.eq(JobState::Dead))
        .filter(makes_document.not().or(Expr::exists(still_failed)))
        .group_by(Column::Kind)
        .order_by_asc(Column::Kind)
        .into_tuple()
        .all(db)
        .await
}

/// The subjects of jobs of a kind that run, or might.
pub fn subjects_due(work: JobKind, now: Timestamp) -> SelectStatement {
    let due = Column::State.eq(JobState::Queued).and(Column::RunAt.lte(now));
    subjects(work).and_where(Column::State.eq(JobState::Running).or(due)).to_owned()
}

/// The subjects of jobs of a kind that wait or run.
pub fn subjects(work: JobKind) -> SelectStatement {
    Query::select()
        .column(Column::Subject)
        .from(Entity)
        .and_where(Column::Kind.eq(work.name()))
        .and_where(Column::State.is_in([JobState::Queued, JobState::Running]))
        .to_owned()
}

/// Whether work on this waits to be begun, or to be gone on with.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn is_waiting(db: &impl ConnectionTrait, work: JobKind, subject: Uuid) -> Result<bool, DbErr> {
    let waiting = Entity::find()
        .filter(Column::Kind.eq(work.name()))
        .filter(Column::Subject.eq(subject))
        .filter(Column::State.eq(JobState::Queued));
    Ok(waiting.one(db).await?.is_some())
}

/// Whether work on this was given up, and nobody asked for it again.
///
/// # Errors
/// [`DbErr`] when the database fails.
pub async fn is_given_up(db: &impl ConnectionTrait, work: JobKind, subject: Uuid) -> Result<bool, DbErr> {
    let own = Entity::find().filter(Column::Kind.eq(work.name())).filter(Column::Subject.eq(subject));
    let open = own.clone().filter(Column::State.is_in([JobState::Queued, JobState::Running]));
    let dead = own.filter(Column::State.eq(JobState::Dead));
    Ok(dead.one(db).await?.is_some() && open.one(db).await?.is_none())
}

/// Whether somebody else's work waits on the job's track, or work that is wanted sooner.
pub async fn others_wait(db: &impl ConnectionTrait, job: &Model) -> Result<bool, DbErr> {
    let others = Condition::any()
        .add(Column::Priority.lt(job.priority))
        .add(Column::Priority.eq(job.priority).and(Column::UserId.ne(job.user_id)));
    let waiting = Entity::find()
        .filter(Expr::cust("state = 'queued' AND turn IS NOT NULL"))
        .filter(Column::Track.eq(job.track))
        .filter(others);
    Ok(waiting.one(db).await?.is_some())
}
