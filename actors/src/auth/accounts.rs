//! User accounts and their passwords.
//!
//! Each change is one transaction that raises the generation, so that every process drops its cached keys.

use std::time::{Duration, Instant};

use database::on_behalf_of;
use entity::{activity, activity_day, password_reset, session, user};
use errors::Error;
use library::context::CoreContext;
use library::owned_transaction::begin_owned;
use sea_orm::{ActiveModelTrait, ActiveValue::Set, ColumnTrait, EntityTrait, IntoActiveModel};
use sea_orm::{ConnectionTrait, DbErr, QueryFilter, QueryOrder, QuerySelect, SqlErr};
use text::is_deceptive;
use validation::reasons::DECEPTIVE_TEXT;
use validation::{Fault, Invalid};
use values::id::{SessionId, UserId};
use values::plan::Plan;
use values::time::Timestamp;

use crate::auth::{grants, password};
use crate::service_state::{self, ServiceStateKey};

/// The attributes of a new account. Without `Debug`, which would show the password.
pub struct NewAccount {
    /// The e-mail address, which is stored in lower case.
    pub email: String,
    /// The name of the user.
    pub name: Option<String>,
    /// The password in plain text.
    pub password: String,
    /// The plan, which decides which scopes and limits the account has.
    pub plan: Plan,
}

/// Creates an account. No session begins.
///
/// # Errors
/// [`Error::Invalid`] for the e-mail address or the password; [`Error::Conflict`] if there is an account with this address.
pub async fn create(core: &CoreContext, new: NewAccount) -> Result<user::Model, Error> {
    let row = prepare(core, new).await?;
    insert(core.accounts_db.write(), row).await
}

/// Creates the first account, while there is none.
///
/// # Errors
/// [`Error::Closed`] if there is an account; otherwise as [`create`].
pub async fn set_up(core: &CoreContext, new: NewAccount) -> Result<user::Model, Error> {
    const CLOSED: Error =
        Error::Closed("the first account exists already; sign in, or ask the operator for an account");
    // Checked before the password is hashed, which is slow: anyone may send this request at any time.
    if has_any(core).await? {
        return Err(CLOSED);
    }
    let row = prepare(core, new).await?;
    let txn = core.accounts_db.begin().await?;
    // On PostgreSQL this row lock makes two set-ups at the same time wait for each other; SQLite has one writer anyway.
    service_state::raise_generation(&txn).await?;
    if user::Entity::find().limit(1).one(&txn).await?.is_some() {
        return Err(CLOSED);
    }
    // Who sets the server up runs it.
    let row = user::Model { operator_since: Some(row.created_at), ..row };
    let user = insert(&txn, row).await?;
    txn.commit().await?;
    Ok(user)
}

/// Returns whether there is an account.
pub async fn has_any(core: &CoreContext) -> Result<bool, Error> {
    Ok(user::Entity::find().limit(1).one(core.accounts_db.read()).await?.is_some())
}

async fn prepare(core: &CoreContext, new: NewAccount) -> Result<user::Model, Error> {
    // In lower case, so that the unique index finds the address in every spelling.
    let email = new.email.trim().to_lowercase();
    let mut faults = Vec::new();
    if let Err(reason) = check_email(&email) {
        faults.push(Fault { field: "email".to_owned(), reason: reason.to_owned() });
    }
    if let Err(reason) = password::check_strength(&new.password) {
        faults.push(Fault { field: "password".to_owned(), reason: reason.to_owned() });
    }
    if !faults.is_empty() {
        return Err(Error::Invalid(Invalid { faults }));
    }
    let now = core.clock.now();
    let password_hash = hash(core, new.password).await?;
    let name = new.name.filter(|name| !name.trim().is_empty());
    let account = user::Model::new(UserId::new(now), email, password_hash, new.plan, now);
    Ok(user::Model { name, ..account })
}

async fn insert(db: &impl ConnectionTrait, row: user::Model) -> Result<user::Model, Error> {
    let insert = user::Entity::insert(row.clone().into_active_model());
    insert.exec_without_returning(db).await.map_err(email_error)?;
    Ok(row)
}

/// Returns the error of a statement that stores an e-mail address, which only one account may have.
fn email_error(error: DbErr) -> Error {
    if matches!(error.sql_err(), Some(SqlErr::UniqueConstraintViolation(_))) {
        return Error::conflict(
            "an account with this e-mail address exists already; sign in, or use another e-mail address",
        );
    }
    error.into()
}

/// Returns the account with this e-mail address.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn by_email(core: &CoreContext, email: &str) -> Result<user::Model, Error> {
    user::Entity::by_email(email.trim()).one(core.accounts_db.read()).await?.ok_or(Error::not_found())
}

