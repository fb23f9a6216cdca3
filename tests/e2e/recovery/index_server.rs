//! An index on a Qdrant server: shared after a restart, not reached, deleted, or refused. Nothing that is saved meanwhile is lost.

use std::sync::Arc;
use std::time::{Duration, Instant};

use actors::service_state::{self, ServiceStateKey};
use carrel::server::{Overrides, start_with};
use carrel::settings::Settings;
use futures_util::future::join_all;
use library::clock::TestClock;
use sandbox::{SUBCOMMAND, SandboxCommand};
use search::index::{CollectionSettings, Marker, ServerSettings, ServerStore, VectorModels};
use serde_json::Value;
use test_qdrant::{ServerOptions, TestQdrant};
use values::plan::Plan;

use super::index_repair::{is_found, read_index_state, save, wait_until_complete};
use crate::support::{
    Client, EmbeddingEndpoint, EmbeddingReply, Home, Key, NOON, Program, Server, eventually, program,
};

/// A search that the database answers, or that is refused, takes at most this long.
const MAX_SEARCH_TIME: Duration = Duration::from_secs(2);
/// The code of gRPC for a key without the right to a request.
const PERMISSION_DENIED: i32 = 7;

async fn start(qdrant: &TestQdrant) -> Server {
    Server::start_with(&[("VECTORS__URL", qdrant.url().as_str())]).await
}

fn is_postgres(server: &Server) -> bool {
    server.context().core.db.is_postgres()
}

async fn save_text(key: &Key, bird: &str) -> Value {
    let text = format!("The {bird} stands still in the water for an hour, waiting for a fish to come by.");
    key.save_text(&format!("https://example.org/{bird}"), &text).await
}

/// Asserts that a search with this query string is answered by the database if that can search, and is refused for a while otherwise.
async fn assert_degraded(server: &Server, key: &Key, search: &str, saved: &Value) {
    let answer = key.get(&format!("/rest/v2/search?q={search}")).await;
    if is_postgres(server) {
        let data = answer.data(200);
        assert_eq!(data["degraded"], "lexical");
        assert_eq!(data["results"][0]["documentId"], saved["documentId"]);
    } else {
        assert_eq!(answer.error_code(503), "OVERLOADED");
        assert!(answer.header_number("retry-after") >= 1);
    }
}

async fn wait_until_unreachable(anonymous: &Client) {
    eventually("the server of the index is not reached", async || {
        (read_index_state(anonymous).await["ok"] == false).then_some(())
    })
    .await;
}

