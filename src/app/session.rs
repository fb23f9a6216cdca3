//! Setting up, signing up, signing in and out, changing the password, removing the account: what needs or makes a
//! cookie.

use std::pin::Pin;

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::auth::accounts::{self, NewAccount};
use actors::context::OperationContext;
use errors::Error;
use validation::{self, Field, Kind, Values};
use actors::auth::sessions;
use entity::plan::Plan;
use entity::user;
use serde::Serialize;
use serde_json::json;

use super::door::{cookie, no_cookie, own_origin, session_secret};
use crate::http::budget::Sender;
use crate::http::disk_floor::{self, BelowFloor};
use crate::http::table::{self, Door};
use crate::http::{body, peer};
use crate::rest::{failure, success, whole};

const LONGEST: usize = 64 * 1024;
const EMAIL: Field = Field::required("email", Kind::Words { min: 1, max: 254 }, "The account's address.");
const PASSWORD: Field = Field::required("password", Kind::Text { max: 1024 }, "The password.");
const SIGN_IN: &[Field] = &[EMAIL, PASSWORD];
const NEW_ACCOUNT: &[Field] =
    &[EMAIL, PASSWORD, Field::optional("name", Kind::Text { max: 300 }, "What the person is called.")];
const REMOVE: &[Field] = &[PASSWORD];
const CHANGE: &[Field] = &[
    Field::required("current", Kind::Text { max: 1024 }, "The password until now."),
    Field::required("new", Kind::Text { max: 1024 }, "The password from now on."),
];

/// Mounts the routes.
pub fn mount(config: &mut ServiceConfig) {
    let only = |path, methods: &[&str], below_floor| {
        let methods = methods.iter().map(|method| (*method).to_owned()).collect();
        let resource = disk_floor::resource(path, below_floor, refused);
        resource.default_service(table::refuse(Door::Session, methods))
    };
    let (serves_all, refuses) = (BelowFloor::ServesAll, BelowFloor::Refuses);
    config
        // It works once, for the operator.
        .service(only("/setup", &["POST"], serves_all).route(web::post().to(answered(set_up))))
        .service(only("/signup", &["POST"], refuses).route(web::post().to(answered(sign_up))))
        .service(
            only("/session", &["POST", "GET", "HEAD", "DELETE"], serves_all)
                .route(web::post().to(answered(sign_in)))
                .route(web::get().to(answered(who_am_i)))
                .route(web::delete().to(answered(sign_out))),
        )
        .service(only("/account", &["DELETE"], serves_all).route(web::delete().to(answered(remove_account))))
        .service(only("/password", &["POST"], serves_all).route(web::post().to(answered(change_password))));
}

/// Answers a request that is refused before its handler runs.
fn refused(request: &HttpRequest, ctx: &OperationContext, error: Error) -> HttpResponse {
    failure(request, ctx, &error)
}

/// A handler of its own, run as every other route's is: to its end, whoever goes away meanwhile.
fn answered<A>(
    answer: fn(HttpRequest, Data<OperationContext>, Payload) -> A,
) -> impl Fn(HttpRequest, Data<OperationContext>, Payload) -> Pin<Box<dyn Future<Output = HttpResponse>>> + Clone
where
    A: Future<Output = HttpResponse> + 'static,
{
    move |request, ctx, payload| Box::pin(whole(request.clone(), answer(request, ctx, payload)))
}

/// Who is signed in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Who {
    user_id: entity::id::UserId,
    email: String,
    name: Option<String>,
    plan: Plan,
}

impl From<user::Model> for Who {
    fn from(row: user::Model) -> Self {
        Self { user_id: row.id, email: row.email, name: row.name, plan: row.plan }
    }
}

async fn set_up(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let made = async {
        let new = new_account(&request, &ctx, payload, Plan::Research).await?;
        let user = accounts::set_up(&ctx, new).await?;
        begin(&request, &ctx, user).await
    };
    begun(&request, &ctx, StatusCode::CREATED, made.await)
}

async fn sign_up(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let made = async {
        own_origin(&request, &ctx)?;
        let plan = ctx.plan_of_who_signs_up()?;
        let new = new_account(&request, &ctx, payload, plan).await?;
        ctx.sign_ups.take(peer::address(&request)).map_err(Error::TooManyFailures)?;
        let user = accounts::create(&ctx, new).await?;
        begin(&request, &ctx, user).await
    };
    begun(&request, &ctx, StatusCode::CREATED, made.await)
}