/// Moves an account to another plan.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_plan(core: &CoreContext, user: UserId, plan: Plan) -> Result<(), Error> {
    let txn = core.accounts_db.begin().await?;
    let mut row = lock_account(&txn, user).await?.into_active_model();
    row.plan = Set(plan);
    row.update(&txn).await?;
    service_state::raise_generation(&txn).await?;
    Ok(txn.commit().await?)
}

/// Makes an account that of an operator, or takes that back.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_operator(core: &CoreContext, user: UserId, operator: bool) -> Result<(), Error> {
    let txn = core.accounts_db.begin().await?;
    let row = lock_account(&txn, user).await?;
    let since = operator.then(|| row.operator_since.unwrap_or_else(|| core.clock.now()));
    let mut row = row.into_active_model();
    row.operator_since = Set(since);
    // Sessions are not cached, so their next requests see it.
    row.update(&txn).await?;
    Ok(txn.commit().await?)
}

/// Changes the name of the user; `None` keeps it. Returns the account.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_name(
    core: &CoreContext,
    user: UserId,
    name: Option<Option<String>>,
) -> Result<user::Model, Error> {
    let txn = on_behalf_of(user, core.accounts_db.begin()).await?;
    let account = lock_account(&txn, user).await?;
    let Some(name) = name else { return Ok(account) };
    let mut row = account.into_active_model();
    row.name = Set(name);
    let account = row.update(&txn).await?;
    txn.commit().await?;
    Ok(account)
}

/// Changes the e-mail address of an account. Its sessions, keys and grants stay.
///
/// # Errors
/// [`Error::Invalid`] for what is no e-mail address; [`Error::Conflict`] if another account has it; [`Error::NotFound`].
pub async fn set_email(core: &CoreContext, user: UserId, email: &str) -> Result<(), Error> {
    let email = email.trim().to_lowercase();
    check_email(&email).map_err(|reason| Error::invalid("email", reason))?;
    let txn = on_behalf_of(user, core.accounts_db.begin()).await?;
    let mut row = lock_account(&txn, user).await?.into_active_model();
    row.email = Set(email);
    row.update(&txn).await.map_err(email_error)?;
    // Links for a new password were sent to the former address.
    password_reset::Entity::delete_owned(user).exec(&txn).await?;
    Ok(txn.commit().await?)
}

/// Disables an account, or enables it again. While it is disabled, its keys are refused; its sessions and grants end.
///
/// # Errors
/// [`Error::NotFound`].
pub async fn set_disabled(core: &CoreContext, user: UserId, disabled: bool) -> Result<(), Error> {
    let at: Option<Timestamp> = disabled.then(|| core.clock.now());
    let txn = core.accounts_db.begin().await?;
    let mut row = lock_account(&txn, user).await?.into_active_model();
    row.disabled_at = Set(at);
    row.update(&txn).await?;
    if disabled {
        // An account that is enabled again starts without the old sessions and grants.
        session::Entity::delete_owned(user).exec(&txn).await?;
        password_reset::Entity::delete_owned(user).exec(&txn).await?;
        grants::end_all_grants(&txn, user).await?;
    }
    service_state::raise_generation(&txn).await?;
    Ok(txn.commit().await?)
}

/// Sets a password and ends all grants of the account, and all sessions except `kept_session`. Returns the generation that this raised.
///
/// # Errors
/// [`Error::Invalid`] for an unacceptable password; [`Error::NotFound`].
pub async fn set_password(
    core: &CoreContext,
    user: UserId,
    password: String,
    kept_session: Option<SessionId>,
) -> Result<i64, Error> {
    password::check_strength(&password).map_err(|reason| Error::invalid("password", reason))?;
    let hash = hash(core, password).await?;
    let txn = on_behalf_of(user, core.accounts_db.begin()).await?;
    let owner = lock_account(&txn, user).await?;
    let generation = replace_password(&txn, owner, hash, kept_session).await?;
    txn.commit().await?;
    Ok(generation)
}

/// Replaces the password of a locked account, within a transaction: what [`set_password`] ends also ends here. Returns the generation that
/// this raised.
pub(super) async fn replace_password(
    txn: &impl ConnectionTrait,
    owner: user::Model,
    hash: String,
    kept_session: Option<SessionId>,
) -> Result<i64, Error> {
    let user = owner.id;
    let mut row = owner.into_active_model();
    row.password_hash = Set(hash);
    row.update(txn).await?;
    let mut ended = session::Entity::delete_owned(user);
    if let Some(kept) = kept_session {
        ended = ended.filter(session::Column::Id.ne(kept));
    }
    ended.exec(txn).await?;
    password_reset::Entity::delete_owned(user).exec(txn).await?;
    grants::end_all_grants(txn, user).await?;
    Ok(service_state::raise_generation(txn).await?)
}

