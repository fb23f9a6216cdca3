//! The page of feeds: the tree, the entries and the open entry.

use actix_web::HttpResponse;
use actix_web::web::ServiceConfig;
use actors::operations::entries::{ListStream, StreamEntry};
use actors::operations::feeds::{FeedTreeResponse, ListFeedTree};
use actors::target::Target;
use askama::Template;
use errors::Error;
use serde_json::Value;
use values::time::Timestamp;

use super::manage::failure_times;
use super::open_entry::{self, OpenEntry};
use super::selection::{EntryShow, FeedSelection};
use crate::parts;
use crate::web::filters;
use crate::web::home::visit_words;
use crate::web::locale::Locale;
use crate::web::page::request::PageRequest;
use crate::web::page::route::PageRoute;
use crate::web::page::shell::{NavigationEntry, Shell};

/// The page of feeds.
#[derive(Template)]
#[template(path = "feeds/panes.html", blocks = ["tree", "entries", "reading"])]
struct FeedsPage {
    shell: Shell,
    selection: FeedSelection,
    tree: FeedTreeResponse,
    links: TreeLinks,
    title: String,
    /// Whether the title is the name of a feed or a folder.
    is_foreign_title: bool,
    count: Option<i64>,
    /// Why the listed feed cannot be fetched.
    failure: Option<FeedFailure>,
    rows: Vec<EntryRow>,
    visit: Option<String>,
    older_href: Option<String>,
    newest_href: Option<String>,
    /// The last entry that "mark all above" marks.
    mark_up_to: Option<String>,
    open: Option<OpenEntry>,
    list_href: String,
    own_path: String,
}

parts!(FeedsPage { "part-tree" => as_tree, "part-entries" => as_entries, "part-reading" => as_reading });

/// Addresses of the upper part of the tree.
struct TreeLinks {
    unread: String,
    all: String,
    starred: String,
}

/// The state of a feed that fails.
struct FeedFailure {
    error: String,
    /// Since when it fails, and when it is tried again.
    times: String,
    feed: String,
}

/// An entry in the list.
struct EntryRow {
    href: String,
    id: String,
    title: String,
    feed: String,
    summary: Option<String>,
    at: Timestamp,
    is_unread: bool,
    is_starred: bool,
    is_saved: bool,
    is_open: bool,
    /// Whether it is the first one that was there at the last visit.
    starts_old: bool,
}

pub(super) fn mount(config: &mut ServiceConfig) {
    PageRoute::new("/feeds").get(show).mount(config);
}

async fn show(request: PageRequest) -> Result<HttpResponse, Error> {
    let selection = FeedSelection::of(&request.query);
    let open = match request.query.get("entry") {
        Some(id) => Some(open_entry::load(&request, &selection, id).await?),
        None => None,
    };
    let tree = request.run(ListFeedTree).await?;
    let list =
        request.run_json::<ListStream>(&Target(Vec::new()), list_request(&request, &selection)).await?;
    let last_visit_at = tree.last_visit_at;
    let rows = rows(&request, &selection, list.entries, last_visit_at);
    let cursor = request.query.get("cursor");
    let (title, is_foreign_title) = title(&request, &selection, &tree);
    let mark_up_to = rows.iter().find(|row| row.is_open).or(rows.last()).map(|row| row.id.clone());
    let page = FeedsPage {
        shell: request.shell(NavigationEntry::Feeds).await?,
        links: TreeLinks {
            unread: everything(EntryShow::Unread).href(&[]),
            all: everything(EntryShow::All).href(&[]),
            starred: everything(EntryShow::Starred).href(&[]),
        },
        count: unread_count(&selection, &tree),
        failure: failure(request.locale(), &selection, &tree),
        visit: last_visit_at.map(|at| visit_words(request.locale(), at)),
        older_href: list.next_cursor.map(|cursor| selection.href(&[("cursor", &cursor)])),
        newest_href: cursor.map(|_| selection.href(&[])),
        list_href: selection.href(&cursor.map(|cursor| ("cursor", cursor)).into_iter().collect::<Vec<_>>()),
        own_path: own_path(&request),
        selection,
        tree,
        title,
        is_foreign_title,
        rows,
        mark_up_to,
        open,
    };
    request.show(&page)
}

/// All feeds with these marks.
fn everything(show: EntryShow) -> FeedSelection {
    FeedSelection { feed: None, folder: None, show }
}

fn list_request(request: &PageRequest, selection: &FeedSelection) -> Value {
    let mut object = selection.members();
    for (parameter, member) in [("cursor", "cursor"), ("entry", "openId")] {
        if let Some(value) = request.query.get(parameter) {
            object.insert(member.to_owned(), value.into());
        }
    }
    Value::Object(object)
}

/// The address of this page without what is shown once, to which its forms return.
fn own_path(request: &PageRequest) -> String {
    let query = request.query.query_without(&["done", "keep"]);
    if query.is_empty() { "/feeds".to_owned() } else { format!("/feeds?{query}") }
}

