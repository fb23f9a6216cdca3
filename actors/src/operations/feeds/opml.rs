//! Lists of feeds, out for other readers and in from them (OPML 2.0).

use std::collections::{BTreeMap, HashSet};

use entity::id::{FeedId, ImportId, UserId};
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{feed, feed_source};
use parse::bookmarks::{Format, RowContent};
use parse::feed::{OpmlDocument, Outline};
use quick_xml::escape::escape;
use sandbox::SandboxError;
use schemars::JsonSchema;
use sea_orm::{ConnectionTrait, QueryOrder};
use serde::Serialize;
use web::{Guard, PageUrl};

use super::follow;
use super::view::{self, FeedView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::imports;
use library::feeds::source;
use jobs::{Priority, JobKind};
use crate::operations::target::Target;
use crate::pipeline::Operation;

/// Feeds of one transaction.
const AT_ONCE: usize = 100;
const NAME: usize = 300;

/// All feeds of the caller as a list.
#[derive(Debug)]
pub struct ExportOpml;

impl ExportOpml {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The followed feeds as OPML.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportOpmlResponse {
    opml: String,
}

impl Operation for ExportOpml {
    type Reply = ExportOpmlResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportOpmlResponse, Error> {
        Ok(ExportOpmlResponse { opml: list(ctx.core.db.read(), caller.user).await? })
    }
}

/// All feeds of a person as a list.
///
/// # Errors
/// The database.
pub async fn list(db: &impl ConnectionTrait, user: UserId) -> Result<String, Error> {
    let rows = feed::Entity::owned_by(user).order_by_asc(feed::Column::Id).all(db).await?;
    let mut folders: BTreeMap<Option<String>, Vec<FeedView>> = BTreeMap::new();
    for some in rows.chunks(AT_ONCE) {
        for feed in view::many(db, user, some.to_vec()).await? {
            folders.entry(feed.folder().map(str::to_owned)).or_default().push(feed);
        }
    }
    Ok(written(&folders))
}

/// Feeds without a folder first, then folder by folder.
fn written(folders: &BTreeMap<Option<String>, Vec<FeedView>>) -> String {
    let mut opml = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n<head><title>Carrel</title></head>\n<body>\n",
    );
    for (folder, feeds) in folders {
        if let Some(folder) = folder {
            opml.push_str(&format!("<outline text=\"{0}\" title=\"{0}\">\n", escape(folder.as_str())));
        }
        feeds.iter().for_each(|feed| opml.push_str(&outline(feed)));
        if folder.is_some() {
            opml.push_str("</outline>\n");
        }
    }
    opml.push_str("</body>\n</opml>\n");
    opml
}

fn outline(feed: &FeedView) -> String {
    let site = feed.site_url().map(|site| format!(" htmlUrl=\"{}\"", escape(site))).unwrap_or_default();
    let (title, url) = (escape(feed.title()), escape(feed.url()));
    format!("<outline type=\"rss\" text=\"{title}\" title=\"{title}\" xmlUrl=\"{url}\"{site}/>\n")
}

/// A list whose feeds are followed.
#[derive(Debug)]
pub struct ImportOpml(String);

impl ImportOpml {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[Field::required("opml", Kind::Content, "The OPML document.")];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(values.text("opml").unwrap_or_default()))
    }
}

/// The feeds of the OPML document, by what became of them. New feeds are followed at once; their entries arrive when they are fetched.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportOpmlResponse {
    /// Id of the import, under which the web app shows what became of each feed.
    import_id: ImportId,
    /// Number of different URLs in the document.
    found: usize,
    /// Number of feeds that are followed from now on.
    new: usize,
    /// Number of feeds that were followed before.
    already_followed: usize,
    /// Number of URLs that may not be fetched.
    refused: usize,
}

impl Operation for ImportOpml {
    type Reply = ImportOpmlResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    fn count(reply: &ImportOpmlResponse) -> Option<usize> {
        Some(reply.found)
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ImportOpmlResponse, Error> {
        let feeds = distinct(read(ctx, &self.0).await?.feeds);
        let rows = feeds.into_iter().map(RowContent::Feed).collect();
        let import = imports::take_rows(ctx, caller, Format::Opml, rows).await?;
        ctx.job_signal.notify();
        let count = |rows: i32| usize::try_from(rows).unwrap_or_default();
        let (new, already_followed, refused) =
            (count(import.created), count(import.updated), count(import.skipped));
        let found = new + already_followed + refused;
        Ok(ImportOpmlResponse { import_id: import.id, found, new, already_followed, refused })
    }
}

/// Each feed of a list once.
fn distinct(mut feeds: Vec<Outline>) -> Vec<Outline> {
    let mut seen = HashSet::new();
    feeds.retain(|feed| {
        let address = follow::parse(&feed.url).map_or_else(|_| feed.url.clone(), |url| url.normalized());
        seen.insert(address)
    });
    feeds
}

async fn read(ctx: &OperationContext, opml: &str) -> Result<OpmlDocument, Error> {
    match ctx.ingest.sandbox.read_opml(opml).await {
        Ok(Some(list)) => Ok(list),
        Ok(None) => Err(Error::invalid("opml", "is not OPML")),
        Err(error @ SandboxError::Unavailable(_)) => Err(Error::internal(error)),
        Err(
            SandboxError::Crashed
            | SandboxError::OutOfMemory
            | SandboxError::TimedOut
            | SandboxError::TooLarge
            | SandboxError::Article(_)
            | SandboxError::Audio(_)
            | SandboxError::Pdf(_)
            | SandboxError::Import(_),
        ) => Err(Error::invalid("opml", "is OPML that cannot be read: it is malformed or too large")),
    }
}

/// The address of a feed, where it may be fetched.
pub fn followable(url: &str, guard: &Guard) -> Option<PageUrl> {
    follow::parse(url).ok().filter(|url| guard.check_url(url).is_ok())
}

/// Follows a feed of a list, whatever will be found at its address; `false` where it was followed already.
pub async fn follow_listed(
    txn: &impl ConnectionTrait,
    user: UserId,
    url: &PageUrl,
    outline: &Outline,
    full_text: bool,
    now: Timestamp,
) -> Result<(FeedId, bool), Error> {
    let source: feed_source::Model = source::settle(txn, url, now).await?;
    let cut = |name: &Option<String>| name.as_deref().map(|name| text::cut(name, NAME));
    let row = feed::Model {
        id: FeedId::new(now),
        user_id: user,
        source_id: source.id,
        url: url.as_str().to_owned(),
        title: cut(&outline.title),
        folder: cut(&outline.folder),
        full_text,
        created_at: now,
    };
    let (row, created) = follow::insert(txn, row).await?;
    if created && source.fetched_at.is_some() {
        jobs::enqueue(txn, user, JobKind::DeliverEntries, row.id.0, Priority::Backlog, now).await?;
    }
    Ok((row.id, created))
}