/// Waits until jobs that were deferred have run, and the index has the passages of this number of saves.
async fn wait_until_caught_up(server: &Server, saves: u64) {
    let anonymous = server.anonymous();
    eventually("the index has caught up", async || {
        server.clock.advance(Duration::from_secs(5));
        let index = read_index_state(&anonymous).await;
        (index["ok"] == true && index["state"] == "complete" && index["passages"] == 2 * saves).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn index_on_a_server_is_used_again_after_a_restart() {
    let qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;
    let (authorization, added) = (key.header("authorization"), qdrant.requests("upsert_points"));

    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[("VECTORS__URL", qdrant.url().as_str())]).await;
    let key = Key::new("", server.anonymous().with("authorization", &authorization));

    assert_eq!(read_index_state(&server.anonymous()).await["state"], "complete");
    assert!(is_found(&key, "heron", &heron).await);
    assert_eq!(qdrant.requests("upsert_points"), added, "nothing was indexed again");
}

#[actix_web::test]
async fn texts_saved_while_connections_are_refused_are_found_later() {
    let mut qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;

    qdrant.stop();
    wait_until_unreachable(&server.anonymous()).await;
    assert_degraded(&server, &key, "heron", &heron).await;
    let egret = save_text(&key, "egret").await;

    qdrant.restart().unwrap();

    wait_until_caught_up(&server, 2).await;
    assert!(is_found(&key, "heron", &heron).await && is_found(&key, "egret", &egret).await);
}

#[actix_web::test]
async fn searches_of_a_server_that_hangs_end_in_two_seconds() {
    let qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;

    qdrant.hang(true);
    let searches = (0..20).map(|_| async {
        let began = Instant::now();
        assert_degraded(&server, &key, "heron", &heron).await;
        began.elapsed()
    });
    let mut times = join_all(searches).await;
    times.sort();
    // A machine that is busy with other tests may delay a few.
    assert!(times[times.len() / 2] < MAX_SEARCH_TIME, "{times:?}");
    let egret = save_text(&key, "egret").await;
    wait_until_unreachable(&server.anonymous()).await;

    qdrant.hang(false);

    wait_until_caught_up(&server, 2).await;
    assert!(is_found(&key, "heron", &heron).await && is_found(&key, "egret", &egret).await);
}

/// Of one query or several rounds, with filters that the database resolves first, and with a vector that is waited for.
#[actix_web::test]
async fn searches_end_while_the_index_and_the_endpoint_hang() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let url = qdrant.url();
    let settings: Vec<_> = endpoint.settings().into_iter().chain([("VECTORS__URL", url.as_str())]).collect();
    let server = Server::start_with(&settings).await;
    let anonymous = server.anonymous();
    eventually("search is hybrid", async || {
        (anonymous.get("/readyz").await.body["search"] == "hybrid").then_some(())
    })
    .await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&anonymous, 1).await;

    qdrant.hang(true);
    endpoint.set_reply(EmbeddingReply::Silence);
    let queries =
        ["heron", "heron&archived=false", "%22stands+still%22", "heron+-duck", "heron&source=bookmarks"];
    let searches = queries.map(|query| {
        let (server, key, heron) = (&server, &key, &heron);
        async move {
            let began = Instant::now();
            assert_degraded(server, key, query, heron).await;
            began.elapsed()
        }
    });
    let mut times = join_all(searches).await;

    times.sort();
    // A machine that is busy with other tests may delay a few.
    assert!(times[times.len() / 2] < MAX_SEARCH_TIME, "{times:?}");
}

#[actix_web::test]
async fn collection_that_is_deleted_is_filled_again() {
    let qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;
    let added = qdrant.requests("upsert_points");

    qdrant.wipe();

    eventually("the passages are added again", async || {
        (qdrant.requests("upsert_points") > added).then_some(())
    })
    .await;
    wait_until_caught_up(&server, 1).await;
    assert!(is_found(&key, "heron", &heron).await);
}

/// Runs a request of the collection of a server, on a thread that may wait.
async fn with_collection<T: Send + 'static>(
    server: &Server,
    qdrant: &TestQdrant,
    request: impl FnOnce(ServerStore) -> T + Send + 'static,
) -> T {
    let db = server.context().core.db.read();
    let owner = service_state::read_state(db, ServiceStateKey::IndexOwner).await.unwrap().unwrap();
    let collection = CollectionSettings {
        name: "carrel".to_owned(),
        shards: 1,
        replication_factor: 1,
        write_consistency: 1,
    };
    let search_deadline = Duration::from_secs(1);
    let settings = ServerSettings { url: qdrant.url(), key: None, search_deadline, owner, collection };
    tokio::task::spawn_blocking(move || request(ServerStore::new(settings, VectorModels::default()).unwrap()))
        .await
        .unwrap()
}

#[actix_web::test]
async fn index_with_another_marker_is_compared_with_the_database() {
    let qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;
    let read_marker = async || {
        with_collection(&server, &qdrant, |store| store.read_marker().unwrap()).await.unwrap().generation
    };
    let left = read_marker().await;

    let other = Marker::first(NOON);
    let replaced = other.generation;
    with_collection(&server, &qdrant, move |store| store.write_marker(&other).unwrap()).await;

    eventually("the index has a marker of a new generation", async || {
        let found = read_marker().await;
        (found != left && found != replaced).then_some(())
    })
    .await;
    wait_until_caught_up(&server, 1).await;
    assert!(is_found(&key, "heron", &heron).await);
}

