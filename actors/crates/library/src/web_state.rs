//! What the web app stores about a user: the time of the last visit, since which entries count as new, and the state of onboarding.

use std::time::Duration;

use database::Db;
use entity::web_state::{Column, Entity, Model};
use sea_orm::sea_query::OnConflict;
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, Set, Unchanged};
use values::id::{ProjectId, UserId};
use values::time::Timestamp;

/// A page that is opened after such a pause begins a new visit.
const VISIT_PAUSE: Duration = Duration::from_secs(30 * 60);

/// The time of the last page is written again only after this time: most pages write nothing.
const SEEN_PRECISION: Duration = Duration::from_secs(5 * 60);

/// Returns what the web app remembers of a user; `None` before the first visit.
pub async fn find(db: &impl ConnectionTrait, user: UserId) -> Result<Option<Model>, DbErr> {
    Entity::owned_by(user).one(db).await
}

/// Records that the user opened a page now. Returns the state with the visit that this page belongs to.
pub async fn record_visit(db: &Db, user: UserId, now: Timestamp) -> Result<Model, DbErr> {
    let Some(mut state) = find(db.read(), user).await? else {
        insert_if_absent(db.write(), user, now).await?;
        return Ok(new_state(user, now));
    };
    let pause = now.since(state.seen_at);
    if pause < SEEN_PRECISION {
        return Ok(state);
    }
    if pause >= VISIT_PAUSE {
        state.last_visit_at = Some(state.seen_at);
    }
    state.seen_at = now;
    let changed = entity::web_state::ActiveModel {
        user_id: Unchanged(user),
        seen_at: Set(now),
        last_visit_at: Set(state.last_visit_at),
        ..Default::default()
    };
    match Entity::update_owned_row(db.write(), user, changed).await {
        Ok(row) => Ok(row),
        // The account was removed meanwhile.
        Err(DbErr::RecordNotUpdated) => Ok(state),
        Err(error) => Err(error),
    }
}

/// Ends onboarding for good.
pub async fn end_onboarding(
    txn: &impl ConnectionTrait,
    user: UserId,
    now: Timestamp,
) -> Result<Model, DbErr> {
    insert_if_absent(txn, user, now).await?;
    let changed = entity::web_state::ActiveModel {
        user_id: Unchanged(user),
        onboarding_ended_at: Set(Some(now)),
        ..Default::default()
    };
    Entity::update_owned_row(txn, user, changed).await
}

/// Stores which project is the sample project; `None` if there is none any more.
pub async fn set_sample_project(
    txn: &impl ConnectionTrait,
    user: UserId,
    project: Option<ProjectId>,
    now: Timestamp,
) -> Result<(), DbErr> {
    insert_if_absent(txn, user, now).await?;
    let changed = entity::web_state::ActiveModel {
        user_id: Unchanged(user),
        sample_project_id: Set(project),
        ..Default::default()
    };
    Entity::update_owned_row(txn, user, changed).await.map(drop)
}

fn new_state(user: UserId, now: Timestamp) -> Model {
    Model {
        user_id: user,
        seen_at: now,
        last_visit_at: None,
        onboarding_ended_at: None,
        sample_project_id: None,
    }
}

async fn insert_if_absent(db: &impl ConnectionTrait, user: UserId, now: Timestamp) -> Result<(), DbErr> {
    let existing = OnConflict::column(Column::UserId).do_nothing().to_owned();
    Entity::insert(new_state(user, now).into_active_model())
        .on_conflict(existing)
        .try_insert()
        .exec_without_returning(db)
        .await
        .map(drop)
}
