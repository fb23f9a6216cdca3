//! Sessions: how a browser stays signed in, and how guessing passwords is slowed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use database::on_behalf_of;
use entity::id::SessionId;
use entity::{session, user};
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, QueryFilter};

use crate::context::OperationContext;
use crate::auth::caller::{Caller, Principal};
use errors::Error;
use crate::auth::secret::Secret;
use crate::auth::limits::network;
use crate::auth::password;
use crate::pipeline;

/// What the secret of a session begins with.
pub const PREFIX: &str = "cs_";
/// How long a session lives.
pub const LIFE: Duration = Duration::from_secs(30 * 24 * 3600);
const WINDOW: Duration = Duration::from_secs(15 * 60);
const MOST_FAILURES: usize = 5;
/// Of all accounts from one address: an office or a school signs in from one.
const MOST_FAILURES_OF_ADDRESS: usize = 100;
const SWEEP_EVERY: Duration = Duration::from_secs(60);
/// A hash of no password: verifying against it takes as long as against a real one.
const NOBODY: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$Zm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyZm9vYmFyMDE";

/// Checks an e-mail address and a password, and returns their account. No session begins.
///
/// # Errors
/// [`Error::WrongPassword`] for an unknown e-mail address, a wrong password and a disabled account alike;
/// [`Error::TooManyFailures`] after five failures of an account from one IP address within 15 minutes, even with the right
/// password (contract.md, section 11).
pub async fn authenticate(
    ctx: &OperationContext,
    address: Option<IpAddr>,
    email: &str,
    typed: String,
) -> Result<user::Model, Error> {
    let email = email.trim().to_lowercase();
    let attempt = (email, address);
    ctx.sign_ins.begin(&attempt, ctx.core.clock.elapsed())?;
    let found = user::Entity::by_email(&attempt.0).one(ctx.core.accounts_db.read()).await;
    // The database failed: five such attempts must not lock out the right password.
    let found = found.inspect_err(|_| ctx.sign_ins.withdraw(&attempt))?;
    let hash = found.as_ref().map_or_else(|| NOBODY.to_owned(), |user| user.password_hash.clone());
    let right = is_right(ctx, &attempt, typed, hash).await?;
    match found.filter(|user| right && user.disabled_at.is_none()) {
        Some(user) => {
            ctx.sign_ins.succeeded(&attempt);
            Ok(user)
        }
        None => Err(Error::WrongPassword),
    }
}

/// Whether this is the password of that hash. An attempt whose password was not compared, such as when too many wait, does not
/// count as failed.
async fn is_right(ctx: &OperationContext, attempt: &Attempt, typed: String, hash: String) -> Result<bool, Error> {
    let address = attempt.1.map(network);
    let compared = ctx.core.workers.run_password_hash(address, move || password::verify(&typed, &hash)).await;
    if compared.is_err() {
        ctx.sign_ins.withdraw(attempt);
    }
    Ok(compared?)
}

/// Begins a session for a user whose password was checked, or who has just created the account. The session that the browser
/// presented ends: its secret may have been planted or copied (faults-and-threats, row C2).
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub async fn open(ctx: &OperationContext, user: &user::Model, presented: Option<&Secret>) -> Result<Secret, Error> {
    let (now, secret) = (ctx.core.clock.now(), Secret::new_token(PREFIX).map_err(Error::internal)?);
    let row = session::Model {
        id: SessionId::new(now),
        user_id: user.id,
        secret_hash: secret.hash().bytes().to_vec(),
        created_at: now,
        expires_at: now + LIFE,
    };
    let txn = on_behalf_of(user.id, ctx.core.accounts_db.begin()).await?;
    session::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    if let Some(presented) = presented {
        let hash = presented.hash().bytes().to_vec();
        session::Entity::delete_many().filter(session::Column::SecretHash.eq(hash)).exec(&txn).await?;
    }
    txn.commit().await?;
    Ok(secret)
}

