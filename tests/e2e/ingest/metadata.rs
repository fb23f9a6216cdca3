//! Saves are in the index by their titles, URLs, tags and highlights, whatever has become of their texts.

use actors::retrieval::SearchQuery;
use entity::{document, job};
use jobs::{JobKind, Priority};
use library::bookmarks::BookmarkConditions;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter};
use search::index::{Filter, Labels, Source};
use search::query_syntax::ParsedQuery;
use serde_json::{Value, json};
use values::id::{DocumentId, UserId};
use values::kind::{DocumentStatus, JobState};
use values::plan::Plan;

use crate::support::{NOON, Reply, Server, Site, eventually};

fn id_of(saved: &Value) -> DocumentId {
    saved["documentId"].as_str().unwrap().parse().unwrap()
}

fn path_of(saved: &Value) -> String {
    format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap())
}

/// Returns whether the index finds the metadata passage of a save by these words.
async fn finds_metadata(server: &Server, owner: UserId, words: &str, saved: &Value) -> bool {
    let query = SearchQuery {
        query: ParsedQuery::of_text(words),
        within: Filter::default(),
        bookmarks: BookmarkConditions::default(),
        limit: 20,
    };
    let found = server.context().retrieval.search(owner, query).await.unwrap();
    found.hits.iter().any(|hit| hit.document == id_of(saved) && hit.metadata_share > 0.0)
}

async fn has_metadata(server: &Server, saved: &Value) -> bool {
    server.context().retrieval.engine().missing(vec![id_of(saved).0]).await.unwrap().is_empty()
}

#[actix_web::test]
async fn page_that_fails_is_indexed_by_its_metadata() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let url = site.page("/spoonbills", [Reply::Status(404)]);

    let saved = key.save(json!({ "url": url, "tags": ["waders"] })).await;
    key.wait_for(&saved, "failed").await;
    let row = server.wait_until_indexed(owner.id(), &saved).await;

    assert_eq!((row.status, row.indexed_version), (DocumentStatus::Failed, 0));
    assert_eq!((row.indexed_points, row.has_metadata_point), (1, true));
    for words in ["spoonbills", "waders"] {
        assert!(finds_metadata(&server, owner.id(), words, &saved).await, "{words}");
    }
    let other = server.user(Plan::Pro).await;
    assert!(!finds_metadata(&server, other.id(), "spoonbills", &saved).await);
}

#[actix_web::test]
async fn page_that_waits_is_indexed_by_its_metadata() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let url = site.page("/slow", [Reply::Never]);

    let saved = key.save(json!({ "url": url, "title": "Oystercatchers" })).await;
    let row = server.wait_until_indexed(owner.id(), &saved).await;

    assert_eq!(row.status, DocumentStatus::Processing);
    assert!(finds_metadata(&server, owner.id(), "oystercatchers", &saved).await);
}

#[actix_web::test]
async fn changed_title_and_tags_replace_the_former_ones() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let saved = key.save_text("https://example.org/a", "A text about nothing.").await;
    key.wait_for(&saved, "ready").await;
    key.patch(&path_of(&saved), json!({ "title": "Dunlins", "tags": ["shore", "winter"] })).await.data(200);
    server.wait_until_indexed(owner.id(), &saved).await;
    assert!(finds_metadata(&server, owner.id(), "dunlins", &saved).await);

    key.patch(&path_of(&saved), json!({ "title": "Sanderlings" })).await.data(200);
    key.patch("/rest/v1/tags/shore", json!({ "name": "beach" })).await.data(200);
    key.delete("/rest/v1/tags/winter").await.data(200);
    let row = server.wait_until_indexed(owner.id(), &saved).await;

    assert_eq!(row.indexed_points, 2, "one of the text, and one of the metadata");
    for (words, is_found) in
        [("sanderlings", true), ("beach", true), ("dunlins", false), ("shore", false), ("winter", false)]
    {
        assert_eq!(finds_metadata(&server, owner.id(), words, &saved).await, is_found, "{words}");
    }
}

