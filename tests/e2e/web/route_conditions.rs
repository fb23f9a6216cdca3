//! The conditions of every route of the web app: origin, session, parameters, resource. Keys are not accepted.

use carrel::routing::undescribed;
use carrel::{app, rest};
use sea_orm::ConnectionTrait;
use serde_json::json;
use values::plan::Plan;

use crate::support::route_table::{self, RouteRequest};
use crate::support::{OAuthClient, PASSWORD, Server, read_ticket};

/// Every route that requires a session.
fn routes() -> Vec<RouteRequest> {
    let own = route_table::requests("/app/api", app::ROUTES);
    let library = undescribed(rest::V1).chain(undescribed(rest::V2));
    own.into_iter().chain(route_table::requests("/app/api/library", library)).collect()
}

fn is_change(request: &RouteRequest) -> bool {
    request.route.method.as_str() != "GET"
}

#[actix_web::test]
async fn every_route_requires_a_session_and_refuses_keys() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let made_up = server.anonymous().with("cookie", "carrel_session=cs_made-up");

    for request in routes() {
        for client in [&server.anonymous(), &made_up, &key] {
            assert_eq!(
                request.send(client).await.error_code(401),
                "NOT_SIGNED_IN",
                "{}",
                request.route.name()
            );
        }
    }
}

/// Covers the threat table (row C1).
#[actix_web::test]
async fn changes_from_foreign_origins_are_refused() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let foreign = [
        ("origin", "https://elsewhere.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ];

    for request in routes().iter().filter(|request| is_change(request)) {
        for (name, value) in foreign {
            let response = request.send(&browser.clone().with(name, value)).await;

            assert_eq!(response.error_code(403), "FOREIGN_ORIGIN", "{} from {value}", request.route.name());
        }
    }
    for path in ["setup", "signup", "session", "password"] {
        let anonymous = server.anonymous().with("origin", "https://elsewhere.example");
        let response = anonymous.post(&format!("/app/api/{path}"), json!({})).await;
        assert_eq!(response.error_code(403), "FOREIGN_ORIGIN", "{path}");
    }
}

#[actix_web::test]
async fn app_is_open_to_every_plan_and_counts_nothing() {
    let server = Server::start().await;
    let user = server.user(Plan::Free).await;
    let browser = user.sign_in().await.with("sec-fetch-site", "same-origin");

    for request in routes() {
        let response = request.send(&browser).await;

        assert!(![401, 403, 429].contains(&response.status), "{}: {}", request.route.name(), response.body);
        assert_ne!(response.body["error"]["code"], "PLAN_REQUIRED", "{}", request.route.name());
        assert!(!response.headers.contains_key("x-ratelimit-limit"), "{}", request.route.name());
    }
    let activity = browser.get("/app/api/activity").await;
    assert_eq!(activity.data(200)["activity"], json!([]));
}

/// Covers the threat table (row J2).
#[actix_web::test]
async fn every_route_refuses_unknown_parameters() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;

    for request in routes() {
        let response = request.send_with(&browser, "?surprise=1", request.body()).await;
        assert_eq!(response.error_code(400), "VALIDATION_FAILED", "{}", request.route.name());
        assert!(response.faults().contains(&"surprise"), "{}: {}", request.route.name(), response.body);
    }
}

#[actix_web::test]
async fn unknown_ids_and_routes_are_not_found() {
    let server = Server::start().await;
    let browser = server.user(Plan::Pro).await.sign_in().await;
    let with_id = routes().into_iter().filter(|request| request.route.pattern.contains('{'));

    for request in with_id.filter(|request| (request.route.request.schema)()["required"].is_null()) {
        assert_eq!(request.send(&browser).await.error_code(404), "NOT_FOUND", "{}", request.route.name());
    }
    assert_eq!(browser.get("/app/api/nothing").await.error_code(404), "NOT_FOUND");
    let response = browser.delete("/app/api/notices").await;
    assert_eq!((response.error_code(405), response.header("allow")), ("METHOD_NOT_ALLOWED", "GET, HEAD"));
}

#[actix_web::test]
async fn sign_ups_per_ip_address_are_limited_per_hour() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "open")]).await;
    let anonymous = server.anonymous();
    let sign_up = async || {
        anonymous.post("/app/api/signup", json!({ "email": "a@b.example", "password": "short" })).await
    };

    for _ in 0..30 {
        assert_eq!(sign_up().await.faults(), ["password"]);
    }

    let refused = sign_up().await;
    assert_eq!((refused.error_code(429), refused.header_number("retry-after")), ("RATE_LIMITED", 120));
}

