//! All feeds with their health, and muted words.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use actors::operations::entries::{ListMutes, MuteView};
use actors::operations::feeds::{FollowedFeed, ListFeedTree};
use askama::Template;
use errors::Error;
use values::time::Timestamp;

use crate::parts;
use crate::web::filters;
use crate::web::locale::Locale;
use crate::web::page::faults::FormFaults;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};
use crate::web::strings::MessageValue::{Number, Text};

/// All feeds of a user.
#[derive(Template)]
#[template(path = "feeds/manage.html")]
pub(super) struct ManagePage {
    shell: Shell,
    folders: Vec<ManagedFolder>,
    /// Names of all folders, which the field of a folder suggests.
    names: Vec<String>,
    feed_count: usize,
    failing: usize,
    mutes: Vec<MuteRow>,
    /// All feeds, by which muted words are limited to one.
    feeds: Vec<(String, String)>,
    words: String,
    faults: FormFaults,
}

parts!(ManagePage {});

struct ManagedFolder {
    name: Option<String>,
    feeds: Vec<ManagedFeed>,
}

/// A feed with what can be changed.
struct ManagedFeed {
    id: String,
    title: String,
    url: String,
    site: Option<String>,
    folder: String,
    full_text: bool,
    entries: String,
    fetched_at: Option<Timestamp>,
    error: Option<String>,
    times: String,
}

struct MuteRow {
    id: String,
    words: String,
    feed: Option<String>,
}

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds/manage").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let page = load(&request, FormFaults::default()).await?;
    request.show(&page)
}

/// Shows the page with what is wrong with the form of muted words.
pub(super) async fn show_faults(
    request: &PageRequest,
    status: StatusCode,
    faults: FormFaults,
) -> Result<HttpResponse, Error> {
    let page = load(request, faults).await?;
    request.show_with_status(status, &page)
}

async fn load(request: &PageRequest, faults: FormFaults) -> Result<ManagePage, Error> {
    let locale = request.locale();
    let tree = request.run(ListFeedTree).await?;
    let mutes = request.run(ListMutes).await?.mutes;
    let all = tree.folders.iter().flat_map(|folder| &folder.feeds);
    let feeds: Vec<(String, String)> =
        all.map(|feed| (feed.feed.feed_id.to_string(), feed.feed.title.clone())).collect();
    let mute_row = |mute: MuteView| {
        let feed = mute.feed_id.map(|id| id.to_string());
        let title = |id: String| feeds.iter().find(|(of, _)| *of == id).map(|(_, title)| title.clone());
        MuteRow { id: mute.id.to_string(), words: mute.words, feed: feed.and_then(title) }
    };
    Ok(ManagePage {
        shell: request.shell(NavigationEntry::Feeds).await?,
        mutes: mutes.into_iter().map(mute_row).collect(),
        names: tree.folders.iter().filter_map(|folder| folder.name.clone()).collect(),
        feed_count: tree.feed_count,
        failing: tree.failing,
        folders: tree
            .folders
            .into_iter()
            .map(|folder| ManagedFolder {
                name: folder.name,
                feeds: folder.feeds.into_iter().map(|feed| managed(feed, locale)).collect(),
            })
            .collect(),
        words: request.form.text("words").to_owned(),
        feeds,
        faults,
    })
}

fn managed(followed: FollowedFeed, locale: &Locale) -> ManagedFeed {
    let times = failure_times(locale, &followed);
    let feed = followed.feed;
    ManagedFeed {
        id: feed.feed_id.to_string(),
        title: feed.title,
        url: feed.url,
        site: feed.site_url.filter(|url| url.starts_with("https://") || url.starts_with("http://")),
        folder: feed.folder.unwrap_or_default(),
        full_text: feed.full_text,
        entries: locale.t_with("feeds-entries", &[("count", Number(feed.entry_count))]),
        fetched_at: feed.last_fetched_at,
        error: feed.last_error,
        times,
    }
}

/// Returns since when a feed fails and when it is tried again, as sentences; that it is not, if it is gone.
pub(super) fn failure_times(locale: &Locale, feed: &FollowedFeed) -> String {
    let at = |time: Timestamp| [("time", Text(locale.date_time(time)))];
    let since = feed.failing_since.map(|since| locale.t_with("feeds-failing-since", &at(since)));
    let next = match feed.feed.next_fetch_at {
        Some(next) => locale.t_with("feeds-next-try", &at(next)),
        None => locale.t("feeds-gone"),
    };
    since.into_iter().chain([next]).collect::<Vec<_>>().join(" ")
}
