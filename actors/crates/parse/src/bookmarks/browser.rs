//! Bookmarks of a browser in its own JSON: the file of Chrome and its derivatives, and Firefox's backup.

use serde_json::Value;

use super::row::{ForeignBookmark, Row, split_names};
use super::time_formats::parse_time;

/// The deepest nesting of folders.
const MAX_FOLDER_DEPTH: usize = 32;
/// Seconds from 1601, from which Chrome counts, to 1970.
const SECONDS_FROM_1601_TO_1970: f64 = 11_644_473_600.0;

/// Returns the root folders of a file; `None` if it is not a browser's.
pub fn roots(file: &Value) -> Option<Vec<&Value>> {
    if let Some(roots) = file.get("roots").and_then(Value::as_object) {
        return Some(roots.values().filter(|root| root.is_object()).collect());
    }
    let is_firefox = file.get("type").and_then(Value::as_str) == Some("text/x-moz-place-container");
    is_firefox.then(|| vec![file])
}

/// Reads every bookmark, folder by folder. The roots are the browser's own, not folders of the user.
pub fn read_rows(roots: &[&Value]) -> Vec<Row> {
    let mut rows = Vec::new();
    for root in roots {
        walk(root, &mut Vec::new(), &mut rows);
    }
    rows
}

fn walk(node: &Value, folders: &mut Vec<String>, rows: &mut Vec<Row>) {
    let text = |names: [&str; 2]| names.iter().find_map(|name| node.get(name)?.as_str()).map(str::to_owned);
    if let Some(children) = node.get("children").and_then(Value::as_array) {
        // Firefox marks its roots by a member `root`, or by ids that end with underscores.
        let is_root = node.get("root").is_some()
            || node.get("guid").and_then(Value::as_str).is_some_and(|id| id.ends_with("_____"));
        let named = text(["name", "title"]).filter(|_| !is_root && !is_chrome_root(folders, node));
        let deeper = named.filter(|name| !name.is_empty() && folders.len() < MAX_FOLDER_DEPTH);
        // Links below the bound stay in the deepest folder.
        folders.extend(deeper.clone());
        children.iter().for_each(|child| walk(child, folders, rows));
        if deeper.is_some() {
            folders.pop();
        }
        return;
    }
    let Some(url) = text(["url", "uri"]) else { return };
    let page = ForeignBookmark {
        url,
        title: text(["name", "title"]),
        tags: split_names(node.get("tags").and_then(Value::as_str).unwrap_or_default(), ','),
        folders: folders.clone(),
        saved_at: saved_at(node),
        ..ForeignBookmark::default()
    };
    rows.push(Row { line: rows.len() as u64 + 1, content: page.into() });
}

/// Chrome's roots are recognised by their ids.
fn is_chrome_root(folders: &[String], node: &Value) -> bool {
    folders.is_empty()
        && matches!(node.get("id").and_then(Value::as_str), Some("1" | "2" | "3"))
        && node.get("name").is_some()
}

fn saved_at(node: &Value) -> Option<String> {
    if let Some(chrome) = node.get("date_added").and_then(Value::as_str) {
        // Chrome writes microseconds, as a text.
        let seconds = chrome.parse::<f64>().ok()? / 1e6 - SECONDS_FROM_1601_TO_1970;
        return parse_time(&seconds.floor().to_string());
    }
    parse_time(&node.get("dateAdded")?.as_f64()?.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::{BookmarkDraft, RowContent};
    use super::*;

    fn saves(file: &Value) -> Vec<BookmarkDraft> {
        let rows = read_rows(&roots(file).unwrap());
        let save = |row: Row| {
            let RowContent::Bookmark(save) = row.content else { panic!("{row:?}") };
            save
        };
        rows.into_iter().map(save).collect()
    }

    #[test]
    fn chrome() {
        let file = json!({"checksum": "x", "roots": {"bookmark_bar": {"children": [
            {"date_added": "13118850929335823", "id": "6", "name": "One", "type": "url", "url": "https://a.example/1"},
            {"id": "7", "name": "News", "type": "folder", "children": [{"id": "8", "name": "Two", "type": "url", "url": "https://a.example/2"}]},
        ], "id": "1", "name": "Bookmarks bar", "type": "folder"}, "sync_transaction_version": "1"}, "version": 1});

        let saves = saves(&file);

        assert_eq!(
            (saves[0].folders.len(), &saves[0].fields["savedAt"]),
            (0, &json!("2016-09-20T13:15:29Z"))
        );
        assert_eq!(
            (saves[1].folders.as_slice(), &saves[1].fields["title"]),
            (&["News".to_owned()][..], &json!("Two"))
        );
    }

    #[test]
    fn bookmark_without_a_url_is_named_by_its_title() {
        let file = json!({"roots": {"other": {"children": [{"name": "One", "type": "url", "url": " "}]}}});

        let rows = read_rows(&roots(&file).unwrap());

        assert_eq!(rows[0].content, RowContent::skipped_with_name("has no URL", Some("One".to_owned())));
    }

    #[test]
    fn firefox() {
        let file = json!({"guid": "root________", "title": "", "type": "text/x-moz-place-container", "root": "placesRoot", "children": [
            {"guid": "toolbar_____", "title": "Bar", "type": "text/x-moz-place-container", "root": "toolbarFolder", "children": [
                {"guid": "abc", "title": "F", "type": "text/x-moz-place-container", "children": [
                    {"guid": "d", "title": "One", "dateAdded": 1_388_166_091_504_000_u64, "tags": "a,b", "type": "text/x-moz-place", "uri": "https://a.example/1"}]}]}]});

        let saves = saves(&file);

        assert_eq!(saves[0].folders, ["F"]);
        assert_eq!(
            Value::Object(saves[0].fields.clone()),
            json!({"url": "https://a.example/1", "title": "One", "tags": ["a", "b"], "savedAt": "2013-12-27T17:41:31Z"})
        );
    }
}
