//! Setting up, signing up, signing in and out, changing the password, deleting the account: the routes that need or set the cookie.

use std::pin::Pin;

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::accounts::{self, NewAccount};
use actors::auth::sessions;
use actors::context::OperationContext;
use entity::user;
use errors::Error;
use library::context::CoreContext;
use serde::Serialize;
use serde_json::json;
use validation::{DisplayName, NoFields, Password, Request, Words, read_json, read_query, request};
use values::id::UserId;
use values::plan::Plan;

use super::handler::WebApp;
use crate::http::budget::Sender;
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::envelope::{failure, success};
use crate::http::session::{authenticate, cookie, expired_cookie, require_own_origin, session_secret};
use crate::http::task::run_to_end;
use crate::http::{body, peer};
use crate::routing;

/// The longest body of these routes, which are short forms.
const MAX_BODY_BYTES: usize = 64 * 1024;

type EmailText = Words<1, 254>;
type PasswordText = Password<1024>;

request! {
    /// E-mail address and password of an account.
    struct SignInRequest {
        /// The e-mail address of the account.
        email: EmailText,
        /// The password of the account.
        password: PasswordText,
    }
}

request! {
    /// An account to create.
    struct CreateAccountRequest {
        /// The e-mail address of the account.
        email: EmailText,
        /// The password of the new account.
        password: PasswordText,
        /// The name of the user.
        name?: DisplayName<0, 300>,
    }
}

request! {
    /// The confirmation of the deletion of an account.
    struct DeleteAccountRequest {
        /// The password of the account to delete.
        password: PasswordText,
    }
}

request! {
    /// A change of the password.
    struct ChangePasswordRequest {
        /// The password that the account has now.
        current: PasswordText,
        /// The password that it gets.
        new: PasswordText,
    }
}

/// Mounts the routes that need or set the cookie.
pub fn mount(config: &mut ServiceConfig) {
    let resource = |path, methods: &[&str], below_floor| {
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        let resource = disk_floor::resource(path, below_floor, refuse);
        resource.default_service(routing::refuse::<WebApp>(methods))
    };
    let (serves_all, refuses) = (BelowFloor::ServesAll, BelowFloor::Refuses);
    config
        // It works once, for the operator.
        .service(resource("/setup", &["POST"], serves_all).route(web::post().to(to_end(set_up))))
        .service(resource("/signup", &["POST"], refuses).route(web::post().to(to_end(sign_up))))
        .service(
            resource("/session", &["POST", "GET", "HEAD", "DELETE"], serves_all)
                .route(web::post().to(to_end(sign_in)))
                .route(web::get().to(to_end(show_session)))
                .route(web::delete().to(to_end(sign_out))),
        )
        .service(
            resource("/account", &["DELETE"], serves_all).route(web::delete().to(to_end(delete_account))),
        )
        .service(resource("/password", &["POST"], serves_all).route(web::post().to(to_end(change_password))));
}

/// Responds to a request that is refused before its handler runs.
fn refuse(request: &HttpRequest, ctx: &OperationContext, error: Error) -> HttpResponse {
    failure(request, ctx, &error)
}

/// The handler, run to its end even if the client disconnects, like those of all other routes.
fn to_end<R>(
    handler: fn(HttpRequest, Data<OperationContext>, Payload) -> R,
) -> impl Fn(HttpRequest, Data<OperationContext>, Payload) -> Pin<Box<dyn Future<Output = HttpResponse>>> + Clone
where
    R: Future<Output = HttpResponse> + 'static,
{
    move |request, ctx, payload| Box::pin(run_to_end(request.clone(), handler(request, ctx, payload)))
}

/// The signed-in user, as the web app shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SignedInUser {
    user_id: UserId,
    email: String,
    name: Option<String>,
    plan: Plan,
}

impl From<user::Model> for SignedInUser {
    fn from(row: user::Model) -> Self {
        Self { user_id: row.id, email: row.email, name: row.name, plan: row.plan }
    }
}

async fn set_up(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let started = async {
        let new = read_new_account(&request, &ctx.core, payload, Plan::Research).await?;
        let user = accounts::set_up(&ctx.core, new).await?;
        start_session(&request, &ctx.core, user).await
    };
    session_response(&request, &ctx, StatusCode::CREATED, started.await)
}

async fn sign_up(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let started = async {
        require_own_origin(&request, &ctx.core)?;
        let plan = ctx.auth.signup_plan()?;
        let new = read_new_account(&request, &ctx.core, payload, plan).await?;
        // After the fields are valid, so that a mistyped form does not use up the attempts of an address.
        ctx.auth.sign_ups.admit(peer::ip_address(&request)).map_err(Error::TooManyFailures)?;
        let user = accounts::create(&ctx.core, new).await?;
        start_session(&request, &ctx.core, user).await
    };
    session_response(&request, &ctx, StatusCode::CREATED, started.await)
}

