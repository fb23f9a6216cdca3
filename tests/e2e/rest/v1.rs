//! Changes of several objects, and concurrent changes, in v1.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, Server};

async fn patch(key: &Key, path: &str, body: Value) -> u16 {
    key.send(Method::PATCH, path, Some(body)).await.status
}

async fn list_tags(key: &Key) -> Vec<(String, i64)> {
    let answer = key.get("/rest/v1/tags").await;
    let tags = answer.data(200)["tags"].as_array().unwrap().iter();
    tags.map(|tag| (tag["name"].as_str().unwrap().to_owned(), tag["count"].as_i64().unwrap())).collect()
}

async fn create_collection(key: &Key, body: Value) -> String {
    let created = key.post("/rest/v1/collections", body).await;
    created.data(201)["collection"]["collectionId"].as_str().unwrap().to_owned()
}

#[actix_web::test]
async fn concurrent_renames_of_same_tags_succeed() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let mut paths = Vec::new();
    for n in 0..12 {
        let tags = if n % 2 == 0 { json!(["a", "b"]) } else { json!(["b", "a"]) };
        let saved =
            key.save(json!({ "url": format!("https://example.com/{n}"), "text": "x", "tags": tags })).await;
        paths.push(format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap()));
    }

    for _ in 0..5 {
        let (to_b, to_a) = (json!({ "name": "b" }), json!({ "name": "a" }));
        let renames = join_all([
            patch(&key, "/rest/v1/tags/a", to_b.clone()),
            patch(&key, "/rest/v1/tags/b", to_a.clone()),
            patch(&key, "/rest/v1/tags/a", to_b),
            patch(&key, "/rest/v1/tags/b", to_a),
        ]);
        let changes = join_all(paths.iter().map(|path| patch(&key, path, json!({ "tags": ["a", "b"] }))));
        let (renamed, changed) = futures_util::join!(renames, changes);
        assert!(renamed.iter().all(|status| matches!(status, 200 | 404)), "{renamed:?}");
        assert!(changed.iter().all(|status| *status == 200), "{changed:?}");
    }

    let remaining = list_tags(&key).await;
    assert!(
        !remaining.is_empty() && remaining.iter().all(|(name, count)| name.len() == 1 && *count <= 12),
        "{remaining:?}"
    );
}

/// The members of a bookmark that no job changes.
const GIVEN_MEMBERS: [&str; 8] =
    ["bookmarkId", "documentId", "kind", "url", "tags", "notes", "collectionIds", "savedAt"];

#[actix_web::test]
async fn answer_of_a_save_is_the_bookmark_as_read_later() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    let (one, other) = (
        create_collection(&key, json!({ "name": "one" })).await,
        create_collection(&key, json!({ "name": "other" })).await,
    );

    for (n, fields) in [
        json!({ "tags": ["b", "a", "Z"] }),
        json!({ "collectionIds": [one] }),
        json!({ "collectionIds": [other, one] }),
        json!({ "notes": "on it", "tags": ["a"] }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut body = json!({ "url": format!("https://example.com/{n}"), "text": "x" });
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let saved = key.save(body).await;

        let path = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
        let answer = key.get(&path).await;
        let read = &answer.data(200)["bookmark"];
        for member in GIVEN_MEMBERS {
            assert_eq!(saved[member], read[member], "{member} of {fields}");
        }
    }
}

#[actix_web::test]
async fn renamed_tag_merges_also_in_restored_bookmarks() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let deleted = key.save(json!({ "url": "https://example.com/1", "text": "x", "tags": ["old"] })).await;
    key.save(json!({ "url": "https://example.com/2", "text": "x", "tags": ["old", "new"] })).await;
    let path = format!("/rest/v1/bookmarks/{}", deleted["bookmarkId"].as_str().unwrap());
    key.delete(&path).await.data(200);

    let renamed = key.send(Method::PATCH, "/rest/v1/tags/old", Some(json!({ "name": " new " }))).await;

    assert_eq!(renamed.data(200)["tag"], json!({ "name": "new", "count": 1 }));
    assert_eq!(
        key.send(Method::PATCH, "/rest/v1/tags/old", Some(json!({ "name": "x" }))).await.error_code(404),
        "NOT_FOUND"
    );
    let restored = key.post(&format!("{path}/restore"), json!({})).await;
    assert_eq!(restored.data(200)["bookmark"]["tags"], json!(["new"]));
    assert_eq!(list_tags(&key).await, [("new".to_owned(), 2)]);
}

