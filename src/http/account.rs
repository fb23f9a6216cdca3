//! Setting up, signing up, signing in and out, changing password and e-mail address, and deleting the account, for the JSON routes of the
//! web app and for its pages. Each checks first that the request comes from the server's own pages.

use actix_web::HttpRequest;
use actors::auth::accounts::{self, NewAccount};
use actors::auth::sessions;
use actors::context::OperationContext;
use entity::user;
use errors::Error;
use library::context::CoreContext;
use validation::{DisplayName, Password, Words, request};
use values::plan::Plan;

use super::device::device;
use super::peer;
use super::session::{authenticate, require_own_origin, session_secret};

/// The e-mail address of an account, in a request.
type EmailText = Words<1, 254>;
/// The password of an account, in a request.
type PasswordText = Password<1024>;

request! {
    /// E-mail address and password of an account.
    pub struct SignInRequest {
        /// The e-mail address of the account.
        pub email: EmailText,
        /// The password of the account.
        pub password: PasswordText,
    }
}

request! {
    /// An account to create.
    pub struct CreateAccountRequest {
        /// The e-mail address of the account.
        pub email: EmailText,
        /// The password of the new account.
        pub password: PasswordText,
        /// The name of the user.
        pub name?: DisplayName<0, 300>,
    }
}

request! {
    /// The confirmation of the deletion of an account.
    pub struct DeleteAccountRequest {
        /// The password of the account to delete.
        pub password: PasswordText,
    }
}

request! {
    /// A change of the password.
    pub struct ChangePasswordRequest {
        /// The password that the account has now.
        pub current: PasswordText,
        /// The password that it gets.
        pub new: PasswordText,
    }
}

request! {
    /// A change of the e-mail address.
    pub struct ChangeEmailRequest {
        /// The e-mail address that the account gets.
        pub email: EmailText,
        /// The password of the account.
        pub current: PasswordText,
    }
}

/// A session that has just begun. Without `Debug`, which would show its secret.
pub struct StartedSession {
    /// The account.
    pub user: user::Model,
    /// The secret for the cookie ([`super::session::cookie`]).
    pub secret: String,
}

/// Creates the first account, which gets the Research plan, and begins a session.
///
/// # Errors
/// Those of [`accounts::set_up`]; [`Error::ForeignOrigin`].
pub async fn set_up(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<CreateAccountRequest, Error>,
) -> Result<StartedSession, Error> {
    require_own_origin(request, &ctx.core)?;
    let user = accounts::set_up(&ctx.core, new_account(read().await?, Plan::Research)).await?;
    start_session(request, &ctx.core, user).await
}

/// Creates an account, and begins a session.
///
/// # Errors
/// Those of [`accounts::create`]; [`Error::ForeignOrigin`]; [`Error::Closed`] while sign-up is closed; [`Error::TooManyFailures`] after
/// too many new accounts from one IP address.
pub async fn sign_up(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<CreateAccountRequest, Error>,
) -> Result<StartedSession, Error> {
    require_own_origin(request, &ctx.core)?;
    let plan = ctx.auth.signup_plan()?;
    let new = new_account(read().await?, plan);
    // After the fields are valid, so that a mistyped form does not use up the attempts of an address.
    ctx.auth.sign_ups.admit(peer::ip_address(request)).map_err(Error::TooManyFailures)?;
    let user = accounts::create(&ctx.core, new).await?;
    start_session(request, &ctx.core, user).await
}

/// Begins a session for the account with this e-mail address and password.
///
/// # Errors
/// Those of [`sessions::check_sign_in`]; [`Error::ForeignOrigin`].
pub async fn sign_in(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<SignInRequest, Error>,
) -> Result<StartedSession, Error> {
    // Otherwise another site could sign the browser in to an account that it controls, and see what the user saves (row C2).
    require_own_origin(request, &ctx.core)?;
    let SignInRequest { email, password } = read().await?;
    let (email, password) = (email.into_inner(), password.into_inner());
    let ip_address = peer::ip_address(request);
    let user = sessions::check_sign_in(&ctx.core, &ctx.auth.sign_ins, ip_address, &email, password).await?;
    start_session(request, &ctx.core, user).await
}

