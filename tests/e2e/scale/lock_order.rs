//! Requests during background work of one library: on PostgreSQL they lock the same rows, and must not deadlock.

use std::time::Duration;

use actors::auth::accounts;
use actors::context::OperationContext;
use entity::{bookmark, feed, import, job, upload};
use futures_util::future::{join, join_all, join4};
use jobs::{JobKind, Priority};
use library::owned_transaction::begin_owned;
use library::uploads;
use sea_orm::sea_query::{Expr, LockBehavior, LockType};
use sea_orm::{
    ColumnTrait, ConnectOptions, ConnectionTrait, Database, DatabaseBackend, EntityTrait, IntoActiveModel,
    QueryFilter, QueryOrder, QuerySelect, Statement,
};
use serde_json::json;
use values::id::{BookmarkId, FeedId, ImportId, UploadId, UserId};
use values::kind::{ImportState, JobState};
use values::plan::Plan;
use values::time::Timestamp;

use crate::import::imports::{bookmark_list, restore_file, start_import, wait_for};
use crate::support::{Client, Reply, Response, Server, Site, eventually, has_postgres};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const PAGES: usize = 200;
const PARALLEL_REQUESTS: usize = 6;
/// Every n-th bookmark is deleted.
const DELETED_EACH: usize = 5;
/// Feeds of a list: an odd number of batches, so that two lists in opposite orders meet in the same batch.
const FEEDS: usize = 300;
/// How often an import is paused and resumed.
const PAUSES: usize = 5;
/// Accounts that are removed while their uploads are swept.
const REMOVED_ACCOUNTS: usize = 8;
/// Abandoned uploads of each user.
const UPLOADS_PER_USER: usize = 20;

fn page_url(n: usize) -> String {
    format!("https://reeds.example/{n:04}")
}

/// A bookmark list of all pages, each with this tag and a note.
fn page_list(tag: &str) -> Vec<u8> {
    let link =
        |n| format!("<DT><A HREF=\"{}\" TAGS=\"{tag}\">Page {n}</A>\n<DD>Note of {tag}\n", page_url(n));
    bookmark_list(&(0..PAGES).map(link).collect::<String>()).into_bytes()
}

/// An OPML list of feeds in this order.
fn feed_list(order: impl Iterator<Item = usize>) -> Vec<u8> {
    let outline = |n: usize| format!("<outline type=\"rss\" xmlUrl=\"https://reeds.example/feeds/{n:04}\"/>");
    let outlines: String = order.map(outline).collect();
    format!("<opml version=\"2.0\"><body>{outlines}</body></opml>").into_bytes()
}

/// The user's bookmarks in the order of their pages.
async fn list_bookmarks(server: &Server, user: UserId) -> Vec<BookmarkId> {
    let own = bookmark::Entity::visible_to(user).order_by_asc(bookmark::Column::Url);
    own.all(server.context().core.db.read()).await.unwrap().into_iter().map(|row| row.id).collect()
}

/// Deletes some of the bookmarks and changes the others, in reverse order: an import locks them first to last.
async fn change_bookmarks(session: &Client, bookmarks: &[(usize, BookmarkId)]) {
    for (n, id) in bookmarks.iter().rev() {
        let path = format!("/app/api/library/bookmarks/{id}");
        if n.is_multiple_of(DELETED_EACH) {
            send_until_served(async || session.delete(&path).await).await;
            continue;
        }
        let (note, title) = (format!("Own note {n}"), format!("Own title {n}"));
        send_until_served(async || session.patch(&path, json!({ "notes": note })).await).await;
        send_until_served(async || session.patch(&path, json!({ "title": title, "tags": ["own"] })).await)
            .await;
    }
}

/// Sends a change until it is accepted. On a busy machine a lock may not become free within the time that a request waits for it.
async fn send_until_served(send: impl AsyncFn() -> Response) {
    eventually("the change is made", async || {
        let answer = send().await;
        (answer.status != 503).then(|| {
            answer.data(200);
        })
    })
    .await;
}

/// Starts an import of all pages, and pauses and resumes it repeatedly. Returns its id.
async fn import_with_pauses(session: &Client, tag: &str) -> String {
    let import = start_import(session, &page_list(tag), &[]).await;
    for _ in 0..PAUSES {
        for step in ["pause", "resume"] {
            session.post(&format!("/app/api/imports/{import}/{step}"), json!({})).await.data(200);
        }
    }
    import
}

/// Inserts an upload that is never completed and whose URL expires at this time.
async fn announce(ctx: &OperationContext, user: UserId, ends: Timestamp) {
    let now = ctx.core.clock.now();
    let row = upload::Model {
        id: UploadId::new(now),
        user_id: user,
        filename: "heron.pdf".to_owned(),
        content_type: "application/pdf".to_owned(),
        bytes: 1,
        created_at: now,
        expires_at: ends,
        receiving_until: ends,
        arrived_at: None,
        sha256: None,
        completed_at: None,
        document_id: None,
        bookmark_id: None,
    };
    upload::Entity::insert(row.into_active_model())
        .exec_without_returning(ctx.core.db.write())
        .await
        .unwrap();
}

