//! Changes of API keys. Each is one transaction, which raises the generation that other processes check.
//!
//! [`super::Keys`] calls these functions for the running server, and the command line calls them beside it.

use std::time::Duration;

use database::{Db, Transaction, on_behalf_of};
use entity::{api_key, user};
use errors::Error;
use library::owned_transaction::begin_owned;
use sea_orm::{
    ActiveModelTrait, ActiveValue::Set, ColumnTrait, EntityTrait, IntoActiveModel, PaginatorTrait,
};
use sea_orm::{ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use values::id::{KeyId, UserId};
use values::kind::KeyKind;
use values::plan::{Limits, Plan};
use values::scope::Scopes;
use values::time::Timestamp;

use super::rules;
use crate::auth::secret::Secret;
use crate::service_state;

/// The attributes of a new key.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// The name by which the user recognises the key.
    pub name: String,
    /// Whether the key is for REST or MCP.
    pub kind: KeyKind,
    /// The scopes; `None` for the default of its kind.
    pub scopes: Option<Scopes>,
    /// Requests within an hour; `None` for the plan's maximum.
    pub hourly_limit: Option<i32>,
    /// When the key expires; `None` for never.
    pub expires_at: Option<Timestamp>,
}

/// Changes of a key; `None` leaves an attribute as it is.
#[derive(Clone, Debug, Default)]
pub struct KeyChanges {
    /// The new name of the key.
    pub name: Option<String>,
    /// The new scopes, which replace all former ones.
    pub scopes: Option<Scopes>,
    /// The new hourly limit; `Some(None)` for the plan's maximum.
    pub hourly_limit: Option<Option<i32>>,
    /// When the key expires; `Some(None)` for never.
    pub expires_at: Option<Option<Timestamp>>,
}

/// Creates a key. Its secret cannot be read again. The scopes are checked before the count (contract.md, section 11).
///
/// # Errors
/// [`Error::ScopeNotAllowed`] or [`Error::Invalid`] for scopes that the plan or the kind does not allow; [`Error::PlanLimit`] or
/// [`Error::NoKeysInPlan`] when the user has as many keys as the plan allows; [`Error::NotFound`] for a removed account.
pub async fn create(
    db: &Db,
    user: UserId,
    plan: Plan,
    limits: &Limits,
    new: NewKey,
    now: Timestamp,
) -> Result<(api_key::Model, Secret), Error> {
    let scopes = rules::scopes(new.kind, plan, new.scopes)?;
    let txn = on_behalf_of(user, db.begin()).await?;
    lock_owner(&txn, user).await?;
    let count =
        api_key::Entity::created_by(user).filter(api_key::Column::Kind.eq(new.kind)).count(&txn).await?;
    let max = rules::max_keys(new.kind, limits);
    if count >= u64::from(max) {
        let kind = new.kind;
        return Err(match max {
            0 => Error::NoKeysInPlan(kind),
            1 => Error::PlanLimit(format!("the plan allows 1 key of kind {kind}; revoke it first")),
            _ => Error::PlanLimit(format!("the plan allows {max} keys of kind {kind}; revoke one first")),
        });
    }
    let secret = Secret::new_key().map_err(Error::internal)?;
    let row = api_key::Model {
        id: KeyId::new(now),
        user_id: user,
        name: new.name,
        kind: new.kind,
        secret_hash: secret.hash().bytes().to_vec(),
        is_connection_test: false,
        display: secret.display(),
        scopes,
        hourly_limit: new.hourly_limit,
        created_at: now,
        expires_at: new.expires_at,
        first_used_at: None,
        last_used_at: None,
        last_client: None,
        mcp_client: None,
    };
    api_key::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
    // Without a new generation: no process has cached the key, because unknown secrets are not cached.
    txn.commit().await?;
    Ok((row, secret))
}

