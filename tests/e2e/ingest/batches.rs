//! Many short texts that are worked on together.

use entity::job;
use sea_orm::{EntityTrait, QueryOrder};
use serde_json::json;
use values::kind::JobState;
use values::plan::Plan;

use crate::support::Server;

#[actix_web::test]
async fn texts_that_wait_together_are_found() {
    let server = Server::start().await;
    let (owner, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, other_key) = (owner.full_key().await, other.full_key().await);
    server.service().stop_worker().await;
    let mut saved = Vec::new();
    for bird in ["heron", "kingfisher", "curlew"] {
        for key in [&key, &other_key] {
            let text = format!("The {bird} stands still in the water for an hour, waiting.");
            saved.push((key, bird, key.save_text(&format!("https://example.org/{bird}"), &text).await));
        }
    }
    // A page whose content is HTML, and a text that is not short, are read alone.
    let html = "<h1>Dippers</h1><p>A dipper walks under water, against the current, for its food.</p>";
    saved.push((
        &key,
        "dipper",
        key.save(json!({ "url": "https://example.org/dipper", "html": html })).await,
    ));
    let long = "An avocet sweeps its bill through the mud. ".repeat(1_800);
    saved.push((&key, "avocet", key.save_text("https://example.org/avocet", &long).await));
    let first = job::Entity::find().order_by_asc(job::Column::Id).one(server.context().core.db.read()).await;
    assert_eq!(first.unwrap().unwrap().state, JobState::Queued);

    server.restart_worker().await;

    for (key, bird, bookmark) in &saved {
        key.wait_for(bookmark, "ready").await;
        assert_eq!(key.search(bird).await[0], bookmark["documentId"].as_str().unwrap(), "{bird}");
    }
    // Of a text that was indexed in the attempt that stored it there is one job.
    let jobs = job::Entity::find().all(server.context().core.db.read()).await.unwrap();
    for (_, bird, bookmark) in &saved[..6] {
        let document = bookmark["documentId"].as_str().unwrap();
        let own = jobs.iter().filter(|job| job.subject.to_string() == document);
        let own: Vec<_> = own.map(|job| (job.kind.as_str(), job.state)).collect();
        assert_eq!(own, [("index", JobState::Done)], "{bird}");
    }
}

#[actix_web::test]
async fn texts_of_a_batch_are_returned_unchanged() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    server.service().stop_worker().await;
    let texts =
        ["Der Reiher steht still im Wasser.", "Le h\u{e9}ron attend.", "One.\n\nTwo.", "\u{1f426} sings."];
    let mut saved = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        saved.push(key.save_text(&format!("https://example.org/{number}"), text).await);
    }

    server.restart_worker().await;

    for (bookmark, text) in saved.iter().zip(texts) {
        key.wait_for(bookmark, "ready").await;
        let path = format!("/rest/v2/documents/{}", bookmark["documentId"].as_str().unwrap());
        assert_eq!(key.get(&path).await.data(200)["text"], text);
    }
}