/// Queries a system table of PostgreSQL for one number.
async fn query_number(db: &impl ConnectionTrait, query: &str) -> i64 {
    let statement = Statement::from_string(DatabaseBackend::Postgres, query);
    db.query_one_raw(statement).await.unwrap().unwrap().try_get_by_index(0).unwrap()
}

/// The number of deadlocks that PostgreSQL has resolved in this database. A connection reports its own when it ends, before it
/// leaves the list of activity: all others must have left it.
async fn count_deadlocks(url: &str) -> i64 {
    let mut options = ConnectOptions::new(url);
    // A second connection of the pool would count as one of the others.
    options.max_connections(1);
    let database = Database::connect(options).await.unwrap();
    let others = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()";
    eventually("the connections of the service have ended", async || {
        (query_number(&database, others).await == 0).then_some(())
    })
    .await;
    let count = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    let count = query_number(&database, count).await;
    database.close().await.unwrap();
    count
}

async fn stop_without_deadlocks(server: Server) {
    let is_postgres = server.context().core.db.is_postgres();
    let (home, _clock) = server.stop().await;
    if is_postgres {
        assert_eq!(count_deadlocks(&home.database_url()).await, 0);
    }
}

#[actix_web::test]
async fn concurrent_work_on_one_library_does_not_deadlock() {
    let server = Server::start().await;
    let ctx = server.context();
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let first = start_import(&session, &page_list("first"), &[]).await;
    wait_for(&session, &first, "done").await;
    let all: Vec<_> = list_bookmarks(&server, user.id()).await.into_iter().enumerate().collect();
    assert_eq!(all.len(), PAGES);
    let mut removed = Vec::new();
    for _ in 0..REMOVED_ACCOUNTS {
        removed.push(server.user(Plan::Pro).await.id());
    }
    for owner in removed.iter().copied().chain([user.id()]) {
        for _ in 0..UPLOADS_PER_USER {
            announce(ctx, owner, Timestamp::from_millis(0)).await;
        }
    }

    let changes =
        join_all(all.chunks(PAGES.div_ceil(PARALLEL_REQUESTS)).map(|some| change_bookmarks(&session, some)));
    let imports = join_all(["second", "third"].map(|tag| import_with_pauses(&session, tag)));
    let removals = join_all(removed.iter().map(|owner| accounts::delete(&ctx.core, *owner)));
    let (_, imports, removals, swept) = join4(changes, imports, removals, uploads::sweep(&ctx.core)).await;
    swept.unwrap();
    for removal in removals {
        removal.unwrap();
    }
    for import in &imports {
        wait_for(&session, import, "done").await;
    }

    assert_eq!(upload::Entity::owned_by(user.id()).one(ctx.core.db.read()).await.unwrap(), None);
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
async fn imports_of_feeds_in_opposite_orders_do_not_deadlock() {
    let server = Server::start().await;
    let (ada, bea) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (ada, bea) = ((ada.id(), ada.sign_in().await), (bea.id(), bea.sign_in().await));

    let (forward, backward) = (feed_list(0..FEEDS), feed_list((0..FEEDS).rev()));
    let (first, second) =
        join(start_import(&ada.1, &forward, &[]), start_import(&bea.1, &backward, &[])).await;

    for ((user, session), import) in [(ada, first), (bea, second)] {
        wait_for(&session, &import, "done").await;
        let followed = feed::Entity::owned_by(user).all(server.context().core.db.read()).await.unwrap();
        assert_eq!(followed.len(), FEEDS);
    }
    stop_without_deadlocks(server).await;
}

/// Starts a server on a database that locks rows; `None` on SQLite.
async fn server_with_row_locks() -> Option<Server> {
    if has_postgres("SQLite does not lock rows") { Some(Server::start().await) } else { None }
}

/// Waits until a statement waits for a lock. No other work may run.
async fn wait_until_blocked(ctx: &OperationContext) {
    let waiting = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("a statement waits for a lock", async || {
        (query_number(ctx.core.db.read(), waiting).await > 0).then_some(())
    })
    .await;
}

/// Waits until no job waits or runs.
async fn wait_until_idle(ctx: &OperationContext) {
    let open = job::Entity::find().filter(job::Column::State.is_in([JobState::Queued, JobState::Running]));
    eventually("the queue is empty", async || {
        open.clone().one(ctx.core.db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
}

#[actix_web::test]
async fn import_columns_are_written_after_locking_the_count() {
    let Some(server) = server_with_row_locks().await else { return };
    let (ctx, user) = (server.context(), server.user(Plan::Pro).await);
    let session = user.sign_in().await;
    let lines: String =
        (0..5).map(|n| format!("{{\"url\": \"https://reeds.example/{n}\", \"text\": \"T\"}}\n")).collect();
    let id = start_import(&session, lines.as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    wait_until_idle(ctx).await;
    // The state of an import whose job has not opened its file yet.
    restore_file(&server, &id, lines.as_bytes()).await;
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(ImportState::Running))
        .col_expr(import::Column::Format, Expr::value(None::<String>))
        .col_expr(import::Column::UnreadColumns, Expr::value(None::<String>))
        .exec(ctx.core.db.write())
        .await
        .unwrap();

    let import = ImportId(id.parse().unwrap());
    let pause = begin_owned(&ctx.core.db, user.id()).await.unwrap();
    let now = ctx.core.clock.now();
    jobs::enqueue(ctx.core.db.write(), user.id(), JobKind::Import, import.0, Priority::Now, now)
        .await
        .unwrap();
    wait_until_blocked(ctx).await;

    // A pause locks the import after the count. NOWAIT fails here if the job has locked the import already and waits for the count.
    let own = import::Entity::one_of(user.id(), import);
    let own = own.lock_with_behavior(LockType::Update, LockBehavior::Nowait).one(&pause).await.unwrap();
    assert!(own.is_some());
    pause.commit().await.unwrap();
    wait_for(&session, &id, "done").await;
}

#[actix_web::test]
async fn uploads_are_swept_after_locking_the_counts() {
    let Some(server) = server_with_row_locks().await else { return };
    let ctx = server.context().clone();
    let users = [server.user(Plan::Pro).await.id(), server.user(Plan::Pro).await.id()];
    for user in users {
        announce(&ctx, user, ctx.core.clock.now()).await;
    }
    let removal = begin_owned(&ctx.core.db, users[1]).await.unwrap();
    server.clock.advance(8 * DAY);

    let sweeping = ctx.clone();
    let sweep = actix_web::rt::spawn(async move { uploads::sweep(&sweeping.core).await });
    wait_until_blocked(&ctx).await;

    // NOWAIT fails here if the sweep has locked the upload already and waits for the count.
    let own = upload::Entity::owned_by(users[1]);
    let own = own.lock_with_behavior(LockType::Update, LockBehavior::Nowait).one(&removal).await.unwrap();
    assert!(own.is_some());
    removal.commit().await.unwrap();
    sweep.await.unwrap().unwrap();
    for user in users {
        assert_eq!(upload::Entity::owned_by(user).one(ctx.core.db.read()).await.unwrap(), None);
    }
}

const FEED_BODY: &str = "<rss version=\"2.0\"><channel><title>The Reeds</title><item><title>One</title><link>/one</link>\
    <guid>one</guid><pubDate>Mon, 06 May 2024 11:00:00 GMT</pubDate><description>A heron.</description></item></channel></rss>";

/// The URLs at which a source is followed.
async fn followed_urls(ctx: &OperationContext, source: &feed::Model) -> Vec<String> {
    let followers = feed::Entity::followers_of(source.source_id).all(ctx.core.db.read()).await.unwrap();
    followers.into_iter().map(|follower| follower.url).collect()
}

#[actix_web::test]
async fn feed_followed_during_a_move_moves_at_the_next_fetch() {
    let Some(server) = server_with_row_locks().await else { return };
    let (ctx, site) = (server.context(), Site::start().await);
    let (ada, bea) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let rss = || [Reply::File("application/rss+xml", FEED_BODY.as_bytes().to_vec())];
    let (old, new) = (site.page("/old", rss()), site.page("/new", rss()));
    ada.full_key().await.post("/rest/v1/feeds", json!({ "url": old })).await.data(201);
    wait_until_idle(ctx).await;
    let followed = feed::Entity::owned_by(ada.id()).one(ctx.core.db.read()).await.unwrap().unwrap();
    let moved =
        Reply::Plain { status: 301, headers: vec![("location", "/new".to_owned())], body: String::new() };
    site.page("/old", [moved]);

    // Holds the count of Ada, for which the fetch has to wait after it has read its followers.
    let write_of_ada = begin_owned(&ctx.core.db, ada.id()).await.unwrap();
    server.clock.advance(25 * HOUR);
    wait_until_blocked(ctx).await;
    let feed_of_bea =
        feed::Model { id: FeedId::new(ctx.core.clock.now()), user_id: bea.id(), ..followed.clone() };
    feed::Entity::insert(feed_of_bea.into_active_model())
        .exec_without_returning(ctx.core.db.write())
        .await
        .unwrap();
    write_of_ada.commit().await.unwrap();
    wait_until_idle(ctx).await;

    // The fetch read its followers before Bea was one and holds no lock on her count, so it must not move her feed.
    assert_eq!(followed_urls(ctx, &followed).await, [old.clone(), old]);
    server.clock.advance(25 * HOUR);
    eventually("the feed of both users is at its new URL", async || {
        (followed_urls(ctx, &followed).await == [new.clone(), new.clone()]).then_some(())
    })
    .await;
}