async fn sign_in(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let signed_in = async {
        own_origin(&request, &ctx)?;
        let mut given = read(&request, payload, SIGN_IN).await?;
        let (email, password) =
            (given.text("email").unwrap_or_default(), given.text("password").unwrap_or_default());
        let user = sessions::authenticate(&ctx, peer::address(&request), &email, password).await?;
        begin(&request, &ctx, user).await
    };
    begun(&request, &ctx, StatusCode::OK, signed_in.await)
}

async fn who_am_i(request: HttpRequest, ctx: Data<OperationContext>, _: Payload) -> HttpResponse {
    let who = async {
        let secret = session_secret(&request, &ctx).ok_or(Error::NotSignedIn)?;
        fields::read_query(request.query_string(), &[])?;
        Ok::<_, Error>(Who::from(sessions::recognise(&ctx, &secret).await?.1))
    };
    match who.await {
        Ok(who) => success(&request, &ctx, StatusCode::OK, &json!({ "user": who })),
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn sign_out(request: HttpRequest, ctx: Data<OperationContext>, _: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &ctx)?;
        let secret = session_secret(&request, &ctx).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&ctx, &secret).await?;
        fields::read_query(request.query_string(), &[])?;
        sessions::sign_out(&ctx, &caller).await
    };
    ended(&request, &ctx, done.await, true)
}

async fn change_password(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &ctx)?;
        let secret = session_secret(&request, &ctx).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&ctx, &secret).await?;
        let mut given = read(&request, payload, CHANGE).await?;
        let (current, new) =
            (given.text("current").unwrap_or_default(), given.text("new").unwrap_or_default());
        sessions::change_password(&ctx, &caller, current, new).await
    };
    ended(&request, &ctx, done.await, false)
}

async fn remove_account(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &ctx)?;
        let secret = session_secret(&request, &ctx).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&ctx, &secret).await?;
        let typed = read(&request, payload, REMOVE).await?.text("password").unwrap_or_default();
        sessions::remove_account(&ctx, &caller, typed).await
    };
    ended(&request, &ctx, done.await, true)
}

async fn read(request: &HttpRequest, payload: Payload, fields: &'static [Field]) -> Result<Values, Error> {
    fields::read_query(request.query_string(), &[])?;
    // Nobody has been recognised yet: what is read for a stranger is short.
    let sender = Sender::stranger(peer::address(request));
    let body = body::read(request, payload, sender, LONGEST).await?;
    body::must_be_json(request)?;
    Ok(fields::read_json(&body, fields)?)
}

async fn new_account(
    request: &HttpRequest,
    ctx: &OperationContext,
    payload: Payload,
    plan: Plan,
) -> Result<NewAccount, Error> {
    own_origin(request, ctx)?;
    let mut given = read(request, payload, NEW_ACCOUNT).await?;
    Ok(NewAccount {
        email: given.text("email").unwrap_or_default(),
        password: given.text("password").unwrap_or_default(),
        name: given.text("name"),
        plan,
    })
}

async fn begin(request: &HttpRequest, ctx: &OperationContext, user: user::Model) -> Result<(user::Model, String), Error> {
    let secret = sessions::open(ctx, &user, session_secret(request, ctx).as_ref()).await?;
    Ok((user, secret.expose().to_owned()))
}

fn begun(
    request: &HttpRequest,
    ctx: &OperationContext,
    status: StatusCode,
    begun: Result<(user::Model, String), Error>,
) -> HttpResponse {
    match begun {
        Ok((user, secret)) => {
            let mut answer = success(request, ctx, status, &json!({ "user": Who::from(user) }));
            match answer.add_cookie(&cookie(ctx, &secret)) {
                Ok(()) => answer,
                Err(error) => failure(request, ctx, &Error::internal(error.to_string())),
            }
        }
        Err(error) => failure(request, ctx, &error),
    }
}

fn ended(request: &HttpRequest, ctx: &OperationContext, done: Result<(), Error>, forget: bool) -> HttpResponse {
    if let Err(error) = done {
        return failure(request, ctx, &error);
    }
    let mut answer = success(request, ctx, StatusCode::OK, &json!({}));
    if forget && let Err(error) = answer.add_cookie(&no_cookie(ctx)) {
        return failure(request, ctx, &Error::internal(error.to_string()));
    }
    answer
}
