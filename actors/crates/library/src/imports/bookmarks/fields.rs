//! The fields of a saved page as a save. What is too long is cut rather than refused: an import brings what other programs let in
//! (contract.md, section 11: v1). The reason for skipping a row quotes the unknown field or the refused URL between backticks, and
//! nothing else of what stands in the row: the row is its user's, and reasons are in no log.

use serde_json::{Map, Value};
use url::Url;
use web::{Guard, PageUrl, UrlRejection};

use errors::{Error, Invalid};
use validation::{self, Kind};
use actors::operations::bookmarks::CreateBookmark;
use crate::bookmarks::save::{self, NewBookmark};

/// Why a row is passed over that names a collection of nobody, or of somebody else.
pub const FOREIGN_COLLECTION: &str = "collectionIds names a collection that the account does not have";

/// Characters of a field name or a URL that are quoted.
const MAX_QUOTED_CHARS: usize = 120;
/// Faults of a row that are named.
const MAX_NAMED_FAULTS: usize = 5;

/// The save that fields ask for, or why it is passed over.
pub fn read(fields: Map<String, Value>, guard: &Guard) -> Result<NewBookmark, String> {
    let new = read_whole(fields)?;
    if new.content.is_none() {
        save::may_fetch(&new.url, guard).map_err(|error| told(&error, Some(&new.url)))?;
    }
    Ok(new)
}

/// The same for what comes with its text by another way: nothing of it is fetched.
pub fn read_whole(fields: Map<String, Value>) -> Result<NewBookmark, String> {
    let url = fields.get("url").and_then(Value::as_str).map(str::to_owned);
    // Nothing is touched yet, so whatever is wrong is wrong with the row.
    parse(fields).map_err(|error| told(&error, url.as_deref()))
}

fn parse(mut members: Map<String, Value>) -> Result<NewBookmark, Error> {
    cut(&mut members);
    let CreateBookmark(new) =
        CreateBookmark::from_values(fields::read_map(members, CreateBookmark::FIELDS)?)?;
    save::must_be_address(&new.url)?;
    Ok(new)
}

fn told(error: &Error, url: Option<&str>) -> String {
    if let (Error::UrlRejected(why), Some(url)) = (error, url) {
        return refused_address(why, url);
    }
    reason(error).unwrap_or_else(|| error.to_string())
}

/// Why a row is skipped whose URL is refused, with the URL.
pub fn refused_address(why: &str, url: &str) -> String {
    let why = match PageUrl::parse(url) {
        Err(UrlRejection::NotHttp) => "not an http(s) address",
        Ok(_) | Err(_) => why,
    };
    format!("{why}: {}", quoted(&without_credentials(url)))
}

/// Takes the user name and the password out of a URL: the reason is kept and shown for longer than the file.
fn without_credentials(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return url.to_owned() };
    let has_credentials = !parsed.username().is_empty() || parsed.password().is_some();
    if has_credentials && parsed.set_username("").is_ok() && parsed.set_password(None).is_ok() {
        return parsed.into();
    }
    url.to_owned()
}

/// A text of the file between backticks, on one line and cut.
fn quoted(text: &str) -> String {
    let cut = text::cut(&text::one_line(text).replace('`', "'"), MAX_QUOTED_CHARS);
    format!("`{cut}`")
}

/// Cuts texts to the length that their fields may have; an address that is cut would be another one.
fn cut(members: &mut Map<String, Value>) {
    for field in CreateBookmark::FIELDS.iter().filter(|field| field.name != "url") {
        if let Some(value) = members.get_mut(field.name) {
            cut_value(value, &field.kind);
        }
    }
}

fn cut_value(value: &mut Value, kind: &Kind) {
    if let (Value::String(text), Kind::Words { max, .. } | Kind::Text { max }) = (&mut *value, kind) {
        text.retain(|c| c != '\0');
        if let Some((end, _)) = text.char_indices().nth(*max) {
            text.truncate(end);
        }
    } else if let (Value::Array(items), Kind::List { of, max, .. }) = (value, kind) {
        items.truncate(*max);
        items.iter_mut().for_each(|item| cut_value(item, of));
    }
}

