//! Items of projects: each object once, all or nothing, and within the plan.

use serde_json::{Value, json};
use values::plan::Plan;

use crate::rest::projects::{create_project, find_project};
use crate::support::{Client, Key, Reply, Response, Server, Site, article, eventually};

const ITEM_LIMIT_OF_FIVE: &[(&str, &str)] = &[("PLANS__RESEARCH__ITEMS_PER_PROJECT", "5")];

async fn add_items(client: &Client, project: &str, items: Value) -> Response {
    client.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await
}

async fn count_bookmarks(key: &Key) -> usize {
    key.get("/rest/v1/bookmarks").await.data(200)["bookmarks"].as_array().unwrap().len()
}

fn item_counts(response: &Response) -> [usize; 2] {
    ["added", "alreadyPresent"].map(|list| response.data(201)[list].as_array().unwrap().len())
}

#[actix_web::test]
async fn concurrent_additions_stop_at_the_plan_limit() {
    let server = Server::start_with(ITEM_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;

    let one =
        async |n: usize| add_items(&key, &id, json!([{ "url": format!("https://example.org/{n}") }])).await;
    let responses = futures_util::future::join_all((0..12).map(one)).await;

    assert_eq!(responses.iter().filter(|response| response.status == 201).count(), 5);
    let refused = responses.iter().filter(|response| response.status != 201);
    assert!(refused.clone().all(|response| response.error_code(402) == "PROJECT_LIMIT_REACHED"));
    assert_eq!(find_project(&key, &id).await["itemCount"], 5);
    assert_eq!(count_bookmarks(&key).await, 5);
}

#[actix_web::test]
async fn concurrent_additions_of_same_page_add_it_once() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;

    let same = (0..10).map(|_| add_items(&key, &id, json!([{ "url": "https://example.org/same" }])));
    let responses = futures_util::future::join_all(same).await;

    assert_eq!(responses.iter().filter(|response| item_counts(response) == [1, 0]).count(), 1);
    assert_eq!(responses.iter().filter(|response| item_counts(response) == [0, 1]).count(), 9);
    assert_eq!((count_bookmarks(&key).await, &find_project(&key, &id).await["itemCount"]), (1, &json!(1)));
}

#[actix_web::test]
async fn concurrent_additions_in_other_orders_all_succeed() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let urls: Vec<Value> = (0..20).map(|n| json!({ "url": format!("https://example.org/{n}") })).collect();
    let backwards: Vec<Value> = urls.iter().rev().cloned().collect();
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        ids.push(create_project(&session, name).await);
    }

    let orders = [&urls, &backwards, &urls, &backwards];
    let adding = ids.iter().zip(orders).map(|(id, items)| add_items(&key, id, json!(items)));
    let responses = futures_util::future::join_all(adding).await;

    assert!(responses.iter().all(|response| item_counts(response) == [20, 0]));
    assert_eq!(count_bookmarks(&key).await, 20);
}

