//! Following a feed (contract.md, section 6: POST /feeds).

use entity::feed;
use entity::id::{FeedId, UserId};
use entity::scope::Scope;
use entity::time::Timestamp;
use runtime::Lane;
use schemars::JsonSchema;
use sea_orm::sea_query::OnConflict;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, TryInsertResult};
use serde::Serialize;
use web::PageUrl;

use super::find::Found;
use super::kinds;
use super::view::{self, FeedView};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::ingest::feed::deliver;
use library::feeds::source;
use library::library_quota::LibraryRoom;
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Which feed, and how it is kept.
#[derive(Debug)]
pub struct FollowFeed {
    url: String,
    title: Option<String>,
    folder: Option<String>,
    full_text: bool,
}

impl FollowFeed {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("url", kinds::URL, "URL of a feed, or of a page that links to one."),
        Field::optional("title", kinds::NAME, "A title that replaces the feed's own."),
        Field::optional("folder", kinds::NAME, "The folder of the feed."),
        Field::optional(
            "fullText",
            Kind::Flag,
            "Whether to fetch the page of an entry if the feed contains only a summary. Default `false`.",
        ),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            url: values.text("url").unwrap_or_default(),
            title: values.text("title").and_then(tidy),
            folder: values.text("folder").and_then(tidy),
            full_text: values.flag("fullText").unwrap_or(false),
        })
    }
}

/// A name without white space around it; none where it is empty.
pub fn tidy(name: String) -> Option<String> {
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}

/// The followed feed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FollowFeedResponse {
    feed: FeedView,
    /// `false`: it was followed already.
    #[serde(skip)]
    pub created: bool,
}

impl Operation for FollowFeed {
    type Reply = FollowFeedResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<FollowFeedResponse, Error> {
        let url = parse(&self.url)?;
        if let Some(row) = followed(ctx.core.db.read(), caller.user, &url).await? {
            return Ok(FollowFeedResponse { feed: view::one(ctx.core.db.read(), row).await?, created: false });
        }
        let search = ctx.feed_searches.find(ctx, caller.user, url).await?;
        let (feed, address) = (search.found.feed.clone(), search.found.url.as_str().to_owned());
        let coming = ctx.core.workers.run(Lane::Foreground, move || deliver::prepare(feed, &address)).await?;
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let (row, created) = self.follow(&txn, caller.user, &search.found, now).await?;
        if created {
            room.must_fit(0)?;
            deliver::deliver(&txn, &row, coming, now).await?;
            room.must_hold(&txn).await?;
        }
        let feed = view::one(&txn, row).await?;
        txn.commit().await?;
        search.end_stored();
        ctx.job_signal.notify();
        Ok(FollowFeedResponse { feed, created })
    }
}

impl FollowFeed {
    async fn follow(
        self,
        txn: &impl ConnectionTrait,
        user: UserId,
        found: &Found,
        now: Timestamp,
    ) -> Result<(feed::Model, bool), Error> {
        let there = source::settle(txn, &found.url, now).await?;
        let id = there.id;
        if let Some(validators) = &found.fetched {
            source::arrived(txn, there, &found.feed, validators.clone(), now).await?;
            // The one fetch serves the others too.
            source::ask_deliveries(txn, id, None, now).await?;
        }
        let row = feed::Model {
            id: FeedId::new(now),
            user_id: user,
            source_id: id,
            url: found.url.as_str().to_owned(),
            title: self.title,
            folder: self.folder,
            full_text: self.full_text,
            created_at: now,
        };
        insert(txn, row).await
    }
}

/// Follows a source; the row that is there where it is followed already (`false`).
pub async fn insert(txn: &impl ConnectionTrait, row: feed::Model) -> Result<(feed::Model, bool), Error> {
    let taken = OnConflict::columns([feed::Column::SourceId, feed::Column::UserId]).do_nothing().to_owned();
    let made = feed::Entity::insert(row.clone().into_active_model())
        .on_conflict(taken)
        .try_insert()
        .exec_without_returning(txn)
        .await?;
    if matches!(made, TryInsertResult::Inserted(1)) {
        return Ok((row, true));
    }
    let there = feed::Entity::owned_by(row.user_id).filter(feed::Column::SourceId.eq(row.source_id));
    Ok((there.one(txn).await?.ok_or(Error::StillRunning)?, false))
}

/// An address as it was given.
///
/// # Errors
/// [`Error::UrlRejected`].
pub fn parse(url: &str) -> Result<PageUrl, Error> {
    Ok(PageUrl::parse(url)?)
}

/// The user's feed of this very address.
pub async fn followed(
    db: &impl ConnectionTrait,
    user: UserId,
    url: &PageUrl,
) -> Result<Option<feed::Model>, Error> {
    let Some(source) = source::with_address(db, &url.normalized()).await? else { return Ok(None) };
    Ok(feed::Entity::owned_by(user).filter(feed::Column::SourceId.eq(source.id)).one(db).await?)
}
