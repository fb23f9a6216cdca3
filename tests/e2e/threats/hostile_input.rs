//! Malformed bodies, and texts with a special meaning for SQL, full-text search or paths (rows J1, D1, D2, U1).

use serde_json::{Value, json};
use values::plan::Plan;

use super::{HIGH_LIMITS, routes};
use crate::support::{Client, Home, NOON, Response, Server, files};

const JSON: &str = "application/json";

/// Bodies that are not a JSON object of known fields, or that hold an invalid text.
fn malformed_bodies() -> Vec<Vec<u8>> {
    let deep = |open: &str| open.repeat(100_000).into_bytes();
    let plain = [
        "[",
        "{",
        "}",
        "[]",
        "null",
        "true",
        "1",
        "\"url\"",
        "NaN",
        "[NaN]",
        "{\"url\": NaN}",
        "{\"url\": Infinity}",
        "{\"url\": -}",
        "{\"url\": 01}",
        "{\"url\": 1e400}",
        "{\"url\": .5}",
        "{\"url\": 0x1}",
        "{\"url\": \"\\ud800\"}",
        "{\"url\": \"\\udc00\\ud800\"}",
        "{\"url\": \"\\x41\"}",
        "{\"url\": \"\\u00\"}",
        "{\"url\": \"a\nb\"}",
        "{\"url\": \"a\",}",
        "{\"url\": \"a\" \"title\": \"b\"}",
        "{'url': 'a'}",
        "{url: \"a\"}",
        "{\"url\": \"a\"} x",
        "{\"url\": \"a\"}{\"url\": \"b\"}",
        "{\"surprise\": 1, \"surprise\": 2}",
        "{\"surprise\": {\"surprise\": 1}}",
        "/* a */ {}x",
        "\u{feff}[]",
        "{\"\": \"\"}",
        "{\"\\u0000\": 1}",
        "\0",
        "<xml/>",
        "url=a",
    ];
    let mut bodies: Vec<Vec<u8>> = plain.map(|body| body.as_bytes().to_vec()).into();
    bodies.extend([
        deep("["),
        deep("{\"url\":"),
        deep("[{\"url\":"),
        format!("{{\"url\": {}", "[".repeat(200)).into(),
    ]);
    bodies.push(format!("{{\"surprise\": \"{}\"}}", "x".repeat(1 << 20)).into());
    bodies.push(format!("{{{}\"surprise\": 1}}", "\"surprise\": 1, ".repeat(20_000)).into());
    bodies.push(format!("{{\"surprise\": {}}}", "9".repeat(100_000)).into());
    bodies.push(b"{\"url\": \"\xff\xfe\"}".to_vec());
    bodies.push(b"{\"url\": \"\xed\xa0\x80\"}".to_vec());
    bodies.push("{\"surprise\": 1}".encode_utf16().flat_map(u16::to_le_bytes).collect());
    bodies
}

/// Covers the threat table (row J1).
#[actix_web::test]
async fn malformed_bodies_get_400_on_every_route() {
    let server = Server::start_with(&HIGH_LIMITS).await;
    let bodies = malformed_bodies();

    for (client, routes) in routes(&server).await {
        // The library routes of the app are the REST routes with another credential.
        let posts = routes.iter().filter(|request| request.route.method.as_str() == "POST");
        for request in posts.filter(|request| !request.path.starts_with("/app/api/library/")) {
            for body in &bodies {
                let response = client.post_bytes(&request.path, JSON, body.clone()).await;
                assert_eq!(
                    response.error_code(400),
                    "VALIDATION_FAILED",
                    "{}: {}",
                    request.route.name(),
                    first_chars(body)
                );
            }
        }
    }
}

