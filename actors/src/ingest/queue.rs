//! The queue of durable work: rows with a lease, a fencing token, tries, and an end.
//!
//! A claim raises `attempts` in the transaction that takes the row, so a job that kills its process is counted, and given
//! up after its last try too. Each claim writes a fencing token of its own: whoever lost the lease finds another one there
//! and changes nothing more.

use std::collections::HashSet;
use std::time::Duration;

use entity::id::{JobId, UserId};
use entity::job::{ActiveModel, Column, Entity, Model};
use entity::kind::{BookmarkKind, JobState};
use entity::time::Timestamp;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, LockBehavior, LockType, OnConflict, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, Order, QueryFilter, QueryOrder, QuerySelect,
};
use uuid::Uuid;

use crate::db::Db;

/// A try that says nothing for so long is taken for dead. Its worker renews at a third of that.
pub const LEASE: Duration = Duration::from_secs(12);
/// After so many tries a job is given up.
pub const MOST_ATTEMPTS: i32 = 6;

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Make the text of a document: from its given content, or by fetching its address.
    Page,
    /// Make the text of a document from its stored file.
    File,
    /// Put a document's passages into the index.
    Index,
    /// File a document's passages anew.
    Relabel,
    /// Take a document out of the index.
    Forget,
}

impl Work {
    /// The name in the row.
    pub fn name(self) -> &'static str {
        match self {
            Work::Page => "page",
            Work::File => "file",
            Work::Index => "index",
            Work::Relabel => "relabel",
            Work::Forget => "forget",
        }
    }

    /// The work of this name.
    pub fn named(name: &str) -> Option<Self> {
        let all = [Work::Page, Work::File, Work::Index, Work::Relabel, Work::Forget];
        all.into_iter().find(|work| work.name() == name)
    }

    /// What makes the text of a bookmark's document.
    pub fn of_bookmark(kind: BookmarkKind) -> Self {
        match kind {
            BookmarkKind::Page => Work::Page,
            BookmarkKind::Upload => Work::File,
        }
    }
}

/// How soon work is wanted, against other work that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A person waits for it.
    Now,
    /// It belongs to a backlog: an import, vectors that a new model makes.
    Backlog,
}

impl Priority {
    fn number(self) -> i16 {
        match self {
            Priority::Now => 0,
            Priority::Backlog => 10,
        }
    }
}

/// Asks for work, in the transaction that makes it necessary. Work that waits already is not asked for twice: it begins
/// anew with all its tries, as soon as the sooner of the two.
pub async fn ask(
    db: &impl ConnectionTrait,
    user: UserId,
    work: Work,
    subject: Uuid,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    let row = ActiveModel {
        id: Set(JobId::new(now)),
        user_id: Set(user),
        kind: Set(work.name().to_owned()),
        subject: Set(subject),
        state: Set(JobState::Queued),
        priority: Set(priority.number()),
        run_at: Set(now),
        attempts: Set(0),
        lease_token: Set(None),
        lease_until: Set(None),
        error: Set(None),
        created_at: Set(now),
        finished_at: Set(None),
    };
    let smaller =
        if db.get_database_backend() == sea_orm::DatabaseBackend::Postgres { "LEAST" } else { "MIN" };
    let sooner = Expr::cust(format!("{smaller}(job.priority, excluded.priority)"));
    let waiting = OnConflict::columns([Column::Kind, Column::Subject])
        .target_and_where(Expr::cust("state = 'queued'"))
        .value(Column::Priority, sooner)
        .value(Column::RunAt, now)
        .value(Column::Attempts, 0)
        .to_owned();
    Entity::insert(row).on_conflict(waiting).exec_without_returning(db).await.map(drop)
}

/// What a claim took.
#[derive(Debug, Default)]
pub struct Claimed {
    /// Jobs to be run.
    pub jobs: Vec<Model>,
    /// Jobs whose last try died with its process: they are given up.
    pub dead: Vec<Model>,
}

/// Takes up to `most` due jobs under a lease. Two jobs never work on one subject at a time, or the slower of them could put
/// an older version over a newer one.
pub async fn claim(db: &Db, now: Timestamp, most: u64) -> Result<Claimed, DbErr> {
    // A look without a lock first: mostly there is nothing.
    if Entity::find().filter(due(now)).one(db.read()).await?.is_none() {
        return Ok(Claimed::default());
    }
    let txn = db.begin().await?;
    let jobs = Entity::find()
        .filter(due(now))
        .order_by(Column::Priority, Order::Asc)
        .order_by(Column::RunAt, Order::Asc)
        .order_by(Column::Id, Order::Asc)
        .limit(most)
        .lock_with_behavior(LockType::Update, LockBehavior::SkipLocked)
        .all(&txn)
        .await?;
    let (mut claimed, mut subjects) = (Claimed::default(), HashSet::new());
    for job in jobs {
        if !subjects.insert(job.subject) {
            continue;
        }
        if job.state == JobState::Running && job.attempts >= MOST_ATTEMPTS {
            claimed.dead.push(job);
        } else {
            claimed.jobs.push(lease(&txn, job, now).await?);
        }
    }
    for job in &claimed.dead {
        end(&txn, job, JobState::Dead, Some(DIED), now).await?;
    }
    txn.commit().await?;
    Ok(claimed)
}

