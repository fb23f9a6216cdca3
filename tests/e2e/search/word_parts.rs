//! Searches by the first part of a word, and by what a user has in place of a word: a part of a code, of a compound, and a whole URL.

use std::collections::BTreeSet;

use serde_json::json;
use values::plan::Plan;

use crate::support::{Key, Server};

/// Saves a text, and returns its document once it is indexed.
async fn save(key: &Key, number: usize, text: &str) -> String {
    let saved = key.save_text(&format!("https://example.org/{number}"), text).await;
    key.wait_for(&saved, "ready").await;
    saved["documentId"].as_str().unwrap().to_owned()
}

/// Returns the documents that a query finds.
async fn found(key: &Key, query: &str) -> BTreeSet<String> {
    key.search(query).await.into_iter().collect()
}

fn set<const N: usize>(documents: [&String; N]) -> BTreeSet<String> {
    documents.into_iter().cloned().collect()
}

#[actix_web::test]
async fn first_word_of_a_compound_finds_it_below_the_word() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let compound =
        "Die Datenschutzgrundverordnung gilt seit vielen Jahren in allen Staaten der Union, sagen die Leute.";
    let compound = save(&key, 1, compound).await;
    let word = "Um den Datenschutz im Verein und um die Listen kümmert sich der Vorstand, wie man weiß.";
    let word = save(&key, 2, word).await;
    let house = "Das Krankenhaus am See wurde nach langer Planung endlich eröffnet, und alle waren froh.";
    let house = save(&key, 3, house).await;
    let country = "Im Süden von Frankreich wächst der Wein an den Hängen der alten Berge und in den Tälern.";
    save(&key, 4, country).await;

    assert_eq!(key.search("Datenschutz").await, [word.clone(), compound.clone()]);
    assert_eq!(key.search("Kranken").await, [house]);
    // Words that only begin with the same letters, and words as they are written.
    for (query, expected) in
        [("Frank", set([])), ("\"Datenschutz\"", set([&word])), ("Leute -Datenschutz", set([&compound]))]
    {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn beginning_of_a_code_finds_it_below_the_exact_code() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let joined = save(&key, 1, "The LM385 is a reference of voltage.").await;
    let apart = save(&key, 2, "A drawer with one LM 385P in it.").await;
    let other = save(&key, 3, "The LM358 is an amplifier of voltage.").await;
    let exact = save(&key, 4, "An LM3 is on the shelf.").await;

    for (query, expected) in [
        ("LM3", set([&joined, &apart, &other, &exact])),
        ("lm38", set([&joined, &apart])),
        ("LM35", set([&other])),
        ("LM39", set([])),
        ("XLM3", set([])),
        ("\"LM38\"", set([])),
        ("voltage -LM38", set([&joined, &other])),
    ] {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
    assert_eq!(key.search("LM3").await.first(), Some(&exact));
}

#[actix_web::test]
async fn whole_url_finds_its_page_with_a_high_score() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let url = "https://marsh.example/how-godwits-fly";
    let page = json!({ "url": url, "title": "Over an ocean", "text": "They rest on no island." });
    let saved = key.save(page).await;
    key.wait_for(&saved, "ready").await;
    save(&key, 1, "An example of a source with https, html and www in it.").await;

    for query in [url, "http://www.marsh.example/how-godwits-fly.html?utm_source=feed", "www.marsh.example"] {
        let encoded: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let answer = key.get(&format!("/rest/v2/search?q={encoded}")).await.data(200).clone();
        let best = &answer["results"][0];
        assert_eq!(best["documentId"], saved["documentId"], "{query}");
        assert!(best["score"].as_f64().unwrap() > 0.5, "{query}: {best}");
    }
}