#[actix_web::test]
async fn services_share_an_index_and_the_second_takes_over() {
    let qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let (id, secret) = program::create_account(&home);
    let settings = [("VECTORS__URL", url.as_str())];
    let one = Program::start_with(&home, "data", &settings).await;
    let other = Program::start_with(&home, "second", &settings).await;
    let (here, there) = (one.client_with_key(&id, &secret), other.client_with_key(&id, &secret));
    let heron = save_text(&here, "heron").await;
    wait_until_complete(&other.anonymous(), 1).await;
    assert!(is_found(&here, "heron", &heron).await && is_found(&there, "heron", &heron).await);

    one.kill();
    qdrant.wipe();

    let egret = save_text(&there, "egret").await;
    wait_until_complete(&other.anonymous(), 2).await;
    assert!(is_found(&there, "heron", &heron).await && is_found(&there, "egret", &egret).await);
}

#[actix_web::test]
async fn service_starts_without_its_qdrant_server() {
    let mut qdrant = TestQdrant::start().unwrap();
    qdrant.stop();
    let server = start(&qdrant).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    assert_eq!(read_index_state(&server.anonymous()).await["ok"], false);
    let heron = save_text(&key, "heron").await;

    qdrant.restart().unwrap();

    wait_until_caught_up(&server, 1).await;
    assert!(is_found(&key, "heron", &heron).await);
}

#[actix_web::test]
async fn key_that_is_refused_later_makes_the_index_wait() {
    let options = ServerOptions { key: Some("a-key".to_owned()), ..ServerOptions::default() };
    let qdrant = TestQdrant::with_options(options).unwrap();
    let url = qdrant.url();
    let server = Server::start_with(&[("VECTORS__URL", url.as_str()), ("VECTORS__KEY", "a-key")]).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&server.anonymous(), 1).await;

    qdrant.fail(PERMISSION_DENIED, 1_000_000);
    wait_until_unreachable(&server.anonymous()).await;
    assert_degraded(&server, &key, "heron", &heron).await;
    save_text(&key, "egret").await;
    qdrant.fail(PERMISSION_DENIED, 0);

    wait_until_caught_up(&server, 2).await;
}

#[actix_web::test]
async fn collection_with_other_shards_is_warned_of_at_the_start() {
    let qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let start = async |shards: &str| {
        let settings = [("VECTORS__URL", url.as_str()), ("VECTORS__SHARDS", shards)];
        let program = Program::start_with(&home, "data", &settings).await;
        let log = program.log();
        program.terminate().await;
        log
    };

    let first = start("1").await;
    assert!(!first.contains("was created with other settings"), "{first}");
    let second = start("2").await;
    assert!(second.contains("vectors.shards is 2 and the collection has 1"), "{second}");
}

#[actix_web::test]
async fn requests_to_the_index_server_are_measured() {
    let qdrant = TestQdrant::start().unwrap();
    let server = start(&qdrant).await;

    qdrant.fail(PERMISSION_DENIED, 1_000_000);
    wait_until_unreachable(&server.anonymous()).await;

    let metrics = server.anonymous().get("/metrics").await.text;
    for name in [
        "carrel_index_server_failures_total{fault=\"permission_denied\"} ",
        "carrel_index_server_request_seconds_count ",
        "carrel_index_server_suspended ",
        "carrel_search_unindexed_documents ",
    ] {
        assert!(metrics.contains(name), "{name}: {metrics}");
    }
}

#[actix_web::test]
async fn qdrant_server_that_is_too_old_is_refused_at_the_start() {
    let options = ServerOptions { version: "1.18.2".to_owned(), ..ServerOptions::default() };
    let qdrant = TestQdrant::with_options(options).unwrap();
    let home = Home::new().await;
    let url = ("CARREL__VECTORS__URL".to_owned(), qdrant.url());
    let settings = Settings::load(None, home.settings("old").into_iter().chain([url])).unwrap();
    let program = env!("CARGO_BIN_EXE_carrel").into();
    let sandbox = SandboxCommand { program, args: vec![SUBCOMMAND.into()] };

    let overrides = Overrides { sandbox, change_database: None };
    let refused = start_with(settings, Arc::new(TestClock::at(NOON)), overrides).await.err().unwrap();

    let message = refused.to_string();
    assert!(message.contains("1.18.2") && message.contains("1.19"), "{message}");
}
