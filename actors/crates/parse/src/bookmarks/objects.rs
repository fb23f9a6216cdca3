//! JSON lists of objects with a URL each, by the member names of several programs: wallabag, Pinboard, Delicious, Readability, el
//! curator, Omnivore's list without its archive.

use serde_json::{Map, Value};

use super::annotation::Annotation;
use super::row::{ForeignBookmark, Row, RowContent};
use super::time_formats::parse_time;

// The first name that an object has counts. `href` and `extended` are Pinboard's, and `article__url` is Readability's.
const ADDRESSES: [&str; 5] = ["url", "href", "article__url", "given_url", "uri"];
const TITLES: [&str; 2] = ["title", "article__title"];
const TIMES: [&str; 8] =
    ["created_at", "savedAt", "date_added", "time_added", "created", "createdAt", "time", "dateAdded"];
const TAGS: [&str; 2] = ["tags", "labels"];
const NOTES: [&str; 3] = ["extended", "notes", "note"];
const ARCHIVED: [&str; 4] = ["is_archived", "archived", "archive", "is_read"];
const FAVORITES: [&str; 4] = ["is_starred", "favorite", "is_fav", "starred"];

/// Returns the list of a file: the file itself, or the member `bookmarks`.
pub fn list(file: Value) -> Option<Vec<Value>> {
    let list = match file {
        Value::Array(list) => list,
        Value::Object(mut members) => match members.remove("bookmarks") {
            Some(Value::Array(list)) => list,
            Some(_) | None => return None,
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    let has_address = |one: &Value| ADDRESSES.iter().any(|name| one.get(name).is_some_and(Value::is_string));
    // One is enough: the other objects are then reported row by row.
    (list.is_empty() || list.iter().any(has_address)).then_some(list)
}

/// Reads every object of the list as a row.
pub fn read_rows(list: Vec<Value>) -> Vec<Row> {
    let row = |(one, line): (Value, u64)| {
        let content = match one {
            Value::Object(members) => convert(&members),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                RowContent::skipped("must be a JSON object")
            }
        };
        Row { line, content }
    };
    list.into_iter().zip(1..).map(row).collect()
}

fn convert(members: &Map<String, Value>) -> RowContent {
    let Some(url) = find_text(members, &ADDRESSES) else {
        let title = find_text(members, &TITLES).or_else(|| find_text(members, &["description"]));
        return RowContent::skipped_with_name("has no URL", title);
    };
    let says = |names: &[&str]| names.iter().filter_map(|name| members.get(*name)).any(is_yes);
    // Pinboard calls its titles descriptions; elsewhere those are notes, or the page's own words.
    let (title, described) = match find_text(members, &TITLES) {
        // wallabag has `mimetype`, Omnivore has `slug`: there the description is the page's.
        Some(title) if members.contains_key("slug") || members.contains_key("mimetype") => {
            (Some(title), None)
        }
        Some(title) => (Some(title), find_text(members, &["description"])),
        None => (find_text(members, &["description"]), None),
    };
    let page = ForeignBookmark {
        url,
        title,
        tags: TAGS.iter().find_map(|name| members.get(*name)).map(names).unwrap_or_default(),
        notes: [find_text(members, &NOTES), described].into_iter().flatten().collect(),
        annotations: marked(members),
        saved_at: TIMES.iter().find_map(|name| parse_time(&plain(members.get(*name)?)?)),
        favorite: says(&FAVORITES),
        archived: says(&ARCHIVED)
            || find_text(members, &["state"]).is_some_and(|state| state.eq_ignore_ascii_case("archived")),
        progress: progress(members),
        // Content without markup is not a page, such as the word `none` in old lists.
        html: find_text(members, &["content"]).filter(|html| html.contains('<')),
        ..ForeignBookmark::default()
    };
    page.into()
}

/// Returns the reading progress. Pinboard states whether a page is unread.
fn progress(members: &Map<String, Value>) -> Option<f64> {
    let percent = members.get("readingProgress").and_then(Value::as_f64);
    let is_read = members.get("toread").is_some_and(|said| said == "no");
    percent.map(|percent| percent / 100.0).or_else(|| is_read.then_some(1.0))
}

/// Returns the highlights with their notes (wallabag).
fn marked(members: &Map<String, Value>) -> Vec<Annotation> {
    let all = members.get("annotations").and_then(Value::as_array).into_iter().flatten();
    let words = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
    all.map(|one| Annotation::new(&words(one, "quote").unwrap_or_default(), words(one, "text").as_deref()))
        .filter(|mark| *mark != Annotation::default())
        .collect()
}

fn find_text(members: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let found = names.iter().find_map(|name| members.get(*name)?.as_str());
    found.map(str::to_owned).filter(|text| !text.trim().is_empty())
}

fn plain(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned).or_else(|| value.as_f64().map(|number| number.to_string()))
}

