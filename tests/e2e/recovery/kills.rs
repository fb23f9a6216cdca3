//! SIGKILL at random times and at each step of the work: every acknowledged save becomes ready and is found once.

use std::time::{Duration, Instant};

use entity::{document, job};
use reqwest::Method;
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{
    ColumnTrait, ConnectionTrait, Database, DatabaseConnection, EntityTrait, QueryFilter, Statement,
};
use serde_json::{Value, json};
use values::id::DocumentId;
use values::kind::{DocumentStatus, JobState};

use crate::support::{Home, Key, Program, Reply, Site, article, eventually, program};

const ROUNDS: usize = 10;
const SAVES: usize = 20;

/// A word that only one save contains.
fn unique_word(round: usize, n: usize) -> String {
    format!("zx{round}q{n}w")
}

/// The body of a save. One of three is fetched, and two of three use a sandbox process.
fn bookmark_body(site: &Site, round: usize, n: usize) -> Value {
    let (url, word) = (format!("https://example.org/{round}/{n}"), unique_word(round, n));
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

/// A delay that differs in each round and each run.
fn random_delay() -> Duration {
    let random = u64::from_le_bytes(uuid::Uuid::new_v4().as_bytes()[..8].try_into().unwrap());
    Duration::from_millis(random % 1_000)
}

/// Saves concurrently and returns the acknowledged saves.
async fn save_concurrently(key: &Key, site: &Site, round: usize) -> Vec<(String, Value)> {
    let saves = (0..SAVES).map(async |n| {
        let answer = key
            .try_send(Method::POST, "/rest/v1/bookmarks", Some(bookmark_body(site, round, n)))
            .await
            .ok()?;
        (answer.status == 201).then(|| (unique_word(round, n), answer.body["data"]["bookmark"].clone()))
    });
    futures_util::future::join_all(saves).await.into_iter().flatten().collect()
}

/// Covers the fault table (row 1).
#[actix_web::test]
async fn acknowledged_saves_outlive_ten_kills_and_are_found_once() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = program::create_account(&home);
    let mut acknowledged = Vec::new();
    for round in 0..ROUNDS {
        let running = Program::start(&home, "data").await;
        let key = running.client_with_key(&id, &secret);
        let killed = async {
            tokio::time::sleep(random_delay()).await;
            running.kill();
        };
        let (saved, ()) = tokio::join!(save_concurrently(&key, &site, round), killed);
        acknowledged.extend(saved);
    }

    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    assert!(!acknowledged.is_empty());
    for (word, bookmark) in &acknowledged {
        key.wait_for(bookmark, "ready").await;
        assert_eq!(key.search(word).await, [bookmark["documentId"].as_str().unwrap()], "{word}");
    }
    assert!(running.terminate().await.success());
    assert_rows_are_intact(&home).await;
}

/// The progress of the work on a page, according to the rows and the requests to its site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PageProgress {
    /// The save was acknowledged.
    Acknowledged,
    /// A job was claimed for it.
    Begun,
    /// The page was requested.
    PageRequested,
    /// Its text was written.
    Written,
    /// The job of its passages was claimed.
    Indexing,
    /// Readable and found.
    Ready,
}

impl PageProgress {
    const ALL: [PageProgress; 6] =
        [Self::Acknowledged, Self::Begun, Self::PageRequested, Self::Written, Self::Indexing, Self::Ready];

    async fn of(id: DocumentId, rows: &DatabaseConnection, hits: usize) -> Self {
        let document = document::Entity::find_by_id(id).one(rows).await.unwrap().unwrap();
        let jobs = job::Entity::find().filter(job::Column::Subject.eq(id.0)).all(rows).await.unwrap();
        let has_begun = |kind| jobs.iter().any(|job| job.kind == kind && job.attempts > 0);
        match () {
            () if document.status == DocumentStatus::Ready => Self::Ready,
            () if has_begun("index") => Self::Indexing,
            () if document.version > 0 => Self::Written,
            () if hits > 0 => Self::PageRequested,
            () if has_begun("fetch_page") => Self::Begun,
            () => Self::Acknowledged,
        }
    }
}

