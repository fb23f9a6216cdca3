//! Undo of imports: unchanged objects that the import created are deleted; everything else is kept and counted.

use std::time::Duration;

use entity::import;
use sea_orm::sea_query::Expr;
use sea_orm::{Database, EntityTrait};
use serde_json::{Value, json};
use values::kind::ImportState;
use values::plan::Plan;

use crate::import::imports::{
    bookmark_list, collections, list_highlights, post_step, show_import, start_import, titles, wait_for,
};
use crate::support::{Client, Home, Program, Reply, Server, Site, eventually, program};

const BOOKMARKS: &str = "/app/api/library/bookmarks";
const COLLECTIONS: &str = "/app/api/library/collections";
const FEEDS: &str = "/app/api/library/feeds";

/// Imports a file. Returns the import's id.
async fn run_import(server: &Server, session: &Client, file: &str) -> String {
    // Each import has a different time.
    server.clock.advance(Duration::from_secs(1));
    let id = start_import(session, file.as_bytes(), &[]).await;
    wait_for(session, &id, "done").await;
    id
}

/// Undoes an import. Returns the numbers of deleted objects, kept objects and kept additions.
async fn run_undo(session: &Client, id: &str) -> [i64; 3] {
    post_step(session, id, "undo").await;
    let report = wait_for(session, id, "undone").await["report"]["undo"].clone();
    ["deleted", "kept", "additionsKept"].map(|name| report[name].as_i64().unwrap())
}

async fn list_bookmarks(session: &Client) -> Vec<Value> {
    let listed = session.get(&format!("{BOOKMARKS}?sort=title&limit=100")).await;
    listed.data(200)["bookmarks"].as_array().unwrap().clone()
}

/// Asserts that there is one bookmark, and returns it.
async fn only_bookmark(session: &Client) -> Value {
    let all = list_bookmarks(session).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn path_of(bookmark: &Value) -> String {
    format!("{BOOKMARKS}/{}", bookmark["bookmarkId"].as_str().unwrap())
}

/// Waits until all bookmarks are ready, and returns them.
async fn wait_until_ready(session: &Client) -> Vec<Value> {
    eventually("all texts are ready", async || {
        let all = list_bookmarks(session).await;
        all.iter().all(|bookmark| bookmark["status"] == "ready").then_some(all)
    })
    .await
}

#[actix_web::test]
async fn undo_deletes_unchanged_items_and_keeps_additions() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let before = json!({ "url": "https://u.example/there", "title": "There", "text": "T", "tags": ["old"] });
    session.post(BOOKMARKS, before).await.data(201);
    session.post(COLLECTIONS, json!({ "name": "Kept" })).await.data(201);
    let file = bookmark_list(
        "<DT><H3>Kept</H3><DL><DT><A HREF=\"https://u.example/there\" TAGS=\"old,new\">T</A>\n<DD>On it\n</DL>\n\
         <DT><H3>Top</H3><DL><DT><H3>Sub</H3><DL><DT><A HREF=\"https://u.example/new\" TAGS=\"new\">New</A></DL></DL>\n\
         <DT><A FEEDURL=\"https://u.example/feed\" HREF=\"https://u.example/\">F</A>",
    );
    let id = run_import(&server, &session, &file).await;
    assert_eq!(titles(&session).await, ["New", "There"]);
    assert_eq!(show_import(&session, &id).await["report"]["undo"], Value::Null);

    // New, Top, Sub and the feed are deleted; There keeps its additions.
    assert_eq!(run_undo(&session, &id).await, [4, 0, 1]);

    assert_eq!(collections(&session).await, ["Kept"]);
    assert_eq!(session.get(FEEDS).await.data(200)["feeds"], json!([]));
    let remaining = only_bookmark(&session).await;
    let mut tags: Vec<String> = serde_json::from_value(remaining["tags"].clone()).unwrap();
    tags.sort();
    assert_eq!((&remaining["title"], tags.join(" ").as_str()), (&json!("There"), "new old"));
    assert_eq!(
        (&remaining["notes"], remaining["collectionIds"].as_array().unwrap().len()),
        (&json!("On it"), 1)
    );
    let rows = session.get(&format!("/app/api/imports/{id}/rows")).await.data(200)["rows"].clone();
    let ids: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["id"].is_string()).collect();
    assert_eq!(ids, [true, false, false], "only There has an id still: {rows}");
}

