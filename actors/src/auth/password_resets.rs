//! Setting a new password by a link that is sent by e-mail.
//!
//! The link has a secret that works once and for an hour. The response to a request for it is the same, and takes the same time, whether
//! or not an account has the address: the account is looked up after the response.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use database::on_behalf_of;
use entity::{password_reset, user};
use errors::Error;
use jobs::{JobKind, JobSignal, Priority};
use library::clock::Clock;
use library::context::CoreContext;
use sea_orm::{ColumnTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter};
use storage::mail::Email;
use tracing::error;
use values::id::{PasswordResetId, UserId};

use crate::auth::keys::Keys;
use crate::auth::limits::IpRateLimiter;
use crate::auth::secret::Secret;
use crate::auth::sessions::SignIns;
use crate::auth::{accounts, password};

/// The prefix of the secret in a link.
pub const RESET_PREFIX: &str = "cr_";
/// The time in which a link works.
pub const RESET_LIFETIME: Duration = Duration::from_secs(3600);
/// Links of an account that work at the same time, and so the e-mails that it gets within [`RESET_LIFETIME`].
const MAX_RESETS: u64 = 3;
/// Requests for a link from one IP address within an hour. The users of an office may share one.
const MAX_REQUESTS_PER_HOUR: u32 = 20;
const NO_MAIL: Error = Error::Closed(
    "this server sends no e-mail; its operator can set a new password with `carrel user set-password`",
);

/// Limits the requests for links.
pub struct PasswordResets {
    requests: IpRateLimiter,
    has_mailer: bool,
}

impl PasswordResets {
    /// Creates the limits. Without a mailer every request is refused.
    pub fn new(has_mailer: bool, clock: Arc<dyn Clock>) -> Self {
        Self { requests: IpRateLimiter::per_hour(MAX_REQUESTS_PER_HOUR, clock), has_mailer }
    }

    /// Returns whether the server can send links.
    pub fn has_mailer(&self) -> bool {
        self.has_mailer
    }
}

/// Requests a link for the account with this e-mail address. Nothing happens if there is none, if it is disabled, or if it was sent
/// three links within the hour, and the response does not tell.
///
/// # Errors
/// [`Error::Closed`] when the server sends no e-mail; [`Error::TooManyFailures`] after twenty requests from one IP address within an hour.
pub fn request(
    core: &CoreContext,
    resets: &PasswordResets,
    job_signal: &JobSignal,
    ip_address: Option<IpAddr>,
    email: String,
) -> Result<(), Error> {
    if !resets.has_mailer {
        return Err(NO_MAIL);
    }
    resets.requests.admit(ip_address).map_err(Error::TooManyFailures)?;
    let (core, job_signal) = (core.clone(), job_signal.clone());
    // After the response, whose time would tell whether there is an account.
    tokio::spawn(async move {
        match enqueue(&core, &email).await {
            Ok(()) => job_signal.notify(),
            Err(error) => error!(cause = error.chain(), "could not enqueue the e-mail of a password reset"),
        }
    });
    Ok(())
}

/// Records the request and enqueues its e-mail.
async fn enqueue(core: &CoreContext, email: &str) -> Result<(), Error> {
    let now = core.clock.now();
    let owner = user::Entity::by_email(email.trim()).one(core.accounts_db.read()).await?;
    let Some(owner) = owner.filter(|owner| owner.disabled_at.is_none()) else { return Ok(()) };
    let txn = on_behalf_of(owner.id, core.accounts_db.begin()).await?;
    accounts::lock_account(&txn, owner.id).await?;
    let of_owner = password_reset::Entity::owned_by(owner.id);
    if of_owner.filter(password_reset::Column::ExpiresAt.gt(now)).count(&txn).await? >= MAX_RESETS {
        return Ok(());
    }
    let id = PasswordResetId::new(now);
    let row =
        password_reset::Model { id, user_id: owner.id, secret_hash: None, expires_at: now + RESET_LIFETIME };
    password_reset::Entity::insert(row.into_active_model()).exec_without_returning(&txn).await?;
    jobs::enqueue(&txn, owner.id, JobKind::SendEmail, id.0, Priority::Now, now).await?;
    Ok(txn.commit().await?)
}

