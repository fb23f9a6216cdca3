//! Reads the fields of a saved page. Texts that are too long are cut rather than refused, because other programs have other limits
//! (contract.md, section 11: v1). The reason for skipping a row quotes the unknown field or the refused URL between backticks, and
//! nothing else of the row: it is the user's text. Reasons are not logged.

use serde_json::{Map, Value};
use url::Url;
use web::{Guard, PageUrl, UrlRejection};

use crate::bookmarks::{self, CreateBookmarkRequest, NewBookmark};
use errors::Error;
use validation::{Invalid, Request, read_import};

/// Why a feed is skipped whose URL may not be fetched.
pub const URL_NOT_FETCHABLE: &str = "the URL may not be fetched";
/// Why a row is skipped that names a collection that does not exist, or belongs to another user.
pub const FOREIGN_COLLECTION: &str = "collectionIds names a collection that the account does not have";

/// Characters of a field name or a URL that a reason quotes.
const MAX_QUOTED_CHARS: usize = 120;
/// The schemes whose URLs have an authority behind any number of slashes of either kind (WHATWG URL: special scheme).
const SPECIAL_SCHEMES: [&str; 5] = ["http", "https", "ftp", "ws", "wss"];
/// Faults of a row that a reason names; it counts the others.
const MAX_NAMED_FAULTS: usize = 5;

/// Reads the fields of a page that is fetched unless they have its content.
///
/// # Errors
/// The reason for skipping the row, as a [`String`].
pub fn read_bookmark(fields: Map<String, Value>, guard: &Guard) -> Result<NewBookmark, String> {
    let new = read_unfetched(fields)?;
    if new.content.is_none() {
        bookmarks::require_fetchable(&new.url, guard).map_err(|error| skip_reason(&error, Some(&new.url)))?;
    }
    Ok(new)
}

/// Reads the fields of a page that is never fetched, because its text or its file comes by another way. Its URL may lead anywhere.
///
/// # Errors
/// The reason for skipping the row, as a [`String`].
pub fn read_unfetched(fields: Map<String, Value>) -> Result<NewBookmark, String> {
    // Copied before `parse` consumes the fields, because the reason quotes it.
    let url = fields.get("url").and_then(Value::as_str).map(str::to_owned);
    // Nothing but the row was read, so every error is one of the row.
    parse(fields).map_err(|error| skip_reason(&error, url.as_deref()))
}

fn parse(members: Map<String, Value>) -> Result<NewBookmark, Error> {
    let new = NewBookmark::from_fields(read_import(members)?);
    bookmarks::require_url(&new.url)?;
    Ok(new)
}

fn skip_reason(error: &Error, url: Option<&str>) -> String {
    if let (Error::UrlRejected { rejection, .. }, Some(url)) = (error, url) {
        return refused_url_reason(&rejection.problem(), Some(rejection.advice()), url);
    }
    row_fault(error).unwrap_or_else(|| error.to_string())
}

/// Returns the reason for skipping a row whose URL is refused, with the URL between the problem and the advice.
pub fn refused_url_reason(problem: &str, advice: Option<&str>, url: &str) -> String {
    // Before the cut of `quote`: without its host, no credentials would be found.
    let quoted = quote(&without_credentials(url));
    match (PageUrl::parse(url), advice) {
        (Err(UrlRejection::NotHttp), _) => format!("not an http(s) address: {quoted}"),
        (_, Some(advice)) => format!("{problem}: {quoted}; {advice}"),
        (_, None) => format!("{problem}: {quoted}"),
    }
}

/// Removes user names and passwords from a URL, or from the URLs in another text, because reasons and names are kept and shown for
/// longer than the file. Within another text white space ends a URL, so a password that contains some stays there.
pub fn without_credentials(text: &str) -> String {
    // The parser also knows a URL with white space in its password.
    let as_url = url_without_credentials(text);
    let text = as_url.as_deref().unwrap_or(text);
    let mut cleaned = String::with_capacity(text.len());
    let (mut copied, mut from) = (0, 0);
    while let Some(start) = next_authority(text, from) {
        let rest = text.get(start..).unwrap_or_default();
        let authority = rest.split(is_end_of_authority).next().unwrap_or_default();
        // The last `@`: a password may contain others.
        if let Some(at) = authority.rfind('@') {
            cleaned.push_str(text.get(copied..start).unwrap_or_default());
            copied = start + at + 1;
        }
        from = start + authority.len();
    }
    cleaned.push_str(text.get(copied..).unwrap_or_default());
    cleaned
}