async fn sign_in(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let started = async {
        // Otherwise another site could sign the browser in to an account of its own, and see what the user saves there (row C2).
        require_own_origin(&request, &ctx.core)?;
        let SignInRequest { email, password } = read_body(&request, payload).await?;
        let (email, password) = (email.into_inner(), password.into_inner());
        let ip_address = peer::ip_address(&request);
        let user =
            sessions::check_sign_in(&ctx.core, &ctx.auth.sign_ins, ip_address, &email, password).await?;
        start_session(&request, &ctx.core, user).await
    };
    session_response(&request, &ctx, StatusCode::OK, started.await)
}

async fn show_session(request: HttpRequest, ctx: Data<OperationContext>, _: Payload) -> HttpResponse {
    let found = async {
        // Not `authenticate`, because a missing cookie is answered before the query is checked.
        let secret = session_secret(&request, &ctx.core).ok_or(Error::NotSignedIn)?;
        read_query::<NoFields>(request.query_string())?;
        let (_, user) = sessions::authenticate(&ctx.core, &ctx.auth.keys, &secret).await?;
        Ok::<_, Error>(SignedInUser::from(user))
    };
    match found.await {
        Ok(user) => success(&request, &ctx, StatusCode::OK, &json!({ "user": user })),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn sign_out(request: HttpRequest, ctx: Data<OperationContext>, _: Payload) -> HttpResponse {
    let ended = async {
        require_own_origin(&request, &ctx.core)?;
        let (caller, _) = authenticate(&request, &ctx.auth).await?;
        read_query::<NoFields>(request.query_string())?;
        sessions::sign_out(&ctx.core, &caller).await
    };
    match ended.await {
        Ok(()) => response_without_session(&request, &ctx),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn change_password(
    request: HttpRequest,
    ctx: Data<OperationContext>,
    payload: Payload,
) -> HttpResponse {
    let changed = async {
        require_own_origin(&request, &ctx.core)?;
        let (caller, _) = authenticate(&request, &ctx.auth).await?;
        let ChangePasswordRequest { current, new } = read_body(&request, payload).await?;
        let (current, new) = (current.into_inner(), new.into_inner());
        sessions::change_password(&ctx.core, &ctx.auth.keys, &ctx.auth.sign_ins, &caller, current, new).await
    };
    match changed.await {
        Ok(()) => success(&request, &ctx, StatusCode::OK, &json!({})),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn delete_account(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let deleted = async {
        require_own_origin(&request, &ctx.core)?;
        let (caller, _) = authenticate(&request, &ctx.auth).await?;
        let DeleteAccountRequest { password } = read_body(&request, payload).await?;
        let password = password.into_inner();
        sessions::remove_account(&ctx.core, &ctx.auth.keys, &ctx.auth.sign_ins, &caller, password).await
    };
    match deleted.await {
        Ok(()) => response_without_session(&request, &ctx),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn read_body<R: Request>(request: &HttpRequest, payload: Payload) -> Result<R, Error> {
    read_query::<NoFields>(request.query_string())?;
    // The body counts for the network address, also where a session was authenticated.
    let sender = Sender::anonymous(peer::ip_address(request));
    let body = body::read_body(request, payload, sender, MAX_BODY_BYTES).await?;
    body::require_json(request)?;
    Ok(read_json(&body)?)
}

async fn read_new_account(
    request: &HttpRequest,
    core: &CoreContext,
    payload: Payload,
    plan: Plan,
) -> Result<NewAccount, Error> {
    require_own_origin(request, core)?;
    let CreateAccountRequest { email, password, name } = read_body(request, payload).await?;
    Ok(NewAccount {
        email: email.into_inner(),
        password: password.into_inner(),
        name: name.map(DisplayName::into_inner),
        plan,
    })
}

/// Starts a session and returns the user with its secret.
async fn start_session(
    request: &HttpRequest,
    core: &CoreContext,
    user: user::Model,
) -> Result<(user::Model, String), Error> {
    // The session that the browser presents ends: another site may have planted it (row C2).
    let secret = sessions::open_session(core, &user, session_secret(request, core).as_ref()).await?;
    Ok((user, secret.expose().to_owned()))
}

fn session_response(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    started: Result<(user::Model, String), Error>,
) -> HttpResponse {
    match started {
        Ok((user, secret)) => {
            let mut response = success(request, ctx, status, &json!({ "user": SignedInUser::from(user) }));
            match response.add_cookie(&cookie(&ctx.core, &secret)) {
                Ok(()) => response,
                Err(error) => failure(request, ctx, &Error::internal(error.to_string())),
            }
        }
        Err(error) => failure(request, ctx, &error),
    }
}

/// An empty response that deletes the cookie.
fn response_without_session(request: &HttpRequest, ctx: &OperationContext) -> HttpResponse {
    let mut response = success(request, ctx, StatusCode::OK, &json!({}));
    match response.add_cookie(&expired_cookie(&ctx.core)) {
        Ok(()) => response,
        Err(error) => failure(request, ctx, &Error::internal(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

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
        ] {
            assert!(output.contains("Password(..)") && !output.contains("canary"), "{output}");
        }
    }
}
