//! Requests and imports that lock the same rows on PostgreSQL: none of them may end in a deadlock.

use entity::id::{BookmarkId, UserId};
use entity::plan::Plan;
use entity::{bookmark, feed};
use futures_util::future::{join, join_all};
use sea_orm::{ConnectionTrait, Database, DatabaseBackend, QueryOrder, Statement};
use serde_json::json;

use super::imports::{begin, list, once};
use crate::world::{Client, Server};

const PAGES: usize = 200;
/// Requests that are under way at once.
const TASKS: usize = 6;
/// Of so many bookmarks one is deleted.
const DELETED_EACH: usize = 5;
/// Feeds of a list: an odd number of lots, so that two lists in opposite orders meet in the same lot.
const FEEDS: usize = 300;

fn page(n: usize) -> String {
    format!("https://reeds.example/{n:04}")
}

/// A list of all pages, with this tag and a note on each.
fn pages(tag: &str) -> Vec<u8> {
    let link = |n| format!("<DT><A HREF=\"{}\" TAGS=\"{tag}\">Page {n}</A>\n<DD>Note of {tag}\n", page(n));
    list(&(0..PAGES).map(link).collect::<String>()).into_bytes()
}

/// A list of feeds, in this order.
fn feeds(order: impl Iterator<Item = usize>) -> Vec<u8> {
    let outline = |n: usize| format!("<outline type=\"rss\" xmlUrl=\"https://reeds.example/feeds/{n:04}\"/>");
    let outlines: String = order.map(outline).collect();
    format!("<opml version=\"2.0\"><body>{outlines}</body></opml>").into_bytes()
}

/// The user's bookmarks in the order of their pages.
async fn bookmarks(server: &Server, user: UserId) -> Vec<BookmarkId> {
    let own = bookmark::Entity::owned_by(user).order_by_asc(bookmark::Column::Url);
    own.all(server.app().db.read()).await.unwrap().into_iter().map(|row| row.id).collect()
}

/// Deletes some of the bookmarks and changes the others, the last ones first: an import takes them the other way round.
async fn change(session: &Client, bookmarks: &[(usize, BookmarkId)]) {
    for (n, id) in bookmarks.iter().rev() {
        let path = format!("/app/api/library/bookmarks/{id}");
        if n.is_multiple_of(DELETED_EACH) {
            session.delete(&path).await.data(200);
            continue;
        }
        session.patch(&path, json!({ "notes": format!("Own note {n}") })).await.data(200);
        session.patch(&path, json!({ "title": format!("Own title {n}"), "tags": ["own"] })).await.data(200);
    }
}

/// Deadlocks that PostgreSQL has ended in this database; it counts them when their connections end.
async fn deadlocks(url: &str) -> i64 {
    let database = Database::connect(url).await.unwrap();
    let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let count = Statement::from_string(DatabaseBackend::Postgres, count);
    let row = database.query_one_raw(count).await.unwrap().unwrap();
    database.close().await.unwrap();
    row.try_get("", "deadlocks").unwrap()
}

async fn stop_without_deadlocks(server: Server) {
    let is_postgres = server.app().db.is_postgres();
    let (home, _clock) = server.stop().await;
    if is_postgres {
        assert_eq!(deadlocks(&home.database_url()).await, 0);
    }
}

#[actix_web::test]
async fn imports_beside_changes_of_their_bookmarks_do_not_deadlock() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let first = begin(&session, &pages("first"), &[]).await;
    once(&session, &first, "done").await;
    let all: Vec<_> = bookmarks(&server, user.id()).await.into_iter().enumerate().collect();
    assert_eq!(all.len(), PAGES);

    let imports = [begin(&session, &pages("second"), &[]).await, begin(&session, &pages("third"), &[]).await];
    join_all(all.chunks(PAGES.div_ceil(TASKS)).map(|some| change(&session, some))).await;
    for import in &imports {
        once(&session, import, "done").await;
    }

    for (n, id) in all.iter().filter(|(n, _)| !n.is_multiple_of(DELETED_EACH)) {
        let shown = session.get(&format!("/app/api/library/bookmarks/{id}")).await;
        let shown = &shown.data(200)["bookmark"];
        assert_eq!(shown["title"], format!("Own title {n}"));
        assert!(shown["tags"].as_array().unwrap().contains(&json!("own")), "{shown}");
        assert!(shown["notes"].as_str().unwrap().contains(&format!("Own note {n}")), "{shown}");
    }
    stop_without_deadlocks(server).await;
}

#[actix_web::test]
async fn imports_of_the_same_feeds_in_opposite_orders_do_not_deadlock() {
    let server = Server::start().await;
    let (ada, bea) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (ada, bea) = ((ada.id(), ada.sign_in().await), (bea.id(), bea.sign_in().await));

    let (forward, backward) = (feeds(0..FEEDS), feeds((0..FEEDS).rev()));
    let (first, second) = join(begin(&ada.1, &forward, &[]), begin(&bea.1, &backward, &[])).await;

    for ((user, session), import) in [(ada, first), (bea, second)] {
        once(&session, &import, "done").await;
        let followed = feed::Entity::owned_by(user).all(server.app().db.read()).await.unwrap();
        assert_eq!(followed.len(), FEEDS);
    }
    stop_without_deadlocks(server).await;
}
