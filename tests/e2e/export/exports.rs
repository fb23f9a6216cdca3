//! Exports: an archive contains the whole library, and its import gives the same library.

use std::io::{Cursor, Read};
use std::sync::Arc;

use entity::{import, import_row, note};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use serde_json::{Value, json};
use uuid::Uuid;
use values::id::ImportId;
use values::kind::{ImportState, ImportedKind};
use values::plan::Plan;

use crate::import::imports::{restore_file, start_import, wait_for};
use crate::ingest::transcripts::{CountingTranscriber, wav_recording};
use crate::ingest::uploads;
use crate::support::{Client, Home, Key, Program, Reply, Server, Site, article, eventually, files, program};

const LIBRARY: &str = "/app/api/library";

/// Runs an export and returns the archive.
async fn download_export(session: &Client) -> Vec<u8> {
    let begun = session.post("/app/api/exports", json!({})).await;
    let id = begun.data(202)["export"]["id"].as_str().unwrap().to_owned();
    let url = eventually("the export is packed", async || {
        let shown = session.get(&format!("/app/api/exports/{id}")).await;
        let export = shown.data(200)["export"].clone();
        assert_ne!(export["status"], "failed", "{export}");
        export["url"].as_str().map(str::to_owned)
    })
    .await;
    let (_, path) = url.split_once("/app/").unwrap();
    let (status, headers, bytes) = session.download(&format!("/app/{path}")).await;
    assert_eq!((status, &headers["content-type"]), (200, &"application/zip".parse().unwrap()));
    bytes
}

async fn list_items(client: &Client, path: &str, name: &str) -> Vec<Value> {
    client.get(path).await.data(200)[name].as_array().unwrap().clone()
}