/// Who has this session's cookie.
pub async fn recognise(ctx: &OperationContext, secret: &Secret) -> Result<(Caller, user::Model), Error> {
    let found =
        session::Entity::unexpired(secret.hash().bytes(), ctx.core.clock.now()).one(ctx.core.accounts_db.read()).await?;
    let session = found.ok_or(Error::NotSignedIn)?;
    // What a person sees in the app, a plan say, holds for their keys too from then on.
    ctx.keys.catch_up(&ctx.core.accounts_db).await?;
    let owner = user::Entity::find_by_id(session.user_id).one(ctx.core.accounts_db.read()).await?;
    let owner = owner.filter(|owner| owner.disabled_at.is_none()).ok_or(Error::NotSignedIn)?;
    Ok((perform::own_caller(owner.id, owner.plan, Principal::Session(session.id)), owner))
}

/// Ends a session.
pub async fn sign_out(ctx: &OperationContext, caller: &Caller) -> Result<(), Error> {
    let Principal::Session(id) = &caller.via else { return Ok(()) };
    let own = session::Entity::delete_many().filter(session::Column::UserId.eq(caller.user));
    own.filter(session::Column::Id.eq(*id)).exec(ctx.core.accounts_db.write()).await?;
    Ok(())
}

/// Changes the password of the signed-in person and ends their other sessions.
pub async fn change_password(ctx: &OperationContext, caller: &Caller, current: String, new: String) -> Result<(), Error> {
    let Principal::Session(kept) = &caller.via else { return Err(Error::NotSignedIn) };
    confirm(ctx, caller, "current", current).await?;
    password::acceptable(&new).map_err(|reason| Error::invalid("new", reason))?;
    crate::auth::accounts::set_password(ctx, caller.user, new, Some(*kept)).await?;
    ctx.keys.forget();
    Ok(())
}

/// Removes the account of the signed-in person, with everything of theirs.
pub async fn remove_account(ctx: &OperationContext, caller: &Caller, typed: String) -> Result<(), Error> {
    confirm(ctx, caller, "password", typed).await?;
    crate::auth::accounts::delete(ctx, caller.user).await?;
    ctx.keys.forget();
    Ok(())
}

/// Has the signed-in person type the password again, as slowed as a sign-in is: the browser may be in other hands.
async fn confirm(ctx: &OperationContext, caller: &Caller, field: &'static str, typed: String) -> Result<(), Error> {
    let owner =
        user::Entity::find_by_id(caller.user).one(ctx.core.accounts_db.read()).await?.ok_or(Error::not_found())?;
    let attempt = (owner.email, None);
    ctx.sign_ins.begin(&attempt, ctx.core.clock.elapsed())?;
    if !is_right(ctx, &attempt, typed, owner.password_hash).await? {
        return Err(Error::invalid(field, "is not the password of this account"));
    }
    ctx.sign_ins.succeeded(&attempt);
    Ok(())
}

/// Removes sessions that have ended.
pub async fn sweep(ctx: &OperationContext) -> Result<(), Error> {
    let ended = session::Column::ExpiresAt.lt(ctx.core.clock.now());
    session::Entity::delete_many().filter(ended).exec(ctx.core.db.write()).await?;
    Ok(())
}

/// An account, by its address, and where the attempt comes from.
type Attempt = (String, Option<IpAddr>);

/// Failed sign-ins within the window: of an account from an address, and of all accounts from one. Their times are those of
/// [`library::clock::Clock::elapsed`]: a wall clock that is set back would lock people out until it has caught up.
#[derive(Default)]
pub struct SignIns {
    failures: Mutex<Failures>,
}

#[derive(Default)]
struct Failures {
    of_accounts: HashMap<Attempt, Vec<Duration>>,
    of_addresses: HashMap<IpAddr, Vec<Duration>>,
    swept: Option<Duration>,
}

