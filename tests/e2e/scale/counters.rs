//! The numbers that the API shows are kept by triggers, and are those of the rows after every kind of change.

use std::time::Duration;

use actors::auth::accounts;
use entity::{account_count, job, tag_count};
use library::counters;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, ExprTrait, QueryFilter};
use serde_json::{Value, json};
use values::kind::JobState;
use values::plan::Plan;

use super::small_library::{SmallLibrary, text_of};
use crate::import::imports::{post_step, wait_for};
use crate::support::{Client, Key, Reply, Server, Site, article, eventually};

/// Asserts that every counter is that of the rows.
async fn assert_counts_of_rows(server: &Server) {
    let miscounted = counters::find_miscounted_users(&server.context().core.db).await.unwrap();
    assert!(miscounted.is_empty(), "{miscounted:?}");
}

/// Waits until no job runs or is due, so that no other work changes a count.
async fn wait_until_idle(server: &Server) {
    let db = &server.context().core.db;
    eventually("all due jobs have ended", async || {
        let is_due = job::Column::QueuePosition.is_not_null().or(job::Column::State.eq(JobState::Running));
        job::Entity::find().filter(is_due).one(db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
}

/// The tags with their numbers of bookmarks, read in pages of one tag.
async fn tags(client: &Client) -> Vec<(String, i64)> {
    let (mut tags, mut path) = (Vec::new(), "/rest/v1/tags?limit=1".to_owned());
    loop {
        let listed = client.get(&path).await;
        let page = listed.data(200);
        for tag in page["tags"].as_array().unwrap() {
            tags.push((text_of(tag, "name"), tag["count"].as_i64().unwrap()));
        }
        let Some(cursor) = page["nextCursor"].as_str() else { return tags };
        path = format!("/rest/v1/tags?limit=1&cursor={cursor}");
    }
}

/// One of the numbers of the account.
async fn count_of_account(client: &Client, name: &str) -> i64 {
    client.get("/rest/v1/user").await.data(200)["counts"][name].as_i64().unwrap()
}

async fn members(client: &Client, collection: &str) -> Value {
    let shown = client.get(&format!("/rest/v1/collections/{collection}")).await;
    shown.data(200)["collection"]["bookmarkCount"].clone()
}

/// The numbers of entries and of unread entries of a feed.
async fn entries(client: &Client, feed: &str) -> (Value, Value) {
    let shown = client.get(&format!("/rest/v1/feeds/{feed}")).await;
    let feed = &shown.data(200)["feed"];
    (feed["entryCount"].clone(), feed["unreadCount"].clone())
}

/// The numbers of items and of sources of a project.
async fn items(session: &Client, project: &str) -> (Value, Value) {
    let shown = session.get(&format!("/app/api/projects/{project}")).await;
    let project = &shown.data(200)["project"];
    (project["itemCount"].clone(), project["sourceCount"].clone())
}

fn named<const N: usize>(tags: [(&str, i64); N]) -> Vec<(String, i64)> {
    tags.map(|(name, count)| (name.to_owned(), count)).into()
}

#[actix_web::test]
async fn counts_of_bookmarks_follow_deletion_and_restoration() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SmallLibrary::create(&key, &session, &site).await;
    let bookmark = format!("/rest/v1/bookmarks/{}", library.bookmark);
    wait_until_idle(&server).await;
    let before = count_of_account(&key, "bookmarks").await;
    let documents = count_of_account(&key, "documents").await;
    assert_eq!(
        (tags(&key).await, members(&key, &library.collection).await),
        (named([("heron", 2)]), json!(2))
    );
    assert_eq!(count_of_account(&key, "highlights").await, 2);

    key.delete(&bookmark).await.data(200);

    assert_eq!(
        (tags(&key).await, members(&key, &library.collection).await),
        (named([("heron", 1)]), json!(1))
    );
    assert_eq!(count_of_account(&key, "bookmarks").await, before - 1);
    // The document of the bookmark and that of its note.
    assert_eq!(count_of_account(&key, "documents").await, documents - 2);
    assert_counts_of_rows(&server).await;

    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);

    assert_eq!(
        (tags(&key).await, members(&key, &library.collection).await),
        (named([("heron", 2)]), json!(2))
    );
    assert_eq!(count_of_account(&key, "bookmarks").await, before);
    assert_eq!(count_of_account(&key, "documents").await, documents);
    assert_counts_of_rows(&server).await;
}

#[actix_web::test]
async fn counts_of_tags_follow_changes_and_merges() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SmallLibrary::create(&key, &session, &site).await;
    let bookmark = format!("/rest/v1/bookmarks/{}", library.bookmark);

    key.patch(&bookmark, json!({ "tags": ["reed", "wader"] })).await.data(200);
    assert_eq!(tags(&key).await, named([("heron", 1), ("reed", 1), ("wader", 1)]));

    let merged = key.patch("/rest/v1/tags/reed", json!({ "name": "heron" })).await;
    assert_eq!(merged.data(200)["tag"], json!({ "name": "heron", "count": 2 }));
    assert_eq!(tags(&key).await, named([("heron", 2), ("wader", 1)]));

    key.delete("/rest/v1/tags/wader").await.data(200);
    assert_eq!(tags(&key).await, named([("heron", 2)]));
    assert_counts_of_rows(&server).await;

    // A change of a deleted bookmark counts once it is restored.
    key.delete(&bookmark).await.data(200);
    key.patch("/rest/v1/tags/heron", json!({ "name": "bird" })).await.data(200);
    assert_eq!(tags(&key).await, named([("bird", 1)]));
    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    assert_eq!(tags(&key).await, named([("bird", 2)]));
    assert_counts_of_rows(&server).await;
}

