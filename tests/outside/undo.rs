//! Imports taken back: what they brought goes, and what was there or was made of it since stays.

use std::time::Duration;

use entity::plan::Plan;
use serde_json::{Value, json};

use super::imports::{begin, collections, list, marked, once, step, titles};
use crate::world::{Client, Reply, Server, Site, eventually};

const BOOKMARKS: &str = "/app/api/library/bookmarks";

/// Takes a file in; the import's id.
async fn taken(server: &Server, session: &Client, file: &str) -> String {
    // No two come at the same time.
    server.clock.advance(Duration::from_secs(1));
    let id = begin(session, file.as_bytes(), &[]).await;
    once(session, &id, "done").await;
    id
}

async fn undone(session: &Client, id: &str) {
    step(session, id, "undo").await;
    once(session, id, "undone").await;
}

/// The one bookmark that is there.
async fn only(session: &Client) -> Value {
    let all = session.get(BOOKMARKS).await.data(200)["bookmarks"].as_array().unwrap().clone();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

/// A table of one page with these notes, and of it again with others.
fn noted(notes: &[&str]) -> String {
    let rows = notes.iter().map(|note| format!("https://s.example/1,One,{note}\n"));
    "url,title,note\n".to_owned() + &rows.collect::<String>()
}

#[actix_web::test]
async fn words_that_its_person_wrote_between_those_of_imports_stay() {
    let server = Server::start().await;
    for order in [[0, 1], [1, 0]] {
        let session = server.user(Plan::Pro).await.sign_in().await;
        let imports = [
            taken(&server, &session, &noted(&["Of herons"])).await,
            taken(&server, &session, &noted(&["Of reeds"])).await,
        ];
        let page = format!("{BOOKMARKS}/{}", only(&session).await["bookmarkId"].as_str().unwrap());
        assert_eq!(only(&session).await["notes"], "Of herons\n\nOf reeds");
        server.clock.advance(Duration::from_secs(1));
        let own = json!({ "notes": "Of herons, which I saw\n\nOf reeds" });
        session.patch(&page, own).await.data(200);

        for at in order {
            undone(&session, &imports[at]).await;
        }

        assert_eq!(only(&session).await["notes"], "Of herons, which I saw", "undone in the order {order:?}");
    }
}

#[actix_web::test]
async fn a_page_that_is_twice_in_a_file_goes_with_all_its_notes_but_not_with_its_persons() {
    let server = Server::start().await;
    let twice = noted(&["Of herons", "Of reeds"]);
    for (own, left) in [(None, 0), (Some("Of herons, mine\n\nOf reeds"), 1)] {
        let session = server.user(Plan::Pro).await.sign_in().await;
        let id = taken(&server, &session, &twice).await;
        let page = format!("{BOOKMARKS}/{}", only(&session).await["bookmarkId"].as_str().unwrap());
        if let Some(own) = own {
            session.patch(&page, json!({ "notes": own })).await.data(200);
        }

        undone(&session, &id).await;

        assert_eq!(titles(&session).await.len(), left, "with {own:?}");
    }
}

/// A page of Omnivore or wallabag with these annotations.
fn annotated(annotations: &[(&str, &str)]) -> String {
    let annotations: Vec<_> =
        annotations.iter().map(|(quote, text)| json!({ "quote": quote, "text": text })).collect();
    json!([{
        "id": 1, "mimetype": "text/html", "title": "Herons", "url": "https://a.example/herons",
        "content": "<p>The grey heron stands in the reeds. It waits, and waits, for the fish of the evening.</p>",
        "annotations": annotations,
    }])
    .to_string()
}

/// The page once it is read.
async fn read(session: &Client) -> String {
    eventually("the page is read", async || {
        let found = session.get(BOOKMARKS).await.data(200)["bookmarks"][0].clone();
        (found["status"] == "ready").then(|| found["bookmarkId"].as_str().unwrap().to_owned())
    })
    .await
}

/// Changes the highlight of these words.
async fn change(session: &Client, page: &str, words: &str, change: Value) {
    let all = session.get(&format!("{BOOKMARKS}/{page}/highlights")).await.data(200)["highlights"].clone();
    let of_these = |one: &&Value| one["text"].as_str().unwrap().starts_with(words);
    let one = all.as_array().unwrap().iter().find(of_these).unwrap()["highlightId"].clone();
    let path = format!("/app/api/library/highlights/{}", one.as_str().unwrap());
    session.patch(&path, change).await.data(200);
}

const MARKS: [(&str, &str); 4] = [
    ("The grey heron stands", ""),
    ("stands in the reeds", "Where"),
    ("It waits, and waits", ""),
    ("for the fish of the evening", ""),
];

#[actix_web::test]
async fn marks_that_their_person_changed_stay_and_are_not_made_again() {
    let server = Server::start().await;
    for order in [[0, 1], [1, 0]] {
        let session = server.user(Plan::Pro).await.sign_in().await;
        let first = taken(&server, &session, &annotated(&MARKS)).await;
        let page = read(&session).await;
        change(&session, &page, "The grey", json!({ "note": "Mine" })).await;
        change(&session, &page, "stands in", json!({ "note": "In the reeds, mine" })).await;
        change(&session, &page, "It waits", json!({ "color": "yellow" })).await;

        let newer = [&MARKS[..], &[("The grey heron stands", "From there")]].concat();
        let imports = [first, taken(&server, &session, &annotated(&newer)).await];
        let all = marked(&session, &page).await;
        let notes: Vec<_> = all.iter().map(|(_, note, _)| note.clone()).collect();
        assert_eq!(all.len(), 5, "only what has another note is new: {all:?}");
        assert!(notes.contains(&json!("From there")) && notes.contains(&json!("Mine")), "{all:?}");

        for at in order {
            undone(&session, &imports[at]).await;
        }

        only(&session).await;
        let left: Vec<_> =
            marked(&session, &page).await.into_iter().map(|(words, note, _)| (words, note)).collect();
        let stay = [
            ("The grey heron stands".to_owned(), json!("Mine")),
            ("stands in the reeds".to_owned(), json!("In the reeds, mine")),
            ("It waits, and waits".to_owned(), Value::Null),
        ];
        assert_eq!(left, stay, "undone in the order {order:?}");
    }
}

#[actix_web::test]
async fn marks_that_their_person_moved_or_chose_for_a_project_stay() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = taken(&server, &session, &annotated(&[("waits", ""), ("The grey heron stands", "")])).await;
    let page = read(&session).await;
    let places = json!({ "text": "waits", "startOffset": 50, "endOffset": 55 });
    change(&session, &page, "waits", places).await;
    let all = session.get(&format!("{BOOKMARKS}/{page}/highlights")).await.data(200)["highlights"].clone();
    let heron = all.as_array().unwrap().iter().find(|one| one["text"] == "The grey heron stands").unwrap();
    let made = session.post("/app/api/projects", json!({ "name": "A book" })).await;
    let project = made.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let items = format!("/app/api/projects/{project}/items");
    let chosen = json!({ "items": [{ "highlightId": heron["highlightId"] }] });
    session.post(&format!("/app/api/library/projects/{project}/items"), chosen).await.data(201);
    assert_eq!(session.get(&items).await.data(200)["items"].as_array().unwrap().len(), 1);

    undone(&session, &id).await;

    only(&session).await;
    assert_eq!(marked(&session, &page).await.len(), 2);
    assert_eq!(session.get(&items).await.data(200)["items"].as_array().unwrap().len(), 1);
}