/// The key of a connection test is refused this long after its creation, in case the test cannot delete it. A test uses it for two
/// requests of at most ten seconds each.
const TEST_KEY_LIFETIME: Duration = Duration::from_secs(120);
/// The name under which such a key would stand in the activity. The test itself calls no tool and so leaves none there.
const TEST_KEY_NAME: &str = "Connection test";

/// Creates an MCP key for a connection test. It reads the library of the user, like a key with the default scopes, but is not listed, does
/// not count towards the plan's limit, and its first use causes no notice.
///
/// # Errors
/// [`Error::ScopeNotAllowed`] when the plan allows no such key.
pub async fn create_test_key(
    db: &Db,
    user: UserId,
    plan: Plan,
    now: Timestamp,
) -> Result<(KeyId, Secret), Error> {
    let secret = Secret::new_key().map_err(Error::internal)?;
    let row = api_key::Model {
        id: KeyId::new(now),
        user_id: user,
        name: TEST_KEY_NAME.to_owned(),
        kind: KeyKind::Mcp,
        secret_hash: secret.hash().bytes().to_vec(),
        is_connection_test: true,
        display: secret.display(),
        scopes: rules::scopes(KeyKind::Mcp, plan, None)?,
        hourly_limit: None,
        created_at: now,
        expires_at: Some(now + TEST_KEY_LIFETIME),
        // A key that was used before causes no notice.
        first_used_at: Some(now),
        last_used_at: None,
        last_client: None,
        mcp_client: None,
    };
    let id = row.id;
    let insert = api_key::Entity::insert(row.into_active_model());
    on_behalf_of(user, insert.exec_without_returning(db.write())).await?;
    Ok((id, secret))
}

