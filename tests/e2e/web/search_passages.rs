//! The search of the web app: passages by document, with their positions.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Key, Server, eventually};

const TEXT: &str = "The harbour has a card.\n\nNobody reads it in winter.\n\nThe quagga of Artis died on the twelfth of August 1883. \
                    It was the last of its kind.";

async fn save(key: &Key, url: &str, text: &str) -> Value {
    let saved = key.save_text(url, text).await;
    key.wait_for(&saved, "ready").await
}

async fn search(session: &Client, query: &str) -> Value {
    eventually("a passage is found", async || {
        let found = session.get(&format!("/app/api/search?{query}")).await.data(200).clone();
        (found["passageCount"] != 0).then_some(found)
    })
    .await
}

#[actix_web::test]
async fn passage_has_offsets_paragraph_and_marked_words() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let saved = save(&key, "https://example.org/quagga", TEXT).await;

    let found = search(&session, "q=quagga").await;

    let document = &found["documents"][0];
    assert_eq!(document["documentId"], saved["documentId"]);
    let passage = &document["passages"][0];
    let text: Vec<char> = TEXT.chars().collect();
    let offset = |name: &str| usize::try_from(passage["position"][name].as_u64().unwrap()).unwrap();
    let words: String = text[offset("start")..offset("end")].iter().collect();
    let snippet = passage["snippet"].as_str().unwrap();
    let collapsed = words.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(collapsed, snippet.trim_matches('…'));
    assert_eq!(
        passage["position"]["paragraph"],
        1 + text[..offset("start")].iter().filter(|c| **c == '\n').count() / 2
    );
    let shown: Vec<char> = snippet.chars().collect();
    let marked = &passage["matches"][0];
    let bound = |name: &str| usize::try_from(marked[name].as_u64().unwrap()).unwrap();
    assert_eq!(shown[bound("start")..bound("end")].iter().collect::<String>(), "quagga");
}

#[actix_web::test]
async fn later_paragraph_of_a_long_text_is_numbered() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let filler = |n: usize| {
        format!("Paragraph {n} tells of ropes and of the weather at the quay, {}.", "as ever ".repeat(40))
    };
    let paragraphs: Vec<String> = (1..=40).map(filler).collect();
    let text = format!("{}\n\nThe quagga came last.", paragraphs.join("\n\n"));
    save(&key, "https://example.org/long", &text).await;

    let found = search(&session, "q=quagga").await;

    let passage = &found["documents"][0]["passages"][0];
    let start = usize::try_from(passage["position"]["start"].as_u64().unwrap()).unwrap();
    let before: String = text.chars().take(start).collect();
    assert_eq!(passage["position"]["paragraph"], before.matches("\n\n").count() + 1);
}

#[actix_web::test]
async fn exact_mode_finds_only_all_words_as_written() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    save(&key, "https://example.org/one", "The herons fly over the harbour.").await;
    let both = save(&key, "https://example.org/two", "A heron stands at the staff of the harbour.").await;
    search(&session, "q=harbour").await;

    let found = search(&session, "q=heron+harbour&mode=exact").await;

    let ids: Vec<&Value> =
        found["documents"].as_array().unwrap().iter().map(|document| &document["documentId"]).collect();
    assert_eq!(ids, [&both["documentId"]]);
    let refused = session.get("/app/api/search?q=heron&mode=loose").await;
    assert_eq!((refused.error_code(400), refused.faults()), ("VALIDATION_FAILED", vec!["mode"]));
}

#[actix_web::test]
async fn passages_of_other_users_are_not_found() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    save(&owner.full_key().await, "https://example.org/quagga", TEXT).await;
    search(&owner.sign_in().await, "q=quagga").await;

    let found = other.sign_in().await.get("/app/api/search?q=quagga").await.data(200).clone();

    assert_eq!(found["documents"], json!([]));
}