#[actix_web::test]
async fn counts_of_feeds_follow_reading_and_unfollowing() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SmallLibrary::create(&key, &session, &site).await;
    let entry = format!("/rest/v1/entries/{}", library.entry);
    assert_eq!(entries(&key, &library.feed).await, (json!(2), json!(2)));

    key.patch(&entry, json!({ "read": true })).await.data(200);
    assert_eq!(entries(&key, &library.feed).await, (json!(2), json!(1)));
    key.patch(&entry, json!({ "read": false, "starred": true })).await.data(200);
    assert_eq!(entries(&key, &library.feed).await, (json!(2), json!(2)));
    key.post("/rest/v1/entries/read", json!({ "feedId": library.feed })).await.data(200);
    assert_eq!(entries(&key, &library.feed).await, (json!(2), json!(0)));
    assert_counts_of_rows(&server).await;

    let feeds = count_of_account(&key, "feeds").await;
    key.delete(&format!("/rest/v1/feeds/{}", library.feed)).await.data(200);
    assert_eq!(count_of_account(&key, "feeds").await, feeds - 1);
    assert_counts_of_rows(&server).await;
}

/// The numbers of documents that wait, that are worked on and that failed.
async fn work(session: &Client) -> Value {
    let work = session.get("/app/api/work").await.data(200).clone();
    json!([work["waiting"], work["running"], work["failed"]])
}

#[actix_web::test]
async fn counts_of_work_follow_failed_attempts() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let gone = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]) })).await;
    key.wait_for(&gone, "failed").await;
    let busy = site.page("/busy", [Reply::Status(503), article("Herons", "a heron")]);
    let busy = key.save(json!({ "url": busy })).await;
    key.wait_for(&busy, "failed").await;

    // The next attempt of the second one waits, so it is not among those that failed.
    assert_eq!(work(&session).await, json!([1, 0, 1]));
    assert_counts_of_rows(&server).await;
    key.delete(&format!("/rest/v1/bookmarks/{}", text_of(&gone, "bookmarkId"))).await.data(200);
    assert_eq!(work(&session).await, json!([1, 0, 0]));
    assert_counts_of_rows(&server).await;

    server.clock.advance(Duration::from_secs(76));
    key.wait_for(&busy, "ready").await;
    wait_until_idle(&server).await;
    assert_eq!(work(&session).await, json!([0, 0, 0]));
    assert_counts_of_rows(&server).await;
}

