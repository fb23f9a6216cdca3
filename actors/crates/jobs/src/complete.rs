//! How a try ends: its lease is renewed, or the job is finished, given up, put back for later, or gives way.
//!
//! Each of these changes nothing, and says `false`, where the try has lost its lease.

use std::time::Duration;

use database::Db;
use entity::document;
use entity::job::{Column, Entity, Model};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, UpdateMany};

use super::{LEASE, MOST_DEATHS, Priority, JobKind, turn};

/// Why a job is given up whose tries all died with their process.
pub const DIED: &str = "the service crashed each time it processed this";

/// Whether the job is still this try's; with it the lease begins anew.
pub async fn renew(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let renewed = Entity::update_many().col_expr(Column::LeaseUntil, Expr::value(now + LEASE));
    Ok(renewed.filter(held(job)).exec(db).await?.rows_affected > 0)
}

/// Ends the job well, within the transaction that did the work; `false`: the try has lost its lease, do nothing.
pub async fn finish(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    Ok(ended(job, JobState::Done, None, now).exec(db).await?.rows_affected > 0)
}

/// Ends the job badly: no further try makes sense, or none is left.
pub async fn give_up(
    db: &impl ConnectionTrait,
    job: &Model,
    reason: &str,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let dies = ended(job, JobState::Dead, Some(reason), now);
    die(db, job, dies).await
}

/// The last reason is what counts: those of former jobs of the same work go.
async fn die(db: &impl ConnectionTrait, job: &Model, dies: UpdateMany<Entity>) -> Result<bool, DbErr> {
    if dies.exec(db).await?.rows_affected == 0 {
        return Ok(false);
    }
    let former = Entity::delete_many()
        .filter(Column::Kind.eq(&job.kind))
        .filter(Column::Subject.eq(job.subject))
        .filter(Column::State.eq(JobState::Dead))
        .filter(Column::Id.ne(job.id));
    former.exec(db).await?;
    Ok(true)
}

/// Ends a job whose last try died with its process, with [`crash_reason`]. `false`: it is not so any more.
pub async fn mark_dead(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let (over, why) = (Column::LeaseUntil.lt(now), Some(crash_reason(job)));
    die(db, job, ended(job, JobState::Dead, why, now).filter(over)).await
}

/// Why a job is given up whose last try died with its process: all of them did, or one before it failed for a reason.
pub fn crash_reason(job: &Model) -> &str {
    let all_died = job.deaths + 1 >= MOST_DEATHS;
    job.error.as_deref().filter(|_| !all_died).unwrap_or(DIED)
}

fn ended(job: &Model, state: JobState, reason: Option<&str>, now: Timestamp) -> UpdateMany<Entity> {
    Entity::update_many()
        .col_expr(Column::State, Expr::value(state))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(reason.map(str::to_owned)))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(held(job))
}

/// How a job goes back for later.
#[derive(Clone, Copy, Debug)]
pub struct Later<'a> {
    /// The try counts: something went wrong. Else it is as if it had not been tried, because what it needs is not there.
    pub tried: bool,
    /// What it waits for, or why the try failed, in words for the person.
    pub reason: Option<&'a str>,
    /// Not before so long.
    pub after: Duration,
}

/// Puts the job back for later. What it did well since it was claimed counts: see [`advance`].
pub async fn put_back(
    db: &impl ConnectionTrait,
    job: &Model,
    later: Later<'_>,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let back = Back {
        attempts: if later.tried { job.attempts } else { job.attempts - 1 },
        deaths: job.deaths,
        done: job.done,
        reason: later.reason.or(job.error.as_deref()),
        run_at: now + later.after,
        turn: None,
        priority: job.priority,
    };
    back.put(db, job, now).await
}

/// The job as it stands, where it is still this try's: one that got further since it was claimed has its tries again.
pub async fn current(db: &impl ConnectionTrait, job: &Model) -> Result<Option<Model>, DbErr> {
    Entity::find().filter(held(job)).one(db).await
}

/// What waits for this waits no longer.
pub async fn end_wait(db: &impl ConnectionTrait, reason: &str, now: Timestamp) -> Result<(), DbErr> {
    let due = Entity::update_many().col_expr(Column::RunAt, Expr::value(now));
    due.filter(waits_for(reason)).exec(db).await.map(drop)
}

fn waits_for(reason: &str) -> Condition {
    Condition::all()
        .add(Column::State.eq(JobState::Queued))
        .add(Column::Turn.is_null())
        .add(Column::Error.eq(reason))
}

/// Renews the lease of a job that got further, in the transaction that keeps what it did: it has all its tries again.
pub async fn advance(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let renewed = Entity::update_many()
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE))
        .col_expr(Column::Attempts, Expr::value(1))
        .col_expr(Column::Deaths, Expr::value(0));
    Ok(renewed.filter(held(job)).exec(db).await?.rows_affected > 0)
}

