//! An index on a Qdrant server that is reached by https.

use test_qdrant::{ServerOptions, TestQdrant};

use super::index_repair::{is_found, read_index_state, save, wait_until_complete};
use crate::support::{Home, Program, eventually, program};

fn start_qdrant() -> TestQdrant {
    TestQdrant::with_options(ServerOptions { has_tls: true, ..ServerOptions::default() }).unwrap()
}

#[actix_web::test]
async fn index_on_a_server_with_tls_is_filled_and_searched() {
    let qdrant = start_qdrant();
    let (home, url) = (Home::new().await, qdrant.url());
    assert!(url.starts_with("https://"), "{url}");
    let (id, secret) = program::create_account(&home);

    let settings = [("VECTORS__URL", url.as_str())];
    let program = Program::start_trusting(&home, "data", &TestQdrant::ca_file(), &settings).await;

    let key = program.client_with_key(&id, &secret);
    let heron = save(&key, "heron").await;
    wait_until_complete(&program.anonymous(), 1).await;
    assert!(is_found(&key, "heron", &heron).await);
    let index = read_index_state(&program.anonymous()).await;
    assert_eq!(index["ok"], true, "{index:#}");
    assert!(qdrant.requests("upsert_points") > 0 && qdrant.requests("query_points_batch") > 0);
}

#[actix_web::test]
async fn server_with_a_certificate_of_an_unknown_ca_is_refused() {
    let qdrant = start_qdrant();
    let (home, url) = (Home::new().await, qdrant.url());

    let settings = [("VECTORS__URL", url.as_str()), ("VECTORS__KEY", "a-secret")];
    let program = Program::start_trusting(&home, "data", &TestQdrant::other_ca_file(), &settings).await;

    assert_eq!(read_index_state(&program.anonymous()).await["ok"], false);
    let log = eventually("the log says why", async || {
        Some(program.log()).filter(|log| log.contains("its certificate is not trusted (UnknownIssuer)"))
    })
    .await;
    assert!(log.contains("SSL_CERT_FILE") && !log.contains("a-secret"), "{log}");
    assert_eq!(qdrant.requests("collection_info"), 0, "no key is sent to it");
}
