//! Tags: the list, and how tags are renamed, merged and deleted, with undo.

use std::borrow::Cow;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::bookmarks::UndoToken;
use actors::operations::tag_changes::{DeleteTags, FindTags, FindTagsResponse, MergeTags};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::json;
use url::form_urlencoded::Serializer;

use super::library::rows::tag_href;
use super::page::done::DoneMessage;
use super::page::faults::FormFaults;
use super::page::fields::own_path;
use super::page::request::PageRequest;
use super::page::route::PageRoute;
use super::page::shell::{NavigationEntry, Shell};
use crate::parts;
use crate::web::filters;
use crate::web::strings::MessageValue;

/// Tags of a page.
const PAGE_TAGS: u64 = 100;

/// The tags.
#[derive(Template)]
#[template(path = "tags/tags.html", blocks = ["list"])]
struct TagsPage {
    shell: Shell,
    tab: &'static str,
    tags: FindTagsResponse,
    words: String,
    is_by_count: bool,
    here: String,
    next: Option<String>,
    /// The selected tags, if a form has faults.
    selected: Vec<String>,
    into: String,
    faults: FormFaults,
}

parts!(TagsPage { "tags-list" => as_list });

/// Mounts the pages.
pub fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/tags").get(show).post(change).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    respond(&request, StatusCode::OK, FormFaults::default()).await
}

/// Returns the page of tags in a field of a form: without its filters if the field names another page.
fn back_path(back: &str) -> String {
    let own = own_path(back).filter(|path| path.starts_with("/tags"));
    own.map_or_else(|| "/tags".to_owned(), Cow::into_owned)
}

async fn respond(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let fields = &request.query;
    let (words, is_by_count) =
        (fields.get("q").unwrap_or_default().trim().to_owned(), fields.get("sort") != Some("name"));
    let mut list = json!({ "limit": PAGE_TAGS, "sort": if is_by_count { "-count" } else { "name" } });
    if let Some(list) = list.as_object_mut() {
        if !words.is_empty() {
            list.insert("q".to_owned(), json!(words));
        }
        if let Some(cursor) = fields.get("cursor") {
            list.insert("cursor".to_owned(), json!(cursor));
        }
    }
    let tags = request.run_json::<FindTags>(&Target::default(), list).await?;
    let shell = request.shell(NavigationEntry::Settings).await?;
    let here = address(&words, is_by_count, fields.get("cursor"));
    let next = tags.next_cursor.as_deref().map(|cursor| address(&words, is_by_count, Some(cursor)));
    let selected = request.form.all("name").map(str::to_owned).collect();
    let into = request.form.text("into").to_owned();
    let page = TagsPage { shell, tab: "tags", tags, words, is_by_count, here, next, selected, into, faults };
    request.show_with_status(status, &page)
}

fn address(words: &str, is_by_count: bool, cursor: Option<&str>) -> String {
    let mut query = Serializer::new(String::new());
    if !words.is_empty() {
        query.append_pair("q", words);
    }
    if !is_by_count {
        query.append_pair("sort", "name");
    }
    if let Some(cursor) = cursor {
        query.append_pair("cursor", cursor);
    }
    let query = query.finish();
    if query.is_empty() { "/tags".to_owned() } else { format!("/tags?{query}") }
}

async fn change(request: PageRequest) -> Result<HttpResponse, Error> {
    let names: Vec<&str> = request.form.all("name").collect();
    let back = back_path(request.form.text("back"));
    if names.is_empty() {
        return request.done(&back, DoneMessage::new("library-done-nothing"));
    }
    let changed = match request.form.text("action") {
        "delete" => {
            let names = json!({ "names": names });
            let deleted = request.run_json::<DeleteTags>(&Target::default(), names).await;
            deleted.map(|done| ("tags-done-deleted", done))
        }
        "merge" => {
            let into = request.form.text("into").trim().trim_start_matches('#');
            let merge = json!({ "names": names, "into": into });
            let merged = request.run_json::<MergeTags>(&Target::default(), merge).await;
            merged.map(|done| ("tags-done-merged", done))
        }
        _ => return Err(Error::UnknownRoute),
    };
    match changed {
        Ok((key, done)) => request.done(&back, message(key, done.changed, done.undo, &back)),
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            respond(&request, status, faults).await
        }
    }
}

/// Says what was changed, with its undo.
fn message(key: &'static str, changed: usize, undo: Option<UndoToken>, back: &str) -> DoneMessage {
    let count = MessageValue::Number(i64::try_from(changed).unwrap_or(i64::MAX));
    let message = DoneMessage::new(key).with("count", count);
    match undo {
        Some(undo) => {
            let token = undo.token.to_string();
            message.undo("/library/undo", &[("token", &token), ("back", back)])
        }
        None => message,
    }
}

impl TagsPage {
    fn href(&self, name: &str) -> String {
        tag_href(name)
    }

    fn is_selected(&self, name: &str) -> bool {
        self.selected.iter().any(|selected| selected == name)
    }

    /// Two tags of the page that look like the same one: the less and the more frequent one.
    fn look_alike(&self) -> Option<(&str, &str)> {
        look_alike(self.tags.tags.iter().map(|tag| (tag.name.as_str(), tag.count)))
    }

    fn other_order(&self) -> String {
        address(&self.words, !self.is_by_count, None)
    }
}

/// Returns two names that differ in case, in a final `s`, or in hyphens alone: the less frequent one first.
fn look_alike<'a>(tags: impl Iterator<Item = (&'a str, i64)>) -> Option<(&'a str, &'a str)> {
    let mut seen: std::collections::HashMap<String, (&str, i64)> = std::collections::HashMap::new();
    for (name, count) in tags {
        let plain: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
        let plain = plain.strip_suffix('s').map_or(plain.clone(), str::to_owned);
        if plain.chars().count() < 3 {
            continue;
        }
        if let Some((other, other_count)) = seen.insert(plain, (name, count)) {
            return Some(if count > other_count { (other, name) } else { (name, other) });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_leads_back_to_pages_of_tags_alone() {
        assert_eq!(back_path("/tags?q=sea"), "/tags?q=sea");
        for other in ["", "/library", "//evil.example", "/tags\r\nx: y"] {
            assert_eq!(back_path(other), "/tags", "{other:?}");
        }
    }

    #[test]
    fn tags_that_look_alike_are_found() {
        let tags = [("harbours", 61), ("mud", 40), ("harbour", 4), ("muds", 50)];

        assert_eq!(look_alike(tags.into_iter()), Some(("harbour", "harbours")));
        assert_eq!(
            look_alike([("Sea-birds", 2), ("seabirds", 1)].into_iter()),
            Some(("seabirds", "Sea-birds"))
        );
        assert_eq!(look_alike([("a", 1), ("as", 2), ("mud", 3)].into_iter()), None);
    }
}