/// Why a job is given up whose tries all died with their process.
pub const DIED: &str = "the service died each time it worked on this";

/// Waiting jobs whose time has come and whose subject nobody works on, and running ones whose lease is over.
fn due(now: Timestamp) -> Condition {
    let running = Query::select()
        .column(Column::Subject)
        .from(Entity)
        .and_where(Column::State.eq(JobState::Running))
        .and_where(Column::LeaseUntil.gte(now))
        .to_owned();
    let queued = Condition::all()
        .add(Column::State.eq(JobState::Queued))
        .add(Column::RunAt.lte(now))
        .add(Column::Subject.not_in_subquery(running));
    let over = Condition::all().add(Column::State.eq(JobState::Running)).add(Column::LeaseUntil.lt(now));
    Condition::any().add(queued).add(over)
}

async fn lease(txn: &impl ConnectionTrait, mut job: Model, now: Timestamp) -> Result<Model, DbErr> {
    job.attempts += 1;
    job.state = JobState::Running;
    job.lease_token = Some(JobId::new(now).0);
    Entity::update_many()
        .col_expr(Column::State, Expr::value(job.state))
        .col_expr(Column::Attempts, Expr::value(job.attempts))
        .col_expr(Column::LeaseToken, Expr::value(job.lease_token))
        .col_expr(Column::LeaseUntil, Expr::value(now + LEASE))
        .filter(Column::Id.eq(job.id))
        .exec(txn)
        .await?;
    Ok(job)
}

/// Whether the job is still this try's; with it the lease begins anew.
pub async fn renew(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    let renewed = Entity::update_many().col_expr(Column::LeaseUntil, Expr::value(now + LEASE));
    Ok(renewed.filter(held(job)).exec(db).await?.rows_affected > 0)
}

/// Ends the job well, within the transaction that did the work; `false`: the try has lost its lease, do nothing.
pub async fn finish(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    end(db, job, JobState::Done, None, now).await
}

/// Ends the job badly: no further try makes sense, or none is left.
pub async fn give_up(
    db: &impl ConnectionTrait,
    job: &Model,
    reason: &str,
    now: Timestamp,
) -> Result<bool, DbErr> {
    end(db, job, JobState::Dead, Some(reason), now).await
}

async fn end(
    db: &impl ConnectionTrait,
    job: &Model,
    state: JobState,
    reason: Option<&str>,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let ended = Entity::update_many()
        .col_expr(Column::State, Expr::value(state))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(reason.map(str::to_owned)))
        .col_expr(Column::FinishedAt, Expr::value(Some(now)))
        .filter(held(job))
        .exec(db)
        .await?;
    Ok(ended.rows_affected > 0)
}

/// Puts the job back as if it had not been tried, for a little later: something that it needs is busy.
pub async fn postpone(
    db: &impl ConnectionTrait,
    job: &Model,
    after: Duration,
    now: Timestamp,
) -> Result<bool, DbErr> {
    put_back(db, job, job.attempts - 1, None, now + after, now).await
}

/// Puts the job back for a later try. Where the same work waits already, that takes this one's place.
pub async fn retry(
    db: &impl ConnectionTrait,
    job: &Model,
    reason: &str,
    after: Duration,
    now: Timestamp,
) -> Result<bool, DbErr> {
    put_back(db, job, job.attempts, Some(reason), now + after, now).await
}

/// Puts the job back as if it had not been tried: the service is stopping.
pub async fn release(db: &impl ConnectionTrait, job: &Model, now: Timestamp) -> Result<bool, DbErr> {
    put_back(db, job, job.attempts - 1, None, now, now).await
}

async fn put_back(
    db: &impl ConnectionTrait,
    job: &Model,
    attempts: i32,
    reason: Option<&str>,
    run_at: Timestamp,
    now: Timestamp,
) -> Result<bool, DbErr> {
    let same = Condition::all()
        .add(Column::Kind.eq(job.kind.clone()))
        .add(Column::Subject.eq(job.subject))
        .add(Column::State.eq(JobState::Queued));
    if Entity::find().filter(same).one(db).await?.is_some() {
        return finish(db, job, now).await;
    }
    let back = Entity::update_many()
        .col_expr(Column::State, Expr::value(JobState::Queued))
        .col_expr(Column::Attempts, Expr::value(attempts))
        .col_expr(Column::RunAt, Expr::value(run_at))
        .col_expr(Column::LeaseUntil, Expr::value(None::<i64>))
        .col_expr(Column::Error, Expr::value(reason.map(str::to_owned)))
        .filter(held(job))
        .exec(db)
        .await?;
    Ok(back.rows_affected > 0)
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

/// Removes jobs that ended well before `until`; dead ones are kept with their reason.
pub async fn sweep(db: &Db, until: Timestamp) -> Result<(), DbErr> {
    let done = Condition::all().add(Column::State.eq(JobState::Done)).add(Column::FinishedAt.lt(until));
    Entity::delete_many().filter(done).exec(db.write()).await.map(drop)
}