/// Puts the job back as if it had not been tried: the service is stopping. What it did well since it was claimed counts.
pub async fn release(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let Some(job) = &current(db, job).await? else { return Ok(false) };
    let turn = Some(fairness::next(db, job.user_id, &job.kind, (job.track, job.priority)).await?);
    let back = Back {
        attempts: job.attempts - 1,
        deaths: job.deaths,
        done: job.done,
        reason: job.error.as_deref(),
        run_at: now,
        turn,
        priority: job.priority,
    };
    back.put(db, job, now).await
}

/// Puts a long job back for its next turn, with what it has done so far: others come in between. What was done well
/// makes up for the tries before it. No sooner than it was wanted, and later where it says so.
pub async fn yield_job(
    db: &impl ConnectionTrait,
    job: &Model,
    done: i32,
    priority: Priority,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let priority = Ord::max(job.priority, priority.number());
    // Behind those whose turn is up now: at the same turn the older job would be first again.
    let turn = fairness::next(db, job.user_id, &job.kind, (job.track, priority)).await?.saturating_add(1);
    let turn = Some(turn);
    let back = Back { attempts: 0, deaths: 0, done, reason: None, run_at: now, turn, priority };
    back.put(db, job, now).await
}

/// What stands in the row of a job that waits again.
struct Back<'a> {
    attempts: i32,
    deaths: i32,
    done: i32,
    reason: Option<&'a str>,
    run_at: Timestamp,
    turn: Option<i64>,
    priority: i16,
}

impl Back<'_> {
    /// Where the same work waits already, that takes this one's place. (Where it comes to wait at this very moment on
    /// another node, the unique index refuses this: the lease ends by itself then.)
    async fn put(self, db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
        let same = Query::select()
            .column(Column::Id)
            .from(Entity)
            .and_where(Column::Kind.eq(job.kind.clone()))
            .and_where(Column::Subject.eq(job.subject))
            .and_where(Column::State.eq(JobState::Queued))
            .to_owned();
        let back = Entity::update_many()
            .col_expr(Column::State, Expr::value(JobState::Queued))
            .col_expr(Column::Attempts, Expr::value(self.attempts))
            .col_expr(Column::Deaths, Expr::value(self.deaths))
            .col_expr(Column::Done, Expr::value(self.done))
            .col_expr(Column::RunAt, Expr::value(self.run_at))
            .col_expr(Column::Turn, Expr::value(self.turn))
            .col_expr(Column::Priority, Expr::value(self.priority))
            .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
            .col_expr(Column::Error, Expr::value(self.reason.map(str::to_owned)))
            .filter(held(job))
            .filter(Expr::exists(same).not())
            .exec(db)
            .await?;
        if back.rows_affected > 0 { Ok(true) } else { finish(db, job, now).await }
    }
}

/// The row, as long as it is this try's.
fn held(job: &Model) -> Condition {
    Condition::all()
        .add(Column::Id.eq(job.id))
        .add(Column::State.eq(JobState::Running))
        .add(Column::LeaseToken.eq(job.lease_token))
}

/// How long to wait before the next try: ever longer, and not all at once.
pub fn backoff(job: &Model) -> Duration {
    let minutes = match job.attempts {
        i32::MIN..=1 => 1,
        2 => 5,
        3 => 30,
        4 => 120,
        5..=i32::MAX => 720,
    };
    let spread = job.id.0.as_bytes().last().copied().unwrap_or_default();
    let base = Duration::from_secs(60 * minutes);
    base + base * u32::from(spread) / 1024
}

/// Removes jobs that ended well before `until`. Dead ones are kept with their reason, as long as their documents are there;
/// those that are about no document until `forgotten`.
pub async fn sweep(db: &Db, until: Timestamp, forgotten: Timestamp) -> Result<(), DbErr> {
    let done = Condition::all().add(Column::State.eq(JobState::Done)).add(Column::FinishedAt.lt(until));
    let makes_document = Column::Kind.is_in(JobKind::that_make_documents());
    let own = Query::select()
        .column(document::Column::Id)
        .from(document::Entity)
        .and_where(Expr::col((document::Entity, document::Column::Id)).equals((Entity, Column::Subject)))
        .to_owned();
    let gone = Condition::any()
        .add(makes_document.clone().and(Expr::exists(own).not()))
        .add(makes_document.not().and(Column::FinishedAt.lt(forgotten)));
    let dead = Condition::all().add(Column::State.eq(JobState::Dead)).add(gone);
    for ended in [done, dead] {
        Entity::delete_many().filter(ended).exec(db.write()).await?;
    }
    Ok(())
}
