//! Lists of bookmarks with every order and with one or two filters, compared with the list of all that is filtered and sorted here. Runs
//! on both databases; the order of titles is that of lower-case ASCII letters, which no collation changes.

use actors::operations::bookmarks::ListBookmarks;
use serde_json::{Value, json};
use values::plan::Plan;

use crate::support::{Key, OperationPlans, Server};

/// A filter: its query and its rule.
type ListFilter = (&'static str, fn(&Value) -> bool);

const FILTERS: [ListFilter; 12] = [
    ("", |_| true),
    ("&tag=bird", |row| row["tags"].as_array().unwrap().contains(&json!("bird"))),
    ("&tag=fish", |_| false),
    ("&archived=true", |row| row["archived"] == true),
    ("&favorite=false", |row| row["favorite"] == false),
    ("&unread=true", |row| row["progress"].as_f64().unwrap() < 1.0),
    ("&contentType=article", |row| row["contentType"] == "article"),
    ("&contentType=pdf", |row| row["contentType"] == "pdf"),
    ("&savedAfter=2024-01-02T00:00:00Z", |row| text(row, "savedAt") > "2024-01-02T00:00:00.000Z"),
    ("&q=HERON", |row| has_word(row, "heron")),
    ("&q=a_b", |row| has_word(row, "a_b")),
    ("&q=r%20example", |row| has_word(row, "r") && has_word(row, "example")),
];

const SORTS: [&str; 5] = ["savedAt", "-savedAt", "updatedAt", "-updatedAt", "title"];

fn text<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap()
}

fn has_word(row: &Value, word: &str) -> bool {
    ["title", "url"].iter().any(|name| text(row, name).to_lowercase().contains(word))
}

/// Saves a small library in which titles and times repeat.
async fn save_library(key: &Key) {
    for n in 0..14 {
        let title = ["heron", "crane", "ibis"][n % 3];
        let name = if n % 2 == 0 { "a_b" } else { "axb" };
        let saved = key
            .save(json!({
                "url": format!("https://reeds.example/{name}/{n}"),
                "title": title,
                "text": "In the reeds.",
                "tags": if n % 2 == 0 { json!(["bird", "wader"]) } else { json!([]) },
                "favorite": n % 3 == 0,
                "archived": n % 4 == 0,
                "savedAt": format!("2024-01-0{}T00:00:00Z", n % 3 + 1),
            }))
            .await;
        key.wait_for(&saved, "ready").await;
        let path = format!("/rest/v1/bookmarks/{}", text(&saved, "bookmarkId"));
        if n == 2 {
            key.delete(&path).await.data(200);
        } else {
            let progress = if n % 2 == 0 { 0.0 } else { 1.0 };
            key.patch(&path, json!({ "progress": progress })).await.data(200);
        }
    }
}

fn listed(pages: &[Value]) -> Vec<Value> {
    pages.iter().flat_map(|page| page["bookmarks"].as_array().unwrap().clone()).collect()
}

/// Sorts by a field and by the id.
fn sorted(mut rows: Vec<Value>, sort: &str) -> Vec<Value> {
    let field = sort.trim_start_matches('-');
    rows.sort_by(|a, b| {
        (text(a, field), text(a, "bookmarkId")).cmp(&(text(b, field), text(b, "bookmarkId")))
    });
    if sort.starts_with('-') {
        rows.reverse();
    }
    rows
}

#[actix_web::test]
async fn lists_are_all_bookmarks_filtered_and_sorted() {
    let server = Server::start().await;
    let user = server.user(Plan::Research).await;
    save_library(&user.full_key().await).await;
    let operations = OperationPlans::of_user(&server, &user).await;
    let all = listed(&operations.pages::<ListBookmarks>(&[], "limit=100").await);
    assert_eq!(all.len(), 13);

    for (number, (first, first_matches)) in FILTERS.iter().enumerate() {
        for (second, second_matches) in &FILTERS[number..] {
            let name = |query: &str| query.split('=').next().unwrap_or_default().to_owned();
            // A name may occur once in a query.
            if name(first) == name(second) && !first.is_empty() {
                continue;
            }
            for sort in SORTS {
                let matches = |row: &&Value| first_matches(row) && second_matches(row);
                let expected = sorted(all.iter().filter(matches).cloned().collect(), sort);

                let query = format!("limit=4&sort={sort}{first}{second}");
                let pages = operations.pages::<ListBookmarks>(&[], &query).await;

                assert_eq!(listed(&pages), expected, "{query}");
            }
        }
    }
}