#[actix_web::test]
async fn a_page_that_its_person_uses_stays_without_what_the_import_put_on_it() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let link =
        "<DT><H3>In</H3><DL><DT><A HREF=\"https://s.example/1\" TAGS=\"theirs\">One</A>\n<DD>Theirs\n</DL>";
    let id = taken(&server, &session, &list(link)).await;
    let page = format!("{BOOKMARKS}/{}", only(&session).await["bookmarkId"].as_str().unwrap());
    let own = json!({ "notes": "Theirs\n\nMine", "tags": ["theirs", "mine"] });
    session.patch(&page, own).await.data(200);

    undone(&session, &id).await;

    let left = only(&session).await;
    assert_eq!((&left["notes"], &left["tags"]), (&json!("Mine"), &json!(["mine"])));
    assert!(collections(&session).await.is_empty());
}

#[actix_web::test]
async fn collections_and_feeds_that_their_person_changed_stay() {
    let server = Server::with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let folder = |name: &str| {
        format!("<DT><H3>{name}</H3><DL><DT><A HREF=\"https://s.example/{name}\">{name}</A></DL>\n")
    };
    let mut imports = vec![taken(&server, &session, &list(&(folder("One") + &folder("Two")))).await];
    let feeds = "<opml version=\"2.0\"><body><outline xmlUrl=\"https://s.example/a\"/><outline xmlUrl=\"https://s.example/b\"/></body></opml>";
    imports.push(taken(&server, &session, feeds).await);
    let all = session.get("/app/api/library/collections").await.data(200)["collections"].clone();
    let one =
        all.as_array().unwrap().iter().find(|one| one["name"] == "One").unwrap()["collectionId"].clone();
    let path = format!("/app/api/library/collections/{}", one.as_str().unwrap());
    session.patch(&path, json!({ "description": "Of mine" })).await.data(200);
    let all = session.get("/app/api/library/feeds").await.data(200)["feeds"].clone();
    let feed = all[0]["feedId"].as_str().unwrap().to_owned();
    session.patch(&format!("/app/api/library/feeds/{feed}"), json!({ "title": "Mine" })).await.data(200);

    for id in imports {
        undone(&session, &id).await;
    }

    assert_eq!(collections(&session).await, ["One"]);
    let left = session.get("/app/api/library/feeds").await.data(200)["feeds"].clone();
    assert_eq!((left.as_array().unwrap().len(), &left[0]["title"]), (1, &json!("Mine")));
}

