//! Facts of the whole service that outlive a restart and that every process sees: secrets of the service, the
//! generation of keys and users, the pause of the AI, the markers of the passage indexes.

use std::borrow::Cow;

use database::Db;
use entity::id::{DataFolderId, UserId};
use entity::service_state::{ActiveModel, Column, Entity};
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter};
use uuid::Uuid;

use errors::Error;

/// The name of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStateKey {
    /// Raised by every change of keys, users and plans, so that other processes drop what they remember.
    Generation,
    /// Milliseconds of the moment until which the AI pauses.
    AiPausedUntil,
    /// What cursors and addresses are signed with, as hexadecimal digits.
    SigningKey,
    /// Written and read back by [`check_round_trip`].
    RoundTrip,
    /// The last marker of the passage index of a data folder.
    IndexMarker(DataFolderId),
    /// The id of the data folder whose index the rows describe.
    IndexMaintainer,
    /// A user whose account was removed and whose passages are still in the index.
    RemovedUser(UserId),
}

const REMOVED: &str = "removed_user:";

impl ServiceStateKey {
    fn name(self) -> Cow<'static, str> {
        match self {
            ServiceStateKey::Generation => "generation".into(),
            ServiceStateKey::AiPausedUntil => "ai.paused_until".into(),
            ServiceStateKey::SigningKey => "signing_key".into(),
            ServiceStateKey::RoundTrip => "round_trip".into(),
            ServiceStateKey::IndexMarker(folder) => format!("index:{folder}").into(),
            ServiceStateKey::IndexMaintainer => "index_maintainer".into(),
            ServiceStateKey::RemovedUser(user) => format!("{REMOVED}{user}").into(),
        }
    }
}

/// Reads a fact.
pub async fn read(db: &impl ConnectionTrait, fact: ServiceStateKey) -> Result<Option<String>, DbErr> {
    Ok(Entity::find_by_id(fact.name().into_owned()).one(db).await?.map(|row| row.value))
}

/// Writes a fact.
pub async fn write(db: &impl ConnectionTrait, fact: ServiceStateKey, value: String) -> Result<(), DbErr> {
    let row = ActiveModel { name: Set(fact.name().into_owned()), value: Set(value) };
    let anew = OnConflict::column(Column::Name).update_column(Column::Value).to_owned();
    Entity::insert(row).on_conflict(anew).exec_without_returning(db).await.map(drop)
}

/// Writes a row through the writer and reads it back through a reader.
///
/// # Errors
/// The database refused the write, or acknowledged it and does not have it: then the writer's connection is replaced.
pub async fn check_round_trip(db: &Db) -> Result<(), Error> {
    let before = read(db.read(), ServiceStateKey::RoundTrip).await?;
    let written = Uuid::new_v4().to_string();
    write(db.write(), ServiceStateKey::RoundTrip, written.clone()).await?;
    let after = read(db.read(), ServiceStateKey::RoundTrip).await?;
    // Another node may have written since.
    if after.as_ref() == Some(&written) || after != before {
        return Ok(());
    }
    db.health().distrust_writer();
    Err(Error::internal("the database acknowledged a write and did not keep it"))
}

/// Forgets a fact.
pub async fn forget(db: &impl ConnectionTrait, fact: ServiceStateKey) -> Result<(), DbErr> {
    Entity::delete_many().filter(Column::Name.eq(fact.name().into_owned())).exec(db).await.map(drop)
}

/// Writes a fact unless it is there, and reads what then stands there: whoever comes first decides.
pub async fn get_or_insert(db: &impl ConnectionTrait, fact: ServiceStateKey, value: String) -> Result<String, DbErr> {
    let row = ActiveModel { name: Set(fact.name().into_owned()), value: Set(value.clone()) };
    let keep = OnConflict::column(Column::Name).do_nothing().to_owned();
    Entity::insert(row).on_conflict(keep).try_insert().exec_without_returning(db).await?;
    Ok(read(db, fact).await?.unwrap_or(value))
}

/// Says that keys, users or plans were changed, within the transaction that changes them.
pub async fn raise_generation(db: &impl ConnectionTrait) -> Result<(), DbErr> {
    let row = ActiveModel { name: Set(ServiceStateKey::Generation.name().into_owned()), value: Set("1".to_owned()) };
    let next = Expr::cust("CAST(CAST(service_state.value AS BIGINT) + 1 AS TEXT)");
    let raise = OnConflict::column(Column::Name).value(Column::Value, next).to_owned();
    Entity::insert(row).on_conflict(raise).exec_without_returning(db).await.map(drop)
}

/// The removed users whose passages are still in the index.
///
/// # Errors
/// The database fails.
pub async fn removed_users(db: &impl ConnectionTrait) -> Result<Vec<UserId>, DbErr> {
    let rows = Entity::find().filter(Column::Name.starts_with(REMOVED)).all(db).await?;
    Ok(rows.iter().filter_map(|row| row.name.strip_prefix(REMOVED)?.parse().ok()).collect())
}
