//! Many large responses for one account at the same time: they use bounded memory, and other accounts are served.

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use uuid::Uuid;
use values::scope::Scope;

use crate::support::{Client, Home, Key, Program, eventually, program};

const LARGE_LIST: &str = "/rest/v1/collections?limit=100";
const COLLECTIONS: usize = 30;
const COLLECTION_BYTES: usize = 96_000;
/// Slightly more than the size of [`LARGE_LIST`].
const LIST_BYTES: usize = COLLECTIONS * (COLLECTION_BYTES + 1000);
/// The unsent bytes at which an account gets no more turns, and the number of responses that are built at the same time.
const MAX_UNSENT_BYTES: usize = 32 << 20;
const MAX_BUILDING: usize = 4;
const MAX_COUNTED_BYTES: usize = MAX_UNSENT_BYTES + MAX_BUILDING * LIST_BYTES;

/// Fills [`LARGE_LIST`] of this account.
async fn fill_list(key: &Key) {
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

/// Requests [`LARGE_LIST`] repeatedly, each time on a new connection, and reads no response.
async fn request_unread(key: &Key, times: usize) -> Vec<TcpStream> {
    request_unread_with(key, times, "").await
}

/// Does the same as [`request_unread`] with these additional header lines.
async fn request_unread_with(key: &Key, times: usize, lines: &str) -> Vec<TcpStream> {
    let authorization = key.header("authorization");
    let request =
        format!("GET {LARGE_LIST} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n{lines}\r\n");
    let address = key.base_url().trim_start_matches("http://").to_owned();
    let mut unread = Vec::new();
    for _ in 0..times {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        unread.push(stream);
    }
    unread
}

/// Consecutive reads that must return the same number of unsent bytes before the number counts as stable.
const STABLE_READS: usize = 10;

/// Returns the unsent bytes once no more responses are built. A single read could return a number that still grows.
async fn wait_for_stable_unsent_bytes(anonymous: &Client) -> usize {
    let (mut last, mut equal_reads) = (0, 0);
    eventually("the number of unsent bytes is stable", async || {
        let bytes = read_unsent_bytes(anonymous).await;
        equal_reads = if bytes == last && bytes > 0 { equal_reads + 1 } else { 0 };
        last = bytes;
        (equal_reads >= STABLE_READS).then_some(bytes)
    })
    .await
}

/// The bytes of responses that the server has not sent yet.
async fn read_unsent_bytes(anonymous: &Client) -> usize {
    let metrics = anonymous.get("/metrics").await.text;
    let value = metrics.lines().find_map(|line| line.strip_prefix("carrel_unsent_response_bytes "));
    value.map_or(0.0, |value| value.trim().parse::<f64>().unwrap()) as usize
}

#[actix_web::test]
async fn unread_responses_of_an_account_take_bounded_memory() {
    const READERS: usize = 40;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let (key, anonymous) = (running.client_with_key(&id, &secret), running.anonymous());
    fill_list(&key).await;

    let unread = request_unread(&key, READERS).await;

    let unsent = wait_for_stable_unsent_bytes(&anonymous).await;
    assert!((MAX_UNSENT_BYTES..=MAX_COUNTED_BYTES).contains(&unsent), "{unsent}");
    key.get("/rest/v2/usage").await.data(200);

    drop(unread);
    eventually("their memory is released", async || (read_unsent_bytes(&anonymous).await == 0).then_some(()))
        .await;
    key.get(LARGE_LIST).await.data(200);
}

#[actix_web::test]
async fn compressed_responses_count_by_compressed_bytes() {
    // Few enough that even uncompressed responses would not exceed the bound of an account.
    const READERS: usize = 10;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let (key, anonymous) = (running.client_with_key(&id, &secret), running.anonymous());
    fill_with_random_text(&key).await;

    let mut unread = request_unread_with(&key, READERS, "Accept-Encoding: gzip\r\n").await;

    for stream in &mut unread {
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
    }
    let unsent = wait_for_stable_unsent_bytes(&anonymous).await;
    assert!(unsent < READERS * LIST_BYTES * 3 / 4, "{unsent}");
}

#[actix_web::test]
async fn refused_requests_do_not_wait_for_a_turn() {
    const READERS: usize = 20;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let make_key = |options: &[&str]| {
        let create = ["key", "create", "--user", program::EMAIL, "--kind", "rest", "--name", "other"];
        program::run_command(&home, &[&create[..], options].concat(), "")
    };
    let writing = make_key(&["--scope", Scope::WriteCollections.name()]);
    let seldom = make_key(&["--scope", Scope::ReadCollections.name(), "--hourly-limit", "1"]);
    let running = Program::start(&home, "data").await;
    let (key, anonymous) = (running.client_with_key(&id, &secret), running.anonymous());
    let holder = |created: &Value| {
        running.client_with_key(created["id"].as_str().unwrap(), created["secret"].as_str().unwrap())
    };
    let (writing, seldom) = (holder(&writing), holder(&seldom));
    fill_list(&key).await;
    seldom.get("/rest/v2/usage").await.data(200);
    let _unread = request_unread(&key, READERS).await;
    eventually("the account has no slot left", async || {
        (read_unsent_bytes(&anonymous).await >= MAX_UNSENT_BYTES).then_some(())
    })
    .await;

    let without_scope = writing.get(LARGE_LIST).await;
    let over_the_limit = seldom.get(LARGE_LIST).await;

    // If they waited for a slot of the account, they would get 503.
    assert_eq!(without_scope.error_code(403), "SCOPE_REQUIRED");
    assert_eq!(over_the_limit.error_code(429), "RATE_LIMITED");
}

#[actix_web::test]
async fn large_lists_of_one_account_leave_others_served() {
    const LISTS: usize = 60;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let (other_id, other_secret) = program::create_account_with_email(&home, "other@reader.example");
    let running = Program::start(&home, "data").await;
    let (greedy, other) =
        (running.client_with_key(&id, &secret), running.client_with_key(&other_id, &other_secret));
    let anonymous = running.anonymous();
    fill_list(&greedy).await;
    let bookmark = other.save_text("https://example.org/a", "A heron in the reeds.").await;
    other.wait_for(&bookmark, "ready").await;

    let unread = request_unread(&greedy, LISTS / 2).await;
    let read = join_all((0..LISTS / 2).map(|_| greedy.get(LARGE_LIST)));
    let of_other = async {
        for _ in 0..5 {
            other.get("/rest/v1/bookmarks?limit=1").await.data(200);
            assert!(!other.search("heron").await.is_empty());
            let held = read_unsent_bytes(&anonymous).await;
            assert!(held <= MAX_COUNTED_BYTES, "{held}");
        }
        drop(unread);
    };
    let (read, ()) = join(read, of_other).await;

    for response in read {
        // Requests behind the unread ones may have waited too long.
        assert!(response.status == 200 || response.error_code(503) == "OVERLOADED", "{}", response.status);
    }
    eventually("all responses are sent", async || (read_unsent_bytes(&anonymous).await == 0).then_some(()))
        .await;
}