#[actix_web::test]
async fn undo_keeps_changed_bookmarks() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let created = session.post(COLLECTIONS, json!({ "name": "Mine" })).await;
    let mine = created.data(201)["collection"]["collectionId"].clone();
    let created = session.post("/app/api/projects", json!({ "name": "A book" })).await;
    let project = created.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let changes = [
        ("archived", json!({ "archived": true })),
        ("collection", json!({ "collectionIds": [mine] })),
        ("favorite", json!({ "favorite": true })),
        ("notes", json!({ "notes": "Mine" })),
        ("progress", json!({ "progress": 0.5 })),
        ("saved", json!({ "savedAt": "2020-01-01T00:00:00Z" })),
        ("tags", json!({ "tags": ["mine"] })),
        ("title", json!({ "title": "title, mine" })),
    ];
    let names = changes.iter().map(|(name, _)| *name);
    let names = names.chain(["highlight", "project", "reverted", "unchanged"]);
    let line = |name: &str| {
        format!(
            "{{\"url\": \"https://s.example/{name}\", \"title\": \"{name}\", \"text\": \"Some words.\"}}\n"
        )
    };
    let file: String = names.map(line).collect();
    let id = run_import(&server, &session, &file).await;
    let all = wait_until_ready(&session).await;
    let path = |name: &str| path_of(all.iter().find(|bookmark| bookmark["title"] == name).unwrap());

    for (name, change) in &changes {
        session.patch(&path(name), change.clone()).await.data(200);
    }
    let words = json!({ "text": "words", "startOffset": 5, "endOffset": 10 });
    session.post(&format!("{}/highlights", path("highlight")), words).await.data(201);
    let item = json!({ "items": [{ "bookmarkId": path("project").rsplit('/').next() }] });
    session.post(&format!("/app/api/library/projects/{project}/items"), item).await.data(201);
    for favorite in [true, false] {
        session.patch(&path("reverted"), json!({ "favorite": favorite })).await.data(200);
    }

    assert_eq!(run_undo(&session, &id).await, [2, 10, 0]);
    let remaining = [
        "archived",
        "collection",
        "favorite",
        "highlight",
        "notes",
        "progress",
        "project",
        "saved",
        "tags",
        "title, mine",
    ];
    assert_eq!(titles(&session).await, remaining);
}

#[actix_web::test]
async fn undo_leaves_a_kept_bookmark_unmodified() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let link =
        "<DT><H3>In</H3><DL><DT><A HREF=\"https://s.example/1\" TAGS=\"theirs\">One</A>\n<DD>Theirs\n</DL>";
    let id = run_import(&server, &session, &bookmark_list(link)).await;
    let own = json!({ "notes": "Theirs\n\nMine", "tags": ["theirs", "mine"] });
    session.patch(&path_of(&only_bookmark(&session).await), own).await.data(200);

    // The collection is not empty.
    assert_eq!(run_undo(&session, &id).await, [0, 2, 0]);

    let remaining = only_bookmark(&session).await;
    assert_eq!(
        (&remaining["notes"], remaining["tags"].as_array().unwrap().len()),
        (&json!("Theirs\n\nMine"), 2)
    );
    assert_eq!(collections(&session).await, ["In"]);
}

