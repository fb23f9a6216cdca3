//! Filters of a search: each and each pair of them against a model, and what changes between two searches.

use std::collections::{BTreeMap, BTreeSet};

use database::insert_all;
use entity::{bookmark, bookmark_tag};
use serde_json::{Value, json};
use values::id::{BookmarkId, UserId};
use values::plan::Plan;

use crate::rest::projects::create_project;
use crate::support::{Key, NOON, Reply, Server, Site, eventually};

/// The time at which bookmark 3 was saved, as the bound of a period.
const BOUND: &str = "2023-03-04T00:00:00.000Z";
const UNKNOWN_ID: &str = "01a20fab-0000-7000-8000-000000000000";

/// A document as the filters see it.
#[derive(Debug)]
struct SearchedDocument {
    id: String,
    content_type: String,
    /// The number of its bookmark.
    bookmark: Option<u32>,
    is_entry: bool,
    in_project: bool,
}

/// A filter as it stands in a request, and the documents that match it.
type SearchFilter = (String, DocumentCondition);
/// Returns whether a document matches.
type DocumentCondition = Box<dyn Fn(&SearchedDocument) -> bool>;

fn text_of(object: &Value, name: &str) -> String {
    object[name].as_str().unwrap().to_owned()
}

/// Tags of bookmark `number`: each of 0 to 7 has another combination of tag `bird`, tag `grey` and the flag of archived ones.
fn tags(number: u32) -> Vec<&'static str> {
    [(1, "bird"), (2, "grey")].into_iter().filter(|(bit, _)| number & bit != 0).map(|(_, tag)| tag).collect()
}

fn is_archived(number: u32) -> bool {
    number & 4 != 0
}

fn is_favorite(number: u32) -> bool {
    [1, 4, 5].contains(&number)
}

fn is_filed(number: u32) -> bool {
    number.is_multiple_of(3)
}

fn has_note(number: u32) -> bool {
    [2, 5].contains(&number)
}

fn is_project_item(number: u32) -> bool {
    [1, 2, 6].contains(&number)
}

async fn create_collection(key: &Key, name: &str) -> String {
    let created = key.post("/rest/v1/collections", json!({ "name": name })).await;
    text_of(&created.data(201)["collection"], "collectionId")
}

/// Saves the bookmarks and returns their ids, by their numbers.
async fn save_bookmarks(key: &Key, collection: &str) -> Vec<String> {
    let mut ids = Vec::new();
    for number in 0..8 {
        let mut page = json!({
            "url": format!("https://herons.example/{number}"),
            "text": format!("A heron stands in reed {number}."),
            "tags": tags(number),
            "archived": is_archived(number),
            "favorite": is_favorite(number),
            "savedAt": format!("2023-03-{:02}T00:00:00.000Z", number + 1),
        });
        if is_filed(number) {
            page["collectionIds"] = json!([collection]);
        }
        if has_note(number) {
            page["notes"] = json!(format!("The heron of note {number}."));
        }
        let saved = key.save(page).await;
        key.wait_for(&saved, "ready").await;
        ids.push(text_of(&saved, "bookmarkId"));
    }
    ids
}

/// Follows a feed with two entries, and returns its id and that of one entry.
async fn follow_feed(key: &Key, site: &Site) -> (String, String) {
    let item = |n| {
        format!(
            "<item><title>Entry {n}</title><link>/entry-{n}</link><guid>{n}</guid>\
             <description>A heron of entry {n}.</description></item>"
        )
    };
    let items: String = (1..=2).map(item).collect();
    let body = format!("<rss version=\"2.0\"><channel><title>Herons</title>{items}</channel></rss>");
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let url = site.page("/feed.xml", [Reply::Plain { status: 200, headers, body }]);
    let followed = key.post("/rest/v1/feeds", json!({ "url": url })).await;
    let feed = text_of(&followed.data(201)["feed"], "feedId");
    let path = format!("/rest/v1/entries?feedId={feed}");
    let entry = eventually("the entries are listed", async || {
        let entries = key.get(&path).await.data(200)["entries"].clone();
        entries.get(1).map(|entry| text_of(entry, "entryId"))
    })
    .await;
    (feed, entry)
}

