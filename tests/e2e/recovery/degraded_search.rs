//! Search by PostgreSQL while the index on a Qdrant server is not reached: it finds texts and metadata by words as the index does.

use sea_orm::ConnectionTrait;
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

/// Saves a text, and waits until it is indexed.
async fn save(key: &Key, title: &str, text: &str) -> Value {
    let url = format!("https://example.org/{}", title.to_lowercase());
    let saved = key.save(json!({ "url": url, "title": title, "text": text })).await;
    key.wait_for(&saved, "ready").await;
    saved
}

/// Returns the first of these results, with its score.
fn first(found: &[Value]) -> (Option<&str>, f64) {
    let Some(first) = found.first() else { return (None, 0.0) };
    (first["documentId"].as_str(), first["score"].as_f64().unwrap())
}

#[actix_web::test]
async fn database_answers_questions_in_any_script() {
    if !has_postgres("only PostgreSQL searches without the index") {
        return;
    }
    let mut qdrant = TestQdrant::start().unwrap();
    let server = Server::start_with(&[("VECTORS__URL", qdrant.url().as_str())]).await;
    let (owner, other) = (server.user(Plan::Research).await, server.user(Plan::Research).await);
    let (key, foreign) = (owner.full_key().await, other.full_key().await);
    let lagoon = save(&key, "Lagoon", "The spoonbill sieves the mud of shallow lagoons for shrimps.").await;
    let dessert =
        save(&key, "Dessert", "La crème brûlée se prépare la veille avec de la crème fraîche.").await;
    let tower = save(&key, "Tower", "昨日東京塔に行きました。とても高かったです。").await;
    let sea = save(&key, "Sea", "เราไปทะเลกันเมื่อวานนี้").await;
    let saying = save(&key, "Saying", "To be, or not to be, that is the question.").await;

    qdrant.stop();
    let text = "A bittern booms from the sedges before dawn.";
    let unindexed =
        key.save(json!({ "url": "https://example.org/dawn", "title": "Dawn", "text": text })).await;

    for (query, document) in [
        ("What do bitterns do in the sedges?", &unindexed),
        ("\"before dawn\"", &unindexed),
        ("What do spoonbills find in the mud of a lagoon?", &lagoon),
        ("how do I prepare a creme brulee", &dessert),
        ("東京塔", &tower),
        ("ทะเล", &sea),
        ("\"to be or not to be\"", &saying),
        ("mud -question", &lagoon),
    ] {
        let found = results(&key, query).await;
        assert_eq!(first(&found).0, document["documentId"].as_str(), "{query}: {found:#?}");
        assert!(results(&foreign, query).await.is_empty(), "{query}");
    }
    for query in ["\"not be to\"", "lagoon -shrimp", "lagoon -\"the mud\"", "bicycle"] {
        assert!(results(&key, query).await.is_empty(), "{query}");
    }
    let (good, bad) = (results(&key, "spoonbill mud").await, results(&key, "rocket fuel sieve").await);
    assert!(first(&good).1 > 0.5 && first(&bad).1 < 0.5, "{good:#?} {bad:#?}");
}

#[actix_web::test]
async fn database_finds_rare_words_of_a_question_among_many_texts() {
    if !has_postgres("only PostgreSQL searches without the index") {
        return;
    }
    let mut qdrant = TestQdrant::start().unwrap();
    let server = Server::start_with(&[("VECTORS__URL", qdrant.url().as_str())]).await;
    let key = server.user(Plan::Research).await.full_key().await;
    let often = "How do you tell the time of the day? The time is told by the light of the day.";
    let often = save(&key, "Often", often).await;
    let sundial = save(&key, "Garden", "A sundial of bronze shows the hour.").await;
    let copies = format!(
        "INSERT INTO point_words SELECT gen_random_uuid(), document_id, user_id, version, language, words, weights
         FROM point_words CROSS JOIN generate_series(1, 10000) WHERE id <> document_id AND document_id = '{}'",
        often["documentId"].as_str().unwrap()
    );
    server.context().core.db.write().execute_unprepared(&copies).await.unwrap();

    qdrant.stop();

    for query in ["How do I tell the time of the day by a bronze sundial?", "bronze sundials", "sundial time"]
    {
        let found = results(&key, query).await;
        assert_eq!(first(&found).0, sundial["documentId"].as_str(), "{query}: {found:#?}");
    }
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
        // The note of the first one has its title, and may follow it.
        assert_eq!(found[0]["documentId"], document["documentId"], "{query}");
        let others = found.iter().filter(|result| result["bookmarkId"] != document["bookmarkId"]);
        assert_eq!(others.count(), 0, "{query}: {found:#?}");
        assert!(results(&foreign, query).await.is_empty(), "{query}");
    }
    let notes = results(&key, "ada").await;
    assert_eq!((notes.len(), &notes[0]["bookmarkId"]), (1, &saved["bookmarkId"]));
    for query in [r#""habits feeding""#, "mud -ornithology", "newsletter", "https"] {
        assert!(results(&key, query).await.is_empty(), "{query}");
    }
}