#[actix_web::test]
async fn imports_that_are_taken_back_at_once_leave_nothing() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    for _ in 0..3 {
        let marks = [&MARKS[..2], &MARKS[1..]];
        let mut imports = Vec::new();
        for marks in marks {
            imports.push(taken(&server, &session, &annotated(marks)).await);
        }
        read(&session).await;
        for id in &imports {
            step(&session, id, "undo").await;
        }
        for id in &imports {
            once(&session, id, "undone").await;
        }
        assert!(titles(&session).await.is_empty());
    }
}

#[actix_web::test]
async fn a_page_that_was_taken_back_is_restored_with_its_marks() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let id = taken(&server, &session, &annotated(&MARKS)).await;
    let page = read(&session).await;

    undone(&session, &id).await;
    assert!(titles(&session).await.is_empty());
    session.post(&format!("{BOOKMARKS}/{page}/restore"), json!({})).await.data(200);

    assert_eq!(marked(&session, &page).await.len(), MARKS.len());
}

#[actix_web::test]
async fn what_was_taken_in_is_taken_back_and_what_was_there_is_as_it_was() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let before = json!({ "url": "https://u.example/there", "title": "There", "text": "T", "tags": ["old"] });
    session.post(BOOKMARKS, before).await.data(201);
    session.post("/app/api/library/collections", json!({ "name": "Kept" })).await.data(201);
    let file = list(
        "<DT><H3>Kept</H3><DL><DT><A HREF=\"https://u.example/there\" TAGS=\"old,new\">T</A></DL>\n\
         <DT><H3>Top</H3><DL><DT><H3>Sub</H3><DL><DT><A HREF=\"https://u.example/new\">New</A></DL></DL>\n\
         <DT><A FEEDURL=\"https://u.example/feed\" HREF=\"https://u.example/\">F</A>",
    );
    let id = begin(&session, file.as_bytes(), &[]).await;
    once(&session, &id, "done").await;
    assert_eq!(titles(&session).await, ["New", "There"]);

    step(&session, &id, "undo").await;
    once(&session, &id, "undone").await;

    assert_eq!(
        (titles(&session).await, collections(&session).await),
        (vec!["There".to_owned()], vec!["Kept".to_owned()])
    );
    let listed = session.get(BOOKMARKS).await;
    assert_eq!(listed.data(200)["bookmarks"][0]["tags"], json!(["old"]));
    assert_eq!(session.get("/app/api/library/feeds").await.data(200)["feeds"], json!([]));
    let kept = session.get("/app/api/library/collections").await.data(200)["collections"][0].clone();
    let kept = kept["collectionId"].as_str().or(kept["id"].as_str()).unwrap().to_owned();
    let inside = session.get(&format!("/app/api/library/bookmarks?collectionId={kept}")).await;
    assert_eq!(inside.data(200)["bookmarks"], json!([]), "it is still filed where the import put it");
    assert_eq!(
        session.post(&format!("/app/api/imports/{id}/undo"), json!({})).await.refused(409),
        "CONFLICT"
    );
}