/// Returns the results of a search with these filters.
async fn results(key: &Key, filters: &str) -> Vec<Value> {
    let answer = key.get(&format!("/rest/v2/search?q=heron&limit=20{filters}")).await;
    answer.data(200)["results"].as_array().unwrap().clone()
}

/// Returns the documents of the results of a search with these filters.
async fn found(key: &Key, filters: &str) -> BTreeSet<String> {
    results(key, filters).await.iter().map(|result| text_of(result, "documentId")).collect()
}

/// Makes the condition of a filter by what the document is.
fn of_document(condition: impl Fn(&SearchedDocument) -> bool + 'static) -> DocumentCondition {
    Box::new(condition)
}

/// Makes the condition of a filter by the number of the bookmark, without which no document matches.
fn of_bookmark(condition: impl Fn(u32) -> bool + 'static) -> DocumentCondition {
    of_document(move |document| document.bookmark.is_some_and(&condition))
}

fn of_type(name: &'static str) -> DocumentCondition {
    of_document(move |document| document.content_type == name)
}

fn filters(collection: &str, feed: &str, project: &str) -> Vec<SearchFilter> {
    let all: [(String, DocumentCondition); 18] = [
        ("contentType=article".to_owned(), of_type("article")),
        ("contentType=note".to_owned(), of_type("note")),
        ("contentType=pdf".to_owned(), of_type("pdf")),
        ("source=bookmarks".to_owned(), of_document(|document| !document.is_entry)),
        ("source=feeds".to_owned(), of_document(|document| document.is_entry)),
        ("tag=bird".to_owned(), of_bookmark(|number| tags(number).contains(&"bird"))),
        ("tag=grey".to_owned(), of_bookmark(|number| tags(number).contains(&"grey"))),
        ("tag=absent".to_owned(), of_bookmark(|_| false)),
        ("archived=true".to_owned(), of_bookmark(is_archived)),
        ("archived=false".to_owned(), of_bookmark(|number| !is_archived(number))),
        ("favorite=true".to_owned(), of_bookmark(is_favorite)),
        ("favorite=false".to_owned(), of_bookmark(|number| !is_favorite(number))),
        // A bookmark that was saved at the bound is neither after it nor before it.
        (format!("savedAfter={BOUND}"), of_bookmark(|number| number > 3)),
        (format!("savedBefore={BOUND}"), of_bookmark(|number| number < 3)),
        ("savedBefore=2023-03-07T00:00:00Z".to_owned(), of_bookmark(|number| number < 6)),
        (format!("collectionId={collection}"), of_bookmark(is_filed)),
        (format!("feedId={feed}"), of_document(|document| document.is_entry)),
        (format!("projectId={project}"), of_document(|document| document.in_project)),
    ];
    all.into()
}

/// Returns whether a document passes all of these filters.
fn passes(filters: &[&SearchFilter], document: &SearchedDocument) -> bool {
    filters.iter().all(|filter| (filter.1)(document))
}

