//! User content and secrets are in no log at any level, in no metric and in no bookkeeping table; purged content is in no file
//! (rows L1, L4).

use std::time::Duration;

use sea_orm::{ConnectionTrait, Database, DatabaseConnection, DbBackend, Statement};
use serde_json::json;
use uuid::Uuid;
use values::plan::Plan;

use crate::support::{
    ChatEndpoint, ChatReply, Client, Home, Key, McpClient, Program, Reply, Server, Site, eventually, files,
    holds, program,
};

/// Tables without content that users read, write or ask.
const BOOKKEEPING: [&str; 24] = [
    "account_count",
    "activity",
    "ai_day",
    "answer_claim",
    "api_key",
    "collection_count",
    "export",
    "feed_count",
    "job",
    "library_usage",
    "notice",
    "oauth_client",
    "oauth_code",
    "oauth_consent",
    "oauth_grant",
    "oauth_sign_in",
    "oauth_token",
    "project_count",
    "service_state",
    "session",
    "stored_file",
    "usage_day",
    "usage_month",
    "user",
];

/// Paths to which a word is appended that must not be stored.
const REQUEST_PREFIXES: [&str; 21] = [
    "/rest/v2/search?q=",
    "/rest/v2/search?limit=99&q=",
    "/rest/v2/search?q=x&surprise=",
    "/rest/v2/search?q=x&collectionId=",
    "/rest/v2/search?q=x&tag=",
    "/rest/v2/documents/",
    "/rest/v2/projects?cursor=",
    "/rest/v2/uploads/",
    "/rest/v2/",
    "/rest/v2/usage?api_key=",
    "/rest/v1/bookmarks?q=",
    "/rest/v1/bookmarks?tag=",
    "/rest/v1/bookmarks?sort=",
    "/rest/v1/bookmarks/exists?url=https://example.org/?session=",
    "/rest/v1/tags/",
    "/app/api/",
    "/read/",
    "/files/",
    "/oauth/authorize?client_id=",
    "/oauth/authorize?state=",
    "/",
];

/// Paths and bodies with a word that must not be stored.
const REQUEST_BODIES: [(&str, &str); 8] = [
    ("/rest/v2/ask", "{\"question\": \"WORD"),
    ("/rest/v2/ask", "{\"question\": \"\", \"WORD\": 1}"),
    ("/rest/v1/bookmarks", "{\"url\": \"ftp://WORD.example/\"}"),
    ("/rest/v1/bookmarks", "{\"url\": \"http://10.0.0.1/?WORD\"}"),
    ("/rest/v1/bookmarks/batch", "{\"operations\": [{\"op\": \"WORD\"}]}"),
    ("/oauth/register", "{\"redirect_uris\": [\"WORD\"]}"),
    ("/oauth/token", "WORD"),
    ("/mcp", "{\"WORD\""),
];

/// The stem of words in requests that store nothing.
const DISCARDED_STEM: &str = "askedcanary";
/// The stem of words that are stored as user content.
const STORED_STEM: &str = "keptcanary";

/// A word that must not be stored.
fn discarded_word() -> String {
    unique_word(DISCARDED_STEM)
}

/// A word of user content.
fn stored_word() -> String {
    unique_word(STORED_STEM)
}

/// A unique word, because names and URLs must differ. Only the stem is searched for, which finds all words at once.
fn unique_word(stem: &str) -> String {
    format!("{stem}{}", Uuid::now_v7().simple())
}

/// Creates an MCP client with all scopes of MCP.
async fn create_assistant(browser: &Client, anonymous: &Client) -> McpClient {
    let scopes = ["mcp", "read:library", "read:projects", "write:projects", "write:bookmarks", "write:notes"];
    let created =
        browser.post("/app/api/keys", json!({ "name": "A", "kind": "mcp", "scopes": scopes })).await;
    McpClient::new(anonymous.clone().with_key(created.data(201)["secret"].as_str().unwrap()))
}

