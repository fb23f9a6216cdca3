//! Sessions: how a browser stays signed in, and how guessing passwords is slowed down.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::on_behalf_of;
use entity::{session, user};
use errors::Error;
use library::context::CoreContext;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder, QuerySelect};
use tracing::debug;
use values::id::{SessionId, UserId};

use crate::auth::caller::{Caller, Principal};
use crate::auth::keys::Keys;
use crate::auth::limits::network;
use crate::auth::secret::Secret;
use crate::auth::session_row::{FoundSession, find_session};
use crate::auth::{accounts, password};

/// The prefix of a session's secret.
pub const SESSION_PREFIX: &str = "cs_";
/// The lifetime of a session.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 3600);
/// Sessions of a user: more than a user has browsers. A program that signs in at each run and never signs out would add a row each
/// time, for [`SESSION_LIFETIME`].
const MAX_SESSIONS: u64 = 100;
/// The use of a session is recorded once in this time.
const USE_INTERVAL: Duration = Duration::from_secs(3600);
/// Failed sign-ins count for this long.
const FAILURE_WINDOW: Duration = Duration::from_secs(15 * 60);
/// Failed sign-ins of one account from one IP address.
const MAX_ACCOUNT_FAILURES: usize = 5;
/// Failed sign-ins of all accounts from one IP address. The users of an office or a school may share one.
const MAX_ADDRESS_FAILURES: usize = 100;
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// A hash that no password has. Verification against it takes as long as against a real one, so the response time does not reveal
/// whether an account exists.
const UNMATCHABLE_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyMDE";

/// Checks an e-mail address and a password, and returns their account. No session begins.
///
/// # Errors
/// [`Error::WrongPassword`] for an unknown e-mail address, a wrong password and a disabled account alike;
/// [`Error::TooManyFailures`] after five failures of an account from one IP address within 15 minutes, even with the right password
/// (contract.md, section 11); [`Error::Busy`] when too many password checks wait.
pub async fn check_sign_in(
    core: &CoreContext,
    sign_ins: &SignIns,
    ip_address: Option<IpAddr>,
    email: &str,
    password: String,
) -> Result<user::Model, Error> {
    let email = email.trim().to_lowercase();
    let attempt = (email, ip_address);
    sign_ins.begin(&attempt, core.clock.elapsed())?;
    let found = user::Entity::by_email(&attempt.0).one(core.accounts_db.read()).await;
    // The database failed: five such attempts must not lock out the right password.
    let found = found.inspect_err(|_| sign_ins.withdraw(&attempt))?;
    let hash = found.as_ref().map_or_else(|| UNMATCHABLE_HASH.to_owned(), |user| user.password_hash.clone());
    let is_right = is_right_password(core, sign_ins, &attempt, password, hash).await?;
    match found.filter(|user| is_right && user.disabled_at.is_none()) {
        Some(user) => {
            sign_ins.record_success(&attempt);
            Ok(user)
        }
        None => Err(Error::WrongPassword),
    }
}

/// Returns whether a password has this hash. An attempt whose password was not compared, such as when too many wait, is not a failure.
async fn is_right_password(
    core: &CoreContext,
    sign_ins: &SignIns,
    attempt: &SignInAttempt,
    password: String,
    hash: String,
) -> Result<bool, Error> {
    let address = attempt.1.map(network);
    let compared = core.workers.run_password_hash(address, move || password::verify(&password, &hash)).await;
    if compared.is_err() {
        sign_ins.withdraw(attempt);
    }
    Ok(compared?)
}