#[actix_web::test]
async fn undo_deletes_a_page_listed_twice_unless_changed() {
    let server = Server::start().await;
    // The second row is in another batch than the first.
    let others = (0..250).map(|n| format!("https://s.example/other/{n},Other,\n"));
    let row = |note: &str| format!("https://s.example/1,One,{note}\n");
    let file = ["url,title,note\n".to_owned(), row("Of herons"), others.collect(), row("Of reeds")].concat();
    for (own, remaining) in [(None, 0), (Some("Of herons, mine\n\nOf reeds"), 1)] {
        let session = server.user(Plan::Pro).await.sign_in().await;
        let id = run_import(&server, &session, &file).await;
        let found = session.get(&format!("{BOOKMARKS}?q=One")).await.data(200)["bookmarks"][0].clone();
        assert_eq!(found["notes"], "Of herons\n\nOf reeds");
        if let Some(own) = own {
            session.patch(&path_of(&found), json!({ "notes": own })).await.data(200);
        }

        assert_eq!(run_undo(&session, &id).await, [251 - remaining, remaining, 0], "with {own:?}");
    }
}

#[actix_web::test]
async fn undo_keeps_a_page_changed_between_its_rows() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let line =
        |tag: &str| format!("{{\"url\": \"https://s.example/1\", \"text\": \"T\", \"tags\": [\"{tag}\"]}}\n");
    let file = [line("one"), line("two")].concat();
    let id = run_import(&server, &session, &line("one")).await;
    session.patch(&path_of(&only_bookmark(&session).await), json!({ "favorite": true })).await.data(200);
    // As if the import had been paused before its second row.
    crate::import::imports::restore_file(&server, &id, file.as_bytes()).await;
    set_state(&server, ImportState::Failed).await;
    post_step(&session, &id, "resume").await;
    eventually("the second row is imported", async || {
        (show_import(&session, &id).await["rows"] == 2).then_some(())
    })
    .await;
    wait_for(&session, &id, "done").await;

    assert_eq!(run_undo(&session, &id).await, [0, 1, 0]);

    assert_eq!(only_bookmark(&session).await["tags"].as_array().unwrap().len(), 2);
}

/// Sets the state of the only import.
async fn set_state(server: &Server, state: ImportState) {
    let rows = Database::connect(server.database_url()).await.unwrap();
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(state))
        .col_expr(import::Column::Error, Expr::value("the disk was full"))
        .exec(&rows)
        .await
        .unwrap();
}

/// A page of Omnivore or wallabag with these annotations.
fn annotated_page(annotations: &[(&str, &str)]) -> String {
    let annotations: Vec<_> =
        annotations.iter().map(|(quote, text)| json!({ "quote": quote, "text": text })).collect();
    json!([{
        "id": 1, "mimetype": "text/html", "title": "Herons", "url": "https://a.example/herons",
        "content": "<p>The grey heron stands in the reeds. It waits, and waits, for the fish of the evening.</p>",
        "annotations": annotations,
    }])
    .to_string()
}

/// Changes the highlight that begins with these words.
async fn change_highlight(session: &Client, page: &str, words: &str, change: Value) {
    let all = session.get(&format!("{page}/highlights")).await.data(200)["highlights"].clone();
    let of_these = |one: &&Value| one["text"].as_str().unwrap().starts_with(words);
    let one = all.as_array().unwrap().iter().find(of_these).unwrap()["highlightId"].clone();
    let path = format!("/app/api/library/highlights/{}", one.as_str().unwrap());
    session.patch(&path, change).await.data(200);
}

const HIGHLIGHTS: [(&str, &str); 4] = [
    ("The grey heron stands", ""),
    ("stands in the reeds", "Where"),
    ("It waits, and waits", ""),
    ("for the fish of the evening", ""),
];

#[actix_web::test]
async fn page_deleted_by_undo_is_restored_with_its_highlights() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = run_import(&server, &session, &annotated_page(&HIGHLIGHTS)).await;
    // The highlights get their offsets, which does not count as a change.
    let page = wait_until_ready(&session).await[0]["bookmarkId"].as_str().unwrap().to_owned();
    assert!(list_highlights(&session, &page).await.iter().all(|(.., [_, end])| *end > 0));

    assert_eq!(run_undo(&session, &id).await, [1, 0, 0]);
    assert!(titles(&session).await.is_empty());
    session.post(&format!("{BOOKMARKS}/{page}/restore"), json!({})).await.data(200);

    assert_eq!(list_highlights(&session, &page).await.len(), HIGHLIGHTS.len());
}