#[actix_web::test]
async fn highlights_are_indexed_until_they_are_deleted() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let saved = key.save_text("https://example.org/a", "Godwits probe.").await;
    key.wait_for(&saved, "ready").await;
    let highlight =
        json!({ "text": "Godwits", "startOffset": 0, "endOffset": 7, "note": "longest migration" });
    let made = key.post(&format!("{}/highlights", path_of(&saved)), highlight).await;
    let made = made.data(201)["highlight"]["highlightId"].as_str().unwrap().to_owned();
    server.wait_until_indexed(owner.id(), &saved).await;
    assert!(finds_metadata(&server, owner.id(), "migration", &saved).await);

    key.delete(&format!("/rest/v1/highlights/{made}")).await.data(200);
    server.wait_until_indexed(owner.id(), &saved).await;

    assert!(!finds_metadata(&server, owner.id(), "migration", &saved).await);
}

#[actix_web::test]
async fn deleted_save_leaves_the_index_until_it_is_restored() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let saved = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]) })).await;
    key.wait_for(&saved, "failed").await;
    server.wait_until_indexed(owner.id(), &saved).await;
    assert!(has_metadata(&server, &saved).await);

    key.delete(&path_of(&saved)).await.data(200);
    eventually("the metadata left the index", async || (!has_metadata(&server, &saved).await).then_some(()))
        .await;
    let deleted = server.document_row(owner.id(), &saved).await;
    assert_eq!((deleted.indexed_points, deleted.has_metadata_point), (0, false));

    key.post(&format!("{}/restore", path_of(&saved)), json!({})).await.data(200);
    let restored = server.wait_until_indexed(owner.id(), &saved).await;
    assert_eq!((restored.indexed_points, restored.has_metadata_point), (1, true));
    assert!(has_metadata(&server, &saved).await);
}

/// The state after a kill between the change of the index and that of the row.
#[actix_web::test]
async fn passage_whose_row_was_not_written_is_recorded_once() {
    let (server, site) = (Server::start().await, Site::start().await);
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    let saved = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]) })).await;
    key.wait_for(&saved, "failed").await;
    server.wait_until_indexed(owner.id(), &saved).await;

    document::Entity::update_owned(owner.id())
        .col_expr(document::Column::HasMetadataPoint, Expr::value(false))
        .col_expr(document::Column::IndexedPoints, Expr::value(0))
        .col_expr(document::Column::UnindexedSince, Expr::value(Some(NOON)))
        .filter(document::Column::Id.eq(id_of(&saved)))
        .exec(server.context().core.db.write())
        .await
        .unwrap();

    let row = server.wait_until_indexed(owner.id(), &saved).await;
    assert_eq!((row.indexed_points, row.has_metadata_point), (1, true));
    assert_eq!(server.context().retrieval.engine().count_exactly().await.unwrap(), 1);
}

/// A job of several turns whose document was an entry without a bookmark in the former turns.
#[actix_web::test]
async fn last_turn_gives_all_passages_the_present_labels() {
    let server = Server::start().await;
    let owner = server.user(Plan::Pro).await;
    let key = owner.full_key().await;
    // Too long for the batches of short texts, which have one turn.
    let text = "An avocet sweeps its bill through the mud. ".repeat(1_800);
    let saved = key.save_text("https://example.org/a", &text).await;
    key.wait_for(&saved, "ready").await;
    let row = server.wait_until_indexed(owner.id(), &saved).await;
    let (ctx, now) = (server.context(), server.context().core.clock.now());
    let finds_entry = async || {
        let within = Filter { source: Some(Source::Feeds), ..Filter::default() };
        let query = SearchQuery {
            query: ParsedQuery::of_text("avocet"),
            within,
            bookmarks: BookmarkConditions::default(),
            limit: 20,
        };
        !ctx.retrieval.search(owner.id(), query).await.unwrap().hits.is_empty()
    };
    let labels = Labels { source: Source::Feeds, feed: None, content_type: row.content_type };
    ctx.retrieval.update_labels(owner.id(), row.id, labels).await.unwrap();
    assert!(finds_entry().await);

    let txn = ctx.core.db.begin().await.unwrap();
    jobs::enqueue(&txn, owner.id(), JobKind::Index, row.id.0, Priority::Now, now).await.unwrap();
    job::Entity::update_owned(owner.id())
        .col_expr(job::Column::Progress, Expr::value(1))
        .filter(job::Column::Subject.eq(row.id.0))
        .filter(job::Column::State.eq(JobState::Queued))
        .exec(&txn)
        .await
        .unwrap();
    txn.commit().await.unwrap();
    ctx.job_signal.notify();

    eventually("no passage is one of an entry", async || (!finds_entry().await).then_some(())).await;
}