/// Begins a session for a user whose password was checked, or who has just created the account. The session that the browser
/// presented ends, and so do the oldest sessions of the user beyond a hundred. `device` names the browser, for the list of sessions.
pub async fn open_session(
    core: &CoreContext,
    user: &user::Model,
    presented: Option<&Secret>,
    device: Option<String>,
) -> Result<Secret, Error> {
    let (now, secret) = (core.clock.now(), Secret::new_token(SESSION_PREFIX).map_err(Error::internal)?);
    let row = session::Model {
        id: SessionId::new(now),
        user_id: user.id,
        secret_hash: secret.hash().bytes().to_vec(),
        created_at: now,
        expires_at: now + SESSION_LIFETIME,
        device,
        last_used_at: now,
    };
    let id = row.id;
    let txn = on_behalf_of(user.id, core.accounts_db.begin()).await?;
    session::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    // Its secret may have been planted or copied (row C2).
    if let Some(presented) = presented {
        let hash = presented.hash().bytes().to_vec();
        session::Entity::delete_many().filter(session::Column::SecretHash.eq(hash)).exec(&txn).await?;
    }
    // After the session that ends anyway: it must not cost another browser its session. Sessions are not cached, so a deleted one is
    // refused from the commit on.
    let is_ended = session::Entity::is_beyond_newest(user.id, MAX_SESSIONS, id);
    session::Entity::delete_owned(user.id).filter(is_ended).exec(&txn).await?;
    txn.commit().await?;
    Ok(secret)
}

/// Returns the caller and the account of a session.
///
/// # Errors
/// [`Error::NotSignedIn`] if the session has ended or its account is disabled.
pub async fn authenticate(
    core: &CoreContext,
    keys: &Keys,
    secret: &Secret,
) -> Result<(Caller, user::Model), Error> {
    let db = &core.accounts_db;
    // Before the account is read: what the user sees in the app, such as a new plan, holds for the user's keys too from then on.
    keys.catch_up(db).await?;
    let found = find_session(db, &secret.hash(), core.clock.now()).await?;
    let FoundSession { id, owner, last_used_at } = found.ok_or(Error::NotSignedIn)?;
    if core.clock.now().since(last_used_at) >= USE_INTERVAL {
        record_use(core, owner.id, id);
    }
    Ok((Caller::of_session(&owner, id), owner))
}

/// Records that a session is used now. The request does not wait for it: on a full disk it must be served nevertheless.
fn record_use(core: &CoreContext, user: UserId, id: SessionId) {
    let (db, now) = (core.accounts_db.clone(), core.clock.now());
    tokio::spawn(async move {
        let used = session::Entity::update_owned(user)
            .col_expr(session::Column::LastUsedAt, Expr::value(now))
            .filter(session::Column::Id.eq(id))
            .exec(db.write())
            .await;
        if let Err(error) = used {
            debug!(%error, "could not record the use of a session");
        }
    });
}

/// Returns the sessions of a user that have not ended, the newest first: a hundred at most.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn list(core: &CoreContext, user: UserId) -> Result<Vec<session::Model>, Error> {
    let current = session::Entity::owned_by(user)
        .filter(session::Column::ExpiresAt.gt(core.clock.now()))
        .order_by_desc(session::Column::Id)
        .limit(MAX_SESSIONS);
    Ok(current.all(core.accounts_db.read()).await?)
}

/// Ends a session of a user.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such session.
pub async fn end(core: &CoreContext, user: UserId, id: SessionId) -> Result<(), Error> {
    let own = session::Entity::delete_owned(user).filter(session::Column::Id.eq(id));
    match own.exec(core.accounts_db.write()).await?.rows_affected {
        0 => Err(Error::not_found()),
        _ => Ok(()),
    }
}

/// Ends all sessions of a user except this one. Returns their number.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn end_others(core: &CoreContext, user: UserId, kept: SessionId) -> Result<u64, Error> {
    let others = session::Entity::delete_owned(user).filter(session::Column::Id.ne(kept));
    Ok(others.exec(core.accounts_db.write()).await?.rows_affected)
}

/// Ends the session of a caller.
pub async fn sign_out(core: &CoreContext, caller: &Caller) -> Result<(), Error> {
    let Principal::Session(id) = &caller.principal else { return Ok(()) };
    let own = session::Entity::delete_owned(caller.user);
    own.filter(session::Column::Id.eq(*id)).exec(core.accounts_db.write()).await?;
    Ok(())
}

