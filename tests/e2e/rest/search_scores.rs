//! Scores of search results: they mean the same for all queries, and a document whose title is the query comes first.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Server};

/// The score that separates results from noise.
const THRESHOLD: f64 = 0.5;

/// Saves a text under a title, and returns once it is indexed.
async fn save_titled(key: &Key, title: &str, text: &str) {
    let url = format!("https://example.org/{}", title.replace([' ', '|'], "-"));
    let saved = key.save(json!({ "url": url, "title": title, "text": text })).await;
    key.wait_for(&saved, "ready").await;
}

/// Returns the titles of the results with their scores.
async fn search(key: &Key, words: &str) -> Vec<(String, f64)> {
    let path = format!("/rest/v2/search?limit=5&q={}", words.replace(' ', "%20"));
    let found = key.get(&path).await.data(200)["results"].as_array().unwrap().clone();
    let of_result =
        |result: &Value| (result["title"].as_str().unwrap().to_owned(), result["score"].as_f64().unwrap());
    found.iter().map(of_result).collect()
}

#[actix_web::test]
async fn document_whose_title_is_the_query_comes_first() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let often = "Exit code 125 means that the run failed. This exit code is no exit code of the program. ";
    for number in [125, 126, 127] {
        save_titled(&key, &format!("Exit code {number}"), &often.repeat(8)).await;
    }
    save_titled(&key, "Exit code 137 | Containers", "The kernel ended the process.").await;
    for day in 1..=9 {
        let text = format!("We met on 2024-06-0{day}. Next meeting notes 2024-06-06, meeting in June.");
        save_titled(&key, &format!("Meeting notes 2024-06-0{day}"), &text).await;
    }

    for (query, title) in [
        ("exit code 137", "Exit code 137 | Containers"),
        ("meeting notes 2024-06-06", "Meeting notes 2024-06-06"),
    ] {
        let found = search(&key, query).await;
        assert_eq!(found[0].0, title);
        assert!(found[0].1 >= 0.95 && found.is_sorted_by(|(_, a), (_, b)| a >= b), "{found:?}");
    }
}

#[actix_web::test]
async fn one_threshold_separates_results_from_noise() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    for (title, text) in [
        ("Bread", "Bread rises for two hours in a warm place. Then it goes into the oven."),
        ("Bees", "The bees of this hive are calm. In June the hive has many bees."),
        ("A walk", "The okapi stood in the shade of the trees. It was warm in June."),
        ("Boats", "Boats in the harbour need paint in June. The place is warm."),
    ] {
        save_titled(&key, title, text).await;
    }

    for (query, title) in
        [("okapi", "A walk"), ("warm oven bread", "Bread"), ("calm bees of the hive", "Bees")]
    {
        let found = search(&key, query).await;
        assert!(found[0].0 == title && found[0].1 >= 0.75, "{query}: {found:?}");
    }
    for (query, has_known_word) in [
        ("grommix june flarbotron", true),
        ("zzyx warm", true),
        ("wuggle place plinth quorb", true),
        ("zebu3fa91c0d", false),
    ] {
        let found = search(&key, query).await;
        assert!(!has_known_word || !found.is_empty(), "{query}");
        assert!(found.iter().all(|(_, score)| *score < THRESHOLD), "{query}: {found:?}");
    }
}