/// Why a row is passed over; `None` where the row is not to blame, and the next would fare no better.
pub fn reason(error: &Error) -> Option<String> {
    if let Error::Invalid(invalid) = error {
        return Some(faults(invalid));
    }
    if let Error::UrlRejected(why) = error {
        return Some(why.clone());
    }
    if let Error::NotFound(_) = error {
        return Some(FOREIGN_COLLECTION.to_owned());
    }
    None
}

fn faults(invalid: &Invalid) -> String {
    let mut told: Vec<String> = Vec::new();
    for fault in &invalid.faults {
        let words = if fault.field == "body" || is_known(&fault.field) {
            format!("{} {}", fault.field, fault.reason)
        } else {
            format!("unknown field {}", quoted(&fault.field))
        };
        if !told.contains(&words) {
            told.push(words);
        }
    }
    if told.len() > MAX_NAMED_FAULTS {
        let more = told.len() - MAX_NAMED_FAULTS;
        told.truncate(MAX_NAMED_FAULTS);
        told.push(format!("{more} more faults"));
    }
    told.join("; ")
}

/// Whether the path begins with a field of ours; another name is the user's own text.
fn is_known(path: &str) -> bool {
    let name = path.split(['.', '[']).next().unwrap_or(path);
    CreateBookmark::FIELDS.iter().any(|field| field.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new(line: &str) -> NewBookmark {
        read(serde_json::from_str(line).unwrap(), &Guard::default()).unwrap()
    }

    fn refused(line: &str) -> String {
        read(serde_json::from_str(line).unwrap(), &Guard::default()).unwrap_err()
    }

    #[test]
    fn a_line_has_the_fields_of_a_save() {
        let new = new(r#"{"url": "https://a.example/", "title": "T", "tags": ["x", "y"], "favorite": true}"#);

        assert_eq!((new.url.as_str(), new.title.as_deref()), ("https://a.example/", Some("T")));
        assert_eq!((new.tags, new.favorite), (vec!["x".to_owned(), "y".to_owned()], true));
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let line = serde_json::json!({
            "url": "https://a.example/", "title": "ä".repeat(301), "tags": ["é".repeat(101)], "notes": "a\0b",
        });

        let new = new(&line.to_string());

        assert_eq!(new.title.map(|title| title.chars().count()), Some(300));
        assert_eq!(new.tags.first().map(|tag| tag.chars().count()), Some(100));
        assert_eq!(new.notes.as_deref(), Some("ab"));
    }

    #[test]
    fn reasons_name_unknown_fields_and_refused_urls() {
        assert_eq!(refused(r#"{"title": "canary"}"#), "url is required");
        assert_eq!(refused(r#"{"url": "canary"}"#), "not an http(s) address: `canary`");
        assert_eq!(refused(r#"{"url": "https://a.example/", "titel": 1}"#), "unknown field `titel`");
        let saved_at = refused(r#"{"url": "https://a.example/", "savedAt": "canary"}"#);
        assert!(saved_at.starts_with("savedAt must be a time") && !saved_at.contains("canary"), "{saved_at}");
    }

    #[test]
    fn quoted_urls_are_short_and_have_no_credentials() {
        assert_eq!(
            refused(r#"{"url": "https://me:secret@a.example/b`c"}"#),
            "the URL contains a user name or a password: `https://a.example/b%60c`"
        );
        let long = refused(&format!(r#"{{"url": "mailto:{}"}}"#, "x".repeat(5000)));
        assert_eq!(long.chars().count(), "not an http(s) address: ``".len() + MAX_QUOTED_CHARS);
    }

    #[test]
    fn row_with_many_faults_names_the_first() {
        let fields = (0..20).map(|n| format!(r#", "canary{n:02}": 1"#)).collect::<String>();

        let told = refused(&format!(r#"{{"url": "https://a.example/"{fields}}}"#));

        assert!(
            told.starts_with("unknown field `canary00`; ") && told.ends_with("; 15 more faults"),
            "{told}"
        );
    }

    #[test]
    fn an_address_that_leads_inside_is_taken_with_its_content_only() {
        assert_eq!(
            refused(r#"{"url": "http://10.0.0.1/"}"#),
            "the URL leads to a private or reserved IP address: `http://10.0.0.1/`"
        );
        assert_eq!(new(r#"{"url": "http://10.0.0.1/", "text": "T"}"#).url, "http://10.0.0.1/");
    }

    #[test]
    fn what_is_not_the_lines_fault_stops_the_import() {
        assert_eq!(reason(&Error::internal("the disk is full")), None);
    }
}
