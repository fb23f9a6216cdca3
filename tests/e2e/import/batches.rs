//! Imports whose rows are applied in batches: the result does not depend on the batch in which a row is.

use std::collections::HashMap;

use library::library_quota;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::import::imports::{bookmark_list, collections, post_step, start_import, titles, wait_for};
use crate::support::{Client, Server};

const BOOKMARKS: &str = "/app/api/library/bookmarks";

/// A row of a file in which the kinds of rows alternate.
fn mixed_row(n: usize) -> String {
    let link = |url: &str, tags: &str| {
        format!("<DT><A HREF=\"{url}\" ADD_DATE=\"{}\" TAGS=\"{tags}\">Page {n}</A>\n", 1_600_000_000 + n)
    };
    let in_folder =
        |folder: &str, content: &str| format!("<DT><H3>{folder}</H3><DL><p>\n{content}</DL><p>\n");
    match n % 8 {
        0 => {
            let noted = link(&format!("https://k.example/{n}"), "a,A,b") + "<DD>A note on herons\n";
            in_folder("Birds", &in_folder("Waders", &noted))
        }
        1 => link(&format!("https://k.example/{n}"), ""),
        // The same page as in the row before.
        2 => in_folder(
            "Again",
            &(link(&format!("https://K.example/{}#part", n - 1), "again") + "<DD>Found again\n"),
        ),
        3 => link("javascript:alert(1)", "a"),
        4 => link("https://there.example/", &format!("new{n}")),
        5 => link("https://deleted.example/", &format!("new{n}")),
        6 => in_folder("birds", &link(&format!("https://k.example/{n}?utm_source=x"), "b")),
        _ => link("mailto:me@k.example", ""),
    }
}

/// Saves a page, and one that is deleted then.
async fn save_existing(session: &Client) {
    let saved = |name: &str| {
        json!({
            "url": format!("https://{name}.example/"), "title": name, "text": "Words.", "tags": ["old"],
            "savedAt": "2020-01-01T00:00:00Z",
        })
    };
    session.post(BOOKMARKS, saved("there")).await.data(201);
    let deleted = session.post(BOOKMARKS, saved("deleted")).await.data(201)["bookmark"]["bookmarkId"].clone();
    session.delete(&format!("{BOOKMARKS}/{}", deleted.as_str().unwrap())).await.data(200);
}

/// Imports a file, and returns the outcome of each row with its reason.
async fn import(session: &Client, rows: &str) -> Vec<(Value, Value)> {
    let id = start_import(session, bookmark_list(rows).as_bytes(), &[]).await;
    wait_for(session, &id, "done").await;
    let rows = session.get(&format!("/app/api/imports/{id}/rows?limit=1000")).await.data(200)["rows"].clone();
    rows.as_array().unwrap().iter().map(|row| (row["outcome"].clone(), row["reason"].clone())).collect()
}

/// The library of a user without its ids: the collections with their parents, and the bookmarks with what the files state of them.
async fn library_of(session: &Client) -> (Vec<String>, Vec<String>) {
    let listed = session.get("/app/api/library/collections").await.data(200)["collections"].clone();
    let listed = listed.as_array().unwrap();
    let names: HashMap<&str, &str> = listed
        .iter()
        .map(|one| (one["collectionId"].as_str().unwrap(), one["name"].as_str().unwrap()))
        .collect();
    let name = |id: &Value| id.as_str().and_then(|id| names.get(id)).copied().unwrap_or("-");
    let mut collections: Vec<String> = listed
        .iter()
        .map(|one| format!("{} in {}: {}", one["name"], name(&one["parentId"]), one["bookmarkCount"]))
        .collect();
    collections.sort();
    let bookmarks = session.get(&format!("{BOOKMARKS}?limit=100")).await.data(200)["bookmarks"].clone();
    let summary = |bookmark: &Value| {
        let filed: Vec<_> = bookmark["collectionIds"].as_array().unwrap().iter().map(name).collect();
        let fields = ["url", "title", "tags", "notes", "favorite", "archived", "progress", "savedAt"];
        format!("{:?} {filed:?}", fields.map(|field| bookmark[field].to_string()))
    };
    let mut bookmarks: Vec<String> = bookmarks.as_array().unwrap().iter().map(summary).collect();
    bookmarks.sort();
    (collections, bookmarks)
}

