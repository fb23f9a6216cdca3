//! Pages and chunks of a document: they join to its text.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Key, Server, eventually};

/// A text of several chunks with combining marks and signs of several characters throughout.
fn long_text() -> String {
    let paragraph = |n: usize| {
        format!(
            "Paragraph {n} speaks of the café at the river, of crème brûlée and of 鷺 that stand in the water. \
             A family 👩‍👩‍👧‍👦 came by with 🇩🇪 flags, e\u{301}\u{323} and naïve questions; nobody answered them.\n\n"
        )
        .nfc()
    };
    (0..260).map(paragraph).collect()
}

trait Nfc {
    fn nfc(self) -> String;
}

impl Nfc for String {
    /// The text as it is stored (contract.md, section 11).
    fn nfc(self) -> String {
        text::clean(&self)
    }
}

async fn save_text(key: &Key, text: &str) -> String {
    let saved = key.save_text("https://example.org/long", text).await;
    key.wait_for(&saved, "ready").await;
    saved["documentId"].as_str().unwrap().to_owned()
}

async fn read_page(key: &Key, document: &str, offset: usize, max_chars: usize) -> Value {
    let path = format!("/rest/v2/documents/{document}?offset={offset}&maxChars={max_chars}");
    key.get(&path).await.data(200).clone()
}

async fn read_chunks(key: &Key, document: &str) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), String::new());
    loop {
        let answer = key.get(&format!("/rest/v2/documents/{document}/chunks?limit=7{cursor}")).await;
        let data = answer.data(200);
        all.extend(data["chunks"].as_array().unwrap().iter().cloned());
        let Some(next) = data["nextCursor"].as_str() else { return all };
        cursor = format!("&cursor={next}");
    }
}

#[actix_web::test]
async fn pages_of_any_length_join_to_the_text() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let text = long_text();
    let document = save_text(&key, &text).await;

    for max_chars in [20_000, 12_000, 4_999, 1_003] {
        let (mut read, mut offset) = (String::new(), Some(0));
        while let Some(at) = offset {
            let page = read_page(&key, &document, at, max_chars).await;
            read.push_str(page["text"].as_str().unwrap());
            assert_eq!(page["totalChars"], text.chars().count());
            assert_eq!(page["truncated"], page["nextOffset"].is_number());
            offset = page["nextOffset"].as_u64().map(|next| usize::try_from(next).unwrap());
        }
        assert!(read == text, "pages of {max_chars} characters do not join to the text");
    }
}

#[actix_web::test]
async fn chunks_join_to_the_text_and_state_their_offsets() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let text = long_text();
    let document = save_text(&key, &text).await;

    let chunks = read_chunks(&key, &document).await;

    assert!(chunks.len() > 10);
    let joined: String = chunks.iter().map(|chunk| chunk["text"].as_str().unwrap()).collect();
    assert!(joined == text);
    let mut end = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        assert_eq!((&chunk["index"], &chunk["startOffset"]), (&index.into(), &end.into()));
        end += chunk["text"].as_str().unwrap().chars().count();
        assert_eq!(chunk["endOffset"], end);
    }
}

#[actix_web::test]
async fn page_across_a_chunk_boundary_is_the_text_at_its_offset() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let text = long_text();
    let document = save_text(&key, &text).await;
    let chars: Vec<char> = text.chars().collect();

    for chunk in read_chunks(&key, &document).await.iter().skip(1).take(12) {
        let border = usize::try_from(chunk["startOffset"].as_u64().unwrap()).unwrap();
        for offset in [border - 3, border - 1, border] {
            let page = read_page(&key, &document, offset, 6).await;
            let read: Vec<char> = page["text"].as_str().unwrap().chars().collect();

            // Grapheme clusters are not split, so a page may be slightly longer or shorter.
            assert!(!read.is_empty());
            assert_eq!(read, chars[offset..offset + read.len()], "at {offset}");
            assert_eq!(page["nextOffset"], offset + read.len());
        }
    }
}

#[actix_web::test]
async fn page_beyond_the_end_is_empty_and_last() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let document = save_text(&key, "Short.").await;

    for offset in [6, 7, 1_000_000_000_000] {
        let page = read_page(&key, &document, offset, 100).await;
        assert_eq!(
            (&page["text"], &page["nextOffset"], &page["truncated"]),
            (&"".into(), &Value::Null, &false.into())
        );
    }
}

#[actix_web::test]
async fn page_read_again_has_current_tags_and_is_of_its_owner_alone() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, stranger) = (user.full_key().await, other.full_key().await);
    let saved = key.save_text("https://example.org/heron", "A heron \"fishes\".").await;
    key.wait_for(&saved, "ready").await;
    let document = saved["documentId"].as_str().unwrap();
    let path = format!("/rest/v2/documents/{document}");
    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    assert_eq!(read_page(&key, document, 0, 100).await["tags"], json!([]));

    key.patch(&bookmark, json!({ "tags": ["birds"] })).await.data(200);

    let page = read_page(&key, document, 0, 100).await;
    assert_eq!((&page["text"], &page["tags"]), (&json!("A heron \"fishes\"."), &json!(["birds"])));
    assert_eq!(read_page(&key, document, 0, 3).await["text"], "A h");
    stranger.get(&format!("{path}?offset=0&maxChars=100")).await.error_code(404);
    key.delete(&bookmark).await.data(200);
    key.get(&format!("{path}?offset=0&maxChars=100")).await.error_code(404);
}

#[actix_web::test]
async fn page_that_was_read_before_changes_with_its_text() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let project = create_project(&session, "P").await;
    let body = json!({ "title": "Birds", "bodyMd": "A heron in the reeds." });
    let created = key.post(&format!("/rest/v2/projects/{project}/notes"), body).await;
    let note = created.data(201)["note"].clone();
    let document = note["documentId"].as_str().unwrap();
    assert_eq!(read_page(&key, document, 0, 100).await["text"], "A heron in the reeds.");

    // As long as the former text.
    let path = format!("/app/api/notes/{}", note["noteId"].as_str().unwrap());
    session.patch(&path, json!({ "bodyMd": "A stork in the reeds." })).await.data(200);

    eventually("the new text", async || {
        (read_page(&key, document, 0, 100).await["text"] == "A stork in the reeds.").then_some(())
    })
    .await;
}