/// Returns the e-mail with the link of a request; `None` if the request was used or has expired. Each attempt to send it makes another
/// secret, which replaces that of the attempt before: no secret is stored.
///
/// # Errors
/// [`Error::Internal`] when the database fails.
pub(crate) async fn compose(
    core: &CoreContext,
    owner: &user::Model,
    id: PasswordResetId,
    attempt: i32,
) -> Result<Option<Email>, Error> {
    let now = core.clock.now();
    let secret = Secret::new_token(RESET_PREFIX).map_err(Error::internal)?;
    let written = password_reset::Entity::update_owned(owner.id)
        .col_expr(password_reset::Column::SecretHash, secret.hash().bytes().to_vec().into())
        .filter(password_reset::Column::Id.eq(id))
        .filter(password_reset::Column::ExpiresAt.gt(now))
        .exec(core.accounts_db.write())
        .await?;
    if written.rows_affected == 0 {
        return Ok(None);
    }
    let text = format!(
        "Somebody, probably you, asked to set a new password for this account of Carrel. Open this page to do so:\n\n\
         {base}/reset?token={token}\n\n\
         The link works once, within an hour. A new password signs the account out everywhere and disconnects its apps. If you did \
         not ask for this, ignore the e-mail: nothing has changed.\n\n-- \nCarrel, {base}",
        base = core.base_url,
        token = secret.expose(),
    );
    Ok(Some(Email {
        // Another id for each attempt: a mail program must not drop the one whose link works.
        id: format!("{id}.{attempt}"),
        to: owner.email.clone(),
        subject: "Set a new password".to_owned(),
        text,
        written_at: now,
    }))
}

/// Returns whether a link with this secret works.
pub async fn is_valid(core: &CoreContext, token: &str) -> Result<bool, Error> {
    Ok(find(core, token).await?.is_some())
}

/// Sets the password of the account for which a link was sent. The link and all other links, sessions and grants of the account end;
/// failed sign-ins are forgotten.
///
/// # Errors
/// [`Error::Invalid`] for a link that was used or has expired, and for an unacceptable password, which leaves the link as it is.
pub async fn reset(
    core: &CoreContext,
    keys: &Keys,
    sign_ins: &SignIns,
    token: &str,
    password: String,
) -> Result<(), Error> {
    let found = find(core, token).await?.ok_or_else(spent_link)?;
    password::check_strength(&password).map_err(|reason| Error::invalid("new", reason))?;
    let (owner, generation) = set_password(core, found, password).await?;
    keys.record_account_change(owner.id, generation);
    sign_ins.forget(&owner.email);
    Ok(())
}

/// Sets the password if the link has not been used meanwhile.
async fn set_password(
    core: &CoreContext,
    link: password_reset::Model,
    password: String,
) -> Result<(user::Model, i64), Error> {
    let user: UserId = link.user_id;
    let hash = accounts::hash(core, password).await?;
    let txn = on_behalf_of(user, core.accounts_db.begin()).await?;
    let owner = accounts::lock_account(&txn, user).await?;
    // The row count: of two requests with the same link at the same time, the one that deletes the row counts.
    if owner.disabled_at.is_some() || !password_reset::Entity::delete_owned_row(&txn, user, link).await? {
        return Err(spent_link());
    }
    let generation = accounts::replace_password(&txn, owner.clone(), hash, None).await?;
    txn.commit().await?;
    Ok((owner, generation))
}

async fn find(core: &CoreContext, token: &str) -> Result<Option<password_reset::Model>, Error> {
    let Some(secret) = Secret::parse_token(RESET_PREFIX, token) else { return Ok(None) };
    let found = password_reset::Entity::by_hash(secret.hash().bytes()).one(core.accounts_db.read()).await?;
    Ok(found.filter(|link| core.clock.now() < link.expires_at))
}

fn spent_link() -> Error {
    Error::invalid("token", "was used before or has expired; request another link")
}

/// Removes expired requests of all users.
pub async fn sweep(core: &CoreContext) -> Result<(), Error> {
    let expired = password_reset::Column::ExpiresAt.lt(core.clock.now());
    password_reset::Entity::delete_many().filter(expired).exec(core.db.write()).await?;
    Ok(())
}