fn is_yes(value: &Value) -> bool {
    value.as_bool().unwrap_or_else(|| plain(value).is_some_and(|text| matches!(text.as_str(), "1" | "true")))
}

/// Returns tags that are a list of names, a list of objects with names, or one text.
fn names(value: &Value) -> Vec<String> {
    if let Some(text) = value.as_str() {
        // Pinboard separates tags by spaces, which other programs allow within them.
        let by = if text.contains(',') { ',' } else { ' ' };
        return super::row::split_names(text, by);
    }
    let named = |one: &Value| {
        let name = one
            .as_str()
            .or_else(|| ["name", "label", "title"].iter().find_map(|name| one.get(name)?.as_str()));
        name.map(str::to_owned)
    };
    value.as_array().map(|all| all.iter().filter_map(named).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::row::BookmarkDraft;
    use super::*;

    fn save(one: Value) -> BookmarkDraft {
        let rows = read_rows(list(json!([one])).unwrap());
        let RowContent::Bookmark(save) = rows[0].content.clone() else { panic!("{rows:?}") };
        save
    }

    fn fields(one: Value) -> Value {
        Value::Object(save(one).fields)
    }

    #[test]
    fn skipped_fields_are_reported() {
        let pinboard = |toread: &str| save(json!({"href": "https://a.example/", "toread": toread})).progress;

        assert_eq!(["yes", "no"].map(pinboard), [None, Some(1.0)]);
    }

    #[test]
    fn field_names_of_many_programs_are_known() {
        let wallabag = json!({"id": 1, "title": "T", "url": "https://a.example/", "is_archived": 1, "is_starred": false, "mimetype": "text/html",
            "created_at": "2016-09-08T11:55:58+0200", "content": "<p>Words", "tags": ["a", "b"], "description": "of the page"});
        assert_eq!(
            fields(wallabag),
            json!({"url": "https://a.example/", "title": "T", "archived": true, "savedAt": "2016-09-08T09:55:58Z", "html": "<p>Words", "tags": ["a", "b"]})
        );
        let old = json!({"0": "1", "url": "https://a.example/", "title": "T", "is_read": "1", "is_fav": "1", "content": "none", "tags": "a,b c"});
        assert_eq!(
            fields(old),
            json!({"url": "https://a.example/", "title": "T", "archived": true, "favorite": true, "tags": ["a", "b c"]})
        );
        let pinboard = json!({"href": "https://a.example/", "description": "T", "extended": "N", "time": "2016-10-31T15:57:56Z", "toread": "no", "tags": "a b"});
        assert_eq!(
            fields(pinboard),
            json!({"url": "https://a.example/", "title": "T", "notes": "N", "savedAt": "2016-10-31T15:57:56Z", "tags": ["a", "b"]})
        );
        let delicious = json!({"title": "T", "tags": [""], "url": "https://a.example/", "description": "N", "created": "1358531607"});
        assert_eq!(
            fields(delicious),
            json!({"url": "https://a.example/", "title": "T", "notes": "N", "savedAt": "2013-01-18T17:53:27Z"})
        );
        let curator = json!({"created_at": "2015-09-09 11:10:32 UTC", "title": "T", "url": "https://a.example/", "description": null, "tags": []});
        assert_eq!(
            fields(curator),
            json!({"url": "https://a.example/", "title": "T", "savedAt": "2015-09-09T11:10:32Z"})
        );
    }

    #[test]
    fn object_without_a_url_is_named_by_its_title() {
        let all =
            vec![json!({"title": "One"}), json!({"description": "Two"}), json!({"notes": "N"}), json!(4)];

        let rows: Vec<_> = read_rows(all).into_iter().map(|row| row.content).collect();

        let named = |name: &str| RowContent::skipped_with_name("has no URL", Some(name.to_owned()));
        assert_eq!(rows[..2], [named("One"), named("Two")]);
        let unnamed = ["has no URL", "must be a JSON object"].map(RowContent::skipped);
        assert_eq!(rows[2..], unnamed);
    }

    #[test]
    fn objects_without_urls_are_not_a_list() {
        assert!(
            list(json!([{"a": 1}])).is_none()
                && list(json!({"a": []})).is_none()
                && list(json!("x")).is_none()
        );
        assert_eq!(
            list(json!({"bookmarks": [{"article__url": "https://a.example/"}]})).map(|all| all.len()),
            Some(1)
        );
    }
}