#[actix_web::test]
async fn refused_addition_adds_and_saves_nothing() {
    let server = Server::start_with(ITEM_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let page = |n: usize| json!({ "url": format!("https://example.org/{n}") });
    let unknown_id = "01890000-0000-7000-8000-000000000000";

    let many: Vec<Value> = (0..6).map(page).collect();
    assert_eq!(add_items(&key, &id, json!(many)).await.error_code(402), "PROJECT_LIMIT_REACHED");
    let foreign = add_items(&key, &id, json!([page(0), { "noteId": unknown_id }])).await;
    assert_eq!(foreign.error_code(404), "NOT_FOUND");
    let local =
        add_items(&key, &id, json!([page(0), { "url": "http://127.1/" }, { "url": "http://10.0.0.1/" }]))
            .await;
    assert_eq!(local.error_code(422), "URL_REJECTED");
    assert_eq!(add_items(&key, unknown_id, json!([page(0)])).await.error_code(404), "NOT_FOUND");
    let faulty =
        add_items(&key, &id, json!([page(0), {}, { "url": "https://a.example", "entryId": unknown_id }]))
            .await;
    assert_eq!(
        (faulty.error_code(400), faulty.faults()),
        ("VALIDATION_FAILED", vec!["items[1]", "items[2]"])
    );

    assert_eq!((count_bookmarks(&key).await, &find_project(&key, &id).await["itemCount"]), (0, &json!(0)));
}

#[actix_web::test]
async fn existing_item_is_reported_even_in_a_full_project() {
    let server = Server::start_with(ITEM_LIMIT_OF_FIVE).await;
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let pages: Vec<Value> = (0..5).map(|n| json!({ "url": format!("https://example.org/{n}") })).collect();
    add_items(&key, &id, json!(pages)).await.data(201);

    let again =
        add_items(&key, &id, json!([{ "url": "https://example.org/3#part", "role": "background" }])).await;

    assert_eq!(item_counts(&again), [0, 1]);
    assert_eq!(again.data(201)["alreadyPresent"][0]["role"], "source");
    let mixed = add_items(&key, &id, json!([pages[0], { "url": "https://example.org/new" }])).await;
    assert_eq!(mixed.error_code(402), "PROJECT_LIMIT_REACHED");
}

#[actix_web::test]
async fn one_object_is_one_item_however_referenced() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let saved = key.save_text("https://example.org/a", "A heron stands in the reeds.").await;
    let bookmark = key.wait_for(&saved, "ready").await;
    let path = format!("/rest/v1/bookmarks/{}/highlights", bookmark["bookmarkId"].as_str().unwrap());
    let highlight = json!({ "text": "heron", "startOffset": 2, "endOffset": 7 });
    let highlight = key.post(&path, highlight).await.data(201)["highlight"]["highlightId"].clone();
    let response = add_items(
        &key,
        &id,
        json!([
            { "url": "https://example.org/a?utm_source=x", "role": "background" },
            { "bookmarkId": bookmark["bookmarkId"] },
            { "highlightId": highlight },
            { "url": "https://example.org/b" },
            { "url": "https://EXAMPLE.org:443/b" },
        ]),
    )
    .await;

    let added = response.data(201)["added"].as_array().unwrap();
    let kinds: Vec<_> = added.iter().map(|item| item["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["bookmark", "highlight", "url"]);
    assert_eq!(added[0]["role"], "background");
    assert_eq!(added[1]["bookmarkId"], bookmark["bookmarkId"]);
    let shown = find_project(&key, &id).await;
    assert_eq!((&shown["itemCount"], &shown["sourceCount"]), (&json!(3), &json!(3)));
    let again = add_items(&key, &id, json!([{ "url": "https://example.org/a" }])).await;
    assert_eq!(again.data(201)["alreadyPresent"][0]["itemId"], added[0]["itemId"]);
}

#[actix_web::test]
async fn entry_and_its_bookmark_are_one_item() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let (first, second) = (create_project(&session, "P").await, create_project(&session, "Q").await);
    let page = site.page("/one", [article("One", "the heron")]);
    let item = format!("<item><title>One</title><link>{page}</link><guid>one</guid></item>");
    let feed = format!("<rss version=\"2.0\"><channel><title>Reeds</title>{item}</channel></rss>");
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let feed = site.page("/feed", [Reply::Plain { status: 200, headers, body: feed }]);
    key.post("/rest/v1/feeds", json!({ "url": feed })).await.data(201);
    let entry = eventually("the entry is listed", async || {
        key.get("/rest/v1/entries").await.data(200)["entries"].get(0).cloned()
    })
    .await;
    let by_entry = json!([{ "entryId": entry["entryId"] }]);
    let count = async |project: &str| find_project(&key, project).await["itemCount"].clone();

    let added = add_items(&key, &first, by_entry.clone()).await;
    let added = &added.data(201)["added"][0];
    assert_eq!((&added["kind"], &added["bookmarkId"]), (&json!("entry"), &Value::Null));
    let bookmark = key.save(json!({ "url": page })).await;
    assert_eq!(bookmark["documentId"], entry["documentId"]);
    let by_bookmark = json!([{ "bookmarkId": bookmark["bookmarkId"] }, { "url": page }]);
    assert_eq!(item_counts(&add_items(&key, &first, by_bookmark.clone()).await), [0, 1]);
    assert_eq!(item_counts(&add_items(&key, &second, by_bookmark).await), [1, 0]);

    let one = format!("/rest/v1/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap());
    key.delete(&one).await.data(200);
    assert_eq!((count(&first).await, count(&second).await), (json!(1), json!(0)));
    assert_eq!(item_counts(&add_items(&key, &second, by_entry).await), [1, 0]);
    key.post(&format!("{one}/restore"), json!({})).await.data(200);
    assert_eq!((count(&first).await, count(&second).await), (json!(1), json!(1)));
}

#[actix_web::test]
async fn deleted_bookmark_leaves_projects_until_restored() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let id = create_project(&session, "P").await;
    let body = json!({ "url": "https://example.org/a", "text": "The heron.", "notes": "Seen by me." });
    let bookmark = key.save(body).await;
    key.wait_for(&bookmark, "ready").await;
    add_items(&key, &id, json!([{ "bookmarkId": bookmark["bookmarkId"] }])).await.data(201);
    let one = format!("/rest/v1/bookmarks/{}", bookmark["bookmarkId"].as_str().unwrap());
    let seen = async || {
        let response = key.get(&format!("/rest/v2/projects/{id}/context?q=heron")).await;
        let data = response.data(200);
        let count = |list: &str| data[list].as_array().unwrap().len();
        let shown = find_project(&key, &id).await;
        (count("sources"), count("passages"), shown["itemCount"].clone(), shown["sourceCount"].clone())
    };
    assert_eq!(seen().await, (1, 1, json!(1), json!(1)));

    key.delete(&one).await.data(200);
    assert_eq!(seen().await, (0, 0, json!(0), json!(0)));
    let gone = add_items(&key, &id, json!([{ "bookmarkId": bookmark["bookmarkId"] }])).await;
    assert_eq!(gone.error_code(404), "NOT_FOUND");

    key.post(&format!("{one}/restore"), json!({})).await.data(200);
    key.wait_for(&bookmark, "ready").await;
    assert_eq!(seen().await, (1, 1, json!(1), json!(1)));
}

#[actix_web::test]
async fn item_is_changed_only_through_its_own_project() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let (id, other) = (create_project(&session, "P").await, create_project(&session, "Q").await);
    let added = add_items(&key, &id, json!([{ "url": "https://example.org/a" }])).await;
    let item = added.data(201)["added"][0]["itemId"].as_str().unwrap().to_owned();
    let path = |project: &str| format!("/app/api/projects/{project}/items/{item}");

    assert_eq!(session.patch(&path(&other), json!({ "pinned": true })).await.error_code(404), "NOT_FOUND");
    let changed = session.patch(&path(&id), json!({ "pinned": true, "role": "background" })).await;
    assert_eq!(changed.data(200)["item"]["role"], "background");
    session.delete(&path(&id)).await.data(200);

    assert_eq!(session.delete(&path(&id)).await.error_code(404), "NOT_FOUND");
    let remaining = session.get(&format!("/app/api/projects/{id}/items")).await;
    assert_eq!(remaining.data(200)["items"], json!([]));
    assert_eq!(count_bookmarks(&key).await, 1);
}