/// Covers the threat table (row J1).
#[actix_web::test]
async fn malformed_bodies_are_refused_without_a_key_too() {
    let settings = [("AUTH__FAILURES_PER_MINUTE", "100000"), ("ACCOUNTS__SIGNUP", "open")];
    let server = Server::start_with(&settings).await;
    let assistant = server.user(Plan::Pro).await.mcp_key().await;
    let anonymous = server.anonymous();

    for body in malformed_bodies() {
        for path in ["/app/api/session", "/app/api/setup", "/app/api/signup", "/oauth/register"] {
            let response = anonymous.post_bytes(path, JSON, body.clone()).await;
            assert!(
                [400, 413].contains(&response.status),
                "{path}: {}: {}",
                first_chars(&body),
                response.text
            );
        }
        let response = assistant.post_bytes("/mcp", JSON, body.clone()).await;
        assert_eq!(response.status, 400, "/mcp: {}: {}", first_chars(&body), response.text);
        assert!(response.body["error"]["code"].is_i64(), "{}", response.text);
    }
}

fn first_chars(body: &[u8]) -> String {
    String::from_utf8_lossy(body.get(..60).unwrap_or(body)).into_owned()
}

/// Texts with operators of a search, or that end an SQL statement and begin another.
fn special_texts() -> Vec<String> {
    let plain = [
        "\"",
        "\"\"",
        "\"a",
        "*",
        "a*",
        "*a*",
        "^heron",
        "heron^9",
        "NEAR(heron reeds)",
        "NEAR/5",
        "heron AND",
        "OR",
        "NOT heron",
        "AND OR NOT",
        "(heron",
        "heron)",
        "()",
        "title:heron",
        "-",
        "--",
        "-heron",
        "- -",
        "+heron",
        "heron~2",
        "[a TO z]",
        "{heron}",
        "/heron/",
        "(a+)+$",
        "\\",
        "\\\"",
        "%",
        "_",
        "%%%",
        "?",
        "$1",
        ":1",
        "@p",
        "'",
        "''",
        "' OR '1'='1",
        "' OR 1=1 --",
        "\" OR \"\"=\"",
        "1; DROP TABLE bookmark; --",
        "'; DELETE FROM bookmark; --",
        "') UNION SELECT secret_hash FROM api_key --",
        "x' AND (SELECT COUNT(*) FROM user) > 0 --",
        "1' AND SLEEP(5) --",
        "'; SELECT pg_sleep(5); --",
        "' || (SELECT password_hash FROM user) || '",
        "0x27206f7220313d31",
        "{{7*7}}",
        "${7*7}",
        "<script>alert(1)</script>",
        "../../etc/passwd",
        "%00",
        "\u{0}",
        "\u{202e}nored",
        "שלום عالم",
        "👩‍👩‍👧‍👦",
        "e\u{301}\u{323}",
        "ﷺ",
        "İi̇ıI",
        "\u{200b}\u{200d}",
        "\u{fffe}",
        "\t\r\n",
    ];
    let mut texts: Vec<String> = plain.map(str::to_owned).into();
    texts.extend([
        "a* ".repeat(166),
        "(".repeat(500),
        "\"a\" ".repeat(125),
        "-a ".repeat(166),
        "a".repeat(500),
    ]);
    texts
}

fn url_encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn list_urls(client: &Client) -> Vec<Value> {
    let listed = client.get("/rest/v1/bookmarks").await;
    listed.data(200)["bookmarks"].as_array().unwrap().iter().map(|saved| saved["url"].clone()).collect()
}

/// Asserts that the response has one of the expected statuses.
#[track_caller]
fn assert_status(response: &Response, statuses: &[u16], what: &str) {
    assert!(statuses.contains(&response.status), "{what}: {}", response.text);
}