/// Changes the password of the signed-in user, and ends the user's other sessions and all grants.
///
/// # Errors
/// [`Error::Invalid`] for a wrong current password or an unacceptable new one; [`Error::TooManyFailures`] after five wrong ones.
pub async fn change_password(
    core: &CoreContext,
    keys: &Keys,
    sign_ins: &SignIns,
    caller: &Caller,
    current: String,
    new: String,
) -> Result<(), Error> {
    let Principal::Session(session) = &caller.principal else { return Err(Error::NotSignedIn) };
    confirm_password(core, sign_ins, caller, "current", current).await?;
    password::check_strength(&new).map_err(|reason| Error::invalid("new", reason))?;
    let generation = accounts::set_password(core, caller.user, new, Some(*session)).await?;
    keys.record_account_change(caller.user, generation);
    Ok(())
}

/// Changes the e-mail address of the signed-in user.
///
/// # Errors
/// [`Error::Invalid`] for a wrong password or what is no e-mail address; [`Error::Conflict`] if another account has the address;
/// [`Error::TooManyFailures`] after five wrong passwords.
pub async fn change_email(
    core: &CoreContext,
    sign_ins: &SignIns,
    caller: &Caller,
    email: &str,
    current: String,
) -> Result<(), Error> {
    confirm_password(core, sign_ins, caller, "current", current).await?;
    accounts::set_email(core, caller.user, email).await
}

/// Removes the account of the signed-in user with everything that belongs to it.
///
/// # Errors
/// [`Error::Invalid`] for a wrong password; [`Error::TooManyFailures`] after five wrong ones.
pub async fn remove_account(
    core: &CoreContext,
    keys: &Keys,
    sign_ins: &SignIns,
    caller: &Caller,
    password: String,
) -> Result<(), Error> {
    confirm_password(core, sign_ins, caller, "password", password).await?;
    let generation = accounts::delete(core, caller.user).await?;
    keys.record_account_change(caller.user, generation);
    Ok(())
}

/// Checks the password that the signed-in user typed again, with the same limit as a sign-in: someone else may use the browser.
async fn confirm_password(
    core: &CoreContext,
    sign_ins: &SignIns,
    caller: &Caller,
    field: &'static str,
    password: String,
) -> Result<(), Error> {
    let owner = user::Entity::find_by_id(caller.user).one(core.accounts_db.read()).await?;
    let owner = owner.ok_or(Error::not_found())?;
    let attempt = (owner.email, None);
    sign_ins.begin(&attempt, core.clock.elapsed())?;
    if !is_right_password(core, sign_ins, &attempt, password, owner.password_hash).await? {
        return Err(Error::invalid(field, "is not the password of this account"));
    }
    sign_ins.record_success(&attempt);
    Ok(())
}

/// Removes expired sessions of all users.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let expired = session::Column::ExpiresAt.lt(core.clock.now());
    session::Entity::delete_many().filter(expired).exec(core.db.write()).await?;
    Ok(())
}

/// The e-mail address of the account, and the IP address that the attempt comes from.
type SignInAttempt = (String, Option<IpAddr>);

/// Failed sign-ins within [`FAILURE_WINDOW`]: of an account from an IP address, and of all accounts from one. Their times are those
/// of [`library::clock::Clock::elapsed`]: a wall clock that is set back would lock users out until it has caught up.
#[derive(Default)]
pub struct SignIns {
    failures: Mutex<SignInFailures>,
}

#[derive(Default)]
struct SignInFailures {
    by_account: HashMap<SignInAttempt, Vec<Duration>>,
    by_address: HashMap<IpAddr, Vec<Duration>>,
    swept_at: Option<Duration>,
}

impl SignIns {
    /// Counts an attempt before its password is compared, so that attempts at the same time all count. A success removes it again.
    fn begin(&self, attempt: &SignInAttempt, now: Duration) -> Result<(), Error> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.sweep(now);
        let SignInFailures { by_account, by_address, .. } = &mut *failures;
        let mut all = attempt.1.map(|address| by_address.entry(network(address)).or_default());
        if let Some(all) = &mut all {
            check_limit(all, MAX_ADDRESS_FAILURES, now)?;
        }
        let account = by_account.entry(attempt.clone()).or_default();
        check_limit(account, MAX_ACCOUNT_FAILURES, now)?;
        account.push(now);
        if let Some(all) = all {
            all.push(now);
        }
        Ok(())
    }

    fn record_success(&self, attempt: &SignInAttempt) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.by_account.remove(attempt);
        failures.remove_last_attempt(attempt.1);
    }

    /// Removes the failures of an account, whose user has proved in another way who it is.
    pub(super) fn forget(&self, email: &str) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.by_account.retain(|(failed, _), _| failed != email);
    }

    /// Removes an attempt whose password was not compared.
    fn withdraw(&self, attempt: &SignInAttempt) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = failures.by_account.get_mut(attempt) {
            account.pop();
        }
        failures.remove_last_attempt(attempt.1);
    }
}