/// Ends the session of a request.
///
/// # Errors
/// [`Error::ForeignOrigin`]; [`Error::NotSignedIn`].
pub async fn sign_out(request: &HttpRequest, ctx: &OperationContext) -> Result<(), Error> {
    require_own_origin(request, &ctx.core)?;
    let (caller, _) = authenticate(request, &ctx.auth).await?;
    sessions::sign_out(&ctx.core, &caller).await
}

/// Changes the password of the signed-in user.
///
/// # Errors
/// Those of [`sessions::change_password`]; [`Error::ForeignOrigin`]; [`Error::NotSignedIn`].
pub async fn change_password(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<ChangePasswordRequest, Error>,
) -> Result<(), Error> {
    require_own_origin(request, &ctx.core)?;
    let (caller, _) = authenticate(request, &ctx.auth).await?;
    let ChangePasswordRequest { current, new } = read().await?;
    let (current, new) = (current.into_inner(), new.into_inner());
    sessions::change_password(&ctx.core, &ctx.auth.keys, &ctx.auth.sign_ins, &caller, current, new).await
}

/// Changes the e-mail address of the signed-in user.
///
/// # Errors
/// Those of [`sessions::change_email`]; [`Error::ForeignOrigin`]; [`Error::NotSignedIn`].
pub async fn change_email(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<ChangeEmailRequest, Error>,
) -> Result<(), Error> {
    require_own_origin(request, &ctx.core)?;
    let (caller, _) = authenticate(request, &ctx.auth).await?;
    let ChangeEmailRequest { email, current } = read().await?;
    let (email, current) = (email.into_inner(), current.into_inner());
    sessions::change_email(&ctx.core, &ctx.auth.sign_ins, &caller, &email, current).await
}

/// Removes the account of the signed-in user with everything that belongs to it.
///
/// # Errors
/// Those of [`sessions::remove_account`]; [`Error::ForeignOrigin`]; [`Error::NotSignedIn`].
pub async fn delete_account(
    request: &HttpRequest,
    ctx: &OperationContext,
    read: impl AsyncFnOnce() -> Result<DeleteAccountRequest, Error>,
) -> Result<(), Error> {
    require_own_origin(request, &ctx.core)?;
    let (caller, _) = authenticate(request, &ctx.auth).await?;
    let password = read().await?.password.into_inner();
    sessions::remove_account(&ctx.core, &ctx.auth.keys, &ctx.auth.sign_ins, &caller, password).await
}

fn new_account(request: CreateAccountRequest, plan: Plan) -> NewAccount {
    let CreateAccountRequest { email, password, name } = request;
    NewAccount {
        email: email.into_inner(),
        password: password.into_inner(),
        name: name.map(DisplayName::into_inner),
        plan,
    }
}

/// Starts a session and returns the user with its secret.
async fn start_session(
    request: &HttpRequest,
    core: &CoreContext,
    user: user::Model,
) -> Result<StartedSession, Error> {
    // The session that the browser presents ends: another site may have planted it (row C2).
    let secret =
        sessions::open_session(core, &user, session_secret(request, core).as_ref(), device(request)).await?;
    Ok(StartedSession { user, secret: secret.expose().to_owned() })
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde_json::json;
    use validation::{Request, read_json};

    use super::*;

    fn debug_output<R: Request + Debug>(body: &serde_json::Value) -> String {
        format!("{:?}", read_json::<R>(body.to_string().as_bytes()).unwrap())
    }

    /// Covers the threat table (row L2).
    #[test]
    fn debug_output_of_requests_hides_passwords() {
        let account = json!({ "email": "a@b.example", "password": "canary" });
        for output in [
            debug_output::<SignInRequest>(&account),
            debug_output::<CreateAccountRequest>(&account),
            debug_output::<DeleteAccountRequest>(&json!({ "password": "canary" })),
            debug_output::<ChangePasswordRequest>(&json!({ "current": "canary", "new": "canary" })),
            debug_output::<ChangeEmailRequest>(&json!({ "email": "a@b.example", "current": "canary" })),
        ] {
            assert!(output.contains("Password(..)") && !output.contains("canary"), "{output}");
        }
    }
}