#[actix_web::test]
async fn what_others_rely_on_is_not_taken_back() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let page = |n: u8| {
        format!("{{\"url\": \"https://s.example/{n}\", \"title\": \"{n}\", \"text\": \"Some words.\"}}\n")
    };
    let begun = async |file: String| {
        let id = begin(&session, file.as_bytes(), &[]).await;
        once(&session, &id, "done").await;
        id
    };
    let first = begun([1, 2, 3].map(page).concat()).await;
    let second = begun(page(2)).await;
    let marked = eventually("the page is read", async || {
        let listed = session.get("/app/api/library/bookmarks?q=3").await;
        let found = listed.data(200)["bookmarks"][0].clone();
        (found["status"] == "ready").then(|| found["bookmarkId"].as_str().unwrap().to_owned())
    })
    .await;
    let words = json!({ "text": "Some", "startOffset": 0, "endOffset": 4 });
    session.post(&format!("/app/api/library/bookmarks/{marked}/highlights"), words).await.data(201);
    let undone = async |id: &str| {
        step(&session, id, "undo").await;
        once(&session, id, "undone").await;
    };

    undone(&first).await;
    assert_eq!(titles(&session).await, ["2", "3"]);
    undone(&second).await;
    assert_eq!(titles(&session).await, ["3"]);
}

#[actix_web::test]
async fn folders_that_two_imports_fill_go_with_the_last_of_them() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let table = |names: &[&str]| {
        let note = names.join(" and ");
        let rows = names.iter().map(|name| format!("https://s.example/{name},{name},F / X,{note}\n"));
        "url,title,folder,note\n".to_owned() + &rows.collect::<String>()
    };
    for (first, second) in [(0, 1), (1, 0)] {
        let mut imports = Vec::new();
        for names in [&["own", "shared"][..], &["shared", "other"]] {
            server.clock.advance(Duration::from_secs(1));
            let id = begin(&session, table(names).as_bytes(), &[]).await;
            once(&session, &id, "done").await;
            imports.push(id);
        }

        step(&session, &imports[first], "undo").await;
        once(&session, &imports[first], "undone").await;
        assert_eq!(collections(&session).await, ["F", "X"], "after {first}");
        step(&session, &imports[second], "undo").await;
        once(&session, &imports[second], "undone").await;
        assert_eq!(
            (titles(&session).await.len(), collections(&session).await.len()),
            (0, 0),
            "after {second}"
        );
    }
}

#[actix_web::test]
async fn labels_that_two_imports_say_stay_until_both_are_taken_back() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let saved = json!({ "url": "https://s.example/1", "tags": ["mine"] });
    session.post(BOOKMARKS, saved).await.data(201);
    let mut imports = Vec::new();
    for tags in ["mine,birds", "birds,rivers"] {
        let link = format!("<DT><A HREF=\"https://s.example/1\" TAGS=\"{tags}\">One</A>\n<DD>On {tags}\n");
        let id = begin(&session, list(&link).as_bytes(), &[]).await;
        once(&session, &id, "done").await;
        imports.push(id);
    }
    let kept = async || {
        let row = session.get(BOOKMARKS).await.data(200)["bookmarks"][0].clone();
        let mut tags: Vec<String> = serde_json::from_value(row["tags"].clone()).unwrap();
        tags.sort();
        (tags, row["notes"].clone())
    };
    let owned = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        kept().await,
        (owned(&["birds", "mine", "rivers"]), json!("On mine,birds\n\nOn birds,rivers"))
    );

    step(&session, &imports[0], "undo").await;
    once(&session, &imports[0], "undone").await;
    assert_eq!(kept().await, (owned(&["birds", "mine", "rivers"]), json!("On birds,rivers")));
    step(&session, &imports[1], "undo").await;
    once(&session, &imports[1], "undone").await;
    let (tags, notes) = kept().await;
    assert_eq!((tags, notes.as_str().unwrap_or_default()), (owned(&["mine"]), ""));
}

