//! Every frequent statement is served by an index, whatever the statistics of the database are.
//!
//! The statements are those that the operations and the queue send. On PostgreSQL the plans are made as if reading whole tables and
//! sorting were expensive ([`QueryPlan`]).

use std::time::Duration;

use actors::ingest::feed::due;
use actors::operations::activity::ListActivity;
use actors::operations::bookmarks::{ListBookmarks, ShowBookmark};
use actors::operations::chunks::ListChunks;
use actors::operations::collections::{ListCollections, ShowCollection};
use actors::operations::document::ReadDocument;
use actors::operations::entries::{ListEntries, ShowEntry};
use actors::operations::feeds::{ListFeeds, ShowFeed};
use actors::operations::highlights::ListHighlights;
use actors::operations::import_rows::ListImportRows;
use actors::operations::notices::ListNotices;
use actors::operations::projects::{ListDecisions, ListItems, ListNotes, ListProjects, ShowProject};
use actors::operations::rendition::{ReadHtml, ReadOutline};
use actors::operations::tags::ListTags;
use actors::operations::usage::ReadUsage;
use database::{Db, QueryPlan};
use entity::{
    api_key, oauth_client, oauth_code, oauth_grant, oauth_sign_in, oauth_token, session, upload, user,
};
use jobs::{ClaimOrder, Deferral, JobKind, LeaseOwner, Priority, SlotBudget, Track};
use sea_orm::{ConnectionTrait, EntityTrait, IntoActiveModel, QueryTrait};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::{ClientId, GrantId, UploadId, UserId};
use values::plan::Plan;

use crate::import::imports::{bookmark_list, start_import, wait_for};
use crate::support::{Client, Home, Key, NOON, OperationPlans, Reply, Server, Site, article, eventually};

/// The tag of both bookmarks.
const TAG: &str = "heron";
/// Filters of the list of bookmarks that do not depend on the order. Both bookmarks of the library match each of them.
const FILTERS: [&str; 8] = [
    "",
    "&tag=heron",
    "&archived=false",
    "&favorite=false",
    "&unread=true",
    "&contentType=article",
    "&q=reeds",
    "&archived=false&unread=true&tag=heron",
];
/// Filters by the time of saving.
const SAVED_FILTERS: [&str; 2] = ["&savedAfter=2024-01-01T00:00:00Z", "&savedBefore=2030-01-01T00:00:00Z"];
/// Filters by the time of the last change.
const UPDATED_FILTERS: [&str; 1] = ["&updatedSince=2024-01-01T00:00:00Z&includeDeleted=true"];

/// Asserts that no statement reads every row of a table.
fn assert_no_full_scan(plans: &[QueryPlan]) {
    let scans: Vec<&QueryPlan> = plans.iter().filter(|plan| !plan.full_scans().is_empty()).collect();

    assert!(!plans.is_empty(), "no statement was sent");
    assert!(scans.is_empty(), "{scans:#?}");
}

/// Asserts that no statement reads every row of a table, and that none sorts all rows of a list to return one page.
fn assert_no_scan_and_no_sort(plans: &[QueryPlan]) {
    assert_no_full_scan(plans);
    let sorted: Vec<&QueryPlan> = plans.iter().filter(|plan| plan.has_limit() && plan.sorts()).collect();
    assert!(sorted.is_empty(), "{sorted:#?}");
}

/// Asserts in addition that a statement uses this index.
fn assert_uses(plans: &[QueryPlan], index: &str) {
    assert_no_scan_and_no_sort(plans);
    assert!(plans.iter().any(|plan| plan.has_step(index)), "no statement uses {index}: {plans:#?}");
}

/// A library with two objects of each kind, so that every list has a second page.
struct SmallLibrary {
    bookmark: String,
    document: String,
    collection: String,
    project: String,
    feed: String,
    entry: String,
    import: String,
}

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

/// Posts each body and returns this member of the object in each response.
async fn create<const N: usize>(
    client: &Client,
    path: &str,
    (object, id): (&str, &str),
    bodies: [Value; N],
) -> Vec<String> {
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(text_of(&client.post(path, body).await.data(201)[object], id));
    }
    ids
}

