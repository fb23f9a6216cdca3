//! The routes of the library page: the query language, facets, changes of many bookmarks with their undo, the trash, saved searches,
//! tags and the tree of collections.

use std::time::Duration;

use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Client, Home, NOON, Server};

const BOOKMARKS: &str = "/app/api/library/bookmarks";

/// Saves a bookmark with a text, and returns its id.
async fn save(session: &Client, page: Value) -> String {
    let mut page = page;
    page["text"] = json!("A text of a few words.");
    let saved = session.post(BOOKMARKS, page).await;
    saved.data(201)["bookmark"]["bookmarkId"].as_str().unwrap().to_owned()
}

/// Saves four pages, and returns their ids: gulls, herons, harbour, mud.
async fn save_library(session: &Client) -> [String; 4] {
    let gulls = json!({
        "url": "https://www.slackwater.example/gulls", "title": "Gulls of the harbour", "tags": ["tides", "birds"],
        "savedAt": "2026-03-01T00:00:00Z"
    });
    let herons = json!({
        "url": "https://slackwater.example/herons", "title": "Own time of herons", "tags": ["birds"],
        "favorite": true, "savedAt": "2026-02-28T23:59:59Z"
    });
    let harbour = json!({
        "url": "https://other.example/slackwater.example/", "title": "A harbour", "tags": ["tides"],
        "archived": true, "savedAt": "2026-01-05T12:00:00Z"
    });
    let mud = json!({
        "url": "https://notes.slackwater.example:8443/mud", "title": "Mud or silt", "savedAt": "2025-12-31T12:00:00Z"
    });
    let ids = [
        save(session, gulls).await,
        save(session, herons).await,
        save(session, harbour).await,
        save(session, mud).await,
    ];
    session.patch(&format!("{BOOKMARKS}/{}", ids[1]), json!({ "progress": 0.4 })).await.data(200);
    session.patch(&format!("{BOOKMARKS}/{}", ids[2]), json!({ "progress": 1 })).await.data(200);
    ids
}

/// Returns the first words of the titles that a query matches, the newest first.
async fn matches(session: &Client, query: &str) -> Vec<String> {
    let filter = if query.is_empty() { String::new() } else { format!("?q={}", encode(query)) };
    let listed = session.get(&format!("{BOOKMARKS}{filter}")).await;
    let titles = listed.data(200)["bookmarks"].as_array().unwrap().iter();
    titles.map(|row| row["title"].as_str().unwrap().split(' ').next().unwrap().to_owned()).collect()
}

fn encode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Returns the values of a facet with their counts.
fn counts(facets: &Value) -> Vec<(String, u64)> {
    let facets = facets.as_array().unwrap().iter();
    facets
        .map(|facet| {
            assert_eq!(facet["isExact"], true, "{facet}");
            (facet["value"].as_str().unwrap().to_owned(), facet["count"].as_u64().unwrap())
        })
        .collect()
}

#[actix_web::test]
async fn queries_match_by_every_term_of_the_language() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    save_library(&session).await;
    save(&other, json!({ "url": "https://slackwater.example/theirs", "title": "Theirs", "tags": ["tides"] }))
        .await;
    let shelf = session.post("/app/api/library/collections", json!({ "name": "Winter reading" })).await;
    let shelf = shelf.data(201)["collection"]["collectionId"].as_str().unwrap().to_owned();
    let listed = session.get(&format!("{BOOKMARKS}?q=mud")).await.data(200).clone();
    let mud = listed["bookmarks"][0]["bookmarkId"].as_str().unwrap().to_owned();
    session
        .send(reqwest::Method::PUT, &format!("/app/api/library/collections/{shelf}/bookmarks/{mud}"), None)
        .await
        .data(200);

    for (query, expected) in [
        ("", &["Gulls", "Own", "A", "Mud"][..]),
        ("harbour", &["Gulls", "A"]),
        ("harbour gulls", &["Gulls"]),
        ("\"own time\"", &["Own"]),
        ("\"time own\"", &[]),
        ("-harbour", &["Own", "Mud"]),
        ("gulls or herons", &["Gulls", "Own"]),
        ("gulls or herons tag:tides", &["Gulls"]),
        ("or", &["Mud"]),
        ("tag:tides", &["Gulls", "A"]),
        ("tag:tides tag:birds", &["Gulls"]),
        ("tag:tides or tag:birds", &["Gulls", "Own", "A"]),
        ("-tag:tides", &["Own", "Mud"]),
        ("is:unread", &["Gulls", "Own", "Mud"]),
        ("is:read", &["A"]),
        ("is:read is:unread", &[]),
        ("is:started", &["Own"]),
        ("is:archived or is:favorite", &["Own", "A"]),
        ("-is:archived", &["Gulls", "Own", "Mud"]),
        ("type:article", &["Gulls", "Own", "A", "Mud"]),
        ("type:pdf", &[]),
        ("-type:pdf type:article", &["Gulls", "Own", "A", "Mud"]),
        ("site:slackwater.example", &["Gulls", "Own", "Mud"]),
        ("site:www.slackwater.example", &["Gulls"]),
        ("-site:slackwater.example", &["A"]),
        ("after:2026-03", &["Gulls"]),
        ("before:2026-03", &["Own", "A", "Mud"]),
        ("after:2026 before:2026-02", &["A"]),
        ("-after:2026", &["Mud"]),
        ("before:2026 or after:2026-03-01", &["Gulls", "Mud"]),
        ("collection:\"Winter reading\"", &["Mud"]),
        (&format!("collection:{shelf}"), &["Mud"]),
        ("collection:none", &[]),
        ("-collection:none", &["Gulls", "Own", "A", "Mud"]),
        ("feed:none", &[]),
        ("feed:none or gulls", &["Gulls"]),
    ] {
        assert_eq!(matches(&session, query).await, expected, "{query}");
    }
}

