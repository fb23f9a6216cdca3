//! Idempotency-Key: a repeated request gets the same response, and nothing is done twice (contract.md, sections 2 and 11).

use std::time::Duration;

use actors::idempotency::{
    Claim, ClaimOutcome, Idempotency, IdempotencyKey, StoredResponse, StoredResponseBounds,
};
use database::QueryPlan;
use errors::Error;
use library::owned_transaction::begin_owned;
use sea_orm::{ConnectionTrait, EntityTrait, PaginatorTrait};
use serde_json::{Value, json};
use values::id::{KeyId, UserId};
use values::plan::Plan;
use values::scope::Scope;

use crate::rest::projects::create_project;
use crate::support::{Client, Key, Response, Server, eventually};

const NOTE_JSON: &str = r#"{"title":"T","bodyMd":"B"}"#;

/// A user with a project for notes.
struct Writer {
    owner: UserId,
    key: Key,
    session: Client,
    id: String,
    /// The path of the project's notes.
    path: String,
}

impl Writer {
    async fn of(server: &Server, plan: Plan) -> Self {
        let user = server.user(plan).await;
        let (key, session) = (user.full_key().await, user.sign_in().await);
        let id = create_project(&session, "P").await;
        let path = format!("/rest/v2/projects/{id}/notes");
        Self { owner: user.id(), key, session, id, path }
    }
}

fn is_replayed(response: &Response) -> bool {
    response.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
}

fn with_name(key: &Key, name: &str) -> Client {
    Client::clone(key).with("idempotency-key", name)
}

async fn count_notes(session: &Client, project: &str) -> usize {
    let shown = session.get(&format!("/app/api/projects/{project}/notes")).await;
    shown.data(200)["notes"].as_array().unwrap().len()
}

#[actix_web::test]
async fn repeated_request_is_replayed_counted_and_executed_once() {
    let server = Server::start().await;
    let Writer { key, session, id, path, .. } = Writer::of(&server, Plan::Pro).await;
    let before = key.get("/rest/v2/usage").await.data(200)["rest"]["today"].as_u64().unwrap();

    let first = with_name(&key, "once").post_text(&path, NOTE_JSON).await;
    // In two steps, to one second before the end of the 24 hours that a response is kept.
    server.clock.advance(Duration::from_secs(23 * 3600 - 1));
    server.clock.advance(Duration::from_secs(3600));
    let second = with_name(&key, "once").post_text(&path, NOTE_JSON).await;

    assert_eq!(first.data(201), second.data(201));
    assert_eq!((is_replayed(&first), is_replayed(&second)), (false, true));
    assert_ne!(first.body["meta"]["timestamp"], second.body["meta"]["timestamp"]);
    assert_ne!(first.headers["x-request-id"], second.headers["x-request-id"]);
    assert_eq!(count_notes(&session, &id).await, 1);
    // The day has changed meanwhile: the replay and this request are its only ones.
    assert_eq!((before, key.get("/rest/v2/usage").await.data(200)["rest"]["today"].as_u64()), (1, Some(2)));

    server.clock.advance(Duration::from_secs(2));
    assert!(!is_replayed(&with_name(&key, "once").post_text(&path, NOTE_JSON).await));
    assert_eq!(count_notes(&session, &id).await, 2);
}

#[actix_web::test]
async fn other_body_or_route_conflicts_and_other_api_key_does_not() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, other, session) = (user.full_key().await, user.full_key().await, user.sign_in().await);
    let (id, other_id) = (create_project(&session, "P").await, create_project(&session, "Q").await);
    let path = |project: &str| format!("/rest/v2/projects/{project}/notes");
    let once = with_name(&key, "once");
    once.post_text(&path(&id), NOTE_JSON).await.data(201);

    // The bytes of the body are compared, so another order of the same members conflicts too.
    for body in
        [r#"{"title":"T","bodyMd":"C"}"#, r#"{"title": "T","bodyMd":"B"}"#, r#"{"bodyMd":"B","title":"T"}"#]
    {
        assert_eq!(once.post_text(&path(&id), body).await.error_code(409), "CONFLICT");
    }
    assert_eq!(once.post_text(&path(&other_id), NOTE_JSON).await.error_code(409), "CONFLICT");
    assert!(is_replayed(&once.post_text(&path(&id), NOTE_JSON).await));
    let of_another = with_name(&other, "once").post_text(&path(&id), NOTE_JSON).await;
    of_another.data(201);

    assert!(!is_replayed(&of_another));
    assert_eq!((count_notes(&session, &id).await, count_notes(&session, &other_id).await), (2, 0));
}