#[actix_web::test]
async fn of_three_imports_of_a_page_each_takes_back_its_own() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let mut imports = Vec::new();
    for name in ["a", "b", "c"] {
        let link = format!(
            "<DT><H3>In {name}</H3><DL><DT><A HREF=\"https://s.example/1\" TAGS=\"all,{name}\">One</A>\n<DD>Of {name}\n</DL>"
        );
        let id = begin(&session, list(&link).as_bytes(), &[]).await;
        once(&session, &id, "done").await;
        imports.push(id);
        server.clock.advance(Duration::from_secs(1));
    }
    let kept = async || {
        let all = session.get(BOOKMARKS).await.data(200)["bookmarks"].clone();
        let mut tags: Vec<String> = serde_json::from_value(all[0]["tags"].clone()).unwrap_or_default();
        tags.sort();
        (tags.join(" "), all[0]["notes"].as_str().unwrap_or_default().to_owned(), collections(&session).await)
    };
    let what = |tags: &str, notes: &str, folders: &[&str]| {
        (tags.to_owned(), notes.to_owned(), folders.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(kept().await, what("a all b c", "Of a\n\nOf b\n\nOf c", &["In a", "In b", "In c"]));

    let lefts = [
        what("all b c", "Of b\n\nOf c", &["In b", "In c"]),
        what("all c", "Of c", &["In c"]),
        what("", "", &[]),
    ];
    for (id, left) in imports.iter().zip(lefts) {
        step(&session, id, "undo").await;
        once(&session, id, "undone").await;
        assert_eq!(kept().await, left);
    }
    let none = session.get(BOOKMARKS).await;
    assert_eq!(none.data(200)["bookmarks"].as_array().unwrap().len(), 0);
}

#[actix_web::test]
async fn what_was_written_or_kept_since_is_not_taken_back() {
    let (server, site) =
        (Server::with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await, Site::start().await);
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
    let link = |n: u8| format!("<DT><A HREF=\"https://s.example/{n}\">Page {n}</A>\n");
    let mut imports = Vec::new();
    for file in [feeds, notes, list(&[1, 2, 3].map(link).concat())] {
        let id = begin(&session, file.as_bytes(), &[]).await;
        once(&session, &id, "done").await;
        imports.push(id);
    }
    let entries = eventually("the entries are there", async || {
        // One host is asked for one feed a second.
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
    server.clock.advance(Duration::from_secs(1));
    session.patch(&format!("/app/api/notes/{changed}"), json!({ "bodyMd": "My own words." })).await.data(200);
    let made = session.post("/app/api/library/collections", json!({ "name": "Mine" })).await;
    let mine = made.data(201)["collection"]["collectionId"].clone();
    let pages = session.get("/app/api/library/bookmarks?sort=title").await.data(200)["bookmarks"].clone();
    let page = |n: usize| format!("/app/api/library/bookmarks/{}", pages[n]["bookmarkId"].as_str().unwrap());
    session.patch(&page(0), json!({ "notes": "Of it." })).await.data(200);
    session.patch(&page(1), json!({ "collectionIds": [mine] })).await.data(200);

    for id in imports {
        step(&session, &id, "undo").await;
        once(&session, &id, "undone").await;
    }

    assert_eq!(titles(&session).await, ["Page 1", "Page 2"]);
    let left = all().await;
    assert_eq!((left.len(), &left[0]["bodyMd"]), (1, &json!("My own words.")));
    let left = session.get("/app/api/library/entries").await.data(200)["entries"].clone();
    assert_eq!((left.as_array().unwrap().len(), left[0]["entryId"].as_str()), (1, Some(starred)));
}