impl SignIns {
    /// Counts an attempt before its password is looked at, so that many at once are not one: the right one takes it back.
    fn begin(&self, attempt: &Attempt, now: Duration) -> Result<(), Error> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.sweep(now);
        let Failures { of_accounts, of_addresses, .. } = &mut *failures;
        let mut all = attempt.1.map(|address| of_addresses.entry(network(address)).or_default());
        if let Some(all) = &mut all {
            room(all, MOST_FAILURES_OF_ADDRESS, now)?;
        }
        let account = of_accounts.entry(attempt.clone()).or_default();
        room(account, MOST_FAILURES, now)?;
        account.push(now);
        if let Some(all) = all {
            all.push(now);
        }
        Ok(())
    }

    fn succeeded(&self, attempt: &Attempt) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.of_accounts.remove(attempt);
        failures.remove_last_of(attempt.1);
    }

    /// Removes an attempt whose password was not compared.
    fn withdraw(&self, attempt: &Attempt) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(account) = failures.of_accounts.get_mut(attempt) {
            account.pop();
        }
        failures.remove_last_of(attempt.1);
    }
}

impl Failures {
    /// Removes the last attempt from this address.
    fn remove_last_of(&mut self, address: Option<IpAddr>) {
        if let Some(all) = address.and_then(|address| self.of_addresses.get_mut(&network(address))) {
            all.pop();
        }
    }

    /// Forgets what is over, once a minute: nobody's attempt pays for everybody's.
    fn sweep(&mut self, now: Duration) {
        if self.swept.is_some_and(|swept| now.saturating_sub(swept) < SWEEP_EVERY) {
            return;
        }
        self.swept = Some(now);
        let recent =
            |times: &Vec<Duration>| times.last().is_some_and(|last| now.saturating_sub(*last) < WINDOW);
        self.of_accounts.retain(|_, times| recent(times));
        self.of_addresses.retain(|_, times| recent(times));
    }
}

/// Whether one more may fail within the window.
fn room(times: &mut Vec<Duration>, most: usize, now: Duration) -> Result<(), Error> {
    times.retain(|at| now.saturating_sub(*at) < WINDOW);
    match times.first() {
        Some(first) if times.len() >= most => {
            Err(Error::TooManyFailures(WINDOW.saturating_sub(now.saturating_sub(*first))))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the threat table (row A7).
    #[test]
    fn after_five_failures_an_account_and_address_waits_for_the_first_to_be_old() {
        let sign_ins = SignIns::default();
        let start = Duration::from_secs(1_000);
        let here = ("a@b.example".to_owned(), "127.0.0.1".parse().ok());
        let there = ("a@b.example".to_owned(), "127.0.0.2".parse().ok());
        for _ in 0..5 {
            assert!(sign_ins.begin(&here, start).is_ok());
        }

        assert!(matches!(sign_ins.begin(&here, start), Err(Error::TooManyFailures(wait)) if wait == WINDOW));
        assert!(sign_ins.begin(&there, start).is_ok());
        assert!(sign_ins.begin(&here, start + WINDOW).is_ok());
    }

    #[test]
    fn withdrawn_attempts_are_no_failures() {
        let sign_ins = SignIns::default();
        let (start, here) =
            (Duration::from_secs(1_000), ("a@b.example".to_owned(), "127.0.0.1".parse().ok()));
        for _ in 0..=MOST_FAILURES_OF_ADDRESS {
            assert!(sign_ins.begin(&here, start).is_ok());
            sign_ins.withdraw(&here);
        }

        for _ in 0..MOST_FAILURES {
            assert!(sign_ins.begin(&here, start).is_ok());
        }
        assert!(sign_ins.begin(&here, start).is_err());
    }

    /// Of the threat table (row A7).
    #[test]
    fn whoever_tries_account_after_account_waits_too() {
        let sign_ins = SignIns::default();
        let start = Duration::from_secs(1_000);
        let attempt = |n: usize| (format!("{n}@b.example"), "2001:db8::1".parse().ok());
        for n in 0..MOST_FAILURES_OF_ADDRESS {
            assert!(sign_ins.begin(&attempt(n), start).is_ok());
        }
        let next_door = ("x@b.example".to_owned(), "2001:db8::2".parse().ok());

        assert!(matches!(sign_ins.begin(&next_door, start), Err(Error::TooManyFailures(_))));
        sign_ins.succeeded(&attempt(1));
        assert!(sign_ins.begin(&next_door, start).is_ok());
    }
}