#[actix_web::test]
async fn faults_of_queries_name_their_place_everywhere() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let query = encode("tides is:gone");

    for path in [format!("{BOOKMARKS}?q={query}"), format!("/app/api/facets?q={query}")] {
        let refused = session.get(&path).await;
        assert_eq!(refused.error_code(400), "VALIDATION_FAILED");
        assert_eq!(refused.faults(), ["q"], "{path}");
        assert!(refused.body.to_string().contains("at character 10"), "{}", refused.body);
        assert!(!refused.body.to_string().contains("gone"), "{}", refused.body);
    }
    let refused = session.post("/app/api/bulk", json!({ "action": "archive", "q": "tides is:gone" })).await;
    assert_eq!(refused.faults(), ["q"]);
    let saved = json!({ "name": "Tides", "query": "\"tides" });
    assert_eq!(session.post("/app/api/saved-searches", saved).await.faults(), ["query"]);
}

#[actix_web::test]
async fn facets_count_what_a_query_matches() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    save_library(&session).await;
    save(&other, json!({ "url": "https://slackwater.example/theirs", "tags": ["tides"] })).await;

    let all = session.get("/app/api/facets").await.data(200).clone();
    let tides = session.get(&format!("/app/api/facets?q={}", encode("tag:tides"))).await.data(200).clone();

    assert_eq!((&all["total"], &all["library"]), (&json!({ "count": 4, "isExact": true }), &json!(4)));
    assert_eq!(counts(&all["types"]), [("article".to_owned(), 4)]);
    let states: Vec<(String, u64)> =
        counts(&all["states"]).into_iter().filter(|(state, _)| state != "processing").collect();
    let named =
        |pairs: &[(&str, u64)]| pairs.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
    assert_eq!(states, named(&[("unread", 3), ("started", 1), ("archived", 1), ("favorite", 1)]));
    assert_eq!(counts(&all["tags"]), named(&[("tides", 2), ("birds", 2)]));
    assert_eq!(all["sites"].as_array().unwrap().len(), 4);
    assert_eq!(tides["total"]["count"], 2);
    assert_eq!(counts(&tides["tags"]), named(&[("tides", 2), ("birds", 1)]));
}

/// Everything that the changes of many bookmarks can change, without the times of changes.
async fn snapshot(session: &Client) -> Value {
    const FIELDS: [&str; 7] =
        ["bookmarkId", "tags", "collectionIds", "favorite", "archived", "progress", "savedAt"];
    let listed = session.get(&format!("{BOOKMARKS}?sort=savedAt")).await.data(200).clone();
    let rows = listed["bookmarks"].as_array().unwrap().iter();
    rows.map(|row| FIELDS.map(|field| row[field].clone())).map(Value::from_iter).collect()
}

