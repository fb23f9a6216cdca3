//! Asking for work, and taking that back.

use database::insert_all;
use entity::id::UserId;
use entity::job::{Column, Entity, Model};
use entity::kind::JobState;
use entity::time::Timestamp;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use uuid::Uuid;

use super::turn;
use super::kind::{Priority, JobKind};

/// Asks for work, in the transaction that makes it necessary. JobKind that waits already is not asked for twice: it begins
/// anew with all its tries, as soon as the sooner of the two.
pub async fn enqueue(
    db: &impl ConnectionTrait,
    user: UserId,
    work: JobKind,
    subject: Uuid,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    enqueue_all(db, user, work, [subject], priority, now).await
}

/// Asks for the same work on each of these subjects, every one of which is named once.
pub async fn enqueue_all(
    db: &impl ConnectionTrait,
    user: UserId,
    work: JobKind,
    subjects: impl IntoIterator<Item = Uuid>,
    priority: Priority,
    now: Timestamp,
) -> Result<(), DbErr> {
    let (track, priority) = (work.track().number(), priority.number());
    let mut subjects = subjects.into_iter().peekable();
    if subjects.peek().is_none() {
        return Ok(());
    }
    let turn = fairness::next(db, user, work.name(), (track, priority)).await?;
    let rows = subjects.zip(turn..).map(|(subject, turn)| Model {
        turn: Some(turn),
        ..Model::queued(user, work.name(), subject, (track, priority), now)
    });
    insert_all::<Entity>(db, rows, Some(&waiting(db, now))).await.map(drop)
}

/// What becomes of work that waits already.
fn waiting(db: &impl ConnectionTrait, now: Timestamp) -> OnConflict {
    let smaller =
        if db.get_database_backend() == sea_orm::DatabaseBackend::Postgres { "LEAST" } else { "MIN" };
    // Turns of two priorities do not compare: with a sooner priority comes its turn.
    let turn =
        "CASE WHEN job.turn IS NULL OR excluded.priority < job.priority THEN excluded.turn ELSE job.turn END";
    OnConflict::columns([Column::Kind, Column::Subject])
        .target_and_where(Expr::cust("state = 'queued'"))
        .value(Column::Priority, Expr::cust(format!("{smaller}(job.priority, excluded.priority)")))
        .value(Column::Turn, Expr::cust(turn))
        .value(Column::RunAt, now)
        .value(Column::Attempts, 0)
        .value(Column::Deaths, 0)
        .value(Column::Done, 0)
        .to_owned()
}

/// Takes work back that waits and is not necessary any more.
pub async fn withdraw(
    db: &impl ConnectionTrait,
    user: UserId,
    work: JobKind,
    subject: Uuid,
) -> Result<(), DbErr> {
    Entity::delete_many()
        .filter(Column::UserId.eq(user))
        .filter(Column::Kind.eq(work.name()))
        .filter(Column::Subject.eq(subject))
        .filter(Column::State.eq(JobState::Queued))
        .exec(db)
        .await
        .map(drop)
}
