//! `carrel reindex --to`: the index moves to a Qdrant server and back as it is, is refused where it would be incomplete, and an interrupted
//! move does no harm.

use std::os::unix::fs::{MetadataExt, chown};
use std::time::Duration;

use entity::{document, service_state};
use sea_orm::sea_query::ExprTrait;
use sea_orm::{ColumnTrait, Database, EntityTrait, QueryFilter};
use search::index::{CollectionSettings, ServerIndex, ServerSettings, ServerStore, VectorModels};
use test_qdrant::TestQdrant;

use super::index_repair::{is_found, read_index_state, save, wait_until_complete};
use crate::support::program::{CommandOutput, command_output, create_account, spawn_command};
use crate::support::{EmbeddingEndpoint, EmbeddingReply, Home, Key, Program, eventually, files};

const TO_SERVER: [&str; 3] = ["reindex", "--to", "server"];
const TO_FOLDER: [&str; 3] = ["reindex", "--to", "folder"];

#[track_caller]
fn assert_fails(output: &CommandOutput, words: &[&str]) {
    assert_eq!(output.code, Some(1), "{output:?}");
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {output:?}");
    }
}

#[track_caller]
fn assert_moved(output: &CommandOutput, passages: u64) {
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.contains(&format!("moved {passages} passages of 1 users")), "{output:?}");
}

/// Starts a server, and returns it with a client of its account.
async fn start(home: &Home, (id, secret): &(String, String), settings: &[(&str, &str)]) -> (Program, Key) {
    let program = Program::start_with(home, "data", settings).await;
    let key = program.client_with_key(id, secret);
    (program, key)
}

/// Waits until a word finds a text that does not have it, by its vector.
async fn wait_until_found_by_meaning(key: &Key, word: &str, saved: &serde_json::Value) {
    eventually("the text is found by its meaning", async || is_found(key, word, saved).await.then_some(()))
        .await;
}

#[actix_web::test]
async fn index_moves_to_a_server_and_back_without_embedding() {
    let (qdrant, endpoint) =
        (TestQdrant::start().unwrap(), EmbeddingEndpoint::start(EmbeddingReply::Vectors).await);
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let local = endpoint.settings();
    let remote: Vec<(&str, &str)> = local.into_iter().chain([("VECTORS__URL", url.as_str())]).collect();
    let (program, key) = start(&home, &account, &local).await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&program.anonymous(), 1).await;
    wait_until_found_by_meaning(&key, "egret", &heron).await;

    assert_fails(&command_output(&home, &TO_SERVER, "", &remote), &["a server runs on data_dir", "stop it"]);
    program.terminate().await;
    endpoint.set_reply(EmbeddingReply::Vectors);
    assert_moved(&command_output(&home, &TO_SERVER, "", &remote), 2);
    assert!(endpoint.requests().is_empty());

    let (program, key) = start(&home, &account, &remote).await;
    wait_until_complete(&program.anonymous(), 1).await;
    assert!(is_found(&key, "heron", &heron).await && is_found(&key, "egret", &heron).await);
    let passages = || endpoint.texts().into_iter().filter(|text| text.starts_with("passage: ")).count();
    assert_eq!((passages(), qdrant.requests("upsert_points")), (0, 1));
    let loaf = save(&key, "loaf").await;
    wait_until_complete(&program.anonymous(), 2).await;
    wait_until_found_by_meaning(&key, "dough", &loaf).await;
    program.terminate().await;
    endpoint.set_reply(EmbeddingReply::Vectors);
    assert_moved(&command_output(&home, &TO_FOLDER, "", &remote), 4);

    let (program, key) = start(&home, &account, &local).await;
    assert_eq!(read_index_state(&program.anonymous()).await["state"], "complete");
    wait_until_complete(&program.anonymous(), 2).await;
    assert!(is_found(&key, "egret", &heron).await && is_found(&key, "dough", &loaf).await);
    assert_eq!(passages(), 0);
}

#[actix_web::test]
async fn interrupted_move_is_completed_at_the_next_start() {
    let qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let remote = [("VECTORS__URL", url.as_str())];
    let (program, key) = start(&home, &account, &[]).await;
    let heron = save(&key, "heron").await;
    program.terminate().await;

    // Before a passage is written.
    qdrant.hang_at("upsert_points");
    let mut moving = spawn_command(&home, &TO_SERVER, &remote);
    eventually("the copy has begun", async || (qdrant.requests("upsert_points") > 0).then_some(())).await;
    moving.kill().unwrap();
    assert!(!moving.wait().unwrap().success(), "it was interrupted");
    qdrant.hang(false);

    let (program, key) = start(&home, &account, &remote).await;
    wait_until_complete(&program.anonymous(), 1).await;
    assert!(is_found(&key, "heron", &heron).await);
}

/// Makes the database expect a passage less than the index has.
async fn expect_fewer_passages(home: &Home) {
    let rows = Database::connect(home.database_url()).await.unwrap();
    let points = document::Column::IndexedPoints;
    let updated = document::Entity::update_many()
        .col_expr(points, points.into_expr().sub(1_i32))
        .filter(points.gt(0))
        .exec(&rows)
        .await
        .unwrap();
    assert_eq!(updated.rows_affected, 1);
    rows.close().await.unwrap();
}