#[actix_web::test]
async fn database_failure_at_sign_in_is_no_wrong_password() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let credentials = json!({ "email": user.email(), "password": PASSWORD });
    let sign_in = async || server.anonymous().post("/app/api/session", credentials.clone()).await;
    let rename = async |from: &str, to: &str| {
        let statement = format!("ALTER TABLE \"user\" RENAME COLUMN {from} TO {to}");
        server.context().core.db.write().execute_unprepared(&statement).await.unwrap();
    };

    rename("password_hash", "renamed").await;
    for _ in 0..6 {
        assert_eq!(sign_in().await.error_code(500), "INTERNAL");
    }
    rename("renamed", "password_hash").await;

    sign_in().await.data(200);
}

/// The `Set-Cookie` of a sign-in.
async fn sign_in_cookie(server: &Server) -> String {
    let user = server.user(Plan::Pro).await;
    let credentials = json!({ "email": user.email(), "password": PASSWORD });
    let response = server.anonymous().post("/app/api/session", credentials).await;
    response.data(200);
    response.header("set-cookie").to_owned()
}

/// Covers the threat table (row C2).
#[actix_web::test]
async fn session_cookie_on_https_is_bound_to_the_host() {
    let server = Server::start_with(&[("SERVER__BASE_URL", "https://carrel.example")]).await;

    let cookie = sign_in_cookie(&server).await;

    let pair = cookie.split(';').next().unwrap();
    let value = pair.strip_prefix("__Host-carrel_session=").unwrap_or_else(|| panic!("{cookie}"));
    assert!(cookie.contains("; Secure") && cookie.contains("; Path=/;"), "{cookie}");
    assert!(!cookie.to_lowercase().contains("domain"), "{cookie}");
    let signed_in = server.anonymous().with("cookie", pair);
    signed_in.get("/app/api/session").await.data(200);
    let old_name = server.anonymous().with("cookie", &format!("carrel_session={value}"));
    assert_eq!(old_name.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    let signed_out = signed_in.delete("/app/api/session").await;
    assert!(
        signed_out.header("set-cookie").starts_with("__Host-carrel_session=;"),
        "{:?}",
        signed_out.headers
    );
    assert_eq!(signed_in.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
}

#[actix_web::test]
async fn session_cookie_on_http_has_no_prefix() {
    let server = Server::start().await;

    let cookie = sign_in_cookie(&server).await;

    assert!(cookie.starts_with("carrel_session=") && !cookie.contains("Secure"), "{cookie}");
    let signed_in = server.anonymous().with("cookie", cookie.split(';').next().unwrap());
    signed_in.get("/app/api/session").await.data(200);
}

/// A planted or copied session cookie is useless once the browser that sends it has signed in (row C2).
#[actix_web::test]
async fn session_presented_at_sign_in_ends() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let assistant = OAuthClient::new(server.anonymous()).await;
    let (first, second) = (other.sign_in().await, user.sign_in().await);

    let renewed = first.sign_in(user.email(), PASSWORD).await;
    let ticket = read_ticket(&server.anonymous().get(&assistant.authorization_url(&[])).await);
    let fields = [("ticket", ticket.as_str()), ("email", user.email()), ("password", PASSWORD)];
    let signed_in = second.post_form("/oauth/sign-in", &fields).await;

    assert_eq!(signed_in.status, 303, "{}", signed_in.text);
    for ended in [&first, &second] {
        assert_eq!(ended.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
    }
    let who = renewed.get("/app/api/session").await;
    assert_eq!(who.data(200)["user"]["email"], user.email());
}

/// Covers the threat table (row C2).
#[actix_web::test]
async fn session_presented_at_sign_up_ends() {
    let server = Server::start_with(&[("ACCOUNTS__SIGNUP", "open")]).await;
    let signed_in = server.user(Plan::Pro).await.sign_in().await;
    let account = json!({ "email": "new@b.example", "password": PASSWORD });

    signed_in.post("/app/api/signup", account).await.data(201);

    assert_eq!(signed_in.get("/app/api/session").await.error_code(401), "NOT_SIGNED_IN");
}
