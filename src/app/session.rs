//! Setting up, signing up, signing in and out, changing the password, removing the account: what needs or makes a
//! cookie.

use std::pin::Pin;

use actix_web::http::StatusCode;
use actix_web::web::{self, Data, Payload, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::accounts::{self, NewAccount};
use actors::app::App;
use actors::error::Error;
use actors::fields::{self, Field, Kind, Values};
use actors::sessions;
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
fn refused(request: &HttpRequest, app: &App, error: Error) -> HttpResponse {
    failure(request, app, &error)
}

/// A handler of its own, run as every other route's is: to its end, whoever goes away meanwhile.
fn answered<A>(
    answer: fn(HttpRequest, Data<App>, Payload) -> A,
) -> impl Fn(HttpRequest, Data<App>, Payload) -> Pin<Box<dyn Future<Output = HttpResponse>>> + Clone
where
    A: Future<Output = HttpResponse> + 'static,
{
    move |request, app, payload| Box::pin(whole(request.clone(), answer(request, app, payload)))
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

async fn set_up(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let made = async {
        let new = new_account(&request, &app, payload, Plan::Research).await?;
        let user = accounts::set_up(&app, new).await?;
        begin(&request, &app, user).await
    };
    begun(&request, &app, StatusCode::CREATED, made.await)
}

async fn sign_up(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let made = async {
        own_origin(&request, &app)?;
        let plan = app.plan_of_who_signs_up()?;
        let new = new_account(&request, &app, payload, plan).await?;
        app.sign_ups.take(peer::address(&request)).map_err(Error::TooManyFailures)?;
        let user = accounts::create(&app, new).await?;
        begin(&request, &app, user).await
    };
    begun(&request, &app, StatusCode::CREATED, made.await)
}

async fn sign_in(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let signed_in = async {
        own_origin(&request, &app)?;
        let mut given = read(&request, payload, SIGN_IN).await?;
        let (email, password) =
            (given.text("email").unwrap_or_default(), given.text("password").unwrap_or_default());
        let user = sessions::authenticate(&app, peer::address(&request), &email, password).await?;
        begin(&request, &app, user).await
    };
    begun(&request, &app, StatusCode::OK, signed_in.await)
}

async fn who_am_i(request: HttpRequest, app: Data<App>, _: Payload) -> HttpResponse {
    let who = async {
        let secret = session_secret(&request, &app).ok_or(Error::NotSignedIn)?;
        fields::read_query(request.query_string(), &[])?;
        Ok::<_, Error>(Who::from(sessions::recognise(&app, &secret).await?.1))
    };
    match who.await {
        Ok(who) => success(&request, &app, StatusCode::OK, &json!({ "user": who })),
        Err(error) => failure(&request, &app, &error),
    }
}

async fn sign_out(request: HttpRequest, app: Data<App>, _: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &app)?;
        let secret = session_secret(&request, &app).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&app, &secret).await?;
        fields::read_query(request.query_string(), &[])?;
        sessions::sign_out(&app, &caller).await
    };
    ended(&request, &app, done.await, true)
}

async fn change_password(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &app)?;
        let secret = session_secret(&request, &app).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&app, &secret).await?;
        let mut given = read(&request, payload, CHANGE).await?;
        let (current, new) =
            (given.text("current").unwrap_or_default(), given.text("new").unwrap_or_default());
        sessions::change_password(&app, &caller, current, new).await
    };
    ended(&request, &app, done.await, false)
}

async fn remove_account(request: HttpRequest, app: Data<App>, payload: Payload) -> HttpResponse {
    let done = async {
        own_origin(&request, &app)?;
        let secret = session_secret(&request, &app).ok_or(Error::NotSignedIn)?;
        let (caller, _) = sessions::recognise(&app, &secret).await?;
        let typed = read(&request, payload, REMOVE).await?.text("password").unwrap_or_default();
        sessions::remove_account(&app, &caller, typed).await
    };
    ended(&request, &app, done.await, true)
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
    app: &App,
    payload: Payload,
    plan: Plan,
) -> Result<NewAccount, Error> {
    own_origin(request, app)?;
    let mut given = read(request, payload, NEW_ACCOUNT).await?;
    Ok(NewAccount {
        email: given.text("email").unwrap_or_default(),
        password: given.text("password").unwrap_or_default(),
        name: given.text("name"),
        plan,
    })
}

async fn begin(request: &HttpRequest, app: &App, user: user::Model) -> Result<(user::Model, String), Error> {
    let secret = sessions::open(app, &user, session_secret(request, app).as_ref()).await?;
    Ok((user, secret.expose().to_owned()))
}

fn begun(
    request: &HttpRequest,
    app: &App,
    status: StatusCode,
    begun: Result<(user::Model, String), Error>,
) -> HttpResponse {
    match begun {
        Ok((user, secret)) => {
            let mut answer = success(request, app, status, &json!({ "user": Who::from(user) }));
            match answer.add_cookie(&cookie(app, &secret)) {
                Ok(()) => answer,
                Err(error) => failure(request, app, &Error::internal(error.to_string())),
            }
        }
        Err(error) => failure(request, app, &error),
    }
}

fn ended(request: &HttpRequest, app: &App, done: Result<(), Error>, forget: bool) -> HttpResponse {
    if let Err(error) = done {
        return failure(request, app, &error);
    }
    let mut answer = success(request, app, StatusCode::OK, &json!({}));
    if forget && let Err(error) = answer.add_cookie(&no_cookie(app)) {
        return failure(request, app, &Error::internal(error.to_string()));
    }
    answer
}