impl SmallLibrary {
    async fn create(key: &Key, session: &Client, site: &Site) -> Self {
        let named = || ["Herons", "Reeds"].map(|name| json!({ "name": name }));
        let collections = create(key, "/rest/v1/collections", ("collection", "collectionId"), named()).await;
        let projects = create(session, "/app/api/projects", ("project", "id"), named()).await;
        let mut bookmarks = Vec::new();
        for n in 0..2 {
            let saved = json!({
                "url": format!("https://reeds.example/{n}"),
                "text": "The heron stands in the reeds.",
                "tags": [TAG],
                "notes": "Seen twice.",
                "collectionIds": collections,
            });
            bookmarks.push(key.wait_for(&key.save(saved).await, "ready").await);
        }
        let ids: Vec<String> = bookmarks.iter().map(|bookmark| text_of(bookmark, "bookmarkId")).collect();
        let highlights = [(0, "The"), (4, "heron")]
            .map(|(at, text)| json!({ "text": text, "startOffset": at, "endOffset": at + text.len() }));
        let path = format!("/rest/v1/bookmarks/{}/highlights", ids[0]);
        create(key, &path, ("highlight", "highlightId"), highlights).await;
        let project = projects[0].clone();
        let items: Vec<Value> = ids.iter().map(|id| json!({ "bookmarkId": id })).collect();
        key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await.data(201);
        for title in ["One", "Two"] {
            let note = json!({ "title": title, "bodyMd": "Of herons." });
            key.post(&format!("/rest/v2/projects/{project}/notes"), note).await.data(201);
            let decision = json!({ "title": title });
            session.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
        }
        let (feed, entry) = follow_feeds(key, site).await;
        let pages = ["/one", "/two"].map(|path| site.page(path, [article("Herons", "a heron")]));
        let links: String = pages.iter().map(|page| format!("<DT><A HREF=\"{page}\">A page</A>\n")).collect();
        let import = start_import(session, bookmark_list(&links).as_bytes(), &[]).await;
        wait_for(session, &import, "done").await;
        Self {
            bookmark: ids[0].clone(),
            document: text_of(&bookmarks[0], "documentId"),
            collection: collections[0].clone(),
            project,
            feed,
            entry,
            import,
        }
    }
}

/// Follows two feeds, and returns the id of the first one and of an entry of it.
async fn follow_feeds(key: &Key, site: &Site) -> (String, String) {
    let feeds = ["/feed-1.xml", "/feed-2.xml"].map(|path| {
        let item = |n| {
            format!(
                "<item><title>Entry {n}</title><link>/entry-{n}</link><guid>{n}</guid>\
                 <description>Of herons.</description></item>"
            )
        };
        let items: String = (1..=2).map(item).collect();
        let body = format!("<rss version=\"2.0\"><channel><title>Herons</title>{items}</channel></rss>");
        let headers = vec![("content-type", "application/rss+xml".to_owned())];
        json!({ "url": site.page(path, [Reply::Plain { status: 200, headers, body }]) })
    });
    let ids = create(key, "/rest/v1/feeds", ("feed", "feedId"), feeds).await;
    let path = format!("/rest/v1/entries?feedId={}", ids[0]);
    let entry = eventually("the entries of the first feed are listed", async || {
        let entries = key.get(&path).await.data(200)["entries"].clone();
        entries.get(1).map(|entry| text_of(entry, "entryId"))
    })
    .await;
    (ids[0].clone(), entry)
}

#[actix_web::test]
async fn pages_of_bookmarks_are_read_in_the_order_of_an_index() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let of_collection = format!("&collectionId={}", library.collection);
    let filters = || FILTERS.into_iter().chain([of_collection.as_str()]);

    for sort in ["savedAt", "-savedAt"] {
        for filter in filters().chain(SAVED_FILTERS) {
            let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}{filter}")).await;
            assert_uses(&listed, "bookmark_saved");
        }
    }
    for sort in ["updatedAt", "-updatedAt"] {
        for filter in filters().chain(UPDATED_FILTERS) {
            let listed = plans.explain::<ListBookmarks>(&[], &format!("limit=1&sort={sort}{filter}")).await;
            assert_uses(&listed, "bookmark_updated");
        }
    }
    // The title is a column of the document, so no index has the order of the bookmarks of a user. By one time and sorted by the other,
    // the database chooses which of the two an index serves.
    for query in
        ["sort=title", "sort=-updatedAt&savedAfter=2024-01-01T00:00:00Z", "updatedSince=2024-01-01T00:00:00Z"]
    {
        assert_no_full_scan(&plans.explain::<ListBookmarks>(&[], &format!("limit=1&{query}")).await);
    }
}

#[actix_web::test]
async fn statements_of_reads_are_served_by_indexes() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let library = SmallLibrary::create(&user.full_key().await, &user.sign_in().await, &site).await;
    let plans = OperationPlans::of_user(&server, &user).await;
    let (bookmark, document) = ([library.bookmark.as_str()], [library.document.as_str()]);
    let (project, import) = ([library.project.as_str()], [library.import.as_str()]);
    let of_feed = format!("limit=1&feedId={}", library.feed);

    for plans in [
        plans.explain::<ShowBookmark>(&bookmark, "").await,
        plans.explain::<ListHighlights>(&bookmark, "limit=1").await,
        plans.explain::<ReadDocument>(&document, "").await,
        plans.explain::<ListChunks>(&document, "limit=1").await,
        plans.explain::<ReadHtml>(&document, "").await,
        plans.explain::<ReadOutline>(&document, "").await,
        plans.explain::<ListTags>(&[], "limit=1").await,
        plans.explain::<ListCollections>(&[], "limit=1").await,
        plans.explain::<ShowCollection>(&[&library.collection], "").await,
        plans.explain::<ListFeeds>(&[], "limit=1").await,
        plans.explain::<ShowFeed>(&[&library.feed], "").await,
        plans.explain::<ListEntries>(&[], "limit=1").await,
        plans.explain::<ListEntries>(&[], &of_feed).await,
        plans.explain::<ListEntries>(&[], "limit=1&unread=true&starred=false").await,
        plans.explain::<ListEntries>(&[], "limit=1&after=2000-01-01T00:00:00Z").await,
        plans.explain::<ShowEntry>(&[&library.entry], "").await,
        plans.explain::<ListProjects>(&[], "limit=1").await,
        plans.explain::<ShowProject>(&project, "").await,
        plans.explain::<ListNotes>(&project, "limit=1").await,
        plans.explain::<ListActivity>(&[], "limit=1").await,
        plans.explain::<ListImportRows>(&import, "limit=1").await,
        plans.explain::<ListImportRows>(&import, "limit=1&outcome=created").await,
        plans.explain::<ReadUsage>(&[], "").await,
    ] {
        assert_no_scan_and_no_sort(&plans);
    }
    // These lists are in the order of the ids, which no index of the project or the user has.
    for plans in [
        plans.explain::<ListItems>(&project, "limit=1").await,
        plans.explain::<ListDecisions>(&project, "limit=1").await,
        plans.explain::<ListNotices>(&[], "limit=1").await,
    ] {
        assert_no_full_scan(&plans);
    }
}