#[actix_web::test]
async fn encodings_of_one_text_are_one_tag() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    for (n, tag) in ["cafe\u{301}", "caf\u{e9}"].into_iter().enumerate() {
        let page = json!({ "url": format!("https://example.com/{n}"), "text": "A heron.", "tags": [tag] });
        assert_eq!(key.save(page).await["tags"], json!(["caf\u{e9}"]));
    }
    assert_eq!(list_tags(&key).await, [("caf\u{e9}".to_owned(), 2)]);

    for (tag, count) in
        [("caf%C3%A9", 2), ("cafe%CC%81", 2), ("%20caf%C3%A9", 2), ("Caf%C3%A9", 0), ("cafe", 0)]
    {
        let listed = key.get(&format!("/rest/v1/bookmarks?tag={tag}")).await;
        assert_eq!(listed.data(200)["bookmarks"].as_array().unwrap().len(), count, "{tag}");
        let found = key.get(&format!("/rest/v2/search?q=heron&tag={tag}")).await;
        assert_eq!(found.data(200)["results"].as_array().unwrap().len(), count, "{tag}");
    }
    let renamed =
        key.send(Method::PATCH, "/rest/v1/tags/cafe%CC%81", Some(json!({ "name": "the\u{301}" }))).await;
    assert_eq!(renamed.data(200)["tag"], json!({ "name": "th\u{e9}", "count": 2 }));
    key.delete("/rest/v1/tags/the%CC%81").await.data(200);
    assert!(list_tags(&key).await.is_empty());
}

#[actix_web::test]
async fn concurrent_moves_of_collections_make_no_cycle() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    for _ in 0..6 {
        let (a, b) = (
            create_collection(&key, json!({ "name": "A" })).await,
            create_collection(&key, json!({ "name": "B" })).await,
        );
        let (path_a, path_b) = (format!("/rest/v1/collections/{a}"), format!("/rest/v1/collections/{b}"));

        let moved = futures_util::join!(
            patch(&key, &path_a, json!({ "parentId": b })),
            patch(&key, &path_b, json!({ "parentId": a })),
        );

        assert!(matches!(moved, (200, 400) | (400, 200)), "{moved:?}");
    }
}

#[actix_web::test]
async fn content_of_deleted_collection_is_kept() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let top = create_collection(&key, json!({ "name": "Top" })).await;
    let within = create_collection(&key, json!({ "name": "Within", "parentId": top })).await;
    let saved =
        key.save(json!({ "url": "https://example.com/1", "text": "x", "collectionIds": [top] })).await;

    key.delete(&format!("/rest/v1/collections/{top}")).await.data(200);

    let listed = key.get("/rest/v1/collections").await;
    let listed = listed.data(200)["collections"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1);
    assert_eq!((&listed[0]["collectionId"], &listed[0]["parentId"]), (&json!(within), &Value::Null));
    let path = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    assert_eq!(key.get(&path).await.data(200)["bookmark"]["collectionIds"], json!([]));
}