#[actix_web::test]
async fn permanent_refusals_are_replayed() {
    let server = Server::start_with(&[("PLANS__PRO__ITEMS_PER_PROJECT", "1")]).await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let (id, old) = (create_project(&session, "P").await, create_project(&session, "Q").await);
    let archive = async |status: &str| {
        session.patch(&format!("/app/api/projects/{old}"), json!({ "status": status })).await.data(200);
    };
    archive("archived").await;
    let (items, unknown_id) =
        (format!("/rest/v2/projects/{id}/items"), "01890000-0000-7000-8000-000000000000");
    let two = r#"{"items":[{"url":"https://example.org/1"},{"url":"https://example.org/2"}]}"#;
    let inside = r#"{"items":[{"url":"http://127.0.0.2/"}]}"#;
    let refusals = [
        (items.clone(), two, 402, "PROJECT_LIMIT_REACHED"),
        (format!("/rest/v2/projects/{unknown_id}/notes"), NOTE_JSON, 404, "NOT_FOUND"),
        (format!("/rest/v2/projects/{old}/notes"), NOTE_JSON, 409, "PROJECT_ARCHIVED"),
        (items, inside, 422, "URL_REJECTED"),
    ];

    for (path, body, status, code) in &refusals {
        let first = with_name(&key, code).post_text(path, body).await;
        assert_eq!((first.error_code(*status), is_replayed(&first)), (*code, false));
    }
    // Executed again, the request to the project that is active again would succeed.
    archive("active").await;
    for (path, body, status, code) in &refusals {
        let again = with_name(&key, code).post_text(path, body).await;
        assert_eq!((again.error_code(*status), is_replayed(&again)), (*code, true));
    }
}

#[actix_web::test]
async fn faults_missing_scopes_and_limits_can_be_retried() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let key = user.key([Scope::ReadUser]).await;
    let id = create_project(&session, "P").await;
    let path = format!("/rest/v2/projects/{id}/notes");
    let again = with_name(&key, "again");

    assert_eq!(again.post_text(&path, NOTE_JSON).await.error_code(403), "SCOPE_REQUIRED");
    let change = async |change: Value| {
        session.patch(&format!("/app/api/keys/{}", key.id), change).await.data(200);
    };
    change(json!({ "scopes": ["write:projects"] })).await;
    assert_eq!(again.post_text(&path, "{}").await.error_code(400), "VALIDATION_FAILED");
    change(json!({ "hourlyLimit": 1 })).await;
    assert_eq!(again.post_text(&path, NOTE_JSON).await.error_code(429), "RATE_LIMITED");
    change(json!({ "hourlyLimit": 100 })).await;

    let done = again.post_text(&path, NOTE_JSON).await;
    done.data(201);
    assert!(!is_replayed(&done));
    // All checks up to the scope run before the replay.
    change(json!({ "scopes": ["read:user"] })).await;
    assert_eq!(again.post_text(&path, NOTE_JSON).await.error_code(403), "SCOPE_REQUIRED");
    change(json!({ "scopes": ["write:projects"] })).await;
    assert!(is_replayed(&again.post_text(&path, NOTE_JSON).await));
}

