//! Operations that panic: the client gets 500, and the call is recorded in the activity.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{App as Web, HttpServer};
use actors::auth::authenticate::RequestInfo;
use actors::auth::caller::{Caller, Credential};
use actors::auth::secret::Secret;
use actors::context::OperationContext;
use actors::operation::{FromRequest, Operation};
use actors::pipeline::{ActivityEntry, CallStatus, Endpoint, Response, execute};
use actors::target::Target;
use carrel::http::body::BodyLimits;
use carrel::rest::Rest;
use carrel::routing::{Route, mount};
use errors::Error;
use serde_json::{Value, json};
use validation::NoFields;
use values::kind::MeteredSurface;
use values::plan::Plan;
use values::scope::Scope;

use crate::support::{Client, Server};

/// An operation that panics.
struct PanickingOperation;

impl Operation for PanickingOperation {
    type Reply = ();
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, _: &Caller, _: &OperationContext) -> Result<(), Error> {
        panic!("a bug");
    }
}

impl FromRequest for PanickingOperation {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

static ROUTES: [Route; 1] = [Route::post::<Rest, PanickingOperation>("/panics")];

/// Serves the route over HTTP and returns the base URL.
fn serve(ctx: &OperationContext) -> String {
    let ctx = Data::new(ctx.clone());
    let limits = Data::new(BodyLimits::new(1 << 20, Duration::from_secs(60)));
    let server = HttpServer::new(move || {
        let web = Web::new().app_data(ctx.clone()).app_data(limits.clone());
        web.configure(|config| mount::<Rest>(config, &ROUTES))
    });
    let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", server.addrs()[0]);
    actix_web::rt::spawn(server.run());
    base
}

/// The activity of the user.
async fn list_activity(server: &Server, session: &Client) -> Vec<Value> {
    server.context().requests.activity.flush().await.unwrap();
    let answer = session.get("/app/api/activity").await;
    answer.data(200)["activity"].as_array().unwrap().clone()
}

/// Covers the fault table (row 29).
#[actix_web::test]
async fn panic_of_rest_operation_is_recorded_in_the_activity() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let client = Client::new(&serve(server.context()));
    let client = client.with("authorization", &key.header("authorization")).with("idempotency-key", "once");

    let first = client.post("/panics", json!({})).await;
    let second = client.post("/panics", json!({})).await;

    for answer in [first, second] {
        // The second one too: a failed request can be retried with its Idempotency-Key.
        assert_eq!(answer.error_code(500), "INTERNAL");
        assert!(answer.header_number("x-ratelimit-remaining") > 0);
    }
    let lines = list_activity(&server, &session).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    for line in lines {
        assert_eq!((&line["surface"], &line["route"]), (&json!("rest"), &json!("POST /panics")));
        assert_eq!((&line["status"], &line["keyId"]), (&json!(500), &json!(key.id)));
    }
    key.get("/rest/v2/usage").await.data(200);
}

/// Covers the fault table (row 29).
#[actix_web::test]
async fn panic_of_tool_is_recorded_in_the_activity() {
    let server = Server::start().await;
    let (ctx, user) = (server.context(), server.user(Plan::Pro).await);
    let (key, session) = (user.mcp_key().await, user.sign_in().await);
    let secret = Secret::parse_key(key.header("authorization").trim_start_matches("Bearer ")).unwrap();
    let credential = Ok(Some(Credential::ApiKey(secret)));
    let info = RequestInfo { credential, surface: MeteredSurface::Mcp, ip_address: None, client: None };
    let caller = ctx.auth.authenticator().authenticate(info).await.unwrap();

    let status = |result: &Result<Response<()>, Error>| {
        CallStatus::Outcome(if result.is_ok() { "ok" } else { "INTERNAL" })
    };
    let activity_entry = ActivityEntry { endpoint: Endpoint::Tool("panics"), status: &status };
    let parse = async |_: &Caller| Ok(PanickingOperation).into();
    let outcome = execute::<PanickingOperation>(ctx, &caller, Some(activity_entry), parse).await;

    assert!(matches!(outcome.result, Err(Error::Internal(_))));
    let lines = list_activity(&server, &session).await;
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((&lines[0]["tool"], &lines[0]["status"]), (&json!("panics"), &json!("INTERNAL")));
}
