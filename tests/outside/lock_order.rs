//! Requests that run concurrently with imports of the same library: on PostgreSQL they lock the same rows and must not deadlock.

use entity::bookmark;
use entity::id::{BookmarkId, UserId};
use entity::plan::Plan;
use futures_util::future::join_all;
use sea_orm::{ConnectionTrait, Database, DatabaseBackend, QueryOrder, Statement};
use serde_json::json;

use super::imports::{begin, list, once};
use crate::world::{Client, Server};

const PAGES: usize = 200;
/// Number of concurrent requests.
const TASKS: usize = 6;
/// Every n-th bookmark is deleted.
const DELETED_EACH: usize = 5;

fn page(n: usize) -> String {
    format!("https://reeds.example/{n:04}")
}

/// A bookmark list of all pages, each with this tag and a note.
fn pages(tag: &str) -> Vec<u8> {
    let link = |n| format!("<DT><A HREF=\"{}\" TAGS=\"{tag}\">Page {n}</A>\n<DD>Note of {tag}\n", page(n));
    list(&(0..PAGES).map(link).collect::<String>()).into_bytes()
}

/// The user's bookmarks in the order of their pages.
async fn bookmarks(server: &Server, user: UserId) -> Vec<BookmarkId> {
    let own = bookmark::Entity::owned_by(user).order_by_asc(bookmark::Column::Url);
    own.all(server.app().db.read()).await.unwrap().into_iter().map(|row| row.id).collect()
}

/// Deletes some of the bookmarks and changes the others, in reverse order: an import locks them first to last.
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

/// Number of deadlocks that PostgreSQL detected in this database; a connection reports them when it ends.
async fn deadlocks(url: &str) -> i64 {
    let database = Database::connect(url).await.unwrap();
    let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let count = Statement::from_string(DatabaseBackend::Postgres, count);
    let row = database.query_one_raw(count).await.unwrap().unwrap();
    database.close().await.unwrap();
    row.try_get("", "deadlocks").unwrap()
}

#[actix_web::test]
async fn concurrent_imports_and_changes_do_not_deadlock() {
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
    let is_postgres = server.app().db.is_postgres();
    let (home, _clock) = server.stop().await;
    if is_postgres {
        assert_eq!(deadlocks(&home.database_url()).await, 0);
    }
}