#[actix_web::test]
async fn filters_and_their_pairs_find_what_matches_them() {
    let limits = [("PLANS__RESEARCH__HOURLY_PER_KEY", "100000"), ("PLANS__RESEARCH__REST_PER_DAY", "100000")];
    let (server, site) = (Server::start_with(&limits).await, Site::start().await);
    let user = server.user(Plan::Research).await;
    let (key, session) = (user.full_key().await, user.sign_in().await);
    let collection = create_collection(&key, "Herons").await;
    let bookmarks = save_bookmarks(&key, &collection).await;
    let (feed, entry) = follow_feed(&key, &site).await;
    let project = create_project(&session, "Herons").await;
    let items = bookmarks.iter().zip(0..).filter(|(_, number)| is_project_item(*number));
    let mut items: Vec<Value> = items.map(|(id, _)| json!({ "bookmarkId": id })).collect();
    items.push(json!({ "entryId": entry }));
    key.post(&format!("/rest/v2/projects/{project}/items"), json!({ "items": items })).await.data(201);
    let note = json!({ "title": "Reeds", "bodyMd": "The heron of the project." });
    key.post(&format!("/rest/v2/projects/{project}/notes"), note).await.data(201);
    // The texts of eight bookmarks, the notes on two, one of the project, and two entries.
    let all = eventually("all documents are found", async || {
        let all = results(&key, "").await;
        let is_ready = |result: &Value| result["status"] == "ready";
        (all.len() == 13 && all.iter().all(is_ready)).then_some(all)
    })
    .await;

    let numbers: BTreeMap<&str, u32> = bookmarks.iter().map(String::as_str).zip(0..).collect();
    let documents: Vec<SearchedDocument> = all
        .iter()
        .map(|result| {
            let bookmark = result["bookmarkId"].as_str().map(|id| numbers[id]);
            let is_entry = result["entryId"].is_string();
            let in_project = match bookmark {
                Some(number) => is_project_item(number),
                None => !is_entry || result["entryId"] == entry.as_str(),
            };
            let (id, content_type) = (text_of(result, "documentId"), text_of(result, "contentType"));
            SearchedDocument { id, content_type, bookmark, is_entry, in_project }
        })
        .collect();
    let matching = |conditions: &[&SearchFilter]| -> BTreeSet<String> {
        let matching = documents.iter().filter(|document| passes(conditions, document));
        matching.map(|document| document.id.clone()).collect()
    };
    let filters = filters(&collection, &feed, &project);
    for (n, one) in filters.iter().enumerate() {
        assert_eq!(found(&key, &format!("&{}", one.0)).await, matching(&[one]), "{}", one.0);
        for other in &filters[n + 1..] {
            let name = |filter: &SearchFilter| filter.0.split('=').next().unwrap_or_default().to_owned();
            // A field is given once.
            if name(one) != name(other) {
                let both = format!("&{}&{}", one.0, other.0);
                assert_eq!(found(&key, &both).await, matching(&[one, other]), "{both}");
            }
        }
    }
    let three =
        "&archived=false&favorite=false&savedAfter=2023-03-01T00:00:00Z&savedBefore=2023-03-04T00:00:00Z";
    assert_eq!(found(&key, three).await.len(), 2, "the text of bookmark 2 and the note on it");
}

/// Gives a tag to further bookmarks of the only document of a user: more of them than are named to the index at each search.
async fn add_tagged_bookmarks(server: &Server, user: UserId, tag: &str) {
    let db = &server.context().core.db;
    let first = bookmark::Entity::visible_to(user).one(db.read()).await.unwrap().unwrap();
    let rows: Vec<bookmark::Model> = (0..2_001)
        .map(|number| {
            let url = format!("https://others.example/{number}");
            let id = BookmarkId::new(NOON);
            bookmark::Model { id, url: url.clone(), normalized_url: url, ..first.clone() }
        })
        .collect();
    let tags: Vec<_> = rows.iter().map(|row| bookmark_tag::Model::new(row, tag.to_owned())).collect();
    insert_all::<bookmark::Entity>(db.write(), rows, None).await.unwrap();
    insert_all::<bookmark_tag::Entity>(db.write(), tags, None).await.unwrap();
}

/// A tag with more than 2,000 bookmarks: the index is given its documents only if too few of the best hits have the tag.
#[actix_web::test]
async fn match_that_is_rare_among_the_best_hits_is_found() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    let key = user.full_key().await;
    let far = format!("A heron in the reeds. {}", "The water is calm. ".repeat(55));
    let far = key.save(json!({ "url": "https://a.example/far", "text": far, "tags": ["bird"] })).await;
    key.wait_for(&far, "ready").await;
    let itself = BTreeSet::from([text_of(&far, "documentId")]);
    add_tagged_bookmarks(&server, user.id(), "bird").await;
    assert_eq!(found(&key, "&tag=bird").await, itself);

    // More passages than a search ranks, each nearer to the query.
    let near = format!("{}\n\n", "The heron, a heron. ".repeat(55)).repeat(400);
    for number in 0..5 {
        let saved = key.save_text(&format!("https://a.example/near/{number}"), &near).await;
        key.wait_for(&saved, "ready").await;
    }

    assert_eq!(found(&key, "&tag=bird").await, itself);
    assert_eq!(found(&key, "&tag=bird&archived=true").await, BTreeSet::new());
}