/// Removes what differs in another account: ids, URLs of this server, and the times of rows.
fn without_ids(value: &Value) -> Value {
    const NEW_FIELDS: [&str; 19] = [
        "itemId",
        "id",
        "bookmarkId",
        "documentId",
        "highlightId",
        "noteId",
        "entryId",
        "feedId",
        "projectId",
        "collectionId",
        "parentId",
        "chunkId",
        "createdAt",
        "updatedAt",
        "collectionIds",
        "collections",
        "lastActivityAt",
        "version",
        "addedAt",
    ];
    match value {
        Value::Object(members) => {
            let old_fields = members.iter().filter(|(name, _)| !NEW_FIELDS.contains(&name.as_str()));
            old_fields.map(|(name, value)| (name.clone(), without_ids(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_ids).collect(),
        Value::String(text) if text.contains("/read/") => Value::String("a page of ours".to_owned()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn sorted(mut values: Vec<Value>) -> Vec<Value> {
    values.sort_by_key(Value::to_string);
    values
}

/// The value without ids, and its creation time.
fn with_creation_time(value: &Value) -> Value {
    json!({ "what": without_ids(value), "at": value["createdAt"].as_str().unwrap() })
}

/// A document in all its forms, without ids.
async fn read_document(session: &Client, document: &str) -> Value {
    let mut forms = serde_json::Map::new();
    for form in ["", "/chunks?limit=50", "/html", "/outline", "/transcript"] {
        let answer = session.get(&format!("{LIBRARY}/documents/{document}{form}")).await;
        forms.insert(form.to_owned(), without_ids(&answer.body["data"]));
    }
    forms.into()
}

/// Everything that the user sees, without ids.
async fn read_library(session: &Client) -> Value {
    let mut bookmarks = Vec::new();
    for row in list_items(session, &format!("{LIBRARY}/bookmarks?limit=100"), "bookmarks").await {
        let id = row["bookmarkId"].as_str().or(row["id"].as_str()).unwrap().to_owned();
        let document = row["documentId"].as_str().unwrap();
        let marked = list_items(session, &format!("{LIBRARY}/bookmarks/{id}/highlights"), "highlights").await;
        bookmarks.push(json!({
            "row": without_ids(&row), "document": read_document(session, document).await,
            "marked": sorted(marked.iter().map(with_creation_time).collect()),
        }));
    }
    let mut collections = Vec::new();
    for row in list_items(session, &format!("{LIBRARY}/collections"), "collections").await {
        let id = row["collectionId"].as_str().or(row["id"].as_str()).unwrap().to_owned();
        let inside =
            list_items(session, &format!("{LIBRARY}/bookmarks?collectionId={id}"), "bookmarks").await;
        let inside = inside.iter().map(|row| row["title"].clone()).collect();
        collections.push(json!({ "name": row["name"], "about": row["description"], "inside": sorted(inside), "within": row["parentId"].is_string() }));
    }
    let mut projects = Vec::new();
    for row in list_items(session, "/app/api/projects?limit=50", "projects").await {
        let id = row["id"].as_str().unwrap().to_owned();
        let context = session.get(&format!("{LIBRARY}/projects/{id}/context")).await;
        let decisions = list_items(session, &format!("/app/api/projects/{id}/decisions"), "decisions").await;
        let items = list_items(session, &format!("/app/api/projects/{id}/items"), "items").await;
        let notes = list_items(session, &format!("/app/api/projects/{id}/notes"), "notes").await;
        let mut context = without_ids(context.data(200));
        // They have the same time, so their order depends on the ids.
        context["notes"] = sorted(context["notes"].as_array().unwrap().clone()).into();
        projects.push(json!({
            "row": without_ids(&row), "context": context, "decisions": sorted(decisions.iter().map(with_creation_time).collect()),
            "items": sorted(items.iter().map(without_ids).collect()), "notes": sorted(notes.iter().map(with_creation_time).collect()),
        }));
    }
    let mut entries = Vec::new();
    for row in list_items(session, &format!("{LIBRARY}/entries?limit=100"), "entries").await {
        let mut entry = without_ids(&row);
        entry["document"] = read_document(session, row["documentId"].as_str().unwrap()).await;
        entries.push(entry);
    }
    let feeds = list_items(session, &format!("{LIBRARY}/feeds"), "feeds").await;
    let feed = |row: &Value| json!({ "url": row["url"], "title": row["title"], "folder": row["folder"], "fullText": row["fullText"] });
    json!({
        "bookmarks": sorted(bookmarks), "collections": sorted(collections), "projects": sorted(projects),
        "entries": sorted(entries), "feeds": sorted(feeds.iter().map(feed).collect()),
    })
}

/// A PDF of one page with these words.
pub fn pdf_with_text(words: &str) -> Vec<u8> {
    let drawn = format!("BT /F1 24 Tf 72 700 Td ({words}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{drawn}\nendstream", drawn.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut pdf, mut places) = (String::from("%PDF-1.4\n"), Vec::new());
    for (n, object) in objects.iter().enumerate() {
        places.push(pdf.len());
        pdf.push_str(&format!("{} 0 obj\n{object}\nendobj\n", n + 1));
    }
    let at = pdf.len();
    pdf.push_str("xref\n0 6\n0000000000 65535 f \n");
    places.iter().for_each(|place| pdf.push_str(&format!("{place:010} 00000 n \n")));
    pdf.push_str(&format!("trailer << /Size 6 /Root 1 0 R >>\nstartxref\n{at}\n%%EOF\n"));
    pdf.into_bytes()
}

/// Creates objects of every kind.
async fn fill(server: &Server, session: &Client, key: &Key, site: &Site) {
    let collection = |name: &str, parent: Option<String>| json!({ "name": name, "description": "about", "parentId": parent });
    let made = session.post(&format!("{LIBRARY}/collections"), collection("Birds", None)).await;
    let top = made.data(201)["collection"]["collectionId"]
        .as_str()
        .or(made.data(201)["collection"]["id"].as_str())
        .unwrap()
        .to_owned();
    let made = session.post(&format!("{LIBRARY}/collections"), collection("Waders", Some(top))).await;
    let inner = made.data(201)["collection"]["collectionId"]
        .as_str()
        .or(made.data(201)["collection"]["id"].as_str())
        .unwrap()
        .to_owned();
    for _ in 0..2 {
        session.post(&format!("{LIBRARY}/collections"), collection("Twin", None)).await.data(201);
    }
    let saved = key
        .save(json!({
            "url": "https://a.example/heron", "title": "Herons", "html": "<article><h1>The heron</h1><p>A heron stands in the reeds and waits.</p><h2>Its prey</h2><p>It eats fish and frogs, and it is patient.</p></article>",
            "tags": ["bird", "grey"], "notes": "Seen **twice**.", "collectionIds": [inner], "favorite": true, "savedAt": "2023-11-14T22:13:20.000Z",
        }))
        .await;
    key.wait_for(&saved, "ready").await;
    let bookmark = saved["bookmarkId"].as_str().unwrap();
    let text = session.get(&format!("{LIBRARY}/documents/{}", saved["documentId"].as_str().unwrap())).await;
    let at = text.data(200)["text"].as_str().unwrap().find("reeds").unwrap();
    let mark = json!({ "text": "reeds", "startOffset": at, "endOffset": at + 5, "note": "where", "color": "#ffeb3b" });
    let marked = session.post(&format!("{LIBRARY}/bookmarks/{bookmark}/highlights"), mark).await;
    let highlight = marked.data(201)["highlight"]["highlightId"]
        .as_str()
        .or(marked.data(201)["highlight"]["id"].as_str())
        .unwrap()
        .to_owned();
    let twin = json!({ "text": "reeds", "startOffset": at, "endOffset": at + 5, "note": "once more" });
    session.post(&format!("{LIBRARY}/bookmarks/{bookmark}/highlights"), twin).await.data(201);
    session
        .patch(&format!("{LIBRARY}/bookmarks/{bookmark}"), json!({ "archived": true, "progress": 0.5 }))
        .await
        .data(200);
    key.save_text("https://a.example/second", "Another text.\r\nOf two lines.").await;
    let gone = key.save(json!({ "url": site.page("/gone", [Reply::Status(404)]), "title": "Gone" })).await;
    key.wait_for(&gone, "failed").await;
    for _ in 0..2 {
        upload_and_wait(key, "application/pdf", &pdf_with_text("A paper about herons")).await;
    }
    upload_and_wait(key, "audio/wav", &std::fs::read(wav_recording(4).path()).unwrap()).await;
    upload_and_wait(key, "audio/wav", &silent_wav()).await;
    let feed = "<rss version=\"2.0\"><channel><title>The Reeds</title><item><title>Spring</title><link>/spring</link><guid>1</guid><description>They nest.</description></item><item><title>Autumn</title><link>/autumn</link><guid>2</guid><description>They leave.</description></item><item><title>Winter</title><link>/winter</link><guid>3</guid></item></channel></rss>";
    let reply = Reply::Plain {
        status: 200,
        headers: vec![("content-type", "application/rss+xml".to_owned())],
        body: feed.to_owned(),
    };
    let url = site.page("/feed", [reply]);
    session
        .post(&format!("{LIBRARY}/feeds"), json!({ "url": url, "title": "Reeds", "folder": "Nature" }))
        .await
        .data(201);
    let entries = list_items(session, &format!("{LIBRARY}/entries"), "entries").await;
    let entry = entries.iter().find(|entry| entry["title"] == "Spring").unwrap()["entryId"]
        .as_str()
        .unwrap()
        .to_owned();
    session
        .patch(&format!("{LIBRARY}/entries/{entry}"), json!({ "read": true, "starred": true }))
        .await
        .data(200);
    let made =
        session.post("/app/api/projects", json!({ "name": "A book", "instructions": "Be brief." })).await;
    let project = made.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let decision = json!({ "title": "Title", "body": "The Heron", "status": "decided" });
    session.post(&format!("/app/api/projects/{project}/decisions"), decision).await.data(201);
    session
        .post(
            &format!("/app/api/projects/{project}/notes"),
            json!({ "title": "Plan", "bodyMd": "Three *parts*." }),
        )
        .await
        .data(201);
    let made = session.post("/app/api/projects", json!({ "name": "Ended" })).await;
    let ended = made.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let note = json!({ "title": "Last", "bodyMd": "It is done." });
    session.post(&format!("/app/api/projects/{ended}/notes"), note).await.data(201);
    session.patch(&format!("/app/api/projects/{ended}"), json!({ "status": "archived" })).await.data(200);
    let page = site.page("/by-address", [article("By its address", "A bittern booms")]);
    let items = json!({ "items": [{ "bookmarkId": bookmark }, { "highlightId": highlight, "role": "background" }, { "entryId": entry }, { "url": page }] });
    session.post(&format!("{LIBRARY}/projects/{project}/items"), items).await.data(201);
    // A note of a younger project, and the note of a bookmark that is itself an item.
    let made = session.post("/app/api/projects", json!({ "name": "Another book" })).await;
    let young = made.data(201)["project"]["id"].as_str().unwrap().to_owned();
    let note = json!({ "title": "Thoughts", "bodyMd": "On patience." });
    let note =
        session.post(&format!("/app/api/projects/{young}/notes"), note).await.data(201)["note"].clone();
    let on_bookmark =
        note::Entity::find().filter(note::Column::BookmarkId.eq(bookmark.parse::<Uuid>().unwrap()));
    let on_bookmark = on_bookmark.one(server.context().core.db.read()).await.unwrap().unwrap();
    let items = json!({ "items": [{ "noteId": note["noteId"] }, { "noteId": on_bookmark.id }] });
    session.post(&format!("{LIBRARY}/projects/{project}/items"), items).await.data(201);
    // A deleted bookmark is not exported, nor are its highlights.
    let gone = key.save_text("https://a.example/deleted", "A bittern in the reeds.").await;
    let gone = gone["bookmarkId"].as_str().unwrap();
    let mark = json!({ "text": "bittern", "startOffset": 2, "endOffset": 9 });
    eventually("the bookmark can be highlighted", async || {
        let marked = session.post(&format!("{LIBRARY}/bookmarks/{gone}/highlights"), mark.clone()).await;
        (marked.status == 201).then_some(())
    })
    .await;
    session.delete(&format!("{LIBRARY}/bookmarks/{gone}")).await.data(200);
}

/// A WAV file with a second of silence.
fn silent_wav() -> Vec<u8> {
    let (rate, bytes) = (16_000_u32, 32_000_u32);
    let head = [
        &b"RIFF"[..],
        &(bytes + 36).to_le_bytes(),
        b"WAVEfmt ",
        &16_u32.to_le_bytes(),
        &[1, 0, 1, 0],
        &rate.to_le_bytes(),
        &(2 * rate).to_le_bytes(),
        &[2, 0, 16, 0],
        b"data",
        &bytes.to_le_bytes(),
    ];
    [head.concat(), vec![0; bytes as usize]].concat()
}

/// Uploads a file and waits until it is ready.
async fn upload_and_wait(key: &Key, content_type: &str, bytes: &[u8]) {
    let ticket = uploads::upload(key, content_type, bytes).await;
    eventually("the file is processed", async || {
        let shown = key.get(&uploads::path(&ticket)).await;
        (shown.data(200)["status"] == "ready").then_some(())
    })
    .await;
}

/// Waits until every document is ready or has failed.
async fn wait_until_idle(session: &Client) {
    eventually("all texts are processed", async || {
        let mut rows = list_items(session, &format!("{LIBRARY}/bookmarks?limit=100"), "bookmarks").await;
        for entry in list_items(session, &format!("{LIBRARY}/entries?limit=100"), "entries").await {
            let document = entry["documentId"].as_str().unwrap();
            rows.push(session.get(&format!("{LIBRARY}/documents/{document}")).await.data(200).clone());
        }
        rows.iter().all(|row| row["status"] == "ready" || row["status"] == "failed").then_some(())
    })
    .await;
}

/// Starts a server that may fetch from the test sites and has a transcriber.
async fn start_server() -> Server {
    let server = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]).await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    server
}

/// Creates a user with objects of every kind. Returns the session and the archive of an export.
async fn export_full_library(server: &Server, site: &Site) -> (Client, Vec<u8>) {
    let user = server.user(Plan::Research).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    fill(server, &session, &key, site).await;
    wait_until_idle(&session).await;
    let archive = download_export(&session).await;
    (session, archive)
}

/// Imports that archive for another user. Returns the session, the import's id and the archive.
async fn import_full_library(server: &Server, site: &Site) -> (Client, String, Vec<u8>) {
    let (_, archive) = export_full_library(server, site).await;
    let other = server.user(Plan::Research).await.sign_in().await;
    let id = start_import(&other, &archive, &[]).await;
    wait_for(&other, &id, "done").await;
    wait_until_idle(&other).await;
    (other, id, archive)
}

#[actix_web::test]
async fn export_imported_elsewhere_gives_the_same_library() {
    let (server, site) = (start_server().await, Site::start().await);
    let (session, archive) = export_full_library(&server, &site).await;
    let other = server.user(Plan::Research).await.sign_in().await;
    server.clock.advance(std::time::Duration::from_secs(5));

    let dry_run = start_import(&other, &archive, &[("dryRun", "true")]).await;
    let dry_run = wait_for(&other, &dry_run, "checked").await;
    let id = start_import(&other, &archive, &[]).await;
    let done = wait_for(&other, &id, "done").await;

    assert_eq!(dry_run["report"], done["report"], "a dry run says what comes of it");
    assert_eq!(
        (&done["format"], &done["report"]["skippedRows"], &done["report"]["updated"]),
        (&json!("carrel"), &json!(0), &json!(0)),
        "{done}"
    );
    wait_until_idle(&other).await;
    let (here, there) = (read_library(&session).await, read_library(&other).await);
    let has_transcript = |library: &Value| {
        library["bookmarks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|row| row["document"]["/transcript"]["segments"][0]["text"].is_string())
    };
    assert!(has_transcript(&here) && has_transcript(&there), "{here}");
    let nests = |entry: &Value| entry["document"][""]["text"] == "They nest.";
    assert!(here["entries"].as_array().unwrap().iter().any(nests), "{here}");
    for part in ["bookmarks", "collections", "feeds", "entries", "projects"] {
        assert!(!here[part].as_array().unwrap().is_empty(), "{part}");
        assert_eq!(there[part], here[part], "{part}");
    }
    // A second import changes nothing, and its dry run reports that.
    let dry_run = start_import(&other, &archive, &[("dryRun", "true")]).await;
    let dry_run = wait_for(&other, &dry_run, "checked").await;
    let id = start_import(&other, &archive, &[]).await;
    let again = wait_for(&other, &id, "done").await;
    assert_eq!(
        (&again["report"]["created"], &again["report"]["skippedRows"]),
        (&json!(0), &json!(0)),
        "{again}"
    );
    assert_eq!(dry_run["report"], again["report"]);
    assert_eq!(read_library(&other).await, there);
    let found = async || {
        other.get(&format!("{LIBRARY}/search?q=parts%20heron%20nest%20patient")).await.data(200)["results"]
            .clone()
    };
    eventually("search finds the text", async || (found().await != json!([])).then_some(())).await;
    // All of it can be undone: the second import added nothing.
    for (import, deletes) in [(&done, true), (&again, false)] {
        let id = import["id"].as_str().unwrap();
        other.post(&format!("/app/api/imports/{id}/undo"), json!({})).await.data(200);
        let undo = wait_for(&other, id, "undone").await["report"]["undo"].clone();
        assert_eq!(
            (undo["deleted"] != 0, &undo["kept"], &undo["additionsKept"]),
            (deletes, &json!(0), &json!(0))
        );
        let empty = read_library(&other).await;
        assert!(empty.as_object().unwrap().values().all(|part| part == &json!([])), "{empty}");
    }
    eventually("search finds nothing of the undone imports", async || {
        (found().await == json!([])).then_some(())
    })
    .await;
}

#[actix_web::test]
async fn undo_of_imported_export_keeps_changed_items() {
    let (server, site) = (start_server().await, Site::start().await);
    let (other, id, _) = import_full_library(&server, &site).await;
    server.clock.advance(std::time::Duration::from_secs(1));

    let failed = list_items(&other, "/app/api/work?stage=failed", "work").await;
    let gone = failed[0]["documentId"].as_str().unwrap();
    other.post(&format!("/app/api/work/{gone}/retry"), json!({})).await.data(202);
    let entries = list_items(&other, &format!("{LIBRARY}/entries"), "entries").await;
    let autumn =
        entries.iter().find(|entry| entry["title"] == "Autumn").unwrap()["entryId"].as_str().unwrap();
    other.patch(&format!("{LIBRARY}/entries/{autumn}"), json!({ "starred": true })).await.data(200);
    let projects = list_items(&other, "/app/api/projects?limit=50", "projects").await;
    let book = projects.iter().find(|project| project["name"] == "A book").unwrap()["id"].as_str().unwrap();
    let path = format!("/app/api/projects/{book}/decisions");
    let decision = list_items(&other, &path, "decisions").await[0]["id"].as_str().unwrap().to_owned();
    other.patch(&format!("{path}/{decision}"), json!({ "body": "The Bittern" })).await.data(200);
    let herons = list_items(&other, &format!("{LIBRARY}/bookmarks?q=Herons&sort=title"), "bookmarks").await;
    let herons = herons.iter().find(|row| row["title"] == "Herons").unwrap()["bookmarkId"].as_str().unwrap();
    let marked = list_items(&other, &format!("{LIBRARY}/bookmarks/{herons}/highlights"), "highlights").await;
    let twin = marked.iter().find(|one| one["note"] == "once more").unwrap()["highlightId"].as_str().unwrap();
    other.patch(&format!("{LIBRARY}/highlights/{twin}"), json!({ "note": "Mine" })).await.data(200);
    other.post(&format!("/app/api/imports/{id}/undo"), json!({})).await.data(200);
    wait_for(&other, &id, "undone").await;

    let remaining = read_library(&other).await;
    assert_eq!(
        (remaining["feeds"].as_array().unwrap().len(), remaining["bookmarks"].as_array().unwrap().len()),
        (1, 1),
        "{remaining}"
    );
    let marked = remaining["bookmarks"][0]["marked"].as_array().unwrap();
    let mut notes: Vec<_> = marked.iter().map(|one| one["what"]["note"].as_str().unwrap()).collect();
    notes.sort_unstable();
    assert_eq!(notes, ["Mine", "where"], "{remaining}");
    let starred = remaining["entries"].as_array().unwrap().iter().filter(|entry| entry["starred"] == true);
    let mut starred: Vec<_> = starred.map(|entry| entry["title"].as_str().unwrap()).collect();
    starred.sort_unstable();
    assert_eq!(starred, ["Autumn", "Spring"]);
    let projects = remaining["projects"].as_array().unwrap();
    assert_eq!(
        (projects.len(), &projects[0]["decisions"][0]["what"]["body"]),
        (1, &json!("The Bittern")),
        "{remaining}"
    );
}

#[actix_web::test]
async fn browser_bookmark_list_keeps_the_folders() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let made = async |body: Value| {
        let made = session.post(&format!("{LIBRARY}/collections"), body).await;
        made.data(201)["collection"]["collectionId"].as_str().unwrap().to_owned()
    };
    let top = made(json!({ "name": "Birds & <more>" })).await;
    let inner = made(json!({ "name": "Waders", "parentId": top })).await;
    let other = made(json!({ "name": "Also" })).await;
    for (n, places) in [(1, json!([inner, other])), (2, json!([top])), (3, json!([]))] {
        let page = json!({ "url": format!("https://l.example/{n}"), "title": format!("Page {n}"), "text": "T", "collectionIds": places });
        session.post(&format!("{LIBRARY}/bookmarks"), page).await.data(201);
    }
    let mut zip = zip::ZipArchive::new(Cursor::new(download_export(&session).await)).unwrap();
    let mut list = String::new();
    zip.by_name("bookmarks.html").unwrap().read_to_string(&mut list).unwrap();

    let taker = server.user(Plan::Pro).await.sign_in().await;
    let id = start_import(&taker, list.as_bytes(), &[]).await;
    assert_eq!(wait_for(&taker, &id, "done").await["report"]["skippedRows"], 0);

    let (here, there) = (read_library(&session).await, read_library(&taker).await);
    assert_eq!(there["collections"].as_array().unwrap().len(), 3);
    assert_eq!(there["collections"], here["collections"], "{list}");
}

#[actix_web::test]
async fn import_skips_rows_whose_parent_was_deleted_meanwhile() {
    let (server, site) = (start_server().await, Site::start().await);
    let (other, id, archive) = import_full_library(&server, &site).await;
    let id_of = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    for feed in list_items(&other, &format!("{LIBRARY}/feeds"), "feeds").await {
        other.delete(&format!("{LIBRARY}/feeds/{}", id_of(&feed, "feedId"))).await.data(200);
    }
    let collections = list_items(&other, &format!("{LIBRARY}/collections"), "collections").await;
    for collection in collections.iter().filter(|one| one["name"] == "Birds" || one["name"] == "Waders") {
        other.delete(&format!("{LIBRARY}/collections/{}", id_of(collection, "collectionId"))).await;
    }
    // As if the import had stopped after the feeds and collections.
    restore_file(&server, &id, &archive).await;
    let (db, import) = (server.context().core.db.write(), id.parse().unwrap());
    let rows = import_row::Entity::find().filter(import_row::Column::ImportId.eq(ImportId(import)));
    let first = [ImportedKind::Collection, ImportedKind::Feed];
    let done = rows.clone().filter(import_row::Column::Kind.is_in(first)).all(db).await.unwrap().len();
    import_row::Entity::delete_many()
        .filter(import_row::Column::ImportId.eq(ImportId(import)))
        .filter(import_row::Column::Kind.is_not_in(first))
        .exec(db)
        .await
        .unwrap();
    import::Entity::update_many()
        .col_expr(import::Column::State, Expr::value(ImportState::Failed))
        .col_expr(import::Column::Done, Expr::value(done as i64))
        .col_expr(import::Column::Error, Expr::value("the disk was full"))
        .filter(import::Column::Id.eq(ImportId(import)))
        .exec(db)
        .await
        .unwrap();

    other.post(&format!("/app/api/imports/{id}/resume"), json!({})).await.data(200);

    let report = wait_for(&other, &id, "done").await["report"].clone();
    let lost = report["skipped"].as_array().unwrap().iter();
    let lost = lost.filter(|row| row["reason"] == "belongs to something that was not imported").count();
    assert!(lost >= 2, "{report}");
}

#[actix_web::test]
async fn import_of_complete_items_ignores_forbidden_urls() {
    let (here, site) = (
        Server::start_with(&[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8,10.0.0.0/8")]).await,
        Site::start().await,
    );
    let user = here.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    upload_and_wait(&key, "application/pdf", &pdf_with_text("A paper about herons")).await;
    key.wait_for(&key.save_text("http://10.0.0.1/private", "Words of a private page.").await, "ready").await;
    let body = "<rss version=\"2.0\"><channel><title>Inside</title><item><title>One</title><guid>1</guid><description>An entry of a feed inside.</description></item></channel></rss>".to_owned();
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    let feed = site.page("/feed", [Reply::Plain { status: 200, headers, body }]);
    key.post("/rest/v1/feeds", json!({ "url": feed })).await.data(201);
    wait_until_idle(&session).await;
    let archive = download_export(&session).await;
    let there = Server::start_with(&[("FETCH__ALLOW_PRIVATE", "")]).await;
    let session = there.user(Plan::Pro).await.sign_in().await;

    let id = start_import(&session, &archive, &[]).await;
    let done = wait_for(&session, &id, "done").await;

    assert_eq!((&done["report"]["created"], &done["report"]["skipped"]), (&json!(4), &json!([])), "{done}");
    wait_until_idle(&session).await;
    for words in ["paper", "private", "inside"] {
        let found = session.get(&format!("{LIBRARY}/search?q={words}")).await;
        assert_eq!(found.data(200)["results"].as_array().unwrap().len(), 1, "{words}");
    }
}

#[actix_web::test]
async fn export_is_readable_private_and_deleted_with_the_account() {
    let server = Server::start().await;
    let user = server.user(Plan::Pro).await;
    let (session, key) = (user.sign_in().await, user.full_key().await);
    let saved = key
        .save(json!({ "url": "https://a.example/<&>", "title": "A & <b>", "text": "T", "tags": ["x"] }))
        .await;
    key.wait_for(&saved, "ready").await;

    let archive = download_export(&session).await;

    let mut zip = zip::ZipArchive::new(Cursor::new(&archive)).unwrap();
    let mut text = |name: &str| {
        let mut text = String::new();
        zip.by_name(name).unwrap().read_to_string(&mut text).unwrap();
        text
    };
    assert!(text("bookmarks.html").contains("TAGS=\"x\">A &amp; &lt;b&gt;</A>"));
    assert!(text("feeds.opml").contains("<opml"));
    let lines: Vec<Value> =
        text("library.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((lines.len(), &lines[0]["kind"], &lines[0]["tags"]), (1, &json!("bookmark"), &json!(["x"])));
    let document: Value =
        serde_json::from_str(&text(&format!("documents/{}.json", lines[0]["document"].as_str().unwrap())))
            .unwrap();
    assert_eq!((&document["title"], &document["passages"][0]["text"]), (&json!("A & <b>"), &json!("T")));
    // The bookmark list in the archive can be imported too.
    let other = server.user(Plan::Pro).await.sign_in().await;
    let id = start_import(&other, text("bookmarks.html").as_bytes(), &[]).await;
    assert_eq!(wait_for(&other, &id, "done").await["report"]["created"], 1);

    let shown = session.post("/app/api/exports", json!({})).await;
    let id = shown.data(202)["export"]["id"].as_str().unwrap().to_owned();
    other.get(&format!("/app/api/exports/{id}")).await.error_code(404);
    assert_eq!(other.download(&format!("/app/api/exports/{id}/file")).await.0, 404);
    assert_eq!(server.anonymous().download(&format!("/app/api/exports/{id}/file")).await.0, 401);
    eventually("the export is packed", async || {
        let shown = session.get(&format!("/app/api/exports/{id}")).await;
        (shown.data(200)["export"]["status"] == "done").then_some(())
    })
    .await;
    let stored = server.home().path("data").join("files");
    let stored_count =
        || if stored.exists() { files(&stored).len() } else { files(server.home().folder()).len() };
    let before = stored_count();
    session
        .send(
            reqwest::Method::DELETE,
            "/app/api/account",
            Some(json!({ "password": crate::support::PASSWORD })),
        )
        .await
        .data(200);
    eventually("the archives are deleted", async || (stored_count() < before).then_some(())).await;
}

#[actix_web::test]
async fn exports_run_one_at_a_time_and_latest_three_are_kept() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    let begin = async || {
        let begun = session.post("/app/api/exports", json!({})).await;
        begun.data(202)["export"]["id"].as_str().unwrap().to_owned()
    };
    let (one, other) = tokio::join!(begin(), begin());
    let mut packed = vec![one.clone()];
    // The second request may arrive after the first export has ended.
    packed.extend((other != one).then_some(other));
    while packed.len() < 4 {
        eventually("the export is packed", async || {
            let shown = session.get(&format!("/app/api/exports/{}", packed.last().unwrap())).await;
            (shown.data(200)["export"]["status"] == "done").then_some(())
        })
        .await;
        packed.push(begin().await);
    }

    let statuses = async |id: &String| session.get(&format!("/app/api/exports/{id}")).await.status;
    assert_eq!(statuses(&packed[0]).await, 404);
    for id in &packed[1..] {
        assert_eq!(statuses(id).await, 200);
    }
}

#[actix_web::test]
async fn export_command_is_run_by_the_service() {
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let to = home.path("out.zip");
    let remaining =
        program::run_command(&home, &["export", "--user", program::EMAIL, to.to_str().unwrap()], "");
    assert_eq!(
        (&remaining["status"], &remaining["file"], &remaining["serverRunning"]),
        (&json!("running"), &Value::Null, &json!(false))
    );
    let running = Program::start(&home, "data").await;
    let key = running.client_with_key(&id, &secret);
    key.wait_for(&key.save_text("https://a.example/", "Words.").await, "ready").await;
    // The export of the command before the start runs or has ended; this is a new one.
    let session = running.anonymous().sign_in(program::EMAIL, program::PASSWORD).await;
    download_export(&session).await;

    let there = running.run_command(&home, &["export", "--user", program::EMAIL, to.to_str().unwrap()]);

    assert_eq!(there["status"], "done");
    let mut zip = zip::ZipArchive::new(std::fs::File::open(&to).unwrap()).unwrap();
    let mut lines = String::new();
    zip.by_name("library.jsonl").unwrap().read_to_string(&mut lines).unwrap();
    assert!(lines.contains("https://a.example/"));
    running.terminate().await;
}
