//! Phrases and exclusions in a query.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Server, eventually};

/// Saves a text under a title, and returns its document once it is indexed.
async fn save(key: &Key, title: &str, text: &str) -> String {
    let url = format!("https://example.org/{}", title.replace(' ', "-"));
    let saved = key.save(json!({ "url": url, "title": title, "text": text })).await;
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
async fn phrase_finds_only_what_contains_it() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let whole = save(&key, "Reeds", "A grey heron stands in the reeds.").await;
    let apart = save(&key, "Colours", "The heron is grey, and so are its young.").await;
    let titled = save(&key, "The night heron", "It hunts late.").await;
    let stop_words = save(&key, "Sayings", "It is what it is, they say.").await;

    for (query, expected) in [
        ("grey heron", set([&whole, &apart, &titled])),
        ("\"grey heron\"", set([&whole])),
        ("“Grey,  HERON!”", set([&whole])),
        ("„grey heron“ young", set([&whole])),
        ("\"heron\" \"grey\"", set([&whole, &apart])),
        ("\"night heron\"", set([&titled])),
        ("\"it is what it is\"", set([&stop_words])),
        ("reeds \"it is what it is\"", set([&stop_words])),
        ("\"heron grey\"", set([])),
        ("\"grey herons\"", set([])),
    ] {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn phrase_is_found_in_one_of_many_passages() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let often = "The heron is grey. Grey is the heron. ".repeat(2_000);
    save(&key, "Often", &often).await;
    let once = save(&key, "Once", &format!("{} A grey heron. ", "The reeds are still. ".repeat(200))).await;

    assert_eq!(found(&key, "\"a grey heron\"").await, set([&once]));
}

#[actix_web::test]
async fn excluded_words_and_phrases_leave_documents_out() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let grey = save(&key, "Reeds", "A grey heron stands in the reeds.").await;
    let apart = save(&key, "Colours", "The heron is grey, and so are its young.").await;
    let night = save(&key, "The night heron", "This heron hunts late.").await;
    // The excluded word is in another passage than the one that is found.
    let long = format!("A heron. {} The egrets are white.", "The reeds are still. ".repeat(400));
    let long = save(&key, "Still", &long).await;

    for (query, expected) in [
        ("heron", set([&grey, &apart, &night, &long])),
        ("heron -grey", set([&night, &long])),
        ("-GREY heron -egret", set([&night])),
        ("heron -\"grey heron\"", set([&apart, &night, &long])),
        ("heron -night", set([&grey, &apart, &long])),
        ("\"heron\" -night -“grey heron” -egrets", set([&apart])),
        ("heron -kingfisher", set([&grey, &apart, &night, &long])),
        ("-grey", set([])),
        ("-kingfisher -\"night heron\"", set([])),
        // A hyphen that is no operator.
        ("heron - grey", set([&grey, &apart, &night, &long])),
        ("night-heron", set([&grey, &apart, &night, &long])),
    ] {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn sign_of_a_name_is_part_of_a_phrase() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let signed = save(&key, "Templates", "Generic code in C++ is compiled for each type.").await;
    let lone = save(&key, "Oranges", "Their vitamin C is good for each type of cold.").await;

    for (query, expected) in [
        ("\"C++\"", set([&signed])),
        ("\"vitamin C\"", set([&lone])),
        ("type -C++", set([&lone])),
        ("type -C#", set([&signed, &lone])),
        ("type -\"vitamin C\"", set([&signed])),
    ] {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn phrase_is_found_in_the_url_and_in_a_note_on_a_highlight() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let page = json!({ "url": "https://marsh.example/how-godwits-migrate", "text": "Godwits fly far." });
    let saved = key.save(page).await;
    key.wait_for(&saved, "ready").await;
    let note = json!({ "text": "Godwits", "startOffset": 0, "endOffset": 7, "note": "the longest flight" });
    let bookmark = saved["bookmarkId"].as_str().unwrap();
    key.post(&format!("/rest/v1/bookmarks/{bookmark}/highlights"), note).await.data(201);
    let document = saved["documentId"].as_str().unwrap().to_owned();

    for (query, expected) in [
        ("\"godwits migrate\"", set([&document])),
        ("\"longest flight\"", set([&document])),
        ("\"flight longest\"", set([])),
        ("godwits -\"longest flight\"", set([])),
    ] {
        assert_eq!(found(&key, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn excluded_tag_leaves_its_document_out() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let plain = save(&key, "Reeds", "A heron stands in the reeds.").await;
    let tagged = json!({ "url": "https://example.org/t", "text": "A heron in flight.", "tags": ["blurred"] });
    key.wait_for(&key.save(tagged).await, "ready").await;

    eventually("the tag is indexed", async || {
        (found(&key, "heron -blurred").await == set([&plain])).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn excluded_documents_make_room_for_others() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    // They lead the ranking, and are more than the passages that a first search asks for.
    let mut leading = Vec::new();
    for number in 0..45 {
        let url = format!("https://example.org/{number}");
        leading.push(key.save_text(&url, "A grey heron. The heron is a heron.").await);
    }
    for saved in &leading {
        key.wait_for(saved, "ready").await;
    }
    let last = save(&key, "Reeds", "In the reeds there is water, and in it stands a bird: one heron.").await;

    let answer = key.get("/rest/v2/search?q=heron%20-grey&limit=1").await.data(200).clone();

    assert_eq!(answer["results"][0]["documentId"], last);
    assert_eq!(answer["correctedQuery"], Value::Null);
}
