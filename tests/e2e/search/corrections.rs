//! Misspelt words of a query.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Server, eventually};

const TEXTS: [(&str, &str); 3] = [
    ("hands", "Ignaz Semmelweis asked doctors to wash their hands."),
    ("mould", "Fleming found penicillin in a dish of mould."),
    ("dessert", "A crème brûlée has a crust of sugar."),
];

/// Saves a text, and returns its document once it is indexed.
async fn save(key: &Key, name: &str, text: &str) -> String {
    let saved = key.save_text(&format!("https://example.org/{name}"), text).await;
    key.wait_for(&saved, "ready").await;
    saved["documentId"].as_str().unwrap().to_owned()
}

/// Saves the texts, and returns their documents.
async fn save_texts(key: &Key) -> [String; 3] {
    let [hands, mould, dessert] = TEXTS;
    [
        save(key, hands.0, hands.1).await,
        save(key, mould.0, mould.1).await,
        save(key, dessert.0, dessert.1).await,
    ]
}

/// Returns the documents that a query finds, and the corrected query.
async fn search(key: &Key, query: &str) -> (Vec<String>, Value) {
    let encoded: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let answer = key.get(&format!("/rest/v2/search?q={encoded}")).await.data(200).clone();
    let results = answer["results"].as_array().unwrap();
    let documents = results.iter().map(|result| result["documentId"].as_str().unwrap().to_owned());
    (documents.collect(), answer["correctedQuery"].clone())
}

#[actix_web::test]
async fn misspelt_word_finds_its_neighbour() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let [hands, mould, dessert] = save_texts(&key).await;

    for (query, document, corrected) in [
        ("Semelweis", &hands, "Semmelweis"),
        ("penicilin", &mould, "penicillin"),
        ("penecilin?", &mould, "penicillin?"),
        ("Felming", &mould, "Fleming"),
        ("bruleee", &dessert, "brûlée"),
        ("\"penicilin fungi", &mould, "penicillin fungi"),
        ("what is penicilin", &mould, "what is penicillin"),
        ("penicilin -hands", &mould, "penicillin -hands"),
    ] {
        assert_eq!(search(&key, query).await, (vec![document.clone()], json!(corrected)), "{query}");
    }
    let metrics = server.anonymous().get("/metrics").await.text;
    assert!(metrics.contains("carrel_search_corrected_total "), "{metrics}");
}

#[actix_web::test]
async fn title_is_compared_with_the_corrected_words() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let [_, (_, text), _] = TEXTS;
    let mould = json!({ "url": "https://example.org/mould", "title": "Penicillin", "text": text });
    let saved = key.save(mould).await;
    key.wait_for(&saved, "ready").await;

    for query in ["penicilin", "penicilin%20-hands"] {
        let answer = key.get(&format!("/rest/v2/search?q={query}")).await.data(200).clone();
        let score = answer["results"][0]["score"].as_f64().unwrap();
        // The least score of a title that is the query.
        assert!(score >= 0.95, "{query}: {score}");
    }
}

#[actix_web::test]
async fn word_of_the_library_is_never_corrected() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let [_, mould, _] = save_texts(&key).await;

    for query in ["penicillin", "Penicillin", "penicilin dish", "dishes"] {
        assert_eq!(search(&key, query).await, (vec![mould.clone()], Value::Null), "{query}");
    }
}

#[actix_web::test]
async fn word_that_resembles_nothing_finds_nothing() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    save_texts(&key).await;

    for query in [
        "flarbotron",
        "zebu3fa91c0d",
        "pencilcase",
        "pxnicxlxn",
        "\"penicilin\"",
        "-penicilin",
        "penicilin -mould",
    ] {
        assert_eq!(search(&key, query).await, (Vec::new(), Value::Null), "{query}");
    }
    let outside = key.get("/rest/v2/search?q=penicilin&source=feeds").await.data(200).clone();
    assert_eq!((&outside["results"], &outside["correctedQuery"]), (&json!([]), &Value::Null));
}

#[actix_web::test]
async fn words_of_another_library_correct_nothing() {
    let server = Server::start().await;
    let (mine, other) = (server.user(Plan::Research).await, server.user(Plan::Research).await);
    let (mine, other) = (mine.full_key().await, other.full_key().await);
    save(&mine, "heron", "The heron stands still in the water.").await;
    let [hands, ..] = save_texts(&other).await;

    // In both orders, so that neither is answered by what was kept for the other.
    assert_eq!(search(&mine, "Semelweis").await, (Vec::new(), Value::Null));
    assert_eq!(search(&other, "Semelweis").await, (vec![hands], json!("Semmelweis")));
    assert_eq!(search(&mine, "Semelweis").await, (Vec::new(), Value::Null));
    assert_eq!(search(&other, "heorn").await, (Vec::new(), Value::Null));
}

#[actix_web::test]
async fn word_that_was_just_saved_corrects_a_query() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    save(&key, "heron", "The heron stands still in the water.").await;
    assert_eq!(search(&key, "Semelweis").await, (Vec::new(), Value::Null));

    let [hands, ..] = save_texts(&key).await;

    assert_eq!(search(&key, "Semelweis").await, (vec![hands], json!("Semmelweis")));
}

#[actix_web::test]
async fn words_of_a_save_that_is_not_indexed_correct_a_query() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    save(&key, "heron", "The heron stands still in the water.").await;
    assert_eq!(search(&key, "Plowers").await, (Vec::new(), Value::Null));
    server.service().stop_worker().await;

    let saved = key.save_text("https://marsh.example/plovers", "They sieve the mud.").await;

    let document = saved["documentId"].as_str().unwrap().to_owned();
    assert_eq!(search(&key, "Plowers").await, (vec![document], json!("plovers")));
}

/// Returns a text of about a hundred kilobytes in which a word stands once.
fn long_text(word: &str) -> String {
    format!("{word} {}", "the water is still here. ".repeat(4_000))
}

/// A query reads two megabytes of the newest texts at once, so more of them are saved.
const NEWER_TEXTS: usize = 22;

#[actix_web::test]
async fn word_of_an_old_text_of_a_large_library_corrects_a_query() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let oldest = save(&key, "oldest", &long_text("Semmelweis")).await;
    let removed = key.save_text("https://example.org/removed", "Plovers sieve the mud.").await;
    key.wait_for(&removed, "ready").await;
    for number in 0..NEWER_TEXTS {
        let saved = key.save_text(&format!("https://example.org/{number}"), &long_text("heron")).await;
        key.wait_for(&saved, "ready").await;
    }

    assert_eq!(search(&key, "Semelweis").await, (vec![oldest.clone()], json!("Semmelweis")));

    // What was read is kept.
    let words = server.context().core.data_dir.join("vocabularies");
    eventually("the words are in a file", async || {
        let files = std::fs::read_dir(&words).ok()?.count();
        (files == 1).then_some(())
    })
    .await;
    // The words of a removed document correct nothing, although they are still kept.
    let bookmark = format!("/rest/v1/bookmarks/{}", removed["bookmarkId"].as_str().unwrap());
    key.delete(&bookmark).await.data(200);
    assert_eq!(search(&key, "Plowers").await, (Vec::new(), Value::Null));
    assert_eq!(search(&key, "Semelweis").await, (vec![oldest], json!("Semmelweis")));
}