#[actix_web::test]
async fn counts_of_projects_follow_items_and_their_bookmarks() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SmallLibrary::create(&key, &session, &site).await;
    assert_eq!(items(&session, &library.project).await, (json!(2), json!(2)));
    let created = session.post("/app/api/projects", json!({ "name": "Birds" })).await;
    let project = text_of(&created.data(201)["project"], "id");
    let note = json!({ "title": "Reeds", "bodyMd": "Of herons." });
    let note = key.post(&format!("/rest/v2/projects/{}/notes", library.project), note).await;
    let (note, bookmark) = (text_of(&note.data(201)["note"], "noteId"), library.bookmark.as_str());
    let named = json!([{ "bookmarkId": bookmark }, { "entryId": library.entry }, { "noteId": note }]);
    let added = key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": named })).await;
    let entry = text_of(&added.data(201)["added"][1], "itemId");
    assert_eq!(items(&session, &project).await, (json!(3), json!(2)));
    assert_counts_of_rows(&server).await;

    let bookmark = format!("/rest/v1/bookmarks/{bookmark}");
    key.delete(&bookmark).await.data(200);
    assert_eq!(items(&session, &project).await, (json!(2), json!(1)));
    assert_eq!(items(&session, &library.project).await, (json!(1), json!(1)));
    assert_counts_of_rows(&server).await;
    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    assert_eq!(items(&session, &project).await, (json!(3), json!(2)));
    assert_counts_of_rows(&server).await;

    session.delete(&format!("/app/api/projects/{project}/items/{entry}")).await.data(200);
    session.delete(&format!("/app/api/projects/{}", library.project)).await.data(200);
    // The note was deleted with its project.
    assert_eq!(items(&session, &project).await, (json!(1), json!(1)));
    assert_counts_of_rows(&server).await;
}

#[actix_web::test]
async fn counts_follow_undo_and_the_removal_of_the_account() {
    let (server, site) = (Server::start().await, Site::start().await);
    let (user, other) = (server.user(Plan::Research).await, server.user(Plan::Research).await);
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let library = SmallLibrary::create(&key, &session, &site).await;
    add_bookmark_of(&other.full_key().await).await;
    let before = count_of_account(&key, "bookmarks").await;

    post_step(&session, &library.import, "undo").await;
    wait_for(&session, &library.import, "undone").await;
    assert!(count_of_account(&key, "bookmarks").await < before);
    key.delete(&format!("/rest/v1/collections/{}", library.collection)).await.data(200);
    session.delete(&format!("/app/api/projects/{}", library.project)).await.data(200);
    assert_eq!(count_of_account(&key, "collections").await, 1);
    assert_eq!(count_of_account(&key, "projects").await, 1);
    assert_counts_of_rows(&server).await;

    accounts::delete(&server.context().core, user.id()).await.unwrap();
    assert_counts_of_rows(&server).await;
    let db = &server.context().core.db;
    assert_eq!(account_count::Entity::owned_by(user.id()).one(db.read()).await.unwrap(), None);
    assert_eq!(tag_count::Entity::owned_by(user.id()).one(db.read()).await.unwrap(), None);
    assert_eq!(tag_count::Entity::owned_by(other.id()).all(db.read()).await.unwrap().len(), 1);
}

async fn add_bookmark_of(key: &Key) {
    key.save(json!({ "url": "https://reeds.example/other", "text": "A heron.", "tags": ["heron"] })).await;
}

#[actix_web::test]
async fn wrong_counters_are_found_and_counted_anew() {
    let server = Server::start().await;
    let (user, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let key = user.full_key().await;
    for key in [&key, &other.full_key().await] {
        add_bookmark_of(key).await;
    }
    let db = &server.context().core.db;
    account_count::Entity::update_owned(user.id())
        .col_expr(account_count::Column::Bookmarks, Expr::value(7_i64))
        .exec(db.write())
        .await
        .unwrap();
    tag_count::Entity::delete_owned(user.id())
        .filter(tag_count::Column::Name.eq("heron"))
        .exec(db.write())
        .await
        .unwrap();

    assert_eq!(counters::find_miscounted_users(db).await.unwrap(), vec![user.id()]);
    counters::recount(db, user.id()).await.unwrap();

    assert_counts_of_rows(&server).await;
    assert_eq!((tags(&key).await, count_of_account(&key, "bookmarks").await), (named([("heron", 1)]), 1));
}

#[actix_web::test]
async fn wrong_counters_refuse_no_change() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let page = json!({ "url": "https://reeds.example/other", "text": "A heron.", "tags": ["heron"] });
    let saved = key.save(page).await;
    let db = &server.context().core.db;
    account_count::Entity::update_owned(user.id())
        .col_expr(account_count::Column::Bookmarks, Expr::value(0_i64))
        .exec(db.write())
        .await
        .unwrap();
    tag_count::Entity::update_owned(user.id())
        .col_expr(tag_count::Column::Bookmarks, Expr::value(0_i64))
        .exec(db.write())
        .await
        .unwrap();

    let bookmark = format!("/rest/v1/bookmarks/{}", saved["bookmarkId"].as_str().unwrap());
    key.delete(&bookmark).await.data(200);

    assert_eq!((tags(&key).await, count_of_account(&key, "bookmarks").await), (named([]), 0));
    counters::recount(db, user.id()).await.unwrap();
    assert_counts_of_rows(&server).await;
}
