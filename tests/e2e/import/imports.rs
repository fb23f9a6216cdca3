//! Imports of files from other programs: dry run, import, pause, retry, the command line, and refused files.

use std::time::Duration;

use actix_web::web::Bytes;
use entity::{import, job, stored_file};
use library::stored_files::{self, FileOwner, FileWriter};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, Database, EntityTrait, QueryFilter};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use values::id::ImportId;
use values::kind::{ImportState, JobState};
use values::plan::Plan;

use crate::export::exports::pdf_with_text;
use crate::ingest::uploads::{self, upload};
use crate::support::{Client, Home, Program, Reply, Server, Site, article, eventually, files, program};

/// Starts an import and returns its id.
pub async fn start_import(session: &Client, file: &[u8], fields: &[(&str, &str)]) -> String {
    let begun = session.post_file("/app/api/imports", file, fields).await;
    begun.data(202)["import"]["id"].as_str().unwrap().to_owned()
}

/// Stores the file of an import again, as if the import had not ended.
pub async fn restore_file(server: &Server, id: &str, file: &[u8]) {
    let (ctx, import) = (server.context(), ImportId(id.parse().unwrap()));
    // It is deleted after the import has ended.
    eventually("the former file is deleted", async || {
        let of_import = stored_file::Entity::find().filter(stored_file::Column::ImportId.eq(import));
        of_import.one(ctx.core.db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
    let store = &*ctx.uploads.store;
    let mut writer = FileWriter::begin(&ctx.core, store).await.unwrap();
    writer.write(Bytes::copy_from_slice(file)).await.unwrap();
    let stored = writer.finish(&ctx.core, store).await.unwrap();
    assert!(stored_files::assign(ctx.core.db.write(), stored.id, FileOwner::Import(import)).await.unwrap());
}

/// Returns the import as the API shows it.
pub async fn show_import(session: &Client, id: &str) -> Value {
    session.get(&format!("/app/api/imports/{id}")).await.data(200)["import"].clone()
}

/// Waits until the import has this status, and returns it.
pub async fn wait_for(session: &Client, id: &str, status: &str) -> Value {
    eventually(&format!("the import is {status}"), async || {
        Some(show_import(session, id).await).filter(|import| import["status"] == status)
    })
    .await
}

pub async fn post_step(session: &Client, id: &str, step: &str) -> Value {
    session.post(&format!("/app/api/imports/{id}/{step}"), json!({})).await.data(200)["import"].clone()
}

pub async fn titles(session: &Client) -> Vec<String> {
    let listed = session.get("/app/api/library/bookmarks?sort=title&limit=100").await;
    let bookmarks = listed.data(200)["bookmarks"].as_array().unwrap().clone();
    bookmarks.iter().map(|bookmark| bookmark["title"].as_str().unwrap().to_owned()).collect()
}

pub async fn collections(session: &Client) -> Vec<String> {
    let listed = session.get("/app/api/library/collections").await;
    let collections = listed.data(200)["collections"].as_array().unwrap().clone();
    let mut names: Vec<_> = collections.iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

pub fn bookmark_list(links: &str) -> String {
    format!(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>\n<H1>Bookmarks</H1>\n<DL><p>\n{links}</DL><p>\n"
    )
}

/// Packs these files into a ZIP archive.
pub fn zip_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        std::io::Write::write_all(&mut zip, bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// Runs a dry run and then the import. Returns the report of the first and the import.
async fn dry_run_and_import(session: &Client, file: &[u8]) -> (Value, Value) {
    let dry_run = start_import(session, file, &[("dryRun", "true")]).await;
    let dry_run = wait_for(session, &dry_run, "checked").await;
    let id = start_import(session, file, &[]).await;
    (dry_run["report"].clone(), wait_for(session, &id, "done").await)
}

fn report_counts(import: &Value) -> [i64; 3] {
    ["created", "updated", "skippedRows"].map(|name| import["report"][name].as_i64().unwrap())
}

#[actix_web::test]
async fn browser_bookmark_list_is_imported_and_pages_are_fetched() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let user = server.user(Plan::Pro).await;
    let (session, site) = (user.sign_in().await, Site::start().await);
    let page = site.page("/herons", [article("The page's own title", "a heron")]);
    let existing = json!({ "url": "https://there.example/", "text": "Words.", "tags": ["old"] });
    session.post("/app/api/library/bookmarks", existing).await.data(201);
    let file = bookmark_list(&format!(
        "<DT><H3>Birds</H3><DL><p><DT><H3>Waders</H3><DL><p>\n\
         <DT><A HREF=\"{page}\" ADD_DATE=\"1700000000\" TAGS=\"a,b\">Herons</A>\n<DD>A note\n</DL><p></DL><p>\n\
         <DT><A HREF=\"https://there.example/\" TAGS=\"old,new\">There</A>\n\
         <DT><A HREF=\"javascript:alert(1)\">Bad</A>\n"
    ));

    let id = start_import(&session, file.as_bytes(), &[]).await;
    let done = wait_for(&session, &id, "done").await;

    assert_eq!((report_counts(&done), &done["format"]), ([1, 1, 1], &json!("netscape")));
    let skipped = &done["report"]["skipped"][0];
    assert_eq!((&skipped["line"], skipped["reason"].as_str().unwrap().contains("http")), (&json!(10), true));
    assert_eq!(collections(&session).await, ["Birds", "Waders"]);
    let read = eventually("the page is processed", async || {
        let listed = session.get("/app/api/library/bookmarks?q=Herons").await;
        let found = listed.data(200)["bookmarks"][0].clone();
        (found["status"] == "ready").then_some(found)
    })
    .await;
    assert_eq!(
        (&read["title"], &read["tags"], &read["notes"]),
        (&json!("Herons"), &json!(["a", "b"]), &json!("A note"))
    );
    assert_eq!(read["savedAt"], "2023-11-14T22:13:20.000Z");
    eventually("the text of the page is counted", async || {
        (show_import(&session, &id).await["texts"]["ready"] == 1).then_some(())
    })
    .await;
    let all = session.get("/app/api/imports").await;
    assert_eq!(all.data(200)["imports"][0]["id"], id.as_str());
}

#[actix_web::test]
async fn formats_are_detected_from_bytes() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let zip = zip_archive(&[
        (
            "metadata_0_to_1.json",
            br#"[{"slug": "o", "title": "Omnivore", "url": "https://f.example/omnivore", "labels": ["x"]}]"#,
        ),
        (
            "content/o.html",
            b"<article><h1>Omnivore</h1><p>Whoever has seen a heron remembers it for a long time.</p></article>",
        ),
    ]);
    let text = |text: &str| text.as_bytes().to_vec();
    let files = [
        ("jsonl", text(r#"{"url": "https://f.example/jsonl", "title": "Jsonl", "text": "T"}"#)),
        ("netscape", text(&bookmark_list("<DT><A HREF=\"https://f.example/netscape\">Netscape</A>"))),
        (
            "pocket",
            text(
                "title,url,time_added,tags,status\nPocket,https://f.example/pocket,1700000000,a|b,archive\n",
            ),
        ),
        ("instapaper", text("URL,Title,Selection,Folder\nhttps://f.example/instapaper,Instapaper,,Unread\n")),
        (
            "readwise",
            text(
                "Title,URL,ID,Document tags,Saved date,Reading progress,Location,Seen\nReadwise,https://f.example/readwise,1,['a'],2023-11-14 22:13:20+00:00,0.5,later,True\n",
            ),
        ),
        (
            "matter",
            text(
                "Title,Author,Publisher,URL,Tags,Word Count,In Queue,Favorited,Read,Highlight_Count,Last Interaction Date,File Id\nMatter,,,https://f.example/matter,a;b,1,True,False,False,0,,\n",
            ),
        ),
        (
            "mymind",
            text(
                "id,type,title,url,content,note,tags,created\n1,WebPage,Mymind,https://f.example/mymind,,,a,\n",
            ),
        ),
        (
            "raindrop",
            text(
                "id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite\n1,Raindrop,,,https://f.example/raindrop,A/B,,,,,false\n",
            ),
        ),
        (
            "karakeep",
            text(
                r#"{"bookmarks": [{"createdAt": 1700000000, "title": "Karakeep", "tags": [], "content": {"type": "link", "url": "https://f.example/karakeep"}}], "lists": []}"#,
            ),
        ),
        (
            "linkwarden",
            text(
                r#"{"collections": [{"id": 1, "name": "L", "parentId": null, "links": [{"name": "Linkwarden", "url": "https://f.example/linkwarden", "tags": []}]}]}"#,
            ),
        ),
        ("onetab", text("https://f.example/onetab | Onetab\n")),
        ("omnivore", zip),
    ];
    for (format, file) in &files {
        let id = start_import(&session, file, &[]).await;
        let done = wait_for(&session, &id, "done").await;
        assert_eq!((done["format"].as_str(), report_counts(&done)), (Some(*format), [1, 0, 0]), "{done}");
        let named = start_import(&session, file, &[("format", format)]).await;
        assert_eq!(report_counts(&wait_for(&session, &named, "done").await), [0, 1, 0], "{format}");
    }
    let opml = r#"<opml version="2.0"><body><outline text="F"><outline text="Feed" xmlUrl="https://f.example/feed"/></outline></body></opml>"#;
    let id = start_import(&session, opml.as_bytes(), &[]).await;
    assert_eq!(report_counts(&wait_for(&session, &id, "done").await), [1, 0, 0]);
    let feeds = session.get("/app/api/library/feeds").await;
    assert_eq!(feeds.data(200)["feeds"][0]["folder"], "F");
    let mut expected: Vec<String> = files.iter().map(|(format, _)| (*format).to_owned()).collect();
    expected.sort();
    let found: Vec<_> = titles(&session).await.iter().map(|title| title.to_lowercase()).collect();
    assert_eq!(found, expected);
}

#[actix_web::test]
async fn texts_without_a_page_become_notes() {
    let server = Server::start().await;
    let session = server.user(Plan::Free).await.sign_in().await;
    let karakeep = json!({ "bookmarks": [
        { "createdAt": 1_700_000_000, "title": "Herons", "tags": ["birds"], "content": { "type": "text", "text": "They stand *still* for hours." } },
        { "createdAt": 1_700_000_000, "title": "Herons", "tags": ["birds"], "content": { "type": "text", "text": "They stand *still* for hours." } },
        { "createdAt": 1, "title": "A picture", "tags": [], "content": null },
    ], "lists": [] });
    let mymind =
        "id,type,title,url,content,note,tags,created\n1,Note,,,A bittern booms.,,,2023-11-14T22:13:20Z\n";

    let (dry_run, first) = dry_run_and_import(&session, karakeep.to_string().as_bytes()).await;
    let rows = format!("/app/api/imports/{}/rows", first["id"].as_str().unwrap());
    let (_, second) = dry_run_and_import(&session, mymind.as_bytes()).await;

    assert_eq!((report_counts(&first), &first["report"]), ([1, 1, 1], &dry_run));
    assert_eq!(report_counts(&second), [1, 0, 0]);
    let page = session.get(&format!("{rows}?limit=2")).await.data(200).clone();
    let summary = |row: &Value| {
        (row["line"].clone(), row["outcome"].clone(), row["kind"].clone(), row["reason"].clone())
    };
    let two: Vec<_> = page["rows"].as_array().unwrap().iter().map(summary).collect();
    assert_eq!(
        two,
        [
            (json!(1), json!("created"), json!("note"), json!(null)),
            (json!(2), json!("updated"), json!("note"), json!(null))
        ]
    );
    let next = page["nextCursor"].as_str().unwrap();
    let rest = session.get(&format!("{rows}?limit=2&cursor={next}")).await.data(200).clone();
    assert_eq!(
        (rest["rows"][0]["outcome"].clone(), rest["rows"][0]["reason"].clone(), rest["nextCursor"].clone()),
        (json!("skipped"), json!("has no URL"), json!(null))
    );
    let skipped = session.get(&format!("{rows}?outcome=skipped")).await.data(200)["rows"].clone();
    assert_eq!(skipped, rest["rows"]);
    session.get(&format!("{rows}?outcome=beside")).await.error_code(400);
    let projects = session.get("/app/api/projects").await.data(200)["projects"].clone();
    assert_eq!((projects.as_array().unwrap().len(), &projects[0]["name"]), (1, &json!("Imported notes")));
    let path = format!("/app/api/projects/{}/notes", projects[0]["id"].as_str().unwrap());
    let notes = async || session.get(&path).await.data(200)["notes"].as_array().cloned().unwrap_or_default();
    let of = async |title: &str| notes().await.into_iter().find(|note| note["title"] == title).unwrap();
    let herons = of("Herons").await;
    assert_eq!(
        (&herons["bodyMd"], &herons["createdAt"]),
        (&json!("They stand *still* for hours.\n\nTags: birds"), &json!("2023-11-14T22:13:20.000Z"))
    );
    of("A bittern booms.").await;
    eventually("search finds the text", async || {
        let found = session.get("/app/api/library/search?q=bittern").await;
        (found.data(200)["results"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    let (_, third) = dry_run_and_import(&session, mymind.as_bytes()).await;
    assert_eq!(report_counts(&third), [0, 1, 0]);
    // The first import created the project, which stays while it has a note. The third found the note of the second.
    for (import, remaining) in [(first, 1), (second, 0), (third, 0)] {
        let id = import["id"].as_str().unwrap().to_owned();
        post_step(&session, &id, "undo").await;
        wait_for(&session, &id, "undone").await;
        let count = session.get(&path).await.body["data"]["notes"].as_array().map_or(0, Vec::len);
        assert_eq!(count, remaining);
    }
}

#[actix_web::test]
async fn import_of_silent_hosts_does_not_delay_other_users() {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    let (one, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (mut silent, mut links) = (Vec::new(), String::new());
    for _ in 0..12 {
        let site = Site::start().await;
        for page in ["/a", "/b"] {
            links.push_str(&format!("<DT><A HREF=\"{}\">One</A>\n", site.page(page, [Reply::Never])));
        }
        silent.push(site);
    }
    let session = one.sign_in().await;
    let id = start_import(&session, bookmark_list(&links).as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    let requested_count =
        || silent.iter().filter(|site| site.was_requested("/a") || site.was_requested("/b")).count();
    eventually("as many hosts as may be are requested", async || (requested_count() >= 2).then_some(()))
        .await;

    let (key, site) = (other.full_key().await, Site::start().await);
    let saved = key.save(json!({ "url": site.page("/page", [article("A page", "A heron stands.")]) })).await;
    let sent = upload(&key, "application/pdf", &pdf_with_text("A paper about herons")).await;

    key.wait_for(&saved, "ready").await;
    eventually("the upload is processed", async || {
        (key.get(&uploads::path(&sent)).await.data(200)["status"] == "ready").then_some(())
    })
    .await;
    let texts = wait_for(&session, &id, "done").await["texts"].clone();
    assert_eq!((&texts["processing"], &texts["ready"]), (&json!(24), &json!(0)), "{texts}");
}

#[actix_web::test]
async fn pdfs_in_an_archive_are_read_with_page_numbers() {
    let server = Server::start().await;
    let list =
        br#"[{"slug": "p", "title": "On herons", "url": "https://f.example/p.pdf", "labels": ["birds"]}]"#;
    let file = zip_archive(&[
        ("metadata_0_to_1.json", list),
        ("content/p.pdf", &pdf_with_text("A paper about herons")),
    ]);
    let session = server.user(Plan::Pro).await.sign_in().await;

    let (dry_run, done) = dry_run_and_import(&session, &file).await;

    assert_eq!((report_counts(&done), &done["report"]), ([1, 0, 0], &dry_run));
    let read = eventually("the PDF is processed", async || {
        let listed = session.get("/app/api/library/bookmarks").await;
        let found = listed.data(200)["bookmarks"][0].clone();
        (found["status"] == "ready").then_some(found)
    })
    .await;
    assert_eq!(
        (&read["title"], &read["tags"], &read["canonicalUrl"]),
        (&json!("On herons"), &json!(["birds"]), &json!("https://f.example/p.pdf"))
    );
    let chunks = session
        .get(&format!("/app/api/library/documents/{}/chunks", read["documentId"].as_str().unwrap()))
        .await
        .data(200)["chunks"]
        .clone();
    assert!(
        chunks[0]["page"] == 1 && chunks[0]["text"].as_str().unwrap().contains("about herons"),
        "{chunks}"
    );
    let (dry_run, again) = dry_run_and_import(&session, &file).await;
    assert_eq!((report_counts(&again), &again["report"]), ([0, 1, 0], &dry_run));
    // A plan without files keeps the URL.
    let free = server.user(Plan::Free).await.sign_in().await;
    let (dry_run, done) = dry_run_and_import(&free, &file).await;
    assert_eq!((report_counts(&done), &done["report"]), ([1, 0, 0], &dry_run));
    let listed = free.get("/app/api/library/bookmarks").await;
    assert_eq!(listed.data(200)["bookmarks"][0]["url"], "https://f.example/p.pdf");
}

#[actix_web::test]
async fn dry_run_changes_nothing_until_it_is_started() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = bookmark_list(
        "<DT><H3>F</H3><DL><DT><A HREF=\"https://d.example/1\">One</A>\n<DT><A HREF=\"https://d.example/1#x\">Again</A>\n</DL>\n\
         <DT><A HREF=\"ftp://d.example/\">Bad</A>",
    );

    let id = start_import(&session, file.as_bytes(), &[("dryRun", "true")]).await;
    let dry_run = wait_for(&session, &id, "checked").await;

    assert_eq!((report_counts(&dry_run), &dry_run["dryRun"]), ([1, 1, 1], &json!(true)));
    let rows = session.get(&format!("/app/api/imports/{id}/rows")).await.data(200)["rows"].clone();
    let outcomes: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["outcome"].clone()).collect();
    assert_eq!(outcomes, ["created", "updated", "skipped"]);
    assert!(rows.as_array().unwrap().iter().all(|row| row["id"] == json!(null)), "{rows}");
    assert!(titles(&session).await.is_empty() && collections(&session).await.is_empty());
    for step in ["pause", "resume", "undo"] {
        assert_eq!(
            session.post(&format!("/app/api/imports/{id}/{step}"), json!({})).await.error_code(409),
            "CONFLICT"
        );
    }
    post_step(&session, &id, "start").await;
    assert_eq!(report_counts(&wait_for(&session, &id, "done").await), [1, 1, 1]);
    assert_eq!(
        (titles(&session).await, collections(&session).await),
        (vec!["One".to_owned()], vec!["F".to_owned()])
    );
    assert_eq!(
        session.post(&format!("/app/api/imports/{id}/start"), json!({})).await.error_code(409),
        "CONFLICT"
    );
}

#[actix_web::test]
async fn paused_import_fetches_nothing_until_resumed() {
    let server =
        Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8"), ("INGEST__FETCHES", "1")]).await;
    let (session, site) = (server.user(Plan::Pro).await.sign_in().await, Site::start().await);
    let mut links = String::new();
    for n in 0..15 {
        let Reply::Html(html) = article(&format!("Page {n}"), "a heron") else { panic!() };
        let page = site.page(&format!("/{n}"), [Reply::Slow(Duration::from_millis(300), html)]);
        links.push_str(&format!("<DT><A HREF=\"{page}\">Page {n}</A>\n"));
    }
    let id = start_import(&session, bookmark_list(&links).as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;

    let paused = post_step(&session, &id, "pause").await;
    assert_eq!(paused["status"], "paused");
    let fetched = || (0..15).filter(|n| site.was_requested(&format!("/{n}"))).count();
    let rows = Database::connect(server.database_url()).await.unwrap();
    let pages = job::Entity::find().filter(job::Column::Kind.eq("fetch_page"));
    // One fetch may already be running: it ends, and no other begins.
    let waiting = eventually("no page is fetched", async || {
        let unfinished =
            pages.clone().filter(job::Column::State.ne(JobState::Done)).all(&rows).await.unwrap();
        unfinished.iter().all(|job| job.state == JobState::Queued).then_some(unfinished)
    })
    .await;
    assert!(!waiting.is_empty(), "all were fetched before the pause");
    assert!(
        waiting.iter().all(|job| job.queue_position.is_none()),
        "a page of a paused import has a queue position"
    );
    assert_eq!(fetched() + waiting.len(), 15);

    assert_eq!(post_step(&session, &id, "resume").await["status"], "done");
    eventually("the pages are processed", async || {
        (show_import(&session, &id).await["texts"]["ready"] == 15).then_some(())
    })
    .await;
    post_step(&session, &id, "pause").await;
    post_step(&session, &id, "undo").await;
    wait_for(&session, &id, "undone").await;
    assert!(titles(&session).await.is_empty());
}

#[actix_web::test]
async fn failed_import_or_undo_continues_in_its_direction() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let lines: String =
        (0..5).map(|n| format!("{{\"url\": \"https://b.example/{n}\", \"text\": \"T\"}}\n")).collect();
    let id = start_import(&session, lines.as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    let rows = Database::connect(server.database_url()).await.unwrap();
    // As a failure in the middle of the rows leaves the import.
    let interrupt = async |state: ImportState, done: i64| {
        import::Entity::update_many()
            .col_expr(import::Column::State, Expr::value(state))
            .col_expr(import::Column::Done, Expr::value(done))
            .col_expr(import::Column::Error, Expr::value("the disk was full"))
            .exec(&rows)
            .await
            .unwrap();
    };

    restore_file(&server, &id, lines.as_bytes()).await;
    interrupt(ImportState::Failed, 3).await;
    let resumed = post_step(&session, &id, "resume").await;

    // With a finish time, a pause would treat the rows as complete.
    assert_eq!((&resumed["status"], &resumed["finishedAt"]), (&json!("running"), &Value::Null), "{resumed}");
    assert_eq!(wait_for(&session, &id, "done").await["rows"], 5);

    interrupt(ImportState::HalfUndone, 5).await;
    let path = format!("/app/api/imports/{id}");
    assert_eq!(show_import(&session, &id).await["error"], "the disk was full");
    assert_eq!(session.post(&format!("{path}/resume"), json!({})).await.error_code(409), "CONFLICT");
    assert_eq!(session.post(&format!("{path}/pause"), json!({})).await.error_code(409), "CONFLICT");
    assert_eq!(post_step(&session, &id, "undo").await["error"], Value::Null);
    wait_for(&session, &id, "undone").await;
    assert!(titles(&session).await.is_empty());
}

#[actix_web::test]
async fn paused_import_keeps_its_file_for_days() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let lines: String =
        (0..5).map(|n| format!("{{\"url\": \"https://p.example/{n}\", \"text\": \"T\"}}\n")).collect();
    let id = start_import(&session, lines.as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    restore_file(&server, &id, lines.as_bytes()).await;
    let rows = Database::connect(server.database_url()).await.unwrap();
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(ImportState::Paused))
        .col_expr(import::Column::Done, Expr::value(3))
        .col_expr(import::Column::FinishedAt, Expr::value(None::<i64>))
        .exec(&rows)
        .await
        .unwrap();

    server.clock.advance(Duration::from_secs(8 * 24 * 3600));
    library::imports::sweep(&server.context().core).await.unwrap();
    post_step(&session, &id, "resume").await;

    assert_eq!(wait_for(&session, &id, "done").await["rows"], 5);
}

#[actix_web::test]
async fn import_with_transient_failure_is_retried_and_shows_it() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let bytes = b"{\"url\": \"https://b.example/1\", \"title\": \"One\", \"text\": \"T\"}\n";
    let id = start_import(&session, bytes, &[("dryRun", "true")]).await;
    wait_for(&session, &id, "checked").await;
    let stored = files(server.home().folder());
    let stored = stored.into_iter().find(|path| std::fs::read(path).is_ok_and(|kept| kept == bytes)).unwrap();
    std::fs::remove_file(&stored).unwrap();
    // A link to itself: opening it fails until the file is restored below.
    std::os::unix::fs::symlink(&stored, &stored).unwrap();

    post_step(&session, &id, "start").await;
    let waits = eventually("an attempt has failed", async || {
        Some(show_import(&session, &id).await).filter(|import| import["error"].is_string())
    })
    .await;
    assert_eq!((&waits["status"], &waits["finishedAt"]), (&json!("running"), &Value::Null), "{waits}");

    std::fs::remove_file(&stored).unwrap();
    std::fs::write(&stored, bytes).unwrap();
    server.clock.advance(Duration::from_secs(120));
    assert_eq!(wait_for(&session, &id, "done").await["error"], Value::Null);
    assert_eq!(titles(&session).await, ["One"]);
}

#[actix_web::test]
async fn sixth_unfinished_import_is_refused() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = bookmark_list("<DT><A HREF=\"https://m.example/\">A</A>");
    for _ in 0..5 {
        let id = start_import(&session, file.as_bytes(), &[("dryRun", "true")]).await;
        wait_for(&session, &id, "checked").await;
    }
    // As if each had been started and paused before its end.
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(ImportState::Paused))
        .col_expr(import::Column::IsDryRun, Expr::value(false))
        .col_expr(import::Column::FinishedAt, Expr::value(None::<i64>))
        .exec(server.context().core.db.write())
        .await
        .unwrap();

    let sixth = session.post_file("/app/api/imports", file.as_bytes(), &[]).await;

    assert_eq!(sixth.error_code(409), "CONFLICT");
    let message = sixth.body["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("5 imports are running or paused"), "{message}");
}

#[actix_web::test]
async fn dry_run_without_its_file_does_not_start() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = bookmark_list("<DT><A HREF=\"https://m.example/\">A</A>");
    let first = start_import(&session, file.as_bytes(), &[("dryRun", "true")]).await;
    wait_for(&session, &first, "checked").await;
    // Only the files of the latest dry runs are kept.
    for _ in 0..6 {
        let id = start_import(&session, file.as_bytes(), &[("dryRun", "true")]).await;
        wait_for(&session, &id, "checked").await;
    }

    let started = session.post(&format!("/app/api/imports/{first}/start"), json!({})).await;

    assert_eq!(started.error_code(409), "CONFLICT");
    let shown = show_import(&session, &first).await;
    assert_eq!(
        (&shown["status"], report_counts(&shown)),
        (&json!("checked"), [1, 0, 0]),
        "the report was deleted with the file"
    );
}

#[actix_web::test]
async fn file_is_deleted_when_its_import_no_longer_needs_it() {
    let server = Server::start().await;
    let session = server.user(Plan::Free).await.sign_in().await;
    let file = bookmark_list("<DT><A HREF=\"https://m.example/\">A</A>");
    let stored_count =
        async || stored_file::Entity::find().all(server.context().core.db.read()).await.unwrap().len();
    let await_deletion =
        async || eventually("the file is deleted", async || (stored_count().await == 0).then_some(())).await;

    let dry_run = start_import(&session, file.as_bytes(), &[("dryRun", "true")]).await;
    wait_for(&session, &dry_run, "checked").await;
    assert_eq!(stored_count().await, 1);
    post_step(&session, &dry_run, "start").await;
    let done = wait_for(&session, &dry_run, "done").await;
    await_deletion().await;
    assert_eq!(report_counts(&done), [1, 0, 0]);
    assert_eq!(post_step(&session, &dry_run, "pause").await["status"], "paused");
    assert_eq!(post_step(&session, &dry_run, "resume").await["status"], "done");

    let failed = start_import(&session, b"%PDF-1.7 words", &[]).await;
    wait_for(&session, &failed, "failed").await;
    assert_eq!(stored_count().await, 1);
    post_step(&session, &failed, "undo").await;
    wait_for(&session, &failed, "undone").await;
    await_deletion().await;
}

#[actix_web::test]
async fn invalid_imports_are_refused_and_valid_ones_are_private() {
    let server = Server::start_with(&[("UPLOADS__IMPORT_BYTES", "1048576")]).await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let path = "/app/api/imports";
    let file = bookmark_list("<DT><A HREF=\"https://a.example/\">A</A>");
    for (answer, status, code) in [
        (server.anonymous().post_file(path, file.as_bytes(), &[]).await, 401, "NOT_SIGNED_IN"),
        (
            session
                .clone()
                .with("origin", "https://evil.example")
                .post_file(path, file.as_bytes(), &[])
                .await,
            403,
            "FOREIGN_ORIGIN",
        ),
        (session.post_bytes(path, "application/json", b"{}".to_vec()).await, 415, "UNSUPPORTED_MEDIA_TYPE"),
        (
            session.post_bytes(path, "multipart/form-data; boundary=x", b"--x--\r\n".to_vec()).await,
            400,
            "VALIDATION_FAILED",
        ),
        (
            session
                .post_bytes(path, "multipart/form-data; boundary=x", b"--x\r\nContent-Disp".to_vec())
                .await,
            400,
            "VALIDATION_FAILED",
        ),
        (session.post_file(path, b"", &[]).await, 400, "VALIDATION_FAILED"),
        (session.post_file(path, file.as_bytes(), &[("format", "evernote")]).await, 400, "VALIDATION_FAILED"),
        (session.post_file(path, file.as_bytes(), &[("dryRun", "perhaps")]).await, 400, "VALIDATION_FAILED"),
        (session.post_file(path, file.as_bytes(), &[("colour", "blue")]).await, 400, "VALIDATION_FAILED"),
        (session.post_file(path, &vec![b'x'; 1 << 21], &[]).await, 413, "PAYLOAD_TOO_LARGE"),
    ] {
        assert_eq!(answer.error_code(status), code);
    }
    for (bytes, why) in
        [(&b"%PDF-1.7 words"[..], "not recognised"), (b"PK\x03\x04 and nothing more", "damaged")]
    {
        let id = start_import(&session, bytes, &[]).await;
        let failed = wait_for(&session, &id, "failed").await;
        assert!(failed["error"].as_str().unwrap().contains(why), "{failed}");
    }
    let id = start_import(&session, file.as_bytes(), &[]).await;
    wait_for(&session, &id, "done").await;
    let other = server.user(Plan::Pro).await.sign_in().await;
    other.get(&format!("/app/api/imports/{id}")).await.error_code(404);
    for step in ["start", "pause", "resume", "undo"] {
        other.post(&format!("/app/api/imports/{id}/{step}"), json!({})).await.error_code(404);
    }
    assert_eq!(other.get(path).await.data(200)["imports"], json!([]));
}

/// Returns a part of a form with the boundary `x`.
pub fn form_part(names: &str, content: &str) -> String {
    format!("--x\r\nContent-Disposition: form-data; {names}\r\n\r\n{content}\r\n")
}

#[actix_web::test]
async fn faults_of_all_fields_of_a_form_are_reported() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let path = "/app/api/imports";
    let file = bookmark_list("<DT><A HREF=\"https://a.example/\">A</A>");
    let invalid = [("format", "evernote"), ("dryRun", "perhaps"), ("colour", "blue"), ("dryRun", "true")];
    let with_query = format!("{path}?zap=1");
    let long = "e".repeat(100);
    let after_file = [
        form_part("name=\"file\"; filename=\"f\"", &file),
        form_part("name=\"format\"", "evernote"),
        form_part("name=\"file\"; filename=\"g\"", &file),
        form_part("name=\"dryRun\"", "perhaps"),
        "--x--\r\n".to_owned(),
    ];
    let incomplete = form_part("name=\"format\"", "evernote") + "--x\r\nContent-Disp";
    let long_and_incomplete = form_part("name=\"format\"", &long) + "--x\r\nContent-Disp";
    let (long_name, cut_name) = ("n".repeat(150), "n".repeat(100));
    let kind = "multipart/form-data; boundary=x";

    for (answer, fields) in [
        (session.post_file(path, file.as_bytes(), &invalid).await, vec!["format", "dryRun", "colour"]),
        (session.post_file(path, b"", &[("format", "evernote")]).await, vec!["format", "file"]),
        (
            session
                .post_file(path, file.as_bytes(), &[("format", long.as_str()), ("dryRun", "perhaps")])
                .await,
            vec!["body", "dryRun"],
        ),
        (
            session.post_file(&with_query, file.as_bytes(), &[("dryRun", "perhaps")]).await,
            vec!["zap", "dryRun"],
        ),
        (session.post_file(path, file.as_bytes(), &[("colour", "blue"); 20]).await, vec!["colour"]),
        (
            session.post_file(path, file.as_bytes(), &[(long_name.as_str(), "blue"), ("", "blue")]).await,
            vec![cut_name.as_str(), "body"],
        ),
        (
            session.post_bytes(path, kind, after_file.concat().into_bytes()).await,
            vec!["format", "file", "dryRun"],
        ),
        (session.post_bytes(path, kind, incomplete.into_bytes()).await, vec!["format", "body"]),
        (
            session
                .post_bytes(path, kind, (form_part("name=\"dryRun\"", "perhaps") + "--x--\r\n").into())
                .await,
            vec!["dryRun", "file"],
        ),
    ] {
        assert_eq!(answer.error_code(400), "VALIDATION_FAILED");
        assert_eq!(answer.faults(), fields);
    }
    let broken = session.post_bytes(path, kind, long_and_incomplete.into_bytes()).await;
    assert_eq!(
        broken.body["error"]["details"]["fields"],
        json!([{ "field": "body", "reason": "is not a complete multipart form" }])
    );
    assert_eq!(session.get(path).await.data(200)["imports"], json!([]));
}

#[actix_web::test]
async fn faulty_form_is_refused_while_its_file_arrives() {
    const REFUSAL_TIMEOUT: Duration = Duration::from_secs(20);
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let (host, cookie) = (session.base_url().trim_start_matches("http://"), session.header("cookie"));
    let file = form_part("name=\"file\"; filename=\"f\"", "words");

    // The rest of a repeated file is read for the fields after it, but not for long.
    for (before, sent_bytes) in [(form_part("name=\"format\"", "evernote"), 1 << 10), (file, 128 << 10)] {
        let mut sender = TcpStream::connect(host).await.unwrap();
        let request = format!(
            "POST /app/api/imports HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\
             Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1048576\r\n\r\n\
             {before}--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"g\"\r\n\r\n{}",
            "x".repeat(sent_bytes),
        );
        // The server may reset a connection on which it left bytes unread.
        let _ = sender.write_all(request.as_bytes()).await;
        let mut status = [0; 12];
        timeout(REFUSAL_TIMEOUT, sender.read_exact(&mut status)).await.unwrap().unwrap();
        assert_eq!(String::from_utf8_lossy(&status), "HTTP/1.1 400");
    }
}

#[actix_web::test]
async fn killed_import_continues_without_loss_or_repetition() {
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
    eventually("some rows are imported", async || {
        (show_import(&session, &id).await["rows"].as_i64() >= Some(100)).then_some(())
    })
    .await;

    running.kill();
    let running = Program::start(&home, "data").await;

    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let done = wait_for(&session, &id, "done").await;
    assert_eq!((report_counts(&done), &done["rows"]), ([2000, 0, 0], &json!(2000)), "{done}");
    assert_eq!(collections(&session).await, ["F0", "F1", "F2", "F3", "F4", "F5", "F6"]);
    running.terminate().await;
}

/// The highlights of a bookmark in text order: words, note and offsets.
pub async fn list_highlights(session: &Client, bookmark: &str) -> Vec<(String, Value, [i64; 2])> {
    let listed = session.get(&format!("/app/api/library/bookmarks/{bookmark}/highlights")).await;
    let all = listed.data(200)["highlights"].as_array().unwrap().clone();
    let place = |one: &Value| ["startOffset", "endOffset"].map(|name| one[name].as_i64().unwrap());
    let mut all: Vec<_> = all
        .iter()
        .map(|one| (one["text"].as_str().unwrap().to_owned(), one["note"].clone(), place(one)))
        .collect();
    all.sort_by_key(|(.., place)| *place);
    all
}

#[actix_web::test]
async fn imported_annotations_become_highlights() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let file = json!([{
        "id": 1, "mimetype": "text/html", "title": "Herons", "url": "https://a.example/herons",
        "content": "<p>The “grey” heron stands in the reeds. It waits, and waits, for the fish of the evening.</p>",
        "annotations": [
            { "quote": "waits,\n and  waits, for the fish", "text": "Patience" },
            { "quote": "The \"grey\" heron stands", "text": "" },
            { "quote": "Words that are nowhere", "text": null },
        ],
    }]);
    let file = file.to_string();

    let first = start_import(&session, file.as_bytes(), &[]).await;
    assert_eq!(report_counts(&wait_for(&session, &first, "done").await), [1, 0, 0]);
    let bookmark = eventually("the page is processed", async || {
        let listed =
            session.get("/app/api/library/bookmarks?q=Herons").await.data(200)["bookmarks"][0].clone();
        (listed["status"] == "ready").then(|| listed["bookmarkId"].as_str().unwrap().to_owned())
    })
    .await;

    let found = [
        ("Words that are nowhere".to_owned(), Value::Null, [0, 0]),
        ("The “grey” heron stands".to_owned(), Value::Null, [0, 23]),
        ("waits, and waits, for the fish".to_owned(), json!("Patience"), [41, 71]),
    ];
    assert_eq!(list_highlights(&session, &bookmark).await, found);
    // In a page with a text they get their offsets immediately, and existing highlights are not repeated.
    let own = json!({ "text": "reeds", "startOffset": 31, "endOffset": 36 });
    session.post(&format!("/app/api/library/bookmarks/{bookmark}/highlights"), own).await.data(201);
    let second = file.replace("Words that are nowhere", "for the fish of the evening");
    let second = start_import(&session, second.as_bytes(), &[]).await;
    assert_eq!(report_counts(&wait_for(&session, &second, "done").await), [0, 1, 0]);
    let all = list_highlights(&session, &bookmark).await;
    assert_eq!(all.len(), 5, "{all:?}");
    assert!(all.contains(&("for the fish of the evening".to_owned(), Value::Null, [59, 86])), "{all:?}");
    // The highlights of the second import and of the user are changes to the page of the first import, which is kept.
    for (id, [kept, additions]) in [(&first, [1, 0]), (&second, [0, 1])] {
        post_step(&session, id, "undo").await;
        let undo = wait_for(&session, id, "undone").await["report"]["undo"].clone();
        assert_eq!(undo, json!({ "deleted": 0, "kept": kept, "additionsKept": additions }));
    }
    assert_eq!(list_highlights(&session, &bookmark).await, all);
}

#[actix_web::test]
async fn import_command_accepts_the_same_files() {
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let import = |args: &[&str], input: &str| {
        let all = [&["import", "--user", program::EMAIL], args].concat();
        running.run_command_with_input(&home, &all, input)
    };
    let file = bookmark_list(
        "<DT><H3>F</H3><DL><DT><A HREF=\"https://c.example/1\">One</A></DL>\n<DT><A HREF=\"mailto:a@b\">Bad</A>",
    );

    let dry_run = import(&["--dry-run", "-"], &file);
    let taken = import(&["-"], &file);
    let again = import(&["--format", "netscape", "-"], &file);
    let lines =
        import(&["--format", "jsonl", "-"], "{\"url\": \"https://c.example/2\", \"text\": \"T\"}\nno JSON\n");

    let three =
        |output: &Value| ["created", "updated", "skippedRows"].map(|name| output[name].as_i64().unwrap());
    assert_eq!([&dry_run, &taken, &again, &lines].map(three), [[1, 0, 1], [1, 0, 1], [0, 1, 1], [1, 0, 1]]);
    assert_eq!([&dry_run, &taken].map(|output| output["status"].clone()), ["checked", "done"]);
    assert_eq!(
        (&taken["format"], &taken["skipped"][0]["line"], &lines["skipped"][0]["line"]),
        (&json!("netscape"), &json!(6), &json!(2))
    );
    assert_eq!(taken["serverRunning"], true);
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let listed = session.get("/app/api/library/bookmarks?sort=title").await;
    assert_eq!(listed.data(200)["bookmarks"].as_array().unwrap().len(), 2);
    // An import of the command line can be undone in the app.
    let id = taken["importId"].as_str().unwrap();
    post_step(&session, id, "undo").await;
    wait_for(&session, id, "undone").await;
    running.terminate().await;
}

#[actix_web::test]
async fn imports_command_shows_pauses_and_undoes_imports() {
    let home = Home::new().await;
    program::create_account(&home);
    let running = Program::start(&home, "data").await;
    let imports = |step: &str, args: &[&str]| {
        running.run_command_with_input(
            &home,
            &[&["imports", step, "--user", program::EMAIL], args].concat(),
            "",
        )
    };
    let file =
        bookmark_list("<DT><A HREF=\"https://c.example/1\">One</A>\n<DT><A HREF=\"mailto:a@b\">Bad</A>");
    let dry_run =
        running.run_command_with_input(&home, &["import", "--user", program::EMAIL, "--dry-run", "-"], &file);
    let id = dry_run["importId"].as_str().unwrap();
    let comes_to = async |status: &str| {
        eventually(status, async || (imports("show", &[id])["status"] == status).then_some(())).await;
    };

    imports("start", &[id]);
    comes_to("done").await;
    assert_eq!(imports("pause", &[id])["status"], "paused");
    assert_eq!(imports("resume", &[id])["status"], "done");
    let rows = imports("rows", &[id])["rows"].clone();
    assert_eq!([&rows[0], &rows[1]].map(|row| row["outcome"].clone()), ["created", "skipped"]);
    assert_eq!(rows.as_array().unwrap().len(), 2);
    let skipped = imports("rows", &["--outcome", "skipped", id])["rows"].clone();
    assert_eq!(skipped, json!([rows[1]]));
    imports("undo", &[id]);
    comes_to("undone").await;
    assert_eq!(imports("show", &[id])["undo"], json!({ "deleted": 1, "kept": 0, "additionsKept": 0 }));

    let listed = imports("list", &[])["imports"].clone();
    assert_eq!((&listed[0]["importId"], &listed[0]["status"]), (&dry_run["importId"], &json!("undone")));
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let remaining = session.get("/app/api/library/bookmarks").await.data(200)["bookmarks"].clone();
    assert_eq!(remaining, json!([]));
    running.terminate().await;
}

#[actix_web::test]
async fn import_command_without_server_runs_at_the_next_start() {
    let home = Home::new().await;
    program::create_account(&home);
    let file = home.path("saved.html");
    std::fs::write(&file, bookmark_list("<DT><A HREF=\"https://c.example/1\">One</A>")).unwrap();
    let args = ["import", "--user", program::EMAIL, file.to_str().unwrap()];

    let left = program::run_command(&home, &args, "");

    assert_eq!((&left["status"], &left["serverRunning"]), (&json!("running"), &json!(false)));
    std::fs::remove_file(&file).unwrap();
    let running = Program::start(&home, "data").await;
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    let done = wait_for(&session, left["importId"].as_str().unwrap(), "done").await;
    assert_eq!((report_counts(&done), &done["format"]), ([1, 0, 0], &json!("netscape")));
    running.terminate().await;
}

#[actix_web::test]
async fn import_command_reports_a_server_of_another_database() {
    let (home, another) = (Home::new().await, Home::new().await);
    program::create_account(&home);
    program::create_account(&another);
    let file = home.path("saved.html");
    std::fs::write(&file, bookmark_list("<DT><A HREF=\"https://c.example/1\">One</A>")).unwrap();
    let running = Program::start(&another, "data").await;
    let args = ["import", "--user", program::EMAIL, file.to_str().unwrap()];

    let printed = running.run_until_printed(&home, &args, "another database");

    assert!(printed.contains("Press Ctrl-C to stop waiting"), "{printed}");
    running.terminate().await;
    let running = Program::start(&home, "data").await;
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    eventually("the file is imported", async || (titles(&session).await == ["One"]).then_some(())).await;
    running.terminate().await;
}
