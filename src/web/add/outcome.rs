//! What is known about an address before it is saved, and what became of it.

use actors::operations::bookmarks::{BookmarkView, CreateBookmark, FindBookmarksByUrl};
use actors::target::Target;
use errors::Error;
use library::bookmarks::require_fetchable;
use serde_json::{Map, Value, json};

use crate::web::library::rows::site_of;
use crate::web::locale::Locale;
use crate::web::page::errors::error_text;
use crate::web::page::request::PageRequest;

/// The longest title that the form takes along.
const MAX_TITLE_CHARS: usize = 300;

/// An address of the form, or a line that holds none.
#[derive(Clone, Debug)]
pub struct AddedPage {
    /// The address or the line.
    pub url: String,
    /// What is known about it.
    pub state: AddressState,
}

/// What is known about an address.
#[derive(Clone, Debug)]
pub enum AddressState {
    /// It is not saved.
    New,
    /// It was saved before.
    Known(Box<BookmarkView>),
    /// It was saved just now.
    Saved(Box<BookmarkView>),
    /// It is refused, with the reason as a sentence.
    Refused(String),
}

impl AddedPage {
    /// Whether it was saved just now.
    pub fn is_saved(&self) -> bool {
        matches!(self.state, AddressState::Saved(_))
    }

    /// Whether it was saved before.
    pub fn is_known(&self) -> bool {
        matches!(self.state, AddressState::Known(_))
    }

    /// Why it is refused.
    pub fn refusal(&self) -> Option<&str> {
        match &self.state {
            AddressState::Refused(reason) => Some(reason),
            AddressState::New | AddressState::Known(_) | AddressState::Saved(_) => None,
        }
    }

    /// The bookmark, if it is saved.
    pub fn bookmark(&self) -> Option<&BookmarkView> {
        match &self.state {
            AddressState::Known(bookmark) | AddressState::Saved(bookmark) => Some(bookmark),
            AddressState::New | AddressState::Refused(_) => None,
        }
    }

    /// The title, or the host while there is none. What is refused is shown whole, so that the user can find and correct it.
    pub fn title(&self) -> String {
        if self.refusal().is_some() {
            return self.url.clone();
        }
        let title = self.bookmark().map(|bookmark| bookmark.title.trim()).filter(|title| !title.is_empty());
        title.map_or_else(|| self.host(), str::to_owned)
    }

    /// The host, or the whole address if it has none.
    pub fn host(&self) -> String {
        let host = site_of(&self.url);
        if host.is_empty() { self.url.clone() } else { host }
    }
}

/// Looks up which addresses are saved, or refused.
pub async fn check_addresses(request: &PageRequest, urls: &[String]) -> Result<Vec<AddedPage>, Error> {
    if urls.is_empty() {
        return Ok(Vec::new());
    }
    let saved = request.run(FindBookmarksByUrl { urls: urls.to_vec() }).await?.bookmarks;
    let mut pages = Vec::with_capacity(urls.len());
    for (url, bookmark) in urls.iter().zip(saved) {
        let state = match bookmark {
            Some(bookmark) => AddressState::Known(Box::new(bookmark)),
            None => match require_fetchable(url, request.ctx.ingest.fetcher.guard()) {
                Ok(()) => AddressState::New,
                Err(error) => refused(request, error)?,
            },
        };
        pages.push(AddedPage { url: url.clone(), state });
    }
    Ok(pages)
}

/// Saves addresses with the tags and the collection of the form. The title counts for a single one.
pub async fn save_addresses(request: &PageRequest, urls: &[String]) -> Result<Vec<AddedPage>, Error> {
    let mut pages = Vec::with_capacity(urls.len());
    for url in urls {
        let page = page_to_save(request, url, urls.len() == 1);
        let state = match request.run_json::<CreateBookmark>(&Target::default(), page).await {
            Ok(saved) if saved.created => AddressState::Saved(Box::new(saved.bookmark)),
            Ok(saved) => AddressState::Known(Box::new(saved.bookmark)),
            Err(error) => refused(request, error)?,
        };
        pages.push(AddedPage { url: url.clone(), state });
    }
    Ok(pages)
}

/// Returns the lines that hold no address, each with the reason why it is refused.
pub fn refuse_lines(lines: &[String], locale: &Locale) -> Vec<AddedPage> {
    let reason = locale.t("add-refused-line");
    let refused =
        |line: &String| AddedPage { url: line.clone(), state: AddressState::Refused(reason.clone()) };
    lines.iter().map(refused).collect()
}

fn page_to_save(request: &PageRequest, url: &str, has_title: bool) -> Value {
    let form = &request.form;
    let mut page = Map::new();
    page.insert("url".to_owned(), json!(url));
    let tags = split_tags(form.text("tags"));
    if !tags.is_empty() {
        page.insert("tags".to_owned(), json!(tags));
    }
    if let Some(collection) = form.get("collection") {
        page.insert("collectionIds".to_owned(), json!([collection]));
    }
    let title: String = form.text("title").trim().chars().take(MAX_TITLE_CHARS).collect();
    if has_title && !title.is_empty() {
        page.insert("title".to_owned(), json!(title));
    }
    Value::Object(page)
}

/// Returns the tags of a field, which commas separate.
fn split_tags(tags: &str) -> Vec<String> {
    let tags = tags.split(',').map(|tag| tag.trim().trim_start_matches('#').trim());
    tags.filter(|tag| !tag.is_empty()).map(str::to_owned).collect()
}

/// Returns why an address is refused.
///
/// # Errors
/// The error itself if it is not about the address.
fn refused(request: &PageRequest, error: Error) -> Result<AddressState, Error> {
    let spec = error.spec();
    if spec.status >= 500 || spec.is_temporary || is_of_tags(&error) {
        return Err(error);
    }
    Ok(AddressState::Refused(error_text(request.locale(), &error).text))
}

/// Whether the tags of the form are at fault, which are the same for all addresses.
fn is_of_tags(error: &Error) -> bool {
    let Error::Invalid(invalid) = error else { return false };
    invalid.faults.iter().any(|fault| fault.field.starts_with("tags"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_tags() {
        assert_eq!(split_tags(" #tides, two words ,, mud,"), ["tides", "two words", "mud"]);
        assert!(split_tags(" , # ").is_empty());
    }
}
