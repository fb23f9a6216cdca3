//! SIGKILL at random moments: every save that was acknowledged is ready in the end, and found once.

use std::time::Duration;

use reqwest::Method;
use sea_orm::{ConnectionTrait, Database, Statement};
use serde_json::{Value, json};

use crate::world::{Home, Key, Program, Site, article, program};

const ROUNDS: usize = 10;
const SAVES: usize = 20;

/// A word that stands in one save alone.
fn word(round: usize, n: usize) -> String {
    format!("zx{round}q{n}w")
}

/// One of three is fetched, and two of three go through a child of the sandbox.
fn body(site: &Site, round: usize, n: usize) -> Value {
    let (url, word) = (format!("https://example.org/{round}/{n}"), word(round, n));
    let prose = format!(
        "The heron called {word} stands still in the water for an hour, waiting for a fish to come by. "
    );
    match n % 3 {
        0 => json!({ "url": url, "text": prose.repeat(5) }),
        1 => {
            json!({ "url": url, "html": format!("<article><h1>Heron</h1><p>{}</p></article>", prose.repeat(5)) })
        }
        _ => json!({ "url": site.page(&format!("/{round}/{n}"), [article("Heron", &word)]) }),
    }
}

/// A moment that differs from round to round and from run to run.
fn moment() -> Duration {
    let chance = u64::from_le_bytes(uuid::Uuid::new_v4().as_bytes()[..8].try_into().unwrap());
    Duration::from_millis(chance % 400)
}

/// Saves twenty at once; those that were acknowledged.
async fn save_all(key: &Key, site: &Site, round: usize) -> Vec<(String, Value)> {
    let saves = (0..SAVES).map(async |n| {
        let answer =
            key.try_send(Method::POST, "/rest/v1/bookmarks", Some(body(site, round, n))).await.ok()?;
        (answer.status == 201).then(|| (word(round, n), answer.body["data"]["bookmark"].clone()))
    });
    futures_util::future::join_all(saves).await.into_iter().flatten().collect()
}

#[actix_web::test]
async fn every_acknowledged_save_outlives_ten_kills_and_is_found_once() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = program::make_account(&home);
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let running = Program::start(&home, "data").await;
        let key = running.holder(&id, &secret);
        let killed = async {
            tokio::time::sleep(moment()).await;
            running.kill();
        };
        let (saved, ()) = tokio::join!(save_all(&key, &site, round), killed);
        acknowledged.extend(saved);
    }

    let running = Program::start(&home, "data").await;
    let key = running.holder(&id, &secret);
    assert!(!acknowledged.is_empty());
    for (word, bookmark) in &acknowledged {
        key.once(bookmark, "ready").await;
        assert_eq!(key.search(word).await, [bookmark["documentId"].as_str().unwrap()], "{word}");
    }
    assert!(running.terminate().await.success());
    rows_are_whole(&home).await;
}

/// SQLite says so itself; PostgreSQL was never killed.
async fn rows_are_whole(home: &Home) {
    let Some(file) = home.database_file() else { return };
    let rows = Database::connect(format!("sqlite:{file}")).await.unwrap();
    for (check, sound) in [("PRAGMA integrity_check", Some("ok")), ("PRAGMA foreign_key_check", None)] {
        let statement = Statement::from_string(rows.get_database_backend(), check);
        let said = rows.query_one_raw(statement).await.unwrap();
        let said = said.map(|row| row.try_get_by_index::<String>(0).unwrap());
        assert_eq!(said.as_deref(), sound, "{check}");
    }
}