impl SignInFailures {
    /// Removes the last attempt from this address.
    fn remove_last_attempt(&mut self, address: Option<IpAddr>) {
        if let Some(all) = address.and_then(|address| self.by_address.get_mut(&network(address))) {
            all.pop();
        }
    }

    /// Removes old failures, at most once a minute: not every attempt pays for a look at all of them.
    fn sweep(&mut self, now: Duration) {
        if self.swept_at.is_some_and(|swept| now.saturating_sub(swept) < SWEEP_INTERVAL) {
            return;
        }
        self.swept_at = Some(now);
        let recent = |times: &Vec<Duration>| {
            times.last().is_some_and(|last| now.saturating_sub(*last) < FAILURE_WINDOW)
        };
        self.by_account.retain(|_, times| recent(times));
        self.by_address.retain(|_, times| recent(times));
    }
}

/// Checks whether one more attempt may fail within the window.
fn check_limit(times: &mut Vec<Duration>, limit: usize, now: Duration) -> Result<(), Error> {
    times.retain(|at| now.saturating_sub(*at) < FAILURE_WINDOW);
    match times.first() {
        Some(first) if times.len() >= limit => {
            Err(Error::TooManyFailures(FAILURE_WINDOW.saturating_sub(now.saturating_sub(*first))))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Covers the threat table (row A7).
    #[test]
    fn sixth_attempt_waits_until_the_first_failure_is_old() {
        let sign_ins = SignIns::default();
        let start = Duration::from_secs(1_000);
        let here = ("a@b.example".to_owned(), "127.0.0.1".parse().ok());
        let elsewhere = ("a@b.example".to_owned(), "127.0.0.2".parse().ok());
        for _ in 0..5 {
            assert!(sign_ins.begin(&here, start).is_ok());
        }

        assert!(
            matches!(sign_ins.begin(&here, start), Err(Error::TooManyFailures(wait)) if wait == FAILURE_WINDOW)
        );
        assert!(sign_ins.begin(&elsewhere, start).is_ok());
        assert!(sign_ins.begin(&here, start + FAILURE_WINDOW).is_ok());
    }

    #[test]
    fn withdrawn_attempts_do_not_count() {
        let sign_ins = SignIns::default();
        let (start, here) =
            (Duration::from_secs(1_000), ("a@b.example".to_owned(), "127.0.0.1".parse().ok()));
        for _ in 0..=MAX_ADDRESS_FAILURES {
            assert!(sign_ins.begin(&here, start).is_ok());
            sign_ins.withdraw(&here);
        }

        for _ in 0..MAX_ACCOUNT_FAILURES {
            assert!(sign_ins.begin(&here, start).is_ok());
        }
        assert!(sign_ins.begin(&here, start).is_err());
    }

    /// Covers the threat table (row A7).
    #[test]
    fn failures_of_many_accounts_block_their_network() {
        let sign_ins = SignIns::default();
        let start = Duration::from_secs(1_000);
        let attempt = |n: usize| (format!("{n}@b.example"), "2001:db8::1".parse().ok());
        for n in 0..MAX_ADDRESS_FAILURES {
            assert!(sign_ins.begin(&attempt(n), start).is_ok());
        }
        let neighbour = ("x@b.example".to_owned(), "2001:db8::2".parse().ok());

        assert!(matches!(sign_ins.begin(&neighbour, start), Err(Error::TooManyFailures(_))));
        sign_ins.record_success(&attempt(1));
        assert!(sign_ins.begin(&neighbour, start).is_ok());
    }
}