#[actix_web::test]
async fn changed_highlights_keep_their_page_and_are_not_reimported() {
    let server = Server::start().await;
    for order in [[0, 1], [1, 0]] {
        let session = server.user(Plan::Pro).await.sign_in().await;
        let first = run_import(&server, &session, &annotated_page(&HIGHLIGHTS)).await;
        let page = path_of(&wait_until_ready(&session).await[0]);
        change_highlight(&session, &page, "The grey", json!({ "note": "Mine" })).await;
        change_highlight(&session, &page, "stands in", json!({ "note": "In the reeds, mine" })).await;
        change_highlight(&session, &page, "It waits", json!({ "color": "yellow" })).await;

        let newer = [&HIGHLIGHTS[..], &[("The grey heron stands", "From there")]].concat();
        let imports = [first, run_import(&server, &session, &annotated_page(&newer)).await];
        let id = page.rsplit('/').next().unwrap();
        let all = list_highlights(&session, id).await;
        let notes: Vec<_> = all.iter().map(|(_, note, _)| note.clone()).collect();
        assert_eq!(all.len(), 5, "only what has another note is new: {all:?}");
        assert!(notes.contains(&json!("From there")) && notes.contains(&json!("Mine")), "{all:?}");

        let mut reports = Vec::new();
        for at in order {
            reports.push((at, run_undo(&session, &imports[at]).await));
        }

        reports.sort_unstable();
        assert_eq!(reports, [(0, [0, 1, 0]), (1, [0, 0, 1])], "undone in the order {order:?}");
        only_bookmark(&session).await;
        assert_eq!(list_highlights(&session, id).await, all);
    }
}

#[actix_web::test]
async fn highlight_in_a_project_keeps_its_page() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = run_import(&server, &session, &annotated_page(&HIGHLIGHTS)).await;
    let page = path_of(&wait_until_ready(&session).await[0]);
    let all = session.get(&format!("{page}/highlights")).await.data(200)["highlights"].clone();
    let created = session.post("/app/api/projects", json!({ "name": "A book" })).await;
    let project = created.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let item = json!({ "items": [{ "highlightId": all[0]["highlightId"] }] });
    session.post(&format!("/app/api/library/projects/{project}/items"), item).await.data(201);

    assert_eq!(run_undo(&session, &id).await, [0, 1, 0]);

    only_bookmark(&session).await;
    let items = session.get(&format!("/app/api/projects/{project}/items")).await.data(200)["items"].clone();
    assert_eq!(items.as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn undo_keeps_changed_collections_and_feeds() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let folder = |name: &str| {
        format!("<DT><H3>{name}</H3><DL><DT><A HREF=\"https://s.example/{name}\">{name}</A></DL>\n")
    };
    let folders = run_import(&server, &session, &bookmark_list(&(folder("One") + &folder("Two")))).await;
    let feeds = "<opml version=\"2.0\"><body><outline xmlUrl=\"https://s.example/a\"/><outline xmlUrl=\"https://s.example/b\"/></body></opml>";
    let feeds = run_import(&server, &session, feeds).await;
    let all = session.get(COLLECTIONS).await.data(200)["collections"].clone();
    let one = all.as_array().unwrap().iter().find(|one| one["name"] == "One").unwrap();
    let path = format!("{COLLECTIONS}/{}", one["collectionId"].as_str().unwrap());
    session.patch(&path, json!({ "description": "Of mine" })).await.data(200);
    let all = session.get(FEEDS).await.data(200)["feeds"].clone();
    let feed = all[0]["feedId"].as_str().unwrap().to_owned();
    session.patch(&format!("{FEEDS}/{feed}"), json!({ "title": "Mine" })).await.data(200);

    assert_eq!(run_undo(&session, &folders).await, [3, 1, 0]);
    assert_eq!(run_undo(&session, &feeds).await, [1, 1, 0]);

    assert_eq!(collections(&session).await, ["One"]);
    let remaining = session.get(FEEDS).await.data(200)["feeds"].clone();
    assert_eq!((remaining.as_array().unwrap().len(), &remaining[0]["title"]), (1, &json!("Mine")));
}