#[actix_web::test]
async fn abandoned_request_frees_its_name_after_a_minute() {
    let server = Server::start().await;
    let Writer { owner, key, session, id, path } = Writer::of(&server, Plan::Pro).await;
    let replay = IdempotencyKey::new(b"slow", "POST", &path, NOTE_JSON.as_bytes()).unwrap();
    let holder: KeyId = key.id.parse().unwrap();
    // The process ends without answering the request.
    let claimed = server.context().requests.idempotency.claim(owner, holder, replay).await.unwrap();
    let ClaimOutcome::First(claim) = claimed else { panic!("{claimed:?}") };
    drop(claim);

    let running = with_name(&key, "slow").post_text(&path, NOTE_JSON).await;
    assert_eq!((running.error_code(409), running.header_number("retry-after")), ("CONFLICT", 1));
    let other = with_name(&key, "slow").post_text(&path, r#"{"title":"U","bodyMd":"B"}"#).await;
    assert_eq!(other.error_code(409), "CONFLICT");

    server.clock.advance(Duration::from_secs(60));
    assert_eq!(with_name(&key, "slow").post_text(&path, NOTE_JSON).await.error_code(409), "CONFLICT");
    server.clock.advance(Duration::from_millis(1));
    with_name(&key, "slow").post_text(&path, NOTE_JSON).await.data(201);
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn heartbeat_keeps_the_name_of_a_long_request() {
    let server = Server::start().await;
    let Writer { owner, key, path, .. } = Writer::of(&server, Plan::Pro).await;
    let replay = IdempotencyKey::new(b"slow", "POST", &path, NOTE_JSON.as_bytes()).unwrap();
    let ctx = server.context();
    // The heartbeats run in real time, unlike the clock of the test, so their interval is short.
    let with_heartbeat = Idempotency::new(ctx.core.db.clone(), ctx.core.clock.clone())
        .with_heartbeat_interval(Duration::from_millis(20));
    let ClaimOutcome::First(claim) =
        with_heartbeat.claim(owner, key.id.parse().unwrap(), replay).await.unwrap()
    else {
        panic!()
    };

    for _ in 0..3 {
        server.clock.advance(Duration::from_secs(59));
        eventually("the heartbeat is written", async || {
            let row = entity::idempotency::Entity::find().one(ctx.core.db.read()).await.unwrap().unwrap();
            (row.heartbeat_at == ctx.core.clock.now()).then_some(())
        })
        .await;
        assert_eq!(with_name(&key, "slow").post_text(&path, NOTE_JSON).await.error_code(409), "CONFLICT");
    }

    drop(claim);
    server.clock.advance(Duration::from_secs(61));
    with_name(&key, "slow").post_text(&path, NOTE_JSON).await.data(201);
}

#[actix_web::test]
async fn two_idempotency_keys_are_reported_with_other_faults() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let twice = with_name(&key, "one").with_additional("idempotency-key", "other");

    let refused = twice.post_text("/rest/v2/uploads", r#"{"filename": "a.pdf", "bytes": 0}"#).await;

    assert_eq!(refused.error_code(400), "VALIDATION_FAILED");
    let mut faults = refused.faults();
    faults.sort_unstable();
    assert_eq!(faults, ["Idempotency-Key", "bytes", "contentType"]);
}

#[actix_web::test]
async fn concurrent_repetitions_execute_once() {
    let server = Server::start().await;
    let Writer { key, session, id, path, .. } = Writer::of(&server, Plan::Research).await;
    let once = with_name(&key, "once");

    let responses = futures_util::future::join_all((0..20).map(|_| once.post_text(&path, NOTE_JSON))).await;

    assert_eq!(
        responses.iter().filter(|response| response.status == 201 && !is_replayed(response)).count(),
        1
    );
    for response in responses.iter().filter(|response| response.status != 201) {
        assert_eq!(response.error_code(409), "CONFLICT");
        assert!(response.header_number("retry-after") >= 1);
    }
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn stored_responses_outlive_restart_and_regenerated_secret() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let cookie = session.header("cookie");
    let new_key = json!({ "name": "reader", "kind": "rest", "scopes": ["write:projects"] });
    let created = session.post("/app/api/keys", new_key).await;
    let created = created.data(201);
    let id = create_project(&session, "P").await;
    let path = format!("/rest/v2/projects/{id}/notes");
    let holder = |server: &Server, secret: &Value| {
        server.anonymous().with_key(secret.as_str().unwrap()).with("idempotency-key", "once")
    };
    let first = holder(&server, &created["secret"]).post_text(&path, NOTE_JSON).await;
    first.data(201);

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;
    let session = server.anonymous().with("cookie", &cookie);
    let again = format!("/app/api/keys/{}/regenerate", created["key"]["id"].as_str().unwrap());
    let again = session.post(&again, json!({})).await;
    let second = holder(&server, &again.data(200)["secret"]).post_text(&path, NOTE_JSON).await;

    assert!(is_replayed(&second));
    assert_eq!(first.data(201), second.data(201));
}

#[actix_web::test]
async fn idempotency_key_is_1_to_255_visible_chars_on_posts_only() {
    let server = Server::start().await;
    let Writer { key, session, id, path, .. } = Writer::of(&server, Plan::Pro).await;

    for name in ["", "two words", &"x".repeat(256)] {
        let response = with_name(&key, name).post_text(&path, NOTE_JSON).await;
        assert_eq!(
            (response.error_code(400), response.faults()),
            ("VALIDATION_FAILED", vec!["Idempotency-Key"])
        );
    }
    assert_eq!(count_notes(&session, &id).await, 0);
    with_name(&key, &"~".repeat(255)).post_text(&path, NOTE_JSON).await.data(201);

    let bookmark = key.save_text("https://example.org/a", "Text.").await;
    let one = format!("/rest/v1/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap());
    for title in ["first", "second"] {
        let changed = with_name(&key, "patch").patch(&one, json!({ "title": title })).await;
        assert_eq!(changed.data(200)["bookmark"]["title"], title);
    }
}

#[actix_web::test]
async fn large_response_is_stored_without_body_and_executed_once() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let notes = "Of herons. ".repeat(600);
    let operations: Vec<Value> = (0..50)
        .map(|n| json!({ "op": "create", "url": format!("https://example.org/{n}"), "text": "T", "notes": notes }))
        .collect();
    let body = json!({ "operations": operations }).to_string();
    let once = with_name(&key, "large");

    let first = once.post_text("/rest/v1/bookmarks/batch", &body).await;
    let second = once.post_text("/rest/v1/bookmarks/batch", &body).await;

    // The limit of a stored body.
    assert!(first.text.len() > 256 << 10);
    assert!(first.data(200)["results"].as_array().unwrap().iter().all(|result| result["ok"] == true));
    assert_eq!(second.error_code(409), "CONFLICT");
    assert!(second.body["error"]["message"].as_str().unwrap().contains("was carried out"));
    assert_eq!(second.header("retry-after"), "");
    let other = once.post_text("/rest/v1/bookmarks/batch", r#"{"operations":[]}"#).await;
    assert_eq!(other.error_code(409), "CONFLICT");
}

/// The stored responses of one API key.
struct StoredResponses<'a> {
    server: &'a Server,
    store: Idempotency,
    owner: UserId,
    key: KeyId,
}

impl<'a> StoredResponses<'a> {
    async fn bounded_by(server: &'a Server, bounds: StoredResponseBounds) -> Self {
        let user = server.user(Plan::Pro).await;
        let key = user.full_key().await.id.parse().unwrap();
        let ctx = server.context();
        let store = Idempotency::new(ctx.core.db.clone(), ctx.core.clock.clone()).with_bounds(bounds);
        Self { server, store, owner: user.id(), key }
    }

    async fn claim(&self, name: &str) -> Result<ClaimOutcome, Error> {
        let replay = IdempotencyKey::new(name.as_bytes(), "POST", "/", b"{}").unwrap();
        self.store.claim(self.owner, self.key, replay).await
    }

    /// Claims this name and asserts that it was free.
    async fn first(&self, name: &str) -> Claim {
        let ClaimOutcome::First(claim) = self.claim(name).await.unwrap() else { panic!("{name} is taken") };
        claim
    }

    /// Commits a change of the request with this claim.
    async fn commit(&self, claim: &Claim) {
        let txn = begin_owned(&self.server.context().core.db, self.owner).await.unwrap();
        claim.id().mark_committed(&txn).await.unwrap();
        txn.commit().await.unwrap();
    }

    /// Stores a response under this name, a second later than the previous one.
    async fn settle(&self, name: &str, status: u16, body: &str) {
        self.server.clock.advance(Duration::from_secs(1));
        let claim = self.first(name).await;
        self.store.settle(claim, StoredResponse { status, body: body.to_owned() }).await.unwrap();
    }

    /// The result of a repeated request: `replayed`, `refused` or `first`. A claim of `first` is given up, so that it changes nothing.
    async fn again(&self, name: &str) -> &'static str {
        match self.claim(name).await {
            Ok(ClaimOutcome::Repeated(_)) => "replayed",
            Ok(ClaimOutcome::First(claim)) => {
                self.store.give_up(claim).await.unwrap();
                "first"
            }
            Err(Error::Conflict(_)) => "refused",
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[actix_web::test]
async fn oldest_responses_lose_their_bodies_first() {
    let server = Server::start().await;
    let bounds = StoredResponseBounds { max_account_bytes: 250, ..StoredResponseBounds::default() };
    let responses = StoredResponses::bounded_by(&server, bounds).await;

    for name in ["a", "b", "c", "d"] {
        responses.settle(name, 201, &"x".repeat(100)).await;
    }

    let mut outcomes = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        outcomes.push(responses.again(name).await);
    }
    assert_eq!(outcomes, ["refused", "refused", "replayed", "replayed", "first"]);
}

#[actix_web::test]
async fn oldest_names_expire_beyond_their_maximum() {
    let server = Server::start().await;
    let bounds = StoredResponseBounds { max_account_keys: 3, ..StoredResponseBounds::default() };
    let responses = StoredResponses::bounded_by(&server, bounds).await;

    for name in ["a", "b", "c", "d", "e"] {
        responses.settle(name, 404, "{}").await;
    }

    let mut outcomes = Vec::new();
    for name in ["a", "b", "c", "d", "e"] {
        outcomes.push(responses.again(name).await);
    }
    assert_eq!(outcomes, ["first", "first", "replayed", "replayed", "replayed"]);
}

#[actix_web::test]
async fn expired_responses_of_all_users_are_found_by_an_index() {
    let server = Server::start().await;
    let one = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    let other = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    for (responses, name) in [(&one, "a"), (&other, "a"), (&one, "b"), (&other, "b"), (&one, "new")] {
        responses.settle(name, 404, "{}").await;
    }
    let core = &server.context().core;
    let mut db = core.db.clone();
    let sent = db.record_statements();

    // The newest response is exactly 24 hours old.
    let later = core.clock.now() + Duration::from_secs(24 * 3600);
    Idempotency::new(db, core.clock.clone()).sweep(later).await.unwrap();

    let kept = entity::idempotency::Entity::find().all(core.db.read()).await.unwrap();
    let plans = QueryPlan::of_each(&core.db, sent.take()).await.unwrap();
    assert_eq!(kept.iter().map(|row| row.user_id).collect::<Vec<_>>(), [one.owner]);
    assert_eq!(one.again("new").await, "replayed");
    assert!(plans.iter().any(|plan| plan.has_step("idempotency_created")), "{plans:#?}");
    assert!(plans.iter().all(|plan| plan.full_scans().is_empty()), "{plans:#?}");
}

#[actix_web::test]
async fn response_over_the_size_limit_is_stored_without_body() {
    let server = Server::start().await;
    let bounds = StoredResponseBounds { max_body_bytes: 10, ..StoredResponseBounds::default() };
    let responses = StoredResponses::bounded_by(&server, bounds).await;

    responses.settle("short", 201, "0123456789").await;
    responses.settle("long", 201, "0123456789a").await;

    assert_eq!([responses.again("short").await, responses.again("long").await], ["replayed", "refused"]);
}

const FAULT_MESSAGE: &str = "the storage failed";

/// Makes every attempt to store a response fail; claims and their heartbeats still succeed.
async fn break_storing(server: &Server) {
    break_writes(server, "UPDATE OF status").await;
}

/// Makes every write of this kind to the table of claims and responses fail.
async fn break_writes(server: &Server, event: &str) {
    let in_sqlite = format!("SELECT RAISE(ABORT, '{FAULT_MESSAGE}')");
    let in_postgres = format!("RAISE EXCEPTION '{FAULT_MESSAGE}'");
    create_fault(server, &format!("{event} ON idempotency"), &in_sqlite, &in_postgres).await;
}

/// Makes inserts of bookmarks insert nothing, as when another transaction saves the URL and deletes it again meanwhile.
async fn skip_inserts_of_bookmarks(server: &Server) {
    create_fault(server, "INSERT ON bookmark", "SELECT RAISE(IGNORE)", "RETURN NULL").await;
}

/// Creates a trigger that runs a statement before each write of a kind: the server has no hook for it.
async fn create_fault(server: &Server, event: &str, in_sqlite: &str, in_postgres: &str) {
    let db = &server.context().core.db;
    let fault = format!("CREATE TRIGGER fault BEFORE {event}");
    let statements = if db.is_postgres() {
        vec![
            format!(
                "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {in_postgres}; END $$"
            ),
            format!("{fault} FOR EACH ROW EXECUTE FUNCTION fault()"),
        ]
    } else {
        vec![format!("{fault} BEGIN {in_sqlite}; END")]
    };
    for statement in statements {
        db.write().execute_unprepared(&statement).await.unwrap();
    }
}

async fn repair_writes(server: &Server) {
    let db = &server.context().core.db;
    // CASCADE drops the trigger too, on whichever table it is.
    let repair = if db.is_postgres() { "DROP FUNCTION fault() CASCADE" } else { "DROP TRIGGER fault" };
    db.write().execute_unprepared(repair).await.unwrap();
}

#[actix_web::test]
async fn retry_with_the_key_of_a_raced_save_runs_it() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let once = with_name(&key, "raced");
    let page = r#"{"url":"https://example.org/raced","text":"A heron."}"#;
    skip_inserts_of_bookmarks(&server).await;

    let refused = once.post_text("/rest/v1/bookmarks", page).await;
    repair_writes(&server).await;
    let again = once.post_text("/rest/v1/bookmarks", page).await;

    assert_eq!((refused.error_code(503), refused.header("retry-after")), ("OVERLOADED", "1"));
    assert_eq!((&again.data(201)["created"], is_replayed(&again)), (&json!(true), false));
    assert!(is_replayed(&once.post_text("/rest/v1/bookmarks", page).await));
}

#[actix_web::test]
async fn response_that_could_not_be_stored_is_stored_later() {
    let server = Server::start().await;
    let Writer { key, session, id, path, .. } = Writer::of(&server, Plan::Research).await;
    let once = with_name(&key, "late");
    break_storing(&server).await;

    let first = once.post_text(&path, NOTE_JSON).await;
    let running = once.post_text(&path, NOTE_JSON).await;
    repair_writes(&server).await;

    first.data(201);
    assert_eq!((running.error_code(409), running.header_number("retry-after")), ("CONFLICT", 1));
    let second = eventually("the response is stored", async || {
        let again = once.post_text(&path, NOTE_JSON).await;
        (again.status != 409).then_some(again)
    })
    .await;
    assert_eq!((first.data(201), is_replayed(&second)), (second.data(201), true));
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn claim_that_could_not_be_released_is_released_later() {
    let server = Server::start().await;
    let responses = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    let claim = responses.first("late").await;
    break_writes(&server, "DELETE").await;

    let failed = responses.store.give_up(claim).await;
    let running = responses.claim("late").await;
    repair_writes(&server).await;

    assert!(failed.is_err());
    assert!(matches!(running, Err(Error::StillRunning)), "{running:?}");
    let claimed = eventually("the claim is released", async || match responses.claim("late").await {
        Err(Error::StillRunning) => None,
        other => Some(other.unwrap()),
    })
    .await;
    assert!(matches!(claimed, ClaimOutcome::First(_)), "{claimed:?}");
}

#[actix_web::test]
async fn retry_after_a_lost_response_does_not_write_twice() {
    let server = Server::start().await;
    let Writer { key, session, id, path, .. } = Writer::of(&server, Plan::Pro).await;
    let (secret, cookie) = (key.header("authorization"), session.header("cookie"));
    break_storing(&server).await;
    with_name(&key, "lost").post_text(&path, NOTE_JSON).await.data(201);

    // The process ends before the response is stored.
    let (home, clock) = server.stop().await;
    clock.advance(Duration::from_secs(61));
    let server = Server::start_in(home, clock, &[]).await;
    let again = server.anonymous().with("authorization", &secret).with("idempotency-key", "lost");
    let again = again.post_text(&path, NOTE_JSON).await;

    assert_eq!((again.error_code(409), again.header("retry-after")), ("CONFLICT", ""));
    assert!(again.body["error"]["message"].as_str().unwrap().contains("was carried out"));
    let session = server.anonymous().with("cookie", &cookie);
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn batch_with_lost_response_is_not_repeated() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let once = with_name(&key, "lost");
    let create =
        |name: &str| json!({ "op": "create", "url": format!("https://example.org/{name}"), "text": "T" });
    let body = json!({ "operations": [create("a"), create("b")] }).to_string();
    break_storing(&server).await;

    once.post_text("/rest/v1/bookmarks/batch", &body).await.data(200);

    let row =
        entity::idempotency::Entity::find().one(server.context().core.db.read()).await.unwrap().unwrap();
    assert_eq!((row.is_committed, row.status), (true, None));
    assert_eq!(once.post_text("/rest/v1/bookmarks/batch", &body).await.error_code(409), "CONFLICT");
}

#[actix_web::test]
async fn committed_claim_without_response_is_refused() {
    let server = Server::start().await;
    let Writer { owner, key, session, id, path, .. } = Writer::of(&server, Plan::Pro).await;
    let (ctx, name) = (server.context(), "committed");
    let replay = IdempotencyKey::new(name.as_bytes(), "POST", &path, NOTE_JSON.as_bytes()).unwrap();
    let claimed = ctx.requests.idempotency.claim(owner, key.id.parse().unwrap(), replay).await.unwrap();
    let ClaimOutcome::First(claim) = claimed else { panic!("{claimed:?}") };
    let txn = begin_owned(&ctx.core.db, owner).await.unwrap();
    claim.id().mark_committed(&txn).await.unwrap();
    txn.commit().await.unwrap();
    // The process ends without answering the request.
    drop(claim);

    let running = with_name(&key, name).post_text(&path, NOTE_JSON).await;
    server.clock.advance(Duration::from_secs(61));
    let ended = with_name(&key, name).post_text(&path, NOTE_JSON).await;
    server.clock.advance(Duration::from_secs(23 * 3600));
    let later = with_name(&key, name).post_text(&path, NOTE_JSON).await;
    server.clock.advance(Duration::from_secs(3600));
    let next_day = with_name(&key, name).post_text(&path, NOTE_JSON).await;

    assert_eq!((running.error_code(409), running.header("retry-after")), ("CONFLICT", "1"));
    assert_eq!((ended.error_code(409), ended.header("retry-after")), ("CONFLICT", ""));
    assert_eq!((later.error_code(409), later.header("retry-after")), ("CONFLICT", ""));
    next_day.data(201);
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn requests_abandoned_before_clock_set_back_do_not_run() {
    let server = Server::start().await;
    let Writer { owner, key, session, id, path, .. } = Writer::of(&server, Plan::Pro).await;
    let (ctx, holder): (_, KeyId) = (server.context(), key.id.parse().unwrap());
    for name in ["committed", "uncommitted"] {
        let replay = IdempotencyKey::new(name.as_bytes(), "POST", &path, NOTE_JSON.as_bytes()).unwrap();
        let claimed = ctx.requests.idempotency.claim(owner, holder, replay).await.unwrap();
        let ClaimOutcome::First(claim) = claimed else { panic!("{claimed:?}") };
        // The claims are dropped at the end of the round, as if their process had ended.
        if name == "committed" {
            let txn = begin_owned(&ctx.core.db, owner).await.unwrap();
            claim.id().mark_committed(&txn).await.unwrap();
            txn.commit().await.unwrap();
        }
    }

    // The clocks of two servers may differ a little: a claim up to a minute in the future counts as running.
    server.clock.set_back(Duration::from_secs(60));
    let running = with_name(&key, "uncommitted").post_text(&path, NOTE_JSON).await;
    server.clock.set_back(Duration::from_secs(1));
    let committed = with_name(&key, "committed").post_text(&path, NOTE_JSON).await;
    let uncommitted = with_name(&key, "uncommitted").post_text(&path, NOTE_JSON).await;

    assert_eq!((running.error_code(409), running.header("retry-after")), ("CONFLICT", "1"));
    assert_eq!((committed.error_code(409), committed.header("retry-after")), ("CONFLICT", ""));
    uncommitted.data(201);
    assert_eq!(count_notes(&session, &id).await, 1);
}

#[actix_web::test]
async fn claim_of_a_committed_change_cannot_be_given_up() {
    let server = Server::start().await;
    let responses = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    let (committed, uncommitted) = (responses.first("committed").await, responses.first("uncommitted").await);
    responses.commit(&committed).await;

    responses.store.give_up(committed).await.unwrap();
    responses.store.give_up(uncommitted).await.unwrap();

    let again = [responses.again("committed").await, responses.again("uncommitted").await];
    assert_eq!(again, ["refused", "first"]);
}

#[actix_web::test]
async fn transaction_without_commit_leaves_no_mark() {
    let server = Server::start().await;
    let responses = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    let claim = responses.first("rolled-back").await;

    let txn = begin_owned(&server.context().core.db, responses.owner).await.unwrap();
    claim.id().mark_committed(&txn).await.unwrap();
    drop(txn);
    responses.store.give_up(claim).await.unwrap();

    assert_eq!(responses.again("rolled-back").await, "first");
}

#[actix_web::test]
async fn request_whose_claim_was_freed_cannot_commit() {
    let server = Server::start().await;
    let responses = StoredResponses::bounded_by(&server, StoredResponseBounds::default()).await;
    let stalled = responses.first("stalled").await;
    let id = stalled.id();
    drop(stalled);

    server.clock.advance(Duration::from_secs(61));
    // The second request holds the name, so the stalled one must not commit its change.
    let _second = responses.first("stalled").await;

    let txn = begin_owned(&server.context().core.db, responses.owner).await.unwrap();
    let refused = id.mark_committed(&txn).await;
    assert!(matches!(refused, Err(Error::StillRunning)), "{refused:?}");
}

#[actix_web::test]
async fn committed_claims_expire_beyond_the_maximum() {
    let server = Server::start().await;
    let bounds = StoredResponseBounds { max_account_keys: 1, ..StoredResponseBounds::default() };
    let responses = StoredResponses::bounded_by(&server, bounds).await;
    let lost = responses.first("lost").await;
    responses.commit(&lost).await;
    drop(lost);

    server.clock.advance(Duration::from_secs(61));
    responses.settle("kept", 201, "{}").await;

    assert_eq!([responses.again("kept").await, responses.again("lost").await], ["replayed", "first"]);
}

/// Covers the fault table (row 6).
#[actix_web::test]
async fn full_disk_replays_responses_and_claims_no_name() {
    let server = Server::start().await;
    let Writer { key, path, .. } = Writer::of(&server, Plan::Pro).await;
    let secret = key.header("authorization");
    with_name(&key, "before").post_text(&path, NOTE_JSON).await.data(201);

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[("STORAGE__MIN_FREE_BYTES", "1099511627776")]).await;
    let holder = |name: &str| server.anonymous().with("authorization", &secret).with("idempotency-key", name);
    let (before, new) =
        (holder("before").post_text(&path, NOTE_JSON).await, holder("new").post_text(&path, NOTE_JSON).await);

    before.data(201);
    assert!(is_replayed(&before));
    assert_eq!(new.error_code(507), "STORAGE_FULL");
    // The refused request has left no row, so its name is free after the disk has room.
    assert_eq!(entity::idempotency::Entity::find().count(server.context().core.db.read()).await.unwrap(), 1);
}