/// Saves a page and kills the program as soon as the work has reached this step. Returns the page's unique word and the save. The
/// step `PageRequested` is exact, because the page does not respond; at other steps the work may have continued meanwhile.
async fn kill_at(
    step: PageProgress,
    page: usize,
    home: &Home,
    site: &Site,
    (id, secret): &(String, String),
) -> (String, Value) {
    let running = Program::start(home, "data").await;
    let (word, path) = (format!("zx{page}w"), format!("/{page}"));
    let (silent, complete) = (Reply::Never, article("Heron", &word));
    let url = if step == PageProgress::PageRequested {
        site.page(&path, [silent, complete])
    } else {
        site.page(&path, [complete])
    };
    let saved = running.client_with_key(id, secret).save(json!({ "url": url })).await;
    let document: DocumentId = saved["documentId"].as_str().unwrap().parse().unwrap();
    let rows = Database::connect(home.database_url()).await.unwrap();
    let began = Instant::now();
    let seen = loop {
        let seen = PageProgress::of(document, &rows, site.request_count(&path)).await;
        if seen >= step {
            break seen;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {step:?}");
    };
    assert!(step != PageProgress::PageRequested || seen == PageProgress::PageRequested, "{seen:?}");
    running.kill();
    rows.close().await.unwrap();
    (word, saved)
}

/// Covers the fault table (row 2).
#[actix_web::test]
async fn save_and_deletion_outlive_a_kill_at_any_step() {
    let (home, site) = (Home::new().await, Site::start().await);
    let account = program::create_account(&home);
    let mut saved = Vec::new();
    for (page, step) in PageProgress::ALL.into_iter().enumerate() {
        saved.push(kill_at(step, page, &home, &site, &account).await);
    }
    let (word, gone) = kill_at(PageProgress::Ready, saved.len(), &home, &site, &account).await;
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&account.0, &account.1);
    let removed = key.delete(&format!("/rest/v1/bookmarks/{}", gone["bookmarkId"].as_str().unwrap())).await;
    running.kill();

    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&account.0, &account.1);
    removed.data(200);
    for (word, bookmark) in &saved {
        key.wait_for(bookmark, "ready").await;
        assert_eq!(key.search(word).await, [bookmark["documentId"].as_str().unwrap()], "{word}");
    }
    // The deletion was acknowledged just before the kill, so its page must not be found.
    assert!(key.search(&word).await.is_empty());
    assert!(running.terminate().await.success());
    assert_rows_are_intact(&home).await;
}

/// Extends all running leases by an hour, so that they do not expire during the test. Returns their number.
async fn extend_leases(home: &Home) -> u64 {
    let rows = Database::connect(home.database_url()).await.unwrap();
    // In milliseconds.
    let hour = Expr::col(job::Column::LeaseUntil).add(3_600_000);
    let running = job::Entity::update_many().col_expr(job::Column::LeaseUntil, hour);
    let extended = running.filter(job::Column::State.eq(JobState::Running)).exec(&rows).await.unwrap();
    rows.close().await.unwrap();
    extended.rows_affected
}

/// Covers the fault table (row 1).
#[actix_web::test]
async fn job_of_a_killed_service_is_claimed_at_its_next_start() {
    let (home, site) = (Home::new().await, Site::start().await);
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let url = site.page("/heron", [Reply::Never, article("Heron", "a heron")]);
    let saved = running.client_with_key(&id, &secret).save(json!({ "url": url })).await;
    eventually("the page is requested", async || (site.request_count("/heron") > 0).then_some(())).await;
    running.kill();
    assert!(extend_leases(&home).await > 0);

    // The data folder identifies the owner of a lease. A server with another one must leave the job alone until the lease ends.
    let other = Program::start(&home, "second").await;
    let key = other.client_with_key(&id, &secret);
    let saved_there = key.save(json!({ "url": site.page("/beside", [article("Beside", "a reed")]) })).await;
    key.wait_for(&saved_there, "ready").await;
    assert!(other.terminate().await.success());
    assert_eq!(site.request_count("/heron"), 1);

    let running = Program::start(&home, "data").await;
    running.client_with_key(&id, &secret).wait_for(&saved, "ready").await;
    assert_eq!(site.request_count("/heron"), 2);
}

/// Runs the integrity checks of SQLite; PostgreSQL was not killed.
async fn assert_rows_are_intact(home: &Home) {
    let Some(file) = home.database_file() else { return };
    let rows = Database::connect(format!("sqlite:{file}")).await.unwrap();
    for (check, sound) in [("PRAGMA integrity_check", Some("ok")), ("PRAGMA foreign_key_check", None)] {
        let statement = Statement::from_string(rows.get_database_backend(), check);
        let result = rows.query_one_raw(statement).await.unwrap();
        let result = result.map(|row| row.try_get_by_index::<String>(0).unwrap());
        assert_eq!(result.as_deref(), sound, "{check}");
    }
}