#[actix_web::test]
async fn every_change_of_many_is_undone_exactly() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let ids = save_library(&session).await;
    let shelf = session.post("/app/api/library/collections", json!({ "name": "Shelf" })).await;
    let shelf = shelf.data(201)["collection"]["collectionId"].clone();
    let half = json!({ "action": "addToCollection", "ids": [ids[0]], "collectionId": shelf });
    assert_eq!(session.post("/app/api/bulk", half).await.data(200)["changed"], 1);
    let before = snapshot(&session).await;

    for (change, changed) in [
        (json!({ "action": "archive", "q": "" }), 3),
        (json!({ "action": "unarchive", "q": "is:archived" }), 1),
        (json!({ "action": "favorite", "ids": ids }), 3),
        (json!({ "action": "unfavorite", "ids": ids }), 1),
        (json!({ "action": "addTag", "q": "", "tag": " tides " }), 2),
        (json!({ "action": "removeTag", "q": "", "tag": "birds" }), 2),
        (json!({ "action": "addToCollection", "ids": ids, "collectionId": shelf }), 3),
        (json!({ "action": "removeFromCollection", "ids": ids, "collectionId": shelf }), 1),
        (json!({ "action": "delete", "q": "tag:tides" }), 2),
    ] {
        let done = session.post("/app/api/bulk", change.clone()).await.data(200).clone();
        assert_eq!((&done["changed"], &done["isComplete"]), (&json!(changed), &json!(true)), "{change}");
        assert_ne!(snapshot(&session).await, before, "{change}");
        let undo = format!("/app/api/undo/{}", done["undo"]["token"].as_str().unwrap());

        assert_eq!(other.post(&undo, json!({})).await.error_code(404), "NOT_FOUND");
        let undone = session.post(&undo, json!({})).await.data(200).clone();

        assert_eq!(undone, json!({ "undone": changed, "failed": 0 }), "{change}");
        assert_eq!(snapshot(&session).await, before, "{change}");
        assert_eq!(session.post(&undo, json!({})).await.error_code(404), "NOT_FOUND");
    }
}

#[actix_web::test]
async fn change_without_an_effect_has_nothing_to_undo() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let theirs = server.user(Plan::Pro).await.sign_in().await;
    let ids = save_library(&theirs).await;

    let foreign = session.post("/app/api/bulk", json!({ "action": "delete", "ids": ids })).await;
    let again = theirs.post("/app/api/bulk", json!({ "action": "archive", "ids": [ids[2]] })).await;
    let refetched = theirs.post("/app/api/bulk", json!({ "action": "refetch", "ids": ids })).await;

    let nothing = json!({ "selected": 4, "changed": 0, "isComplete": true, "undo": null });
    assert_eq!(*foreign.data(200), nothing);
    assert_eq!(again.data(200)["undo"], Value::Null);
    assert_eq!(refetched.data(200)["undo"], Value::Null);
    assert_eq!(snapshot(&theirs).await.as_array().unwrap().len(), 4);
    for (body, fault) in [
        (json!({ "action": "archive" }), "ids"),
        (json!({ "action": "archive", "q": "", "ids": ids }), "ids"),
        (json!({ "action": "addTag", "q": "" }), "tag"),
        (json!({ "action": "addToCollection", "q": "" }), "collectionId"),
        (json!({ "action": "burn", "q": "" }), "action"),
    ] {
        assert_eq!(session.post("/app/api/bulk", body).await.faults(), [fault]);
    }
}

#[actix_web::test]
async fn change_cannot_be_undone_after_ten_minutes() {
    let clock = std::sync::Arc::new(library::clock::TestClock::at(NOON));
    let server = Server::start_in(Home::new().await, clock.clone(), &[]).await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save_library(&session).await;
    let archive = async || {
        let done = session.post("/app/api/bulk", json!({ "action": "archive", "q": "is:unread" })).await;
        format!("/app/api/undo/{}", done.data(200)["undo"]["token"].as_str().unwrap())
    };

    let in_time = archive().await;
    clock.advance(Duration::from_secs(599));
    session.post(&in_time, json!({})).await.data(200);
    let late = archive().await;
    clock.advance(Duration::from_secs(600));

    assert_eq!(session.post(&late, json!({})).await.error_code(404), "NOT_FOUND");
}

