//! The page of a search, over HTTP.

use actors::ai;
use values::plan::Plan;

use crate::support::{Client, EmbeddingEndpoint, EmbeddingReply, Key, Server, eventually};

async fn save(key: &Key, url: &str, text: &str) -> String {
    let saved = key.save_text(url, text).await;
    key.wait_for(&saved, "ready").await["documentId"].as_str().unwrap().to_owned()
}

/// Waits until a search page shows a passage.
async fn wait_for_hit(session: &Client, path: &str) -> String {
    eventually("a passage is on the page", async || {
        let page = session.get(path).await;
        assert_eq!(page.status, 200, "{}", page.text);
        page.text.contains("class=\"passage\"").then_some(page.text)
    })
    .await
}

#[actix_web::test]
async fn search_page_links_to_the_paragraph_and_marks_words() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let text = "The harbour has a card.\n\nThe quagga <b>of</b> Artis died in 1883.";
    let document = save(&key, "https://example.org/quagga", text).await;

    let page = wait_for_hit(&session, "/search?q=quagga").await;

    assert!(page.contains(&format!("/read/{document}?at=")), "{page}");
    assert!(page.contains("<mark>quagga</mark>") && !page.contains("<b>of</b>"), "{page}");
    assert!(page.contains("1 passage in 1 document"), "{page}");
}

#[actix_web::test]
async fn search_without_a_result_shows_what_is_near() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    save(&key, "https://example.org/quagga", "The quagga of Artis died in 1883.").await;
    wait_for_hit(&session, "/search?q=quagga").await;

    let filtered = session.get("/search?q=quagga&type=pdf").await.text;
    let exact = session.get("/search?q=quagga+ropeway&mode=exact").await.text;

    for page in [filtered, exact] {
        assert!(page.contains("Nothing found for") && page.contains("Close matches"), "{page}");
        assert!(page.contains(">quagga</"), "{page}");
    }
}

#[actix_web::test]
async fn search_page_says_until_when_only_words_are_matched() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    save(&user.full_key().await, "https://example.org/quagga", "The quagga died.").await;
    wait_for_hit(&session, "/search?q=quagga").await;
    let ctx = server.context();
    ai::pause(&ctx.core.db, ctx.core.clock.now()).await.unwrap();
    ctx.retrieval.engine().refresh_pause(&ctx.core.db).await.unwrap();

    let page = session.get("/search?q=quagga").await.text;

    assert!(page.contains("class=\"passage\"") && page.contains("Text matching only."), "{page}");
    assert!(page.contains("AI search is paused until 7 May, 00:00"), "{page}");
    let asked = session.get("/ask").await.text;
    assert!(asked.contains("AI is paused.") && asked.contains("again from 7 May, 00:00"), "{asked}");
}

#[actix_web::test]
async fn search_page_says_that_search_by_meaning_is_missing() {
    let endpoint = EmbeddingEndpoint::start(EmbeddingReply::Refusal(401, "{}")).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    save(&user.full_key().await, "https://example.org/quagga", "The quagga died.").await;

    let page = wait_for_hit(&session, "/search?q=quagga").await;

    assert!(page.contains("Text matching only."), "{page}");
    assert!(page.contains("Search by meaning is not available at the moment"), "{page}");
    assert!(!page.contains("AI search is paused"), "{page}");
}

#[actix_web::test]
async fn search_page_explains_faults_and_finds_nothing_of_others() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let session = owner.sign_in().await;
    save(&owner.full_key().await, "https://example.org/quagga", "The quagga died.").await;
    wait_for_hit(&session, "/search?q=quagga").await;

    let fault = session.get("/search?q=quagga+is%3Ablue").await;
    assert!(fault.status == 200 && fault.text.contains("is:blue"), "{}", fault.text);
    let foreign = other.sign_in().await.get("/search?q=quagga").await;
    assert!(foreign.text.contains("Nothing found for"), "{}", foreign.text);
    let empty = session.get("/search").await;
    assert!(empty.status == 200 && !empty.text.contains("class=\"passage\""), "{}", empty.text);
    assert_eq!(server.anonymous().get("/search?q=quagga").await.status, 303);
}
