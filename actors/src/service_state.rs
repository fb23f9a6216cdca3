//! State of the whole service that is stored in the database and shared by all processes: the signing key, the generation of
//! keys and users, the pause of the AI, the markers of the passage indexes, the models whose vectors they have.

use std::borrow::Cow;
use std::sync::LazyLock;

use database::{Db, DirectQuery, DirectRow};
use entity::service_state::{ActiveModel, Column, Entity};
use errors::Error;
use jobs::LeaseOwner;
use sea_orm::ActiveValue::Set;
use sea_orm::sea_query::{Expr, OnConflict};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, Value};
use search::index::IndexStoreId;
use uuid::Uuid;
use values::id::UserId;

/// The key of a value; a row of the table `service_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceStateKey {
    /// A number that every change of keys, users and plans increments, so that other processes drop their caches.
    Generation,
    /// The time until which the AI is paused, in milliseconds.
    AiPausedUntil,
    /// The key that signs cursors and upload URLs, in hexadecimal digits.
    SigningKey,
    /// Written and read back by the [`check_round_trip`] of one process, so no other process changes it. Removed at its drain.
    RoundTrip(LeaseOwner),
    /// The last marker of the passage index in this place.
    IndexMarker(IndexStoreId),
    /// The id of the place of the index that the rows of documents describe.
    IndexMaintainer,
    /// The id of the database, by which a collection of a Qdrant server knows to whom it belongs.
    IndexOwner,
    /// Present while an index that several processes share is compared with the database, or is about to be.
    IndexAudit,
    /// The models whose vectors are in the passage index.
    IndexedModels,
    /// A user whose account was removed and whose passages are still in the index.
    RemovedUser(UserId),
}

/// The prefix of the names of [`ServiceStateKey::RemovedUser`].
const REMOVED_USER_PREFIX: &str = "removed_user:";
/// The condition, as SQL, that a row of the service state is a [`ServiceStateKey::RemovedUser`]. It reads all rows, which are few: with
/// most collations of PostgreSQL no range of names is a prefix.
pub(crate) const REMOVED_USER_CONDITION: &str = r#""service_state"."name" LIKE 'removed_user:%'"#;

impl ServiceStateKey {
    fn name(self) -> Cow<'static, str> {
        match self {
            ServiceStateKey::Generation => "generation".into(),
            ServiceStateKey::AiPausedUntil => "ai.paused_until".into(),
            ServiceStateKey::SigningKey => "signing_key".into(),
            ServiceStateKey::RoundTrip(LeaseOwner(process)) => format!("round_trip:{process}").into(),
            ServiceStateKey::IndexMarker(place) => format!("index:{place}").into(),
            ServiceStateKey::IndexMaintainer => "index_maintainer".into(),
            ServiceStateKey::IndexOwner => "index_owner".into(),
            ServiceStateKey::IndexAudit => "index_audit".into(),
            ServiceStateKey::IndexedModels => "indexed_models".into(),
            ServiceStateKey::RemovedUser(user) => format!("{REMOVED_USER_PREFIX}{user}").into(),
        }
    }
}

/// Returns a value, or `None` if it was never written or was removed.
pub async fn read_state(db: &impl ConnectionTrait, key: ServiceStateKey) -> Result<Option<String>, DbErr> {
    Ok(Entity::find_by_id(key.name().into_owned()).one(db).await?.map(|row| row.value))
}

static VALUE: LazyLock<DirectQuery> = LazyLock::new(|| {
    DirectQuery::of_sql(|_| {
        r#"SELECT "service_state"."value" FROM "service_state" WHERE "service_state"."name" = $1"#.to_owned()
    })
});

/// Returns a value as [`read_state`] does, by a direct read: for values that are read again and again.
pub async fn read_directly(db: &Db, key: ServiceStateKey) -> Result<Option<String>, DbErr> {
    db.direct().query_one(&VALUE, [key.name().into_owned().into()], |row| row.get(0)).await
}

/// The values that every process looks at all the time, because any process may change them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchedValues {
    /// The value of [`ServiceStateKey::Generation`].
    pub generation: Option<String>,
    /// The value of [`ServiceStateKey::AiPausedUntil`].
    pub ai_paused_until: Option<String>,
}

static WATCHED: LazyLock<DirectQuery> = LazyLock::new(|| {
    let value = |number: usize| {
        format!(
            r#"(SELECT "service_state"."value" FROM "service_state" WHERE "service_state"."name" = ${number})"#
        )
    };
    DirectQuery::of_sql(|_| format!("SELECT {}, {}", value(1), value(2)))
});

/// Reads the watched values, all with one statement.
pub async fn read_watched(db: &Db) -> Result<WatchedValues, DbErr> {
    let keys = [ServiceStateKey::Generation, ServiceStateKey::AiPausedUntil];
    let names = keys.map(|key| Value::from(key.name().into_owned()));
    let decode =
        |row: &DirectRow<'_>| Ok(WatchedValues { generation: row.get(0)?, ai_paused_until: row.get(1)? });
    // The statement reads from no table, so it has one row.
    Ok(db.direct().query_one(&WATCHED, names, decode).await?.unwrap_or_default())
}

/// Writes a value, in place of an earlier one.
pub async fn write(db: &impl ConnectionTrait, key: ServiceStateKey, value: String) -> Result<(), DbErr> {
    let row = ActiveModel { name: Set(key.name().into_owned()), value: Set(value) };
    let replace = OnConflict::column(Column::Name).update_column(Column::Value).to_owned();
    Entity::insert(row).on_conflict(replace).exec_without_returning(db).await.map(drop)
}