#[actix_web::test]
async fn trash_lists_deleted_bookmarks_by_their_deletion() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let ids = save_library(&session).await;
    for id in &ids[..2] {
        session.delete(&format!("{BOOKMARKS}/{id}")).await.data(200);
    }

    let first = session.get("/app/api/trash?limit=1").await.data(200).clone();
    let cursor = first["nextCursor"].as_str().unwrap();
    let second = session.get(&format!("/app/api/trash?limit=1&cursor={cursor}")).await.data(200).clone();

    assert_eq!(first["bookmarks"][0]["bookmark"]["bookmarkId"], json!(ids[1]));
    assert_eq!(second["bookmarks"][0]["bookmark"]["bookmarkId"], json!(ids[0]));
    assert_eq!(second["nextCursor"], Value::Null);
    assert!(first["bookmarks"][0]["restorableUntil"].as_str() > first["bookmarks"][0]["deletedAt"].as_str());
    assert_eq!(other.get("/app/api/trash").await.data(200)["bookmarks"], json!([]));
    session.post(&format!("{BOOKMARKS}/{}/restore", ids[0]), json!({})).await.data(200);
    assert_eq!(session.get("/app/api/trash").await.data(200)["bookmarks"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn saved_searches_are_pinned_in_an_order() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let create = async |name: &str, query: &str, is_pinned: bool| {
        let search = json!({ "name": name, "query": query, "isPinned": is_pinned });
        session.post("/app/api/saved-searches", search).await.data(201)["savedSearch"].clone()
    };
    let names = async || {
        let listed = session.get("/app/api/saved-searches").await.data(200).clone();
        let rows = listed["savedSearches"].as_array().unwrap().iter();
        rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };

    let tides = create("Tides", " TAG:tides   is:unread", true).await;
    let mud = create("Mud", "mud", true).await;
    create("Birds", "", false).await;
    assert_eq!(tides["query"], "tag:tides is:unread");
    assert_eq!(names().await, ["Tides", "Mud", "Birds"]);
    let pinned = json!({ "ids": [mud["savedSearchId"], tides["savedSearchId"]] });
    session.post("/app/api/saved-searches/pinned", pinned.clone()).await.data(200);
    assert_eq!(names().await, ["Mud", "Tides", "Birds"]);
    let one = format!("/app/api/saved-searches/{}", mud["savedSearchId"].as_str().unwrap());
    let changed = session.patch(&one, json!({ "isPinned": false, "name": "Zinc" })).await;
    assert_eq!(changed.data(200)["savedSearch"]["isPinned"], false);
    assert_eq!(names().await, ["Tides", "Birds", "Zinc"]);

    assert_eq!(other.patch(&one, json!({ "name": "Mine" })).await.error_code(404), "NOT_FOUND");
    assert_eq!(other.delete(&one).await.error_code(404), "NOT_FOUND");
    assert_eq!(other.post("/app/api/saved-searches/pinned", pinned).await.error_code(404), "NOT_FOUND");
    session.delete(&one).await.data(200);
    assert_eq!(names().await, ["Tides", "Birds"]);
}

#[actix_web::test]
async fn merged_and_deleted_tags_are_put_back() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let ids = save_library(&session).await;
    save_library(&other).await;
    session.delete(&format!("{BOOKMARKS}/{}", ids[1])).await.data(200);
    let tags = async |client: &Client| {
        let listed = client.get("/app/api/tags?sort=-count").await.data(200).clone();
        let rows = listed["tags"].as_array().unwrap().iter();
        rows.map(|row| (row["name"].as_str().unwrap().to_owned(), row["count"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let (before, theirs) = (tags(&session).await, tags(&other).await);
    let titles = snapshot(&session).await;

    for (path, body, after) in [
        ("merge", json!({ "names": ["birds", "tides"], "into": "shore" }), vec![("shore".to_owned(), 2)]),
        ("merge", json!({ "names": ["birds", "tides"], "into": "tides" }), vec![("tides".to_owned(), 2)]),
        ("delete", json!({ "names": ["tides", "birds", "unknown"] }), vec![]),
    ] {
        let done = session.post(&format!("/app/api/tags/{path}"), body).await.data(200).clone();
        assert_eq!(tags(&session).await, after);
        let token = done["undo"]["token"].as_str().unwrap();

        session.post(&format!("/app/api/undo/{token}"), json!({})).await.data(200);

        assert_eq!(tags(&session).await, before);
        assert_eq!(snapshot(&session).await, titles);
    }
    assert_eq!(tags(&other).await, theirs);
    // A deleted bookmark comes back with its tags.
    session.post(&format!("{BOOKMARKS}/{}/restore", ids[1]), json!({})).await.data(200);
    assert_eq!(session.get("/app/api/tags?q=BIR").await.data(200)["tags"][0]["count"], 2);
    let nothing = session.post("/app/api/tags/delete", json!({ "names": ["unknown"] })).await;
    assert_eq!(*nothing.data(200), json!({ "changed": 0, "undo": null }));
}

#[actix_web::test]
async fn collection_tree_is_sorted_and_own() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    let create = async |name: &str, parent: &Value| {
        let collection = json!({ "name": name, "parentId": parent });
        let created = session.post("/app/api/library/collections", collection).await;
        created.data(201)["collection"]["collectionId"].clone()
    };
    let waders = create("Waders", &Value::Null).await;
    create("herons", &waders).await;
    create("Bitterns", &waders).await;
    create("Auks", &Value::Null).await;

    let tree = session.get("/app/api/collection-tree").await.data(200)["collections"].clone();

    let shown: Vec<(&str, u64)> = tree
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["collection"]["name"].as_str().unwrap(), node["depth"].as_u64().unwrap()))
        .collect();
    assert_eq!(shown, [("Auks", 0), ("Waders", 0), ("Bitterns", 1), ("herons", 1)]);
    assert_eq!(other.get("/app/api/collection-tree").await.data(200)["collections"], json!([]));
}
