//! The context of authentication: what a surface needs to know its callers, and to sign users up and in.

use std::sync::Arc;

use errors::Error;
use library::context::CoreContext;
use values::plan::Plan;

use super::authenticate::Authenticator;
use super::grants::Grants;
use super::keys::Keys;
use super::limits::{AuthFailures, IpRateLimiter, RateLimits};
use super::password_resets::PasswordResets;
use super::sessions::SignIns;
use crate::ledger::Ledger;

/// Everything that authentication and the management of accounts, keys and grants need. Clones share it.
#[derive(Clone)]
pub struct AuthContext {
    /// The database, the clock, the plans and the lanes of blocking work.
    pub core: CoreContext,
    /// The API keys: look-up, creation, revocation.
    pub keys: Keys,
    /// OAuth clients, grants and their tokens.
    pub grants: Grants,
    /// The hourly limits of keys and grants, and the daily limits of users.
    pub limits: RateLimits,
    /// Failed authentications by IP address; too many refuse further ones.
    pub failures: Arc<AuthFailures>,
    /// The ledger of the uses of keys and grants, and of calls.
    pub ledger: Arc<Ledger>,
    /// Failed sign-ins by account and IP address; too many refuse further ones for a while.
    pub sign_ins: Arc<SignIns>,
    /// Limits the accounts that are created from one IP address.
    pub sign_ups: Arc<IpRateLimiter>,
    /// Limits the links that set a new password, which are sent by e-mail.
    pub password_resets: Arc<PasswordResets>,
    /// The plan of new accounts; `None` while sign-up is closed.
    pub signup: Option<Plan>,
}

impl AuthContext {
    /// Returns what authenticates API keys and access tokens.
    pub fn authenticator(&self) -> Authenticator<'_> {
        let Self { core, keys, grants, failures, ledger, .. } = self;
        Authenticator { core, keys, grants, failures, ledger }
    }

    /// Returns the plan of new accounts.
    ///
    /// # Errors
    /// [`Error::Closed`] while sign-up is closed.
    pub fn signup_plan(&self) -> Result<Plan, Error> {
        self.signup.ok_or(Error::Closed("sign-up is closed; ask the operator for an account"))
    }
}