/// Sends valid and invalid requests with words that must not be stored.
async fn send_discarded_words(key: &Key, anonymous: &Client, assistant: &McpClient) {
    for path in REQUEST_PREFIXES {
        let answer = key.get(&format!("{path}{}", discarded_word())).await;
        assert!(answer.status < 500, "{path}: {}", answer.text);
    }
    for (path, body) in REQUEST_BODIES {
        let answer = key.post_text(path, &body.replace("WORD", &discarded_word())).await;
        assert!(answer.status < 500, "{path}: {}", answer.text);
    }
    for name in ["x-request-id", "referer", "x-forwarded-host", "x-forwarded-for", "cookie"] {
        Client::clone(key).with(name, &discarded_word()).get("/rest/v2/usage").await.data(200);
    }
    let wrong =
        json!({ "email": format!("{}@reader.example", discarded_word()), "password": discarded_word() });
    assert_eq!(anonymous.post("/app/api/session", wrong).await.status, 401);
    assistant.call("search_library", json!({ "query": discarded_word() })).await.unwrap();
    for (tool, argument) in
        [("search_library", "limit"), ("get_document", "documentId"), ("add_bookmark", "url")]
    {
        assistant.call(tool, json!({ argument: discarded_word() })).await.unwrap_err();
    }
    assert_eq!(assistant.send(&discarded_word(), json!({})).await.status, 200);
    let unknown = json!({ "name": discarded_word(), "arguments": {} });
    assert!(assistant.send("tools/call", unknown).await.body["error"].is_object());
    // The model refuses the first question and answers the second.
    for status in [503, 200] {
        let question = format!("Where do herons stand, {}?", discarded_word());
        let answer = key.post("/rest/v2/ask", json!({ "question": question })).await;
        assert_eq!(answer.status, status, "{}", answer.text);
    }
}

/// Stores words as content of every kind.
async fn store_words(key: &Key, browser: &Client, assistant: &McpClient) {
    let saved = key
        .save(json!({
            "url": format!("https://example.org/herons?session={}", stored_word()),
            "title": stored_word(),
            "text": format!("Herons stand in the reeds, {}.", stored_word()),
            "tags": [stored_word()],
            "notes": stored_word(),
        }))
        .await;
    key.wait_for(&saved, "ready").await;
    let bookmark = saved["bookmarkId"].as_str().unwrap();
    let highlight = json!({ "text": "Herons", "note": stored_word(), "startOffset": 0, "endOffset": 6 });
    key.post(&format!("/rest/v1/bookmarks/{bookmark}/highlights"), highlight).await.data(201);
    let shelf = json!({ "name": stored_word(), "description": stored_word() });
    key.post("/rest/v1/collections", shelf).await.data(201);
    let project =
        json!({ "name": stored_word(), "description": stored_word(), "instructions": stored_word() });
    let project = browser.post("/app/api/projects", project).await.data(201)["project"].clone();
    let project = project["id"].as_str().unwrap();
    let note = json!({ "title": stored_word(), "bodyMd": stored_word() });
    key.post(&format!("/rest/v2/projects/{project}/notes"), note).await.data(201);
    let decision = json!({ "title": stored_word(), "body": stored_word() });
    browser.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
    let note = json!({ "bookmarkId": bookmark, "body": stored_word() });
    assistant.call("create_note", note).await.unwrap();
    let document = saved["documentId"].as_str().unwrap();
    for path in [
        format!("/rest/v2/documents/{document}"),
        format!("/rest/v2/documents/{document}/chunks"),
        format!("/rest/v2/projects/{project}/context?q=herons"),
        "/rest/v2/search?q=herons".to_owned(),
        "/rest/v1/bookmarks".to_owned(),
        "/rest/v1/tags".to_owned(),
    ] {
        key.get(&path).await.data(200);
    }
}

/// Makes jobs fail on content of every kind.
async fn fail_jobs(key: &Key, site: &Site) {
    let away = vec![("location", format!("http://10.0.0.1/?{}", stored_word()))];
    let deep = format!("{}{}", "<div>".repeat(1_000), stored_word());
    let broken = format!("%PDF-1.7 {}", stored_word()).into_bytes();
    for (path, reply) in [
        ("/gone", Reply::Status(404)),
        ("/away", Reply::Plain { status: 302, headers: away, body: String::new() }),
        ("/deep", Reply::Html(deep)),
        ("/broken.pdf", Reply::File("application/pdf", broken.clone())),
    ] {
        let url = format!("{}?token={}", site.page(path, [reply]), stored_word());
        let saved = key.save(json!({ "url": url })).await;
        key.wait_for(&saved, "failed").await;
    }
    let name = format!("{}.pdf", stored_word());
    let file = json!({ "filename": name, "contentType": "application/pdf", "bytes": broken.len() });
    let ticket = key.post("/rest/v2/uploads", file).await.data(201).clone();
    assert_eq!(crate::ingest::uploads::put(&ticket, &broken).await, 200);
    crate::ingest::uploads::complete(key, &ticket).await.data(202);
    eventually("the upload failed", async || {
        let shown = key.get(&crate::ingest::uploads::path(&ticket)).await.data(200).clone();
        (shown["status"] == "failed").then_some(())
    })
    .await;
}