/// Returns where the next authority of a URL begins: behind two slashes, or behind the colon of a scheme of [`SPECIAL_SCHEMES`] and any
/// number of slashes, as URL parsers read it.
fn next_authority(text: &str, from: usize) -> Option<usize> {
    let slashes_at = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.chars().take_while(|c| matches!(c, '/' | '\\')).count()
    };
    text.get(from..)?.char_indices().map(|(at, c)| (from + at, c)).find_map(|(at, c)| match c {
        ':' if ends_in_special_scheme(text.get(..at)?) => Some(at + 1 + slashes_at(at + 1)),
        '/' | '\\' => Some(slashes_at(at)).filter(|slashes| *slashes >= 2).map(|slashes| at + slashes),
        _ => None,
    })
}

fn ends_in_special_scheme(text: &str) -> bool {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    let last = text.rsplit(is_end).next().unwrap_or_default();
    SPECIAL_SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(last))
}

/// Returns a URL without its user name and password; `None` if the text is no URL, or one without them.
fn url_without_credentials(text: &str) -> Option<String> {
    let mut url = Url::parse(text).ok()?;
    let has_credentials = !url.username().is_empty() || url.password().is_some();
    (has_credentials && url.set_username("").is_ok() && url.set_password(None).is_ok()).then(|| url.into())
}

/// Returns whether a character ends the authority of a URL (RFC 3986, section 3.2) or the URL itself.
fn is_end_of_authority(c: char) -> bool {
    matches!(c, '/' | '\\' | '?' | '#') || c.is_whitespace()
}

/// Puts a text of the file between backticks, on one line and cut.
fn quote(text: &str) -> String {
    // `rows::faults` removes what stands between backticks, so the text must not contain any.
    let cut = text::cut(&text::one_line(text).replace('`', "'"), MAX_QUOTED_CHARS);
    format!("`{cut}`")
}

/// Returns what is wrong with a row; `None` for an error that the row did not cause, so that the next row would fail too.
fn row_fault(error: &Error) -> Option<String> {
    if let Error::Invalid(invalid) = error {
        return Some(join_faults(invalid));
    }
    if let Error::UrlRejected { .. } = error {
        return Some(error.to_string());
    }
    if let Error::NotFound(_) = error {
        return Some(FOREIGN_COLLECTION.to_owned());
    }
    None
}