fn rows(
    request: &PageRequest,
    selection: &FeedSelection,
    entries: Vec<StreamEntry>,
    last_visit_at: Option<Timestamp>,
) -> Vec<EntryRow> {
    let (open, cursor) = (request.query.get("entry"), request.query.get("cursor"));
    let is_old = |entry: &StreamEntry| last_visit_at.is_some_and(|visit| entry.listed_at <= visit);
    // No divider before the first entry: all of the page was there then, or an earlier page has the divider.
    let first_old = entries.iter().position(is_old).filter(|index| *index > 0);
    let row = |(index, entry): (usize, StreamEntry)| {
        let id = entry.entry.entry_id.to_string();
        let mut more: Vec<(&str, &str)> = cursor.map(|cursor| ("cursor", cursor)).into_iter().collect();
        more.push(("entry", &id));
        EntryRow {
            href: format!("{}#entry", selection.href(&more)),
            title: entry.entry.title,
            feed: entry.feed_title,
            summary: entry.entry.summary,
            at: entry.listed_at,
            is_unread: !entry.entry.read,
            is_starred: entry.entry.starred,
            is_saved: entry.entry.bookmark_id.is_some(),
            is_open: open == Some(id.as_str()),
            starts_old: first_old == Some(index),
            id,
        }
    };
    entries.into_iter().enumerate().map(row).collect()
}

/// Returns the heading of the list, and whether it is a name that the feed or the user gave, rather than a text of the catalogue.
fn title(request: &PageRequest, selection: &FeedSelection, tree: &FeedTreeResponse) -> (String, bool) {
    if let Some(id) = &selection.feed {
        let mut feeds = tree.folders.iter().flat_map(|folder| &folder.feeds);
        let feed = feeds.find(|feed| feed.feed.feed_id.to_string() == *id);
        return (feed.map(|feed| feed.feed.title.clone()).unwrap_or_default(), true);
    }
    if let Some(folder) = &selection.folder {
        return (folder.clone(), true);
    }
    let key = match selection.show {
        EntryShow::Unread => "feeds-unread",
        EntryShow::All => "feeds-all",
        EntryShow::Starred => "feeds-starred",
    };
    (request.locale().t(key), false)
}

/// Returns the number of unread entries of the listed feeds; `None` where the list is of others too.
fn unread_count(selection: &FeedSelection, tree: &FeedTreeResponse) -> Option<i64> {
    if selection.show == EntryShow::Starred {
        return None;
    }
    if let Some(id) = &selection.feed {
        let mut feeds = tree.folders.iter().flat_map(|folder| &folder.feeds);
        return feeds.find(|feed| feed.feed.feed_id.to_string() == *id).map(|feed| feed.feed.unread_count);
    }
    if let Some(name) = &selection.folder {
        return tree
            .folders
            .iter()
            .find(|folder| folder.name.as_ref() == Some(name))
            .map(|folder| folder.unread);
    }
    Some(tree.unread)
}

fn failure(locale: &Locale, selection: &FeedSelection, tree: &FeedTreeResponse) -> Option<FeedFailure> {
    let id = selection.feed.as_ref()?;
    let mut feeds = tree.folders.iter().flat_map(|folder| &folder.feeds);
    let feed = feeds.find(|feed| feed.feed.feed_id.to_string() == *id)?;
    Some(FeedFailure {
        error: feed.feed.last_error.clone()?,
        times: failure_times(locale, feed),
        feed: id.clone(),
    })
}

impl FeedsPage {
    /// The address of a feed in the tree, with the marks of this page.
    fn feed_href(&self, id: &impl ToString) -> String {
        let show = if self.selection.show == EntryShow::All { EntryShow::All } else { EntryShow::Unread };
        FeedSelection { feed: Some(id.to_string()), folder: None, show }.href(&[])
    }

    /// The address of a folder in the tree.
    fn folder_href(&self, name: &str) -> String {
        let show = if self.selection.show == EntryShow::All { EntryShow::All } else { EntryShow::Unread };
        FeedSelection { feed: None, folder: Some(name.to_owned()), show }.href(&[])
    }

    /// The same feeds with all entries, or with the unread ones.
    fn show_href(&self, name: &str) -> String {
        let show = if name == "all" { EntryShow::All } else { EntryShow::Unread };
        self.selection.showing(show).href(&[])
    }

    fn is_everything(&self, show: &str) -> bool {
        self.selection.feed.is_none() && self.selection.folder.is_none() && self.selection.show.name() == show
    }

    fn is_feed(&self, id: &impl ToString) -> bool {
        self.selection.feed.as_ref() == Some(&id.to_string())
    }

    fn is_folder(&self, name: &str) -> bool {
        self.selection.folder.as_deref() == Some(name)
    }
}