/// Covers the threat table (rows D1, D2).
#[actix_web::test]
async fn operators_and_statements_in_parameters_are_only_text() {
    let server = Server::start_with(&HIGH_LIMITS).await;
    let user = server.user(Plan::Pro).await;
    let (key, browser) = (user.full_key().await, user.sign_in().await);
    let saved = key.save_text("https://example.org/herons", "Herons stand in the reeds.").await;
    key.wait_for(&saved, "ready").await;
    let project = crate::rest::projects::create_project(&browser, "Birds").await;
    let before = list_urls(&key).await;

    for text in special_texts() {
        let word = url_encode(&text);
        for (path, statuses) in [
            ("/rest/v2/search?q=", &[200, 400][..]),
            ("/rest/v2/search?q=herons&tag=", &[200, 400]),
            ("/rest/v2/search?q=herons&collectionId=", &[400]),
            ("/rest/v2/search?q=herons&source=", &[400]),
            ("/rest/v2/search?q=herons&contentType=", &[400]),
            ("/rest/v2/search?q=herons&savedBefore=", &[400]),
            ("/rest/v2/search?q=herons&projectId=", &[400]),
            ("/rest/v1/bookmarks?q=", &[200, 400]),
            ("/rest/v1/bookmarks?tag=", &[200, 400]),
            ("/rest/v1/bookmarks?sort=", &[400]),
            ("/rest/v1/bookmarks?cursor=", &[400]),
            ("/rest/v1/bookmarks?savedAfter=", &[400]),
            ("/rest/v1/bookmarks/exists?url=", &[400, 422]),
            ("/rest/v2/projects?cursor=", &[400]),
        ] {
            assert_status(&key.get(&format!("{path}{word}")).await, statuses, &format!("{path}{text:?}"));
        }
        let context = key.get(&format!("/rest/v2/projects/{project}/context?q={word}")).await;
        assert_status(&context, &[200, 400], &text);
        for path in ["/rest/v1/bookmarks/", "/rest/v2/documents/", "/rest/v2/uploads/"] {
            assert_status(&key.get(&format!("{path}{word}")).await, &[404], &format!("{path}{text:?}"));
        }
        let tag = key.delete(&format!("/rest/v1/tags/{word}")).await;
        assert_status(&tag, &[200, 400, 404], &text);
    }

    for text in ["' OR '1'='1", "' OR 1=1 --", "%%%", "x' OR url LIKE 'h"] {
        let found = key.get(&format!("/rest/v1/bookmarks?q={}", url_encode(text))).await;
        assert_eq!(found.data(200)["bookmarks"], json!([]), "{text}");
    }
    assert_eq!(list_urls(&key).await, before);
}

/// Covers the threat table (row U1).
#[actix_web::test]
async fn filename_of_an_upload_is_not_used_as_a_path() {
    let home = Home::new().await;
    let folder = home.path("files");
    let clock = std::sync::Arc::new(library::clock::TestClock::at(NOON));
    let server = Server::start_in(home, clock, &[("FILES__URL", &folder.display().to_string())]).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let announce = async |name: &str| {
        let file = json!({ "filename": name, "contentType": "application/pdf", "bytes": 9 });
        key.post("/rest/v2/uploads", file).await
    };

    let long = "a".repeat(4_096);
    for name in [
        "../../etc/passwd",
        "/etc/passwd",
        "C:\\Windows\\win.ini",
        "..\\..\\x",
        "a/../b.pdf",
        "..",
        ".",
        "a\0.pdf",
        "a\r\nb.pdf",
        "\u{1b}[2J",
        " ",
        &long,
    ] {
        let refused = announce(name).await;
        assert_eq!(
            (refused.error_code(400), refused.faults()),
            ("VALIDATION_FAILED", vec!["filename"]),
            "{name:?}"
        );
    }
    for name in
        [".htaccess", "C:x", "~root", "%2e%2e%2f", "a\u{202e}fdp.exe", "-rf", "CON", "x.pdf;ls", "$(id)"]
    {
        let ticket = announce(name).await.data(201).clone();
        assert_eq!(crate::ingest::uploads::put(&ticket, b"%PDF-1.7\n").await, 200, "{name}");
    }

    let stored = files(&folder);
    assert_eq!(stored.len(), 9);
    for file in stored {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(name.chars().all(|c| c.is_ascii_hexdigit() || c == '-'), "{name}");
    }
}
