//! Following a feed: the feeds of an address, and the form that follows one.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::feeds::{DiscoverFeeds, FeedCandidate, FollowFeed, ListFeedTree};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::{Value, json};

use crate::http::session::is_from_own_site;
use crate::parts;
use crate::web::filters;
use crate::web::page::done::DoneMessage;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page that finds feeds and follows them.
#[derive(Template)]
#[template(path = "feeds/follow.html", blocks = ["dialog", "form"])]
struct FollowPage {
    shell: Shell,
    url: String,
    /// The feeds of the address; `None` before one was entered.
    candidates: Option<Vec<FeedCandidate>>,
    folder: String,
    folders: Vec<String>,
    full_text: bool,
    faults: FormFaults,
}

parts!(FollowPage { "dialog" => as_dialog, "follow-feed" => as_form });

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds/add").get(show).post(follow).mount(config);
}

/// Shows the form; with an address also the feeds that it leads to.
async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let sent = request.query.get("url").map(with_scheme);
    // A link or a picture of another site would choose what the server fetches: it only fills the form in.
    let Some(url) = sent.clone().filter(|_| is_from_own_site(&request.http)) else {
        let page = page(&request, sent.unwrap_or_default(), None, FormFaults::default()).await?;
        return request.show(&page);
    };
    match request.run_json::<DiscoverFeeds>(&Target(Vec::new()), json!({ "url": url })).await {
        Ok(found) => {
            let page = page(&request, url, Some(found.candidates), FormFaults::default()).await?;
            request.show(&page)
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let page = page(&request, url, None, faults).await?;
            request.show_with_status(status, &page)
        }
    }
}

/// Follows a feed.
async fn follow(request: PageRequest) -> Result<HttpResponse, Error> {
    let url = with_scheme(request.form.text("url"));
    let mut object = json!({ "url": url, "fullText": request.form.has("full_text") });
    // The title is sent by the form that takes back the end of following a feed.
    for name in ["title", "folder"] {
        if let (Some(value), Some(object)) = (request.form.get(name), object.as_object_mut()) {
            object.insert(name.to_owned(), Value::from(value));
        }
    }
    match request.run_json::<FollowFeed>(&Target(Vec::new()), object).await {
        Ok(followed) => {
            let key = if followed.created { "feeds-followed" } else { "feeds-followed-before" };
            request.done(&format!("/feeds?feed={}&show=all", followed.feed.feed_id), DoneMessage::new(key))
        }
        Err(error) => {
            let (status, faults) = FormFaults::from_error(error, request.locale())?;
            let page = page(&request, url, None, faults).await?;
            request.show_with_status(status, &page)
        }
    }
}

async fn page(
    request: &PageRequest,
    url: String,
    candidates: Option<Vec<FeedCandidate>>,
    faults: FormFaults,
) -> Result<FollowPage, Error> {
    let tree = request.run(ListFeedTree).await?;
    Ok(FollowPage {
        shell: request.shell(NavigationEntry::Feeds).await?,
        url,
        candidates,
        folder: request.form.text("folder").to_owned(),
        folders: tree.folders.into_iter().filter_map(|folder| folder.name).collect(),
        full_text: request.form.has("full_text"),
        faults,
    })
}

/// Completes an address that was typed without its scheme.
fn with_scheme(typed: &str) -> String {
    let typed = typed.trim();
    let is_complete = typed.is_empty() || typed.contains("://") || typed.starts_with("feed:");
    let address = typed.strip_prefix("feed:").map_or(typed, |rest| rest.trim_start_matches('/'));
    if is_complete && address == typed { typed.to_owned() } else { complete(address) }
}

fn complete(address: &str) -> String {
    if address.contains("://") { address.to_owned() } else { format!("https://{address}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_scheme_is_one_of_https() {
        for (typed, completed) in [
            (" slackwater.example ", "https://slackwater.example"),
            ("http://a.example/feed", "http://a.example/feed"),
            ("feed://a.example/rss", "https://a.example/rss"),
            ("feed:https://a.example/rss", "https://a.example/rss"),
            ("", ""),
        ] {
            assert_eq!(with_scheme(typed), completed);
        }
    }
}