/// Removes expired keys of connection tests that did not reach their end.
pub async fn remove_expired_test_keys(db: &Db, now: Timestamp) -> Result<(), Error> {
    for key in api_key::Entity::expired_tests(now).all(db.read()).await? {
        match revoke(db, key.user_id, key.id).await {
            // Another process was faster.
            Ok(_) | Err(Error::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Changes attributes of a key. Returns its row, and the generation that the change raised; `None` if it changed nothing.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such key; as [`create`] for scopes.
pub async fn change(
    db: &Db,
    user: UserId,
    plan: Plan,
    key: KeyId,
    changes: KeyChanges,
) -> Result<(api_key::Model, Option<i64>), Error> {
    let txn = on_behalf_of(user, db.begin()).await?;
    let row = one_of(&txn, user, key).await?;
    let mut changed = row.clone().into_active_model();
    if let Some(name) = changes.name {
        changed.name = Set(name);
    }
    if let Some(scopes) = changes.scopes {
        changed.scopes = Set(rules::changed_scopes(row.kind, plan, &row.scopes, scopes)?);
    }
    if let Some(limit) = changes.hourly_limit {
        changed.hourly_limit = Set(limit);
    }
    if let Some(expires_at) = changes.expires_at {
        changed.expires_at = Set(expires_at);
    }
    if !changed.is_changed() {
        return Ok((row, None));
    }
    let changed = api_key::Entity::update_owned_row(&txn, user, changed).await?;
    let generation = commit(txn).await?;
    Ok((changed, Some(generation)))
}

/// Gives a key a new secret. Its id, scopes and history stay. Returns its row, the secret, and the generation that the change raised.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such key.
pub async fn regenerate(db: &Db, user: UserId, key: KeyId) -> Result<((api_key::Model, Secret), i64), Error> {
    let txn = on_behalf_of(user, db.begin()).await?;
    let secret = Secret::new_key().map_err(Error::internal)?;
    let mut row = one_of(&txn, user, key).await?.into_active_model();
    row.secret_hash = Set(secret.hash().bytes().to_vec());
    row.display = Set(secret.display());
    let changed = api_key::Entity::update_owned_row(&txn, user, row).await?;
    let generation = commit(txn).await?;
    Ok(((changed, secret), generation))
}

/// Revokes a key. Its entries in the activity view stay. Returns the generation that the change raised.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such key.
pub async fn revoke(db: &Db, user: UserId, key: KeyId) -> Result<i64, Error> {
    // An owned transaction, because the stored responses of the key, which count in the quota, are removed with it.
    let txn = on_behalf_of(user, begin_owned(db, user)).await?;
    let row = one_of(&txn, user, key).await?;
    api_key::Entity::delete_owned_row(&txn, user, row).await?;
    commit(txn).await
}

/// Returns the keys that a user has created, oldest first.
pub async fn list(db: &Db, user: UserId) -> Result<Vec<api_key::Model>, Error> {
    Ok(api_key::Entity::created_by(user).order_by_asc(api_key::Column::Id).all(db.read()).await?)
}

/// Returns a key that a user has created.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such key.
pub async fn find(db: &Db, user: UserId, key: KeyId) -> Result<api_key::Model, Error> {
    let own = api_key::Entity::created_by(user).filter(api_key::Column::Id.eq(key));
    own.one(db.read()).await?.ok_or(Error::not_found())
}

/// Returns the owner of a key, for the operator, who names keys without their owners.
///
/// # Errors
/// [`Error::NotFound`] if there is no such key.
pub async fn owner_of(db: &Db, key: KeyId) -> Result<UserId, Error> {
    let found = api_key::Entity::for_operator(key).one(db.read()).await?;
    found.map(|row| row.user_id).ok_or(Error::not_found())
}

async fn one_of(txn: &impl ConnectionTrait, user: UserId, key: KeyId) -> Result<api_key::Model, Error> {
    api_key::Entity::one_of(user, key).one(txn).await?.ok_or(Error::not_found())
}

/// Locks the owner's row, so that two transactions that count the keys of a user wait for each other.
async fn lock_owner(txn: &impl ConnectionTrait, user: UserId) -> Result<(), Error> {
    user::Entity::find_by_id(user).lock_exclusive().one(txn).await?.map(drop).ok_or(Error::not_found())
}

/// Raises the generation and commits. Returns the generation.
async fn commit(txn: Transaction) -> Result<i64, Error> {
    let generation = service_state::raise_generation(&txn).await?;
    txn.commit().await?;
    Ok(generation)
}

#[cfg(test)]
mod tests {
    use database::QueryPlan;
    use sea_orm::{DbBackend, DbErr, QueryTrait};

    use super::*;

    #[actix::test]
    async fn key_of_another_user_is_not_changed_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let (db, now) = (Db::open(&url).await.unwrap(), Timestamp::from_millis(1));
        let owner = user::Model::new(UserId::new(now), "a@b".to_owned(), "h".to_owned(), Plan::Pro, now);
        let (owner_id, other) = (owner.id, UserId::new(now));
        user::Entity::insert(owner.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let (id, _) = create_test_key(&db, owner_id, Plan::Pro, now).await.unwrap();
        let row = one_of(db.read(), owner_id, id).await.unwrap();
        let mut renamed = row.clone().into_active_model();
        renamed.name = Set("Taken".to_owned());

        let unchanged = row.clone().into_active_model();
        let read = api_key::Entity::update_owned_row(db.write(), other, unchanged).await;
        let update = api_key::Entity::update_owned_row(db.write(), other, renamed).await;
        let is_deleted = api_key::Entity::delete_owned_row(db.write(), other, row.clone()).await.unwrap();

        assert!(matches!(read, Err(DbErr::RecordNotUpdated)), "{read:?}");
        assert!(matches!(update, Err(DbErr::RecordNotUpdated)), "{update:?}");
        assert!(!is_deleted);
        assert_eq!(one_of(db.read(), owner_id, id).await.unwrap(), row);
    }

    #[actix::test]
    async fn expired_test_keys_are_found_by_their_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();
        let find = api_key::Entity::expired_tests(Timestamp::from_millis(1)).build(DbBackend::Sqlite);

        let plan = QueryPlan::of(&db, find).await.unwrap();

        assert!(plan.has_step("USING INDEX api_key_test "), "{plan:#?}");
    }
}