/// Replaces a value, unless another process has replaced or removed it since it was read as `former`. Returns whether it was replaced.
pub async fn replace(
    db: &impl ConnectionTrait,
    key: ServiceStateKey,
    former: &str,
    value: String,
) -> Result<bool, DbErr> {
    let replaced = Entity::update_many()
        .col_expr(Column::Value, Expr::value(value))
        .filter(Column::Name.eq(key.name().into_owned()))
        .filter(Column::Value.eq(former))
        .exec(db)
        .await?;
    Ok(replaced.rows_affected == 1)
}

/// Writes a row of this process through the writer and reads it back through a reader. One check of a process runs at a time.
///
/// # Errors
/// The database refuses the write. [`Error::Internal`] when it acknowledges the write and does not keep it; the connection of
/// the writer is replaced then.
pub async fn check_round_trip(db: &Db, process: LeaseOwner) -> Result<(), Error> {
    let (key, written) = (ServiceStateKey::RoundTrip(process), Uuid::new_v4().to_string());
    // In a transaction, as most writes are made. And the write of a check that was given up cannot come after that of the next.
    let txn = db.begin().await?;
    write(&txn, key, written.clone()).await?;
    txn.commit().await?;
    if read_state(db.read(), key).await? == Some(written) {
        return Ok(());
    }
    db.health().distrust_writer();
    Err(Error::internal("the database acknowledged a write and did not keep it"))
}

/// Removes a value. Without one nothing happens.
pub async fn forget(db: &impl ConnectionTrait, key: ServiceStateKey) -> Result<(), DbErr> {
    Entity::delete_many().filter(Column::Name.eq(key.name().into_owned())).exec(db).await.map(drop)
}

/// Returns the value, after inserting this one if there is none. Of simultaneous calls the first decides.
pub async fn get_or_insert(
    db: &impl ConnectionTrait,
    key: ServiceStateKey,
    value: String,
) -> Result<String, DbErr> {
    let row = ActiveModel { name: Set(key.name().into_owned()), value: Set(value.clone()) };
    let keep = OnConflict::column(Column::Name).do_nothing().to_owned();
    // Insert first, then read: a read before the insert would let two processes each keep their own value.
    Entity::insert(row).on_conflict(keep).try_insert().exec_without_returning(db).await?;
    Ok(read_state(db, key).await?.unwrap_or(value))
}

/// Increments the generation, within the transaction that changes keys, users or plans. Returns the new number: the transactions that
/// raise it wait for each other, so no other change that is committed has the same one.
///
/// # Errors
/// [`DbErr`] when a statement fails.
pub async fn raise_generation(txn: &impl ConnectionTrait) -> Result<i64, DbErr> {
    let row = ActiveModel {
        name: Set(ServiceStateKey::Generation.name().into_owned()),
        value: Set("1".to_owned()),
    };
    // Values are texts, and the increment is one statement, so that no two changes leave the same number.
    let next = Expr::cust("CAST(CAST(service_state.value AS BIGINT) + 1 AS TEXT)");
    let raise = OnConflict::column(Column::Name).value(Column::Value, next).to_owned();
    let raised = Entity::insert(row).on_conflict(raise).exec_with_returning(txn).await?;
    raised.value.parse().map_err(|_| DbErr::Type("the generation in the database is not a number".to_owned()))
}

/// Returns the removed users whose passages are still in the index.
pub async fn removed_users(db: &impl ConnectionTrait) -> Result<Vec<UserId>, DbErr> {
    let rows = Entity::find().filter(Expr::cust(REMOVED_USER_CONDITION)).all(db).await?;
    Ok(rows.iter().filter_map(|row| row.name.strip_prefix(REMOVED_USER_PREFIX)?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROCESS: LeaseOwner = LeaseOwner(Uuid::from_u128(1));

    async fn open_database(folder: &tempfile::TempDir) -> Db {
        let file = folder.path().join("a.db");
        Db::open(&format!("sqlite://{}?mode=rwc", file.display())).await.unwrap()
    }

    #[actix::test]
    async fn watched_values_are_read_with_one_statement() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = open_database(&folder).await;
        assert_eq!(read_watched(&db).await.unwrap(), WatchedValues::default());
        raise_generation(db.write()).await.unwrap();
        write(db.write(), ServiceStateKey::AiPausedUntil, "9".to_owned()).await.unwrap();
        let sent = db.record_statements();

        let watched = read_watched(&db).await.unwrap();

        let expected =
            WatchedValues { generation: Some("1".to_owned()), ai_paused_until: Some("9".to_owned()) };
        assert_eq!((watched, sent.take().len()), (expected, 1));
    }

    #[actix::test]
    async fn each_raise_returns_the_number_that_it_leaves() {
        let folder = tempfile::tempdir().unwrap();
        let db =
            Db::open(&format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display())).await.unwrap();

        for expected in [1, 2, 3] {
            let txn = db.begin().await.unwrap();
            assert_eq!(raise_generation(&txn).await.unwrap(), expected);
            txn.commit().await.unwrap();
            let stored = read_directly(&db, ServiceStateKey::Generation).await.unwrap();
            assert_eq!(stored, Some(expected.to_string()));
        }
    }

    #[actix::test]
    async fn write_that_is_not_kept_fails_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        check_round_trip(&db, PROCESS).await.unwrap();
        check_round_trip(&db, LeaseOwner(Uuid::from_u128(2))).await.unwrap();

        // The write is acknowledged, and the row holds something else afterwards, as if another process had written it.
        let change = "CREATE TRIGGER change AFTER UPDATE ON service_state WHEN NEW.name LIKE 'round_trip%'
            BEGIN UPDATE service_state SET value = 'other' WHERE name = NEW.name; END";
        db.write().execute_unprepared(change).await.unwrap();
        let lost = check_round_trip(&db, PROCESS).await.unwrap_err();

        assert!(lost.chain().contains("did not keep it"), "{}", lost.chain());
    }
}