#[actix_web::test]
async fn undo_keeps_a_collection_with_another_bookmark() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let link =
        "<DT><H3>Top</H3><DL><DT><H3>Sub</H3><DL><DT><A HREF=\"https://s.example/1\">One</A></DL></DL>";
    let id = run_import(&server, &session, &bookmark_list(link)).await;
    let all = session.get(COLLECTIONS).await.data(200)["collections"].clone();
    let sub =
        all.as_array().unwrap().iter().find(|one| one["name"] == "Sub").unwrap()["collectionId"].clone();
    let own =
        json!({ "url": "https://s.example/mine", "title": "Mine", "text": "T", "collectionIds": [sub] });
    session.post(BOOKMARKS, own).await.data(201);

    assert_eq!(run_undo(&session, &id).await, [1, 2, 0]);

    assert_eq!(
        (titles(&session).await, collections(&session).await),
        (vec!["Mine".to_owned()], vec!["Sub".to_owned(), "Top".to_owned()])
    );
}

#[actix_web::test]
async fn undo_treats_additions_of_another_import_as_changes() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let page =
        |tags: &str| bookmark_list(&format!("<DT><A HREF=\"https://s.example/1\" TAGS=\"{tags}\">One</A>\n"));

    // The second import finds everything and adds nothing.
    let first = run_import(&server, &session, &page("a")).await;
    let same = run_import(&server, &session, &page("a")).await;
    assert_eq!(run_undo(&session, &first).await, [1, 0, 0]);
    assert_eq!(run_undo(&session, &same).await, [0, 0, 0]);
    assert!(titles(&session).await.is_empty());

    let first = run_import(&server, &session, &page("a")).await;
    let more = run_import(&server, &session, &page("a,b")).await;
    assert_eq!(run_undo(&session, &first).await, [0, 1, 0]);
    assert_eq!(run_undo(&session, &more).await, [0, 0, 1]);
    assert_eq!(only_bookmark(&session).await["tags"].as_array().unwrap().len(), 2);
}

#[actix_web::test]
async fn concurrent_undos_delete_what_each_import_created() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let folder = |pages: &[u8]| {
        let link = |n: &u8| format!("<DT><A HREF=\"https://s.example/{n}\">{n}</A>\n");
        bookmark_list(&format!("<DT><H3>F</H3><DL>{}</DL>", pages.iter().map(link).collect::<String>()))
    };
    let imports = [
        run_import(&server, &session, &folder(&[1, 2])).await,
        run_import(&server, &session, &folder(&[2, 3])).await,
    ];

    for id in &imports {
        post_step(&session, id, "undo").await;
    }
    for id in &imports {
        wait_for(&session, id, "undone").await;
    }

    assert!(titles(&session).await.is_empty());
}