/// Attempts to remove an account. Jobs of the account may run meanwhile; PostgreSQL ends one of two transactions that wait for each
/// other, and the other one ends soon.
const MAX_DELETE_ATTEMPTS: usize = 5;
const DELETE_RETRY_DELAY: Duration = Duration::from_millis(100);
/// An attempt that waited this long met no deadlock, but a lock that is held for longer.
const MAX_DEADLOCK_WAIT: Duration = Duration::from_secs(2);

/// Removes an account with everything that belongs to it. A background task of the server removes its passages from the index. Returns
/// the generation that this raised.
///
/// # Errors
/// [`Error::NotFound`]; [`Error::Busy`] while transactions of the account hold locks.
pub async fn delete(core: &CoreContext, user: UserId) -> Result<i64, Error> {
    let mut attempt = 1;
    loop {
        let start = Instant::now();
        match remove(core, user).await {
            Err(Error::Busy(_)) if attempt < MAX_DELETE_ATTEMPTS && start.elapsed() < MAX_DEADLOCK_WAIT => {
                attempt += 1;
                tokio::time::sleep(DELETE_RETRY_DELAY).await;
            }
            result => return result,
        }
    }
}

async fn remove(core: &CoreContext, user: UserId) -> Result<i64, Error> {
    let txn = on_behalf_of(user, begin_owned(&core.db, user)).await?;
    let row = lock_account(&txn, user).await?;
    activity::Entity::delete_owned(user).exec(&txn).await?;
    activity_day::Entity::delete_owned(user).exec(&txn).await?;
    grants::end_all_grants(&txn, user).await?;
    // The server removes the user's passages from the index because of this row.
    service_state::write(&txn, ServiceStateKey::RemovedUser(user), String::new()).await?;
    row.into_active_model().delete(&txn).await?;
    let generation = service_state::raise_generation(&txn).await?;
    txn.commit().await?;
    Ok(generation)
}

/// Returns all accounts, oldest first.
pub async fn all(core: &CoreContext) -> Result<Vec<user::Model>, Error> {
    Ok(user::Entity::find().order_by_asc(user::Column::CreatedAt).all(core.accounts_db.read()).await?)
}

/// Returns the account, locked until the end of the transaction.
///
/// # Errors
/// [`Error::NotFound`].
pub(super) async fn lock_account(txn: &impl ConnectionTrait, user: UserId) -> Result<user::Model, Error> {
    user::Entity::find_by_id(user).lock_exclusive().one(txn).await?.ok_or(Error::not_found())
}

/// Hashes a password, in the lane of such slow work.
///
/// # Errors
/// [`Error::Busy`] when too many wait.
pub(super) async fn hash(core: &CoreContext, password: String) -> Result<String, Error> {
    core.workers.run_password_hash(None, move || password::hash(&password)).await?.map_err(Error::internal)
}

/// Checks whether an account may have this e-mail address; the error is the reason why not. With invisible characters it could
/// look like the address of another user.
fn check_email(email: &str) -> Result<(), &'static str> {
    if email.chars().any(is_deceptive) {
        Err(DECEPTIVE_TEXT)
    } else if is_email_address(email) {
        Ok(())
    } else {
        Err("must be an e-mail address")
    }
}

/// Checks the form alone, not whether mail arrives.
fn is_email_address(email: &str) -> bool {
    let Some((local, domain)) = email.split_once('@') else { return false };
    !local.is_empty()
        && !domain.contains('@')
        && !domain.is_empty()
        // A path has at most 256 octets, with its angle brackets (RFC 5321, section 4.5.3.1.3).
        && email.len() <= 254
        && !domain.starts_with('.')
        && !domain.ends_with('.')
        && !email.chars().any(|c| c.is_whitespace() || matches!(c, '<' | '>' | ',' | ';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn email_address_has_two_parts_and_no_spaces() {
        for good in ["a@b.example", "first.last+tag@sub.example", "x@localhost", "jürgen@münchen.example"] {
            assert_eq!(check_email(good), Ok(()), "{good}");
        }
        for bad in ["a@b@c", "no-address", "@b", "a@", "a b@c", "a@b c", "<a@b>", "a@.b", "a@b."] {
            assert!(check_email(bad).is_err(), "{bad}");
        }
        for unseen in "\u{202e}\u{2066}\u{200b}\u{200c}\u{200d}\u{ad}\u{fff9}\u{e0041}\n".chars() {
            let bad = format!("a{unseen}@b.example");
            assert!(check_email(&bad).unwrap_err().contains("invisible"), "{bad:?}");
        }
    }
}
