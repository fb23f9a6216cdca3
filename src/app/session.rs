//! Setting up, signing up, signing in and out, changing password and e-mail address, deleting the account: the routes that need or set
//! the cookie.

use std::pin::Pin;

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::sessions;
use actors::context::OperationContext;
use entity::user;
use errors::Error;
use serde::Serialize;
use serde_json::json;
use validation::{NoFields, Request, read_json, read_query};
use values::id::UserId;
use values::plan::Plan;

use super::handler::WebApp;
use crate::http::account::{self, StartedSession};
use crate::http::budget::Sender;
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::envelope::{failure, success};
use crate::http::session::{
    authenticate, cookie, expired_cookie, forget_pages, require_own_origin, session_secret,
};
use crate::http::task::run_to_end;
use crate::http::{body, peer};
use crate::routing;

/// The longest body of these routes, which are short forms.
const MAX_BODY_BYTES: usize = 64 * 1024;

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
        .service(resource("/password", &["POST"], serves_all).route(web::post().to(to_end(change_password))))
        .service(resource("/email", &["POST"], serves_all).route(web::post().to(to_end(change_email))));
}

/// Responds to a request that is refused before its handler runs.
pub(super) fn refuse(request: &HttpRequest, ctx: &OperationContext, error: Error) -> HttpResponse {
    failure(request, ctx, &error)
}

/// The handler, run to its end even if the client disconnects, like those of all other routes.
pub(super) fn to_end<R>(
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
    let started = account::set_up(&request, &ctx, async || read_body(&request, payload).await).await;
    session_response(&request, &ctx, StatusCode::CREATED, started)
}

async fn sign_up(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let started = account::sign_up(&request, &ctx, async || read_body(&request, payload).await).await;
    session_response(&request, &ctx, StatusCode::CREATED, started)
}

async fn sign_in(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let started = account::sign_in(&request, &ctx, async || read_body(&request, payload).await).await;
    session_response(&request, &ctx, StatusCode::OK, started)
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
        // Before the query is checked, like a missing session of every route.
        authenticate(&request, &ctx.auth).await?;
        read_query::<NoFields>(request.query_string())?;
        account::sign_out(&request, &ctx).await
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
    match account::change_password(&request, &ctx, async || read_body(&request, payload).await).await {
        Ok(()) => success(&request, &ctx, StatusCode::OK, &json!({})),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn change_email(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    match account::change_email(&request, &ctx, async || read_body(&request, payload).await).await {
        Ok(()) => success(&request, &ctx, StatusCode::OK, &json!({})),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn delete_account(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    match account::delete_account(&request, &ctx, async || read_body(&request, payload).await).await {
        Ok(()) => response_without_session(&request, &ctx),
        Err(error) => failure(&request, &ctx, &error),
    }
}

pub(super) async fn read_body<R: Request>(request: &HttpRequest, payload: Payload) -> Result<R, Error> {
    read_query::<NoFields>(request.query_string())?;
    // The body counts for the network address, also where a session was authenticated.
    let sender = Sender::anonymous(peer::ip_address(request));
    let body = body::read_body(request, payload, sender, MAX_BODY_BYTES).await?;
    body::require_json(request)?;
    Ok(read_json(&body)?)
}

fn session_response(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    started: Result<StartedSession, Error>,
) -> HttpResponse {
    match started {
        Ok(StartedSession { user, secret }) => {
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
    forget_pages(&mut response);
    match response.add_cookie(&expired_cookie(&ctx.core)) {
        Ok(()) => response,
        Err(error) => failure(request, ctx, &Error::internal(error.to_string())),
    }
}
