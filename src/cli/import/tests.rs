//! Imports into a database of their own, without a server.

use std::fs;

use actors::accounts::{self, NewAccount};
use entity::plan::Plan;
use serde_json::{Value, json};

use super::*;
use crate::cli::{reindex, tests};

const READER: &str = "reader@b.example";

async fn service(name: &str) -> Settings {
    let settings = tests::settings(name);
    let desk = opening::desk(&settings).await.unwrap();
    let password = "correct horse battery 7!".to_owned();
    let new = NewAccount { email: READER.to_owned(), name: None, password, plan: Plan::Pro };
    accounts::create(&desk, new).await.unwrap();
    settings
}

async fn import(settings: &Settings, user: &str, content: &str) -> Result<Said, Failure> {
    let file = settings.data_dir.join("in.jsonl");
    fs::write(&file, content).unwrap();
    run(Asked { user: user.to_owned(), format: Format::Jsonl, file }, settings).await
}

fn counts(said: &Said) -> [&Value; 3] {
    ["created", "updated", "skippedLines"].map(|name| &said.json()[name])
}

#[tokio::test]
async fn an_import_is_run_again_without_harm() {
    let settings = service("again").await;
    let lines = (0..250).map(|n| json!({"url": format!("https://a.example/{n}"), "text": "T"}).to_string());
    let file = lines.collect::<Vec<_>>().join("\n");

    let first = import(&settings, READER, &file).await.unwrap();
    let second = import(&settings, READER, &file).await.unwrap();

    fs::remove_dir_all(&settings.data_dir).unwrap();
    assert_eq!(counts(&first), [250, 0, 0]);
    assert_eq!(counts(&second), [0, 250, 0]);
}

#[tokio::test]
async fn a_bad_line_is_told_and_keeps_no_other_out() {
    let settings = service("bad").await;
    let foreign =
        json!({"url": "https://a.example/2", "collectionIds": ["018f4d5e-0000-7000-8000-000000000000"]});
    let file = format!(
        "{{\"url\": \"https://a.example/1\"}}\nno JSON\n{foreign}\n{{\"url\": \"https://a.example/3\"}}"
    );

    let said = import(&settings, READER, &file).await.unwrap();

    fs::remove_dir_all(&settings.data_dir).unwrap();
    assert_eq!(counts(&said), [2, 0, 2]);
    assert_eq!(
        (&said.json()["skipped"][0]["line"], &said.json()["skipped"][1]["line"]),
        (&json!(2), &json!(3))
    );
    assert!(said.is_good());
}

#[tokio::test]
async fn a_file_of_another_kind_is_a_failure() {
    let settings = service("kind").await;

    let said = import(&settings, READER, "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<TITLE>Bookmarks</TITLE>")
        .await
        .unwrap();

    fs::remove_dir_all(&settings.data_dir).unwrap();
    assert!(!said.is_good());
}

#[tokio::test]
async fn nobody_is_told_by_name() {
    let settings = service("nobody").await;

    let refused = import(&settings, "nobody@b.example", "{}").await.unwrap_err();

    fs::remove_dir_all(&settings.data_dir).unwrap();
    assert_eq!(refused.to_string(), "there is no account with the address nobody@b.example");
}

#[tokio::test]
async fn what_was_only_imported_has_no_text_to_be_indexed_anew() {
    let settings = service("reindex").await;
    import(&settings, READER, "{\"url\": \"https://a.example/1\", \"text\": \"T\"}").await.unwrap();

    let said = reindex::run(&settings).await.unwrap();

    fs::remove_dir_all(&settings.data_dir).unwrap();
    assert_eq!(said.json(), &json!({"documents": 0, "serverRunning": false}));
}