fn join_faults(invalid: &Invalid) -> String {
    let mut reasons: Vec<String> = Vec::new();
    for fault in &invalid.faults {
        let reason = if fault.field == "body" || is_known(&fault.field) {
            format!("{} {}", fault.field, fault.reason)
        } else {
            format!("unknown field {}", quote(&fault.field))
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    if reasons.len() > MAX_NAMED_FAULTS {
        let more = reasons.len() - MAX_NAMED_FAULTS;
        reasons.truncate(MAX_NAMED_FAULTS);
        reasons.push(format!("{more} more faults"));
    }
    reasons.join("; ")
}

/// Returns whether the path begins with a known field. Any other name is the user's own text.
fn is_known(path: &str) -> bool {
    let name = path.split(['.', '[']).next().unwrap_or(path);
    CreateBookmarkRequest::has_field(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &str) -> NewBookmark {
        read_bookmark(serde_json::from_str(line).unwrap(), &Guard::default()).unwrap()
    }

    fn skip_reason_of(line: &str) -> String {
        read_bookmark(serde_json::from_str(line).unwrap(), &Guard::default()).unwrap_err()
    }

    #[test]
    fn line_has_the_fields_of_a_bookmark() {
        let new =
            read_line(r#"{"url": "https://a.example/", "title": "T", "tags": ["x", "y"], "favorite": true}"#);

        assert_eq!((new.url.as_str(), new.title.as_deref()), ("https://a.example/", Some("T")));
        assert_eq!((new.tags, new.favorite), (vec!["x".to_owned(), "y".to_owned()], true));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let line = serde_json::json!({
            "url": "https://a.example/", "title": "ä".repeat(301), "tags": ["é".repeat(101)], "notes": "a\0b",
        });

        let new = read_line(&line.to_string());

        assert_eq!(new.title.map(|title| title.chars().count()), Some(300));
        assert_eq!(new.tags.first().map(|tag| tag.chars().count()), Some(100));
        assert_eq!(new.notes.as_deref(), Some("ab"));
    }

    #[test]
    fn names_of_a_line_lose_control_characters() {
        let new = read_line(r#"{"url": "https://a.example/", "title": "a\nb", "tags": ["x\u001by\u202ez"]}"#);

        assert_eq!((new.title.as_deref(), new.tags), (Some("a b"), vec!["x y\u{202e}z".to_owned()]));
    }

    #[test]
    fn reasons_name_unknown_fields_and_refused_urls() {
        assert_eq!(skip_reason_of(r#"{"title": "canary"}"#), "url is required");
        assert_eq!(skip_reason_of(r#"{"url": "canary"}"#), "not an http(s) address: `canary`");
        assert_eq!(skip_reason_of(r#"{"url": "https://a.example/", "titel": 1}"#), "unknown field `titel`");
        let saved_at = skip_reason_of(r#"{"url": "https://a.example/", "savedAt": "canary"}"#);
        assert!(saved_at.starts_with("savedAt must be a time") && !saved_at.contains("canary"), "{saved_at}");
    }

    #[test]
    fn quoted_urls_are_short_and_have_no_credentials() {
        assert_eq!(
            skip_reason_of(r#"{"url": "https://me:secret@a.example/b`c"}"#),
            "the URL contains a user name or a password: `https://a.example/b%60c`; remove them"
        );
        let long = skip_reason_of(&format!(r#"{{"url": "mailto:{}"}}"#, "x".repeat(5000)));
        assert_eq!(long.chars().count(), "not an http(s) address: ``".len() + MAX_QUOTED_CHARS);
        let protocol_relative = skip_reason_of(r#"{"url": "//me:secret@a.example/"}"#);
        assert_eq!(protocol_relative, "not an http(s) address: `//a.example/`");
    }

    #[test]
    fn reason_never_quotes_a_long_password() {
        let url = format!("https://me:{}@a.example/", "secret".repeat(2000));

        let reason = refused_url_reason(URL_NOT_FETCHABLE, None, &url);

        assert_eq!(reason, "the URL may not be fetched: `https://a.example/`");
    }

    #[test]
    fn credentials_of_every_url_in_a_text_are_removed() {
        let cases = [
            ("https://me:secret@a.example/", "https://a.example/"),
            ("https:\\\\me:secret@a.example/", "https://a.example/"),
            ("https:/me:secret@a.example/", "https://a.example/"),
            ("https://me:my word@a.example/", "https://a.example/"),
            ("//me:secret@a.example/", "//a.example/"),
            ("Sign in at //me:secret@a.example/", "Sign in at //a.example/"),
            ("Sign in at https:\\\\me:secret@a.example/", "Sign in at https:\\\\a.example/"),
            ("Sign in at https:/me:secret@a.example/", "Sign in at https:/a.example/"),
            ("Sign in at HTTPS:me:secret@a.example", "Sign in at HTTPS:a.example"),
            ("Sign in at https://me:secret@a.example/x today", "Sign in at https://a.example/x today"),
            ("ftp://me:p@ss@a.example and http://me@b.example", "ftp://a.example and http://b.example"),
            ("https://a.example/to/https://me:secret@b.example/", "https://a.example/to/https://b.example/"),
        ];
        for (text, cleaned) in cases {
            assert_eq!(without_credentials(text), cleaned);
        }
    }

    #[test]
    fn text_without_credentials_is_not_changed() {
        for text in [
            "",
            "Ants",
            "me@a.example",
            "://",
            "Posts: https://a.example/@me?to=b@c#d@e",
            "https://a.example?to=b@c",
            "See https://a.example or me@b.example",
            "Write to mailto:me@a.example or news:me@a.example",
            "and/or me@a.example",
            "C:\\me@a.example",
            // White space ends a URL in a text.
            "Sign in at https://me:my word@a.example",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }

    #[test]
    fn row_with_many_faults_names_the_first() {
        let fields = (0..20).map(|n| format!(r#", "canary{n:02}": 1"#)).collect::<String>();

        let reason = skip_reason_of(&format!(r#"{{"url": "https://a.example/"{fields}}}"#));

        assert!(
            reason.starts_with("unknown field `canary00`; ") && reason.ends_with("; 15 more faults"),
            "{reason}"
        );
    }

    #[test]
    fn private_url_is_accepted_only_with_content() {
        assert_eq!(
            skip_reason_of(r#"{"url": "http://10.0.0.1/"}"#),
            "the URL leads to a private or reserved IP address: `http://10.0.0.1/`; use the URL of a public page, or ask the operator \
             to allow the network (fetch.allow_private)"
        );
        assert_eq!(read_line(r#"{"url": "http://10.0.0.1/", "text": "T"}"#).url, "http://10.0.0.1/");
    }

    #[test]
    fn internal_error_is_no_fault_of_the_row() {
        assert_eq!(row_fault(&Error::internal("the disk is full")), None);
    }
}