/// Returns the markers that the database has of indexes.
async fn recorded_markers(home: &Home) -> Vec<String> {
    let rows = Database::connect(home.database_url()).await.unwrap();
    let found = service_state::Entity::find().filter(service_state::Column::Name.starts_with("index:"));
    let names = found.all(&rows).await.unwrap().into_iter().map(|row| row.name).collect();
    rows.close().await.unwrap();
    names
}

#[actix_web::test]
async fn moved_index_with_a_surplus_is_compared() {
    let qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let remote = [("VECTORS__URL", url.as_str())];
    let (program, key) = start(&home, &account, &[]).await;
    let heron = save(&key, "heron").await;
    wait_until_complete(&program.anonymous(), 1).await;
    program.terminate().await;
    let markers = recorded_markers(&home).await;
    expect_fewer_passages(&home).await;

    let moved = command_output(&home, &TO_SERVER, "", &remote);

    assert_moved(&moved, 2);
    assert!(moved.stdout.contains("1 passages that the database does not expect"), "{moved:?}");
    assert_eq!(recorded_markers(&home).await, markers, "none of the collection");
    let (program, key) = start(&home, &account, &remote).await;
    eventually("the collection was compared, and has a marker", async || {
        (recorded_markers(&home).await.len() > markers.len()).then_some(())
    })
    .await;
    assert_eq!(read_index_state(&program.anonymous()).await["ok"], true);
    assert!(is_found(&key, "heron", &heron).await);
}

#[actix_web::test]
async fn move_that_failed_changes_nothing_and_can_be_repeated() {
    let mut qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let remote = [("VECTORS__URL", url.as_str())];
    let (program, key) = start(&home, &account, &[]).await;
    let heron = save(&key, "heron").await;
    program.terminate().await;

    qdrant.stop();
    assert_fails(&command_output(&home, &TO_SERVER, "", &remote), &[url.as_str(), "does not answer"]);

    let (program, key) = start(&home, &account, &[]).await;
    assert!(is_found(&key, "heron", &heron).await);
    program.terminate().await;
    qdrant.restart().unwrap();
    // Without a place the command does not move the index, whatever the settings are.
    let queued = command_output(&home, &["reindex"], "", &remote);
    assert!(queued.stdout.contains("queued 1 documents"), "{queued:?}");
    assert_moved(&command_output(&home, &TO_SERVER, "", &remote), 2);
    let again = command_output(&home, &TO_SERVER, "", &remote);
    assert_fails(&again, &["is not the index that the server used last"]);
}

/// Only root may give files to another user, so nothing is tested as a user who is not root.
#[actix_web::test]
async fn move_by_root_leaves_the_index_to_the_owner_of_its_folder() {
    let mut qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let (program, key) = start(&home, &account, &[]).await;
    save(&key, "heron").await;
    program.terminate().await;
    let (data_dir, owner) = (home.path("data"), 4_242);
    if chown(&data_dir, Some(owner), None).is_err() {
        return;
    }
    qdrant.stop();

    let failed = command_output(&home, &TO_SERVER, "", &[("VECTORS__URL", url.as_str())]);

    assert_fails(&failed, &["does not answer"]);
    let files = files(&data_dir.join("index"));
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(file.metadata().unwrap().uid(), owner, "{}", file.display());
    }
}

#[actix_web::test]
async fn index_that_cannot_be_moved_is_refused_with_the_reason() {
    let qdrant = TestQdrant::start().unwrap();
    let (home, url) = (Home::new().await, qdrant.url());
    let account = create_account(&home);
    let remote = [("VECTORS__URL", url.as_str())];
    assert_fails(&command_output(&home, &TO_SERVER, "", &[]), &["vectors.url is not set"]);
    let unused = command_output(&home, &TO_SERVER, "", &remote);
    assert_fails(&unused, &["is not the index that the server used last"]);
    let (program, _) = start(&home, &account, &[]).await;
    program.terminate().await;
    let absent = command_output(&home, &TO_FOLDER, "", &remote);
    assert_fails(&absent, &["the collection carrel", "is not the index that the server used last"]);

    create_collection_of_another_database(&qdrant).await;
    let foreign = command_output(&home, &TO_SERVER, "", &remote);

    assert_fails(&foreign, &["the index of another database", "vectors.collection"]);
    let _other = Program::start(&home, "second").await;
    let beside = command_output(&home, &TO_SERVER, "", &remote);
    assert_fails(&beside, &["a server on this database is running"]);
    assert_eq!(qdrant.requests("upsert_points"), 0);
}

async fn create_collection_of_another_database(qdrant: &TestQdrant) {
    let name = "carrel".to_owned();
    let collection = CollectionSettings { name, shards: 1, replication_factor: 1, write_consistency: 1 };
    let settings = ServerSettings {
        url: qdrant.url(),
        key: None,
        search_deadline: Duration::from_secs(1),
        owner: "another database".to_owned(),
        collection,
    };
    let created = tokio::task::spawn_blocking(move || {
        ServerIndex::open(&ServerStore::new(settings, VectorModels::default()).unwrap()).map(drop)
    });
    created.await.unwrap().unwrap();
}