#[actix_web::test]
async fn changes_of_a_bookmark_hold_in_the_next_search() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let collection = create_collection(&key, "Herons").await;
    let saved =
        key.wait_for(&key.save_text("https://a.example/1", "A heron in the reeds.").await, "ready").await;
    let (id, document) = (text_of(&saved, "bookmarkId"), text_of(&saved, "documentId"));
    let bookmark = format!("/rest/v1/bookmarks/{id}");
    let membership = format!("/rest/v1/collections/{collection}/bookmarks/{id}");
    let in_collection = format!("&collectionId={collection}");
    let (itself, nothing) = (BTreeSet::from([document]), BTreeSet::new());
    assert_eq!(found(&key, &in_collection).await, nothing);

    key.send(reqwest::Method::PUT, &membership, Some(json!({}))).await.data(200);
    assert_eq!(found(&key, &in_collection).await, itself);
    key.delete(&membership).await.data(200);
    assert_eq!(found(&key, &in_collection).await, nothing);

    key.patch(&bookmark, json!({ "tags": ["bird"], "archived": true })).await.data(200);
    for filter in ["&tag=bird", "&archived=true", "&archived=true&tag=bird"] {
        assert_eq!(found(&key, filter).await, itself, "{filter}");
    }
    assert_eq!(found(&key, "&archived=false").await, nothing);
    key.patch("/rest/v1/tags/bird", json!({ "name": "wader" })).await.data(200);
    assert_eq!((found(&key, "&tag=bird").await, found(&key, "&tag=wader").await), (nothing.clone(), itself));

    key.delete(&bookmark).await.data(200);
    for filter in ["", "&tag=wader", "&archived=true"] {
        assert_eq!(found(&key, filter).await, nothing, "{filter}");
    }
}

#[actix_web::test]
async fn filters_of_a_user_find_nothing_of_another() {
    let server = Server::start().await;
    let mut libraries = Vec::new();
    for name in ["one", "two"] {
        let key = server.user(Plan::Pro).await.full_key().await;
        let collection = create_collection(&key, "Herons").await;
        let page = json!({
            "url": format!("https://{name}.example/"), "text": "A heron in the reeds.",
            "tags": ["bird"], "favorite": true, "collectionIds": [collection],
        });
        let saved = key.wait_for(&key.save(page).await, "ready").await;
        libraries.push((key, collection, BTreeSet::from([text_of(&saved, "documentId")])));
    }

    for (key, collection, own) in &libraries {
        let in_collection = format!("&collectionId={collection}");
        for filter in ["", "&tag=bird", "&favorite=true", "&archived=false", in_collection.as_str()] {
            assert_eq!(found(key, filter).await, *own, "{filter}");
        }
    }
}

#[actix_web::test]
async fn unknown_and_foreign_objects_of_a_filter_are_not_found() {
    let (server, site) = (Server::start().await, Site::start().await);
    let other = server.user(Plan::Pro).await;
    let theirs = other.full_key().await;
    let collection = create_collection(&theirs, "Herons").await;
    let (feed, _) = follow_feed(&theirs, &site).await;
    let project = create_project(&other.sign_in().await, "Herons").await;
    let key = server.user(Plan::Pro).await.full_key().await;

    for (field, id) in [("collectionId", collection), ("feedId", feed), ("projectId", project)] {
        for id in [id.as_str(), UNKNOWN_ID] {
            let refused = key.get(&format!("/rest/v2/search?q=heron&{field}={id}")).await;
            assert_eq!(refused.error_code(404), "NOT_FOUND");
            let message = format!("the item ({field}) does not exist, or it is not yours");
            assert_eq!(refused.body["error"]["message"], message.as_str());
        }
    }
}

#[actix_web::test]
async fn filters_with_invalid_values_are_refused_by_their_names() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let long = format!("tag={}", "a".repeat(101));

    for filter in [
        "tag=",
        "tag=%20",
        long.as_str(),
        "contentType=book",
        "contentType=",
        "archived=yes",
        "favorite=1",
        "savedAfter=yesterday",
        "savedBefore=2023-13-01T00:00:00Z",
        "projectId=heron",
        "collectionId=1",
    ] {
        let refused = key.get(&format!("/rest/v2/search?q=heron&{filter}")).await;
        let field = filter.split('=').next().unwrap();
        assert_eq!(
            (refused.error_code(400), refused.faults()),
            ("VALIDATION_FAILED", vec![field]),
            "{filter}"
        );
    }
    let answer = key.get("/rest/v2/search?q=heron").await;
    assert_eq!(
        (&answer.data(200)["results"], &answer.data(200)["correctedQuery"]),
        (&json!([]), &Value::Null)
    );
}