#[actix_web::test]
async fn rows_of_one_batch_become_the_same_as_rows_of_a_file_each() {
    let server = Server::start().await;
    let together = server.user(Plan::Pro).await.sign_in().await;
    let one_by_one = server.user(Plan::Pro).await.sign_in().await;
    for session in [&together, &one_by_one] {
        save_existing(session).await;
    }

    let outcomes = import(&together, &(0..32).map(mixed_row).collect::<String>()).await;
    let mut expected = Vec::new();
    for n in 0..32 {
        expected.extend(import(&one_by_one, &mixed_row(n)).await);
    }

    assert_eq!(outcomes, expected);
    let created = outcomes.iter().filter(|(outcome, _)| outcome == "created").count();
    assert_eq!((outcomes.len(), created), (32, 13));
    assert_eq!(library_of(&together).await, library_of(&one_by_one).await);
}

#[actix_web::test]
async fn file_imported_again_adds_only_what_is_missing() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save_existing(&session).await;
    let rows: String = (0..16).map(mixed_row).collect();
    import(&session, &rows).await;
    let before = library_of(&session).await;

    import(&session, &rows).await;
    assert_eq!(library_of(&session).await, before);

    // The second of the new rows finds the tag that the first one added.
    let tagged = "<DT><A HREF=\"https://k.example/1\" TAGS=\"extra\">Page 1</A>\n".repeat(2);
    let id = start_import(&session, bookmark_list(&(rows + &tagged)).as_bytes(), &[]).await;
    let report = wait_for(&session, &id, "done").await["report"].clone();
    assert_eq!((&report["created"], &report["updated"]), (&json!(0), &json!(14)), "{report}");
    let extra = session.get(&format!("{BOOKMARKS}?tag=extra")).await.data(200)["bookmarks"].clone();
    assert_eq!((extra.as_array().unwrap().len(), &extra[0]["url"]), (1, &json!("https://k.example/1")));
    post_step(&session, &id, "undo").await;
    let undone = wait_for(&session, &id, "undone").await["report"]["undo"].clone();
    assert_eq!(undone, json!({ "deleted": 0, "kept": 0, "additionsKept": 1 }));
}

#[actix_web::test]
async fn import_of_several_batches_is_undone_as_a_whole() {
    let server = Server::start().await;
    let session = server.user(Plan::Pro).await.sign_in().await;
    save_existing(&session).await;
    // The last fifty rows name pages of the first batch again.
    let row = |n: usize| {
        let (page, folder) = (n % 850, n % 7);
        format!(
            "<DT><H3>F{folder}</H3><DL><p>\n<DT><A HREF=\"https://k.example/{page}\" TAGS=\"t{n}\">Page {n}</A>\n</DL><p>\n"
        )
    };
    let there = "<DT><A HREF=\"https://there.example/\" TAGS=\"new\">There</A>\n".to_owned();
    let file = bookmark_list(&((0..900).map(row).collect::<String>() + &there));

    let id = start_import(&session, file.as_bytes(), &[]).await;
    let done = wait_for(&session, &id, "done").await;

    let report = &done["report"];
    assert_eq!(
        (&report["created"], &report["updated"], &done["rows"]),
        (&json!(850), &json!(51), &json!(901))
    );
    assert_eq!(collections(&session).await, ["F0", "F1", "F2", "F3", "F4", "F5", "F6"]);
    let page = session.get(&format!("{BOOKMARKS}?tag=t851")).await.data(200)["bookmarks"][0].clone();
    assert_eq!((&page["url"], &page["tags"]), (&json!("https://k.example/1"), &json!(["t1", "t851"])));
    post_step(&session, &id, "undo").await;
    let undone = wait_for(&session, &id, "undone").await["report"]["undo"].clone();
    assert_eq!((&undone["kept"], &undone["additionsKept"]), (&json!(0), &json!(1)));
    assert_eq!(titles(&session).await, ["there"]);
    assert!(collections(&session).await.is_empty());
}

#[actix_web::test]
async fn large_import_fills_the_library_up_to_its_last_hundred_rows() {
    let limit: u64 = 3_200_000;
    let server = Server::start_with(&[("PLANS__PRO__LIBRARY_BYTES", &limit.to_string())]).await;
    let user = server.user(Plan::Pro).await;
    let session = user.sign_in().await;
    let rows: String =
        (0..5000).map(|n| format!("<DT><A HREF=\"https://k.example/{n}\">Page {n}</A>\n")).collect();

    let id = start_import(&session, bookmark_list(&rows).as_bytes(), &[]).await;
    let failed = wait_for(&session, &id, "failed").await;

    assert!(failed["error"].as_str().unwrap().contains("is full"), "{failed}");
    let done = failed["rows"].as_u64().unwrap();
    assert_eq!((done % 100, &failed["report"]["created"]), (0, &json!(done)), "{failed}");
    let used = library_quota::used_bytes(server.context().core.db.read(), user.id()).await.unwrap();
    // A row takes up less than a thousand bytes.
    assert!((limit - 100_000..=limit).contains(&used), "{used}");
}
