//! Many large answers of one account at once: they take bounded memory, and other accounts are served.

use entity::scope::Scope;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;

use crate::world::{Client, Home, Key, Program, eventually, program};

const LARGE_LIST: &str = "/rest/v1/collections?limit=100";
const COLLECTIONS: usize = 30;
const COLLECTION_BYTES: usize = 96_000;
/// Somewhat more than [`LARGE_LIST`] has.
const LIST_BYTES: usize = COLLECTIONS * (COLLECTION_BYTES + 1000);
/// Unsent bytes with which an account has no more turns, and answers that it builds at the same time.
const MAX_UNSENT_BYTES: usize = 32 << 20;
const MAX_BUILDING: usize = 4;
const MAX_COUNTED_BYTES: usize = MAX_UNSENT_BYTES + MAX_BUILDING * LIST_BYTES;

/// Fills [`LARGE_LIST`] of this account.
async fn fill(key: &Key) {
    let description = "heron ".repeat(COLLECTION_BYTES / 6);
    for _ in 0..COLLECTIONS {
        create_collection(key, &description).await;
    }
}

/// Fills [`LARGE_LIST`] of this account with text that compresses to somewhat more than half of its length.
async fn fill_with_random_text(key: &Key) {
    for _ in 0..COLLECTIONS {
        let words = (0..COLLECTION_BYTES / 32).map(|_| Uuid::new_v4().simple().to_string());
        create_collection(key, &words.collect::<String>()).await;
    }
}

async fn create_collection(key: &Key, description: &str) {
    let collection = json!({ "name": "Birds", "description": description });
    key.post("/rest/v1/collections", collection).await.data(201);
}

/// Asks for [`LARGE_LIST`] so many times, each on a connection of its own, and reads none of the answers.
async fn ask_unread(key: &Key, times: usize) -> Vec<TcpStream> {
    ask_unread_with(key, times, "").await
}

/// As [`ask_unread`], with these lines in the head of each request.
async fn ask_unread_with(key: &Key, times: usize, lines: &str) -> Vec<TcpStream> {
    let authorization = key.header("authorization");
    let request =
        format!("GET {LARGE_LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n{lines}\r\n");
    let address = key.base().trim_start_matches("http://").to_owned();
    let mut unread = Vec::new();
    for _ in 0..times {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        unread.push(stream);
    }
    unread
}

/// How often the unsent bytes must be the same, one look after another, before they count as being at rest.
const LOOKS_AT_REST: usize = 10;

/// The unsent bytes, once no more answers are built. A single look could catch them on their way to a higher number.
async fn unsent_bytes_at_rest(stranger: &Client) -> usize {
    let (mut last, mut looks) = (0, 0);
    eventually("the unsent bytes come to rest", async || {
        let bytes = unsent_bytes(stranger).await;
        looks = if bytes == last && bytes > 0 { looks + 1 } else { 0 };
        last = bytes;
        (looks >= LOOKS_AT_REST).then_some(bytes)
    })
    .await
}

/// The bytes of answers that the service has not sent yet.
async fn unsent_bytes(stranger: &Client) -> usize {
    let metrics = stranger.get("/metrics").await.text;
    let value = metrics.lines().find_map(|line| line.strip_prefix("carrel_unsent_answer_bytes "));
    value.map_or(0.0, |value| value.trim().parse::<f64>().unwrap()) as usize
}

#[actix_web::test]
async fn unread_answers_of_an_account_take_bounded_memory() {
    const READERS: usize = 40;
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let (key, stranger) = (running.holder(&id, &secret), running.stranger());
    fill(&key).await;

    let unread = ask_unread(&key, READERS).await;

    let unsent = unsent_bytes_at_rest(&stranger).await;
    assert!((MAX_UNSENT_BYTES..=MAX_COUNTED_BYTES).contains(&unsent), "{unsent}");
    key.get("/rest/v2/usage").await.data(200);

    drop(unread);
    eventually("their memory is released", async || (unsent_bytes(&stranger).await == 0).then_some(())).await;
    key.get(LARGE_LIST).await.data(200);
}

#[actix_web::test]
async fn compressed_answers_count_by_their_compressed_bytes() {
    // Few enough that even uncompressed answers would not exceed the bound of an account.
    const READERS: usize = 10;
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let running = Program::start(&home, "data").await;
    let (key, stranger) = (running.holder(&id, &secret), running.stranger());
    fill_with_random_text(&key).await;

    let mut unread = ask_unread_with(&key, READERS, "Accept-Encoding: gzip\r\n").await;

    for stream in &mut unread {
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let unsent = unsent_bytes_at_rest(&stranger).await;
    assert!(unsent < READERS * LIST_BYTES * 3 / 4, "{unsent}");
}

#[actix_web::test]
async fn refused_requests_do_not_wait_for_turns() {
    const READERS: usize = 20;
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let make_key = |options: &[&str]| {
        let create = ["key", "create", "--user", program::EMAIL, "--kind", "rest", "--name", "other"];
        program::run(&home, &[&create[..], options].concat(), "")
    };
    let writing = make_key(&["--scope", Scope::WriteCollections.name()]);
    let seldom = make_key(&["--scope", Scope::ReadCollections.name(), "--hourly-limit", "1"]);
    let running = Program::start(&home, "data").await;
    let (key, stranger) = (running.holder(&id, &secret), running.stranger());
    let holder =
        |made: &Value| running.holder(made["id"].as_str().unwrap(), made["secret"].as_str().unwrap());
    let (writing, seldom) = (holder(&writing), holder(&seldom));
    fill(&key).await;
    seldom.get("/rest/v2/usage").await.data(200);
    let _unread = ask_unread(&key, READERS).await;
    eventually("the account has no more turns", async || {
        (unsent_bytes(&stranger).await >= MAX_UNSENT_BYTES).then_some(())
    })
    .await;

    let without_scope = writing.get(LARGE_LIST).await;
    let over_the_limit = seldom.get(LARGE_LIST).await;

    // If they waited for a turn, they would get 503.
    assert_eq!(without_scope.refused(403), "SCOPE_REQUIRED");
    assert_eq!(over_the_limit.refused(429), "RATE_LIMITED");
}

#[actix_web::test]
async fn large_lists_of_one_account_leave_others_served() {
    const LISTS: usize = 60;
    let home = Home::new().await;
    let (id, secret) = program::make_account(&home);
    let (other_id, other_secret) = program::make_account_of(&home, "other@reader.example");
    let running = Program::start(&home, "data").await;
    let (greedy, other) = (running.holder(&id, &secret), running.holder(&other_id, &other_secret));
    let stranger = running.stranger();
    fill(&greedy).await;
    let bookmark = other.save_text("https://example.org/a", "A heron in the reeds.").await;
    other.once(&bookmark, "ready").await;

    let unread = ask_unread(&greedy, LISTS / 2).await;
    let read = join_all((0..LISTS / 2).map(|_| greedy.get(LARGE_LIST)));
    let of_other = async {
        for _ in 0..5 {
            other.get("/rest/v1/bookmarks?limit=1").await.data(200);
            assert!(!other.search("heron").await.is_empty());
            let held = unsent_bytes(&stranger).await;
            assert!(held <= MAX_COUNTED_BYTES, "{held}");
        }
        drop(unread);
    };
    let (read, ()) = join(read, of_other).await;

    for answer in read {
        // Those behind the unread ones may have waited too long.
        assert!(answer.status == 200 || answer.refused(503) == "OVERLOADED", "{}", answer.status);
    }
    eventually("all answers are sent", async || (unsent_bytes(&stranger).await == 0).then_some(())).await;
}