#[actix_web::test]
async fn due_feeds_are_found_by_their_index() {
    let server = Server::start().await;
    let mut feeds = server.context().ingest.feeds.clone();
    let db = feeds.core.db.clone();
    let sent = feeds.core.db.record_statements();

    due::enqueue_due(&feeds).await.unwrap();

    assert_uses(&QueryPlan::of_each(&db, sent.take()).await.unwrap(), "feed_source_due");
}

#[actix_web::test]
async fn credentials_are_found_by_their_indexes() {
    let home = Home::new().await;
    let db = Db::open(&home.database_url()).await.unwrap();
    let backend = db.read().get_database_backend();

    let statements = [
        api_key::Entity::by_hash(&[1]).build(backend),
        session::Entity::unexpired(&[1], NOON).build(backend),
        oauth_token::Entity::by_hash(&[1]).build(backend),
        oauth_grant::Entity::of_token(GrantId(Uuid::nil())).build(backend),
        oauth_grant::Entity::between(UserId(Uuid::nil()), ClientId(Uuid::nil())).build(backend),
        oauth_code::Entity::by_hash(&[1]).build(backend),
        oauth_sign_in::Entity::by_hash(&[1]).build(backend),
        oauth_client::Entity::by_metadata_url("https://reeds.example/client").build(backend),
        upload::Entity::by_signed_url(UploadId(Uuid::nil())).build(backend),
        user::Entity::by_email("reader@reader.example").build(backend),
    ];

    assert_no_scan_and_no_sort(&QueryPlan::of_each(&db, statements).await.unwrap());
}

async fn insert_user(db: &Db) -> UserId {
    let id = UserId::new(NOON);
    let row = user::Model {
        id,
        email: format!("{id}@reader.example"),
        name: None,
        password_hash: String::new(),
        plan: Plan::Pro,
        disabled_at: None,
        created_at: NOON,
    };
    user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
    id
}

#[actix_web::test]
async fn queue_is_read_in_the_order_of_its_indexes() {
    let home = Home::new().await;
    let mut queue = Db::open(&home.database_url()).await.unwrap();
    let (db, user) = (queue.clone(), insert_user(&queue).await);
    let sent = queue.record_statements();
    let owner = LeaseOwner(Uuid::from_u128(1));
    let later = NOON + Duration::from_secs(2);

    let waiting = [
        (JobKind::Index, Priority::Now),
        (JobKind::Index, Priority::Backlog),
        (JobKind::FetchFeed, Priority::Now),
    ];
    for (number, (kind, priority)) in (1..).zip(waiting) {
        let subject = Uuid::from_u128(number);
        jobs::enqueue(queue.write(), user, kind, subject, priority, NOON).await.unwrap();
        assert!(jobs::has_room(queue.write(), user, priority).await.unwrap());
    }
    let slots = SlotBudget::unrestricted(4);
    let claimed =
        jobs::claim(&queue, owner, Track::Library, ClaimOrder::BacklogFirst, NOON, slots).await.unwrap();
    let [first, second] = &claimed.jobs[..] else { panic!("{claimed:?}") };
    let deferral = Deferral { counts_attempt: false, reason: None, delay: Duration::from_secs(1) };
    assert!(jobs::renew(queue.write(), &first.row, NOON).await.unwrap());
    assert!(jobs::finish(queue.write(), &first.row, NOON).await.unwrap());
    assert!(jobs::defer(queue.write(), &second.row, deferral, NOON).await.unwrap());
    jobs::promote(&queue, later).await.unwrap();
    jobs::end_leases(queue.write(), owner, later).await.unwrap();

    let plans = QueryPlan::of_each(&db, sent.take()).await.unwrap();
    for index in ["job_due", "job_deferred", "job_lease"] {
        assert_uses(&plans, index);
    }
}