#[actix_web::test]
async fn batch_continues_past_faults_and_names_their_index() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://example.com/1", "Words.").await;
    let id = saved["bookmarkId"].as_str().unwrap();

    let answer = key
        .post(
            "/rest/v1/bookmarks/batch",
            json!({ "operations": [
                { "op": "update", "id": id, "progress": 7, "colour": "red" },
                { "op": "create", "url": "http://10.0.0.1/" },
                { "op": "explode" },
                { "op": "update", "id": id, "favorite": true },
                { "op": "delete", "id": id },
                { "op": "update", "id": id, "favorite": false },
            ] }),
        )
        .await;

    let results = answer.data(200)["results"].as_array().unwrap();
    let outcomes: Vec<_> =
        results.iter().map(|r| (r["ok"] == true, r["error"]["code"].as_str().unwrap_or(""))).collect();
    assert_eq!(
        outcomes,
        [
            (false, "VALIDATION_FAILED"),
            (false, "URL_REJECTED"),
            (false, "VALIDATION_FAILED"),
            (true, ""),
            (true, ""),
            (false, "NOT_FOUND")
        ]
    );
    let mut faults: Vec<_> = results[0]["error"]["details"]["fields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["field"].as_str().unwrap())
        .collect();
    faults.sort_unstable();
    assert_eq!(faults, ["operations[0].colour", "operations[0].progress"]);
    assert_eq!(results[3]["bookmark"]["favorite"], true);
    for (body, field) in [
        (json!({ "operations": [] }), "operations"),
        (json!({ "operations": ["delete"] }), "operations[0]"),
        (json!({ "operations": [{ "op": "explode" }], "zap": 1 }), "zap"),
    ] {
        let refused = key.post("/rest/v1/bookmarks/batch", body).await;
        assert_eq!(refused.error_code(400), "VALIDATION_FAILED");
        assert_eq!(refused.faults(), [field]);
    }
}

#[actix_web::test]
async fn highlight_can_be_moved_only_to_its_words() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let saved = key.save_text("https://example.com/1", "One two three two.").await;
    key.wait_for(&saved, "ready").await;
    let path = format!("/rest/v1/bookmarks/{}/highlights", saved["bookmarkId"].as_str().unwrap());
    let highlight = json!({ "text": "two", "startOffset": 4, "endOffset": 7, "note": "n" });
    let created = key.post(&path, highlight).await.data(201)["highlight"].clone();
    let one = format!("/rest/v1/highlights/{}", created["highlightId"].as_str().unwrap());

    let there = json!({ "startOffset": 14, "endOffset": 17, "note": null });
    let moved = key.send(Method::PATCH, &one, Some(there)).await;
    assert_eq!(moved.data(200)["highlight"]["startOffset"], 14);
    assert_eq!(moved.data(200)["highlight"]["note"], Value::Null);
    let refused = key.send(Method::PATCH, &one, Some(json!({ "startOffset": 13 }))).await;
    assert_eq!((refused.error_code(400), refused.faults()), ("VALIDATION_FAILED", vec!["text"]));
    let other_user = server.user(Plan::Pro).await.full_key().await;
    assert_eq!(other_user.delete(&one).await.error_code(404), "NOT_FOUND");
    key.delete(&one).await.data(200);
    assert_eq!(key.get(&path).await.data(200)["highlights"], json!([]));
}

#[actix_web::test]
async fn words_of_titles_are_found_in_either_case_of_any_script() {
    let server = Server::start().await;
    let key = server.user(Plan::Research).await.full_key().await;
    for title in ["Москва и Питер", "ΑΘΗΝΑ", "Über Élan und Straße", "crème brûlée"] {
        key.save(json!({ "url": "https://example.com/".to_owned() + &title.replace(' ', "-"), "title": title, "text": "x" })).await;
    }

    for (words, title) in [
        ("Москва", "Москва и Питер"),
        ("москва питер", "Москва и Питер"),
        ("МОСКВА", "Москва и Питер"),
        ("αθηνα", "ΑΘΗΝΑ"),
        ("élan über", "Über Élan und Straße"),
        ("STRASSE", ""),
        ("straße", "Über Élan und Straße"),
        ("BRÛLÉE", "crème brûlée"),
        ("и", "Москва и Питер"),
    ] {
        let listed = key.get(&format!("/rest/v1/bookmarks?q={words}")).await;
        let found: Vec<Value> = listed.data(200)["bookmarks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["title"].clone())
            .collect();

        let expected: Vec<Value> =
            Some(title).filter(|title| !title.is_empty()).map(Value::from).into_iter().collect();
        assert_eq!(found, expected, "{words}");
    }
}