/// Covers the threat table (row L1).
#[actix_web::test]
async fn user_content_is_in_no_log_metric_or_bookkeeping_table() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let model = ChatEndpoint::start([
        ChatReply::Status(401, "0"),
        ChatReply::Text("\"Herons stand in the reeds\" [1].", 5),
    ])
    .await;
    let [url, name, word] = model.settings();
    let running = Program::start_with(&home, "data", &[("LOG__LEVEL", "trace"), url, name, word]).await;
    let (anonymous, key, site) =
        (running.anonymous(), running.client_with_key(&id, &secret), Site::start().await);
    let browser = anonymous.sign_in(program::EMAIL, program::PASSWORD).await;
    let assistant = create_assistant(&browser, &anonymous).await;
    let secrets = [
        secret,
        assistant.client.header("authorization").replace("Bearer ", ""),
        browser.header("cookie").split_once('=').unwrap().1.to_owned(),
        program::PASSWORD.to_owned(),
        word.1.to_owned(),
        // The URL of PostgreSQL contains a password.
        home.database_url(),
    ];

    store_words(&key, &browser, &assistant).await;
    fail_jobs(&key, &site).await;
    send_discarded_words(&key, &anonymous, &assistant).await;
    let metrics = anonymous.get("/metrics").await.text;
    assert!(running.terminate().await.success());

    let log = std::fs::read_to_string(home.path("data.log")).unwrap();
    assert!(log.contains("DEBUG") && log.contains("an attempt of a job failed"), "{log}");
    let rows = Database::connect(home.database_url()).await.unwrap();
    let mut outputs = vec![("log", log), ("metrics", metrics)];
    for table in BOOKKEEPING {
        outputs.push((table, rows_as_text(&rows, table).await));
    }
    rows.close().await.unwrap();
    let jobs = &outputs.iter().find(|(name, _)| *name == "job").unwrap().1;
    assert!(jobs.contains("404") && jobs.contains("URL_REJECTED"), "{jobs}");
    for (name, text) in &outputs {
        for word in [DISCARDED_STEM, STORED_STEM] {
            assert_eq!(text.lines().find(|line| line.contains(word)), None, "{name}");
        }
        for secret in &secrets {
            assert!(!text.contains(secret), "{name}: {secret}");
        }
    }
    for (file, bytes) in read_files(&home) {
        assert!(!holds(&bytes, DISCARDED_STEM), "{file}");
    }
}

/// Covers the threat table (row L4).
#[actix_web::test]
async fn content_of_a_purged_bookmark_is_in_no_file() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let text = format!("They stand in the water, {}. ", stored_word()).repeat(50);
    let saved = key
        .save(json!({
            "url": format!("https://example.org/{}", stored_word()),
            "title": stored_word(),
            "html": format!("<article><p>{text}</p></article>"),
            "tags": [stored_word()],
            "notes": stored_word(),
        }))
        .await;
    key.wait_for(&saved, "ready").await;
    let path = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    let highlight = json!({ "text": "They", "note": stored_word(), "startOffset": 0, "endOffset": 4 });
    key.post(&format!("{path}/highlights"), highlight).await.data(201);

    key.delete(&path).await.data(200);
    server.clock.advance(Duration::from_secs(31 * 86_400));
    let (home, clock) = server.stop().await;
    let server = Server::start_in(home, clock, &[]).await;

    let rows = Database::connect(server.database_url()).await.unwrap();
    for table in ["bookmark", "document", "chunk", "rendition"] {
        eventually("the rows of the bookmark are purged", async || {
            rows_as_text(&rows, table).await.is_empty().then_some(())
        })
        .await;
    }
    rows.close().await.unwrap();
    let (home, _) = server.stop().await;
    for (file, bytes) in read_files(&home) {
        assert!(!holds(&bytes, STORED_STEM), "{file}");
    }
}

/// Every file of a home: name and content.
fn read_files(home: &Home) -> impl Iterator<Item = (String, Vec<u8>)> {
    files(home.folder()).into_iter().map(|file| (file.display().to_string(), std::fs::read(file).unwrap()))
}

/// The rows of a table as text.
async fn rows_as_text(rows: &DatabaseConnection, table: &str) -> String {
    let row = if rows.get_database_backend() == DbBackend::Sqlite {
        let columns = "SELECT group_concat('quote(\"' || name || '\")', ' || ') FROM pragma_table_info";
        query_texts(rows, format!("{columns}('{table}')")).await.concat()
    } else {
        "t::text".to_owned()
    };
    query_texts(rows, format!("SELECT {row} FROM \"{table}\" t")).await.join("\n")
}

async fn query_texts(rows: &DatabaseConnection, statement: String) -> Vec<String> {
    let statement = Statement::from_string(rows.get_database_backend(), statement);
    let found = rows.query_all_raw(statement).await.unwrap();
    found.iter().map(|row| row.try_get_by_index::<String>(0).unwrap()).collect()
}
