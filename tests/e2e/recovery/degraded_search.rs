//! Search by PostgreSQL while the index on a Qdrant server is not reached: it finds metadata as the index does.

use serde_json::{Value, json};
use test_qdrant::TestQdrant;
use values::plan::Plan;

use crate::support::{Key, Reply, Server, Site, has_postgres};

/// Returns the results of a degraded search.
async fn results(key: &Key, query: &str) -> Vec<Value> {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    let answer = key.get(&format!("/rest/v2/search?q={query}")).await;
    let data = answer.data(200);
    assert_eq!(data["degraded"], "lexical");
    data["results"].as_array().unwrap().clone()
}

#[actix_web::test]
async fn database_finds_titles_tags_notes_and_urls() {
    if !has_postgres("only PostgreSQL searches without the index") {
        return;
    }
    let (mut qdrant, site) = (TestQdrant::start().unwrap(), Site::start().await);
    let server = Server::start_with(&[("VECTORS__URL", qdrant.url().as_str())]).await;
    let (owner, other) = (server.user(Plan::Research).await, server.user(Plan::Research).await);
    let (key, foreign) = (owner.full_key().await, other.full_key().await);
    let url = "https://wetlands.example/about-godwits?from=newsletter";
    let saved = key
        .save(json!({
            "url": url, "title": "Feeding habits", "text": "They probe the mud.", "tags": ["ornithology"],
            "notes": "Ask Ada.",
        }))
        .await;
    let url = site.page("/spoonbill-colony", [Reply::Status(404)]);
    let failed = key.save(json!({ "url": url, "title": "Waders of the coast", "tags": ["islands"] })).await;
    key.wait_for(&saved, "ready").await;
    key.wait_for(&failed, "failed").await;

    qdrant.stop();

    for (query, document) in [
        ("feeding habits", &saved),
        ("godwits", &saved),
        ("ornithology", &saved),
        ("ornithology habits", &saved),
        ("mud habits", &saved),
        (r#""feeding habits""#, &saved),
        ("spoonbill", &failed),
        ("islands coast", &failed),
        ("colony -ornithology", &failed),
    ] {
        let found = results(&key, query).await;
        assert_eq!(found.len(), 1, "{query}: {found:#?}");
        assert_eq!(found[0]["documentId"], document["documentId"], "{query}");
        assert!(results(&foreign, query).await.is_empty(), "{query}");
    }
    let notes = results(&key, "ada").await;
    assert_eq!((notes.len(), &notes[0]["bookmarkId"]), (1, &saved["bookmarkId"]));
    for query in [r#""habits feeding""#, "habits -ornithology", "mud -ornithology", "newsletter", "https"] {
        assert!(results(&key, query).await.is_empty(), "{query}");
    }
}