#[actix_web::test]
async fn undo_keeps_a_feed_with_starred_entry_and_a_changed_note() {
    let (server, site) =
        (Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await, Site::start().await);
    let session = server.user(Plan::Pro).await.sign_in().await;
    let feed = |n: u8| {
        let item = "<item><title>Spring</title><guid>1</guid><link>/s</link></item>";
        let body = format!("<rss version=\"2.0\"><channel><title>F{n}</title>{item}</channel></rss>");
        let headers = vec![("content-type", "application/rss+xml".to_owned())];
        site.page(&format!("/feed{n}"), [Reply::Plain { status: 200, headers, body }])
    };
    let [one, other] = [feed(1), feed(2)];
    let feeds = format!(
        "<opml version=\"2.0\"><body><outline xmlUrl=\"{one}\"/><outline xmlUrl=\"{other}\"/></body></opml>"
    );
    let text = |n: u8| json!({ "title": n.to_string(), "content": { "type": "text", "text": "Words." } });
    let notes = json!({ "bookmarks": [text(1), text(2)], "lists": [] }).to_string();
    let feeds = run_import(&server, &session, &feeds).await;
    let notes = run_import(&server, &session, &notes).await;
    let entries = eventually("the entries are listed", async || {
        // A host gets at most one feed request per second.
        server.clock.advance(Duration::from_secs(1));
        let all =
            session.get("/app/api/library/entries").await.data(200)["entries"].as_array().unwrap().clone();
        (all.len() == 2).then_some(all)
    })
    .await;
    let starred = entries[0]["entryId"].as_str().unwrap();
    session.patch(&format!("/app/api/library/entries/{starred}"), json!({ "starred": true })).await.data(200);
    let project =
        session.get("/app/api/projects").await.data(200)["projects"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/app/api/projects/{project}/notes");
    let all = async || session.get(&path).await.data(200)["notes"].as_array().unwrap().clone();
    let changed = all().await[0]["noteId"].as_str().unwrap().to_owned();
    session.patch(&format!("/app/api/notes/{changed}"), json!({ "bodyMd": "My own words." })).await.data(200);

    assert_eq!(run_undo(&session, &feeds).await, [1, 1, 0]);
    // The project is not empty.
    assert_eq!(run_undo(&session, &notes).await, [1, 2, 0]);

    let remaining = all().await;
    assert_eq!((remaining.len(), &remaining[0]["bodyMd"]), (1, &json!("My own words.")));
    let remaining = session.get("/app/api/library/entries").await.data(200)["entries"].clone();
    assert_eq!((remaining.as_array().unwrap().len(), remaining[0]["entryId"].as_str()), (1, Some(starred)));
}

#[actix_web::test]
async fn import_is_undone_once_and_not_while_running() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = bookmark_list("<DT><A HREF=\"https://s.example/1\">One</A>\n");
    let id = run_import(&server, &session, &file).await;
    let undo = async || session.post(&format!("/app/api/imports/{id}/undo"), json!({})).await;

    for state in [ImportState::Running, ImportState::Undoing] {
        set_state(&server, state).await;
        assert_eq!(undo().await.error_code(409), "CONFLICT", "{state}");
    }
    assert_eq!(titles(&session).await, ["One"]);
    set_state(&server, ImportState::Done).await;
    assert_eq!(run_undo(&session, &id).await, [1, 0, 0]);

    let refused = undo().await;
    assert_eq!(refused.error_code(409), "CONFLICT");
    assert!(refused.text.contains("can be undone; this one is undone"), "{}", refused.text);
    assert_eq!(show_import(&session, &id).await["report"]["undo"]["deleted"], 1);
}

#[actix_web::test]
async fn undo_continues_after_a_kill() {
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let links: String = (0..2000)
        .map(|n| {
            format!("<DT><H3>F{}</H3><DL><DT><A HREF=\"https://k.example/{n}\">Page {n}</A></DL>\n", n % 7)
        })
        .collect();
    let id = start_import(&session, bookmark_list(&links).as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    let found = session.get(&format!("{BOOKMARKS}?q=Page%201993")).await.data(200)["bookmarks"].clone();
    let changed = found.as_array().unwrap().iter().find(|one| one["title"] == "Page 1993").unwrap().clone();
    session.patch(&path_of(&changed), json!({ "favorite": true })).await.data(200);

    post_step(&session, &id, "undo").await;
    eventually("some items are deleted", async || {
        let texts = show_import(&session, &id).await["texts"].clone();
        let count = |name: &str| texts[name].as_i64().unwrap();
        (count("processing") + count("ready") + count("failed") < 2000).then_some(())
    })
    .await;
    running.kill();
    let running = Program::start(&home, "data").await;

    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let undo = wait_for(&session, &id, "undone").await["report"]["undo"].clone();
    // Page 1993 is kept, and with it its collection F5.
    assert_eq!(undo, json!({ "deleted": 1999 + 6, "kept": 2, "additionsKept": 0 }));
    assert_eq!(titles(&session).await, ["Page 1993"]);
    assert_eq!(collections(&session).await, ["F5"]);
    running.terminate().await;
}
