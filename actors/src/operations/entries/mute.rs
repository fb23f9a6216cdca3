//! Muted words of feeds: their list, a new rule, and the removal of one.

use entity::{entry, feed, feed_mute};
use errors::Error;
use library::feeds::{MAX_MUTES, MutedWords, list_mutes};
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::{ConnectionTrait, EntityTrait, FromQueryResult, IntoActiveModel};
use serde::Serialize;
use validation::{DisplayName, Id, NoFields, request};
use values::id::{EntryId, EntryMarkId, FeedId, FeedMuteId};
use values::scope::Scope;
use values::time::Timestamp;

use super::mark_above::mark_as_read;
use super::stream::unread_page;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// The newest unread entries to which a new rule is applied.
const MAX_TESTED_ENTRIES: u64 = 2000;

/// Words that mute entries of feeds.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MuteView {
    /// Id of the rule.
    pub id: FeedMuteId,
    /// The feed to which it applies; null for all feeds.
    pub feed_id: Option<FeedId>,
    /// The words.
    pub words: String,
    /// When the rule was made.
    pub created_at: Timestamp,
}

impl From<feed_mute::Model> for MuteView {
    fn from(row: feed_mute::Model) -> Self {
        Self { id: row.id, feed_id: row.feed_id, words: row.words, created_at: row.created_at }
    }
}

/// Lists the muted words of the user.
#[derive(Debug)]
pub struct ListMutes;

impl FromRequest for ListMutes {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The muted words of the user, at most 200 rules.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListMutesResponse {
    /// The rules, in the order in which they were made.
    pub mutes: Vec<MuteView>,
}

impl Operation for ListMutes {
    type Reply = ListMutesResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListMutesResponse, Error> {
        let rows = list_mutes(ctx.core.db.read(), caller.user).await?;
        Ok(ListMutesResponse { mutes: rows.into_iter().map(MuteView::from).collect() })
    }
}

/// Mutes entries that contain these words: those that arrive from now on, and the newest unread ones.
#[derive(Debug)]
pub struct AddMute {
    words: String,
    feed: Option<FeedId>,
}

request! {
    /// Words to mute.
    pub struct AddMuteRequest {
        /// One or more words that must occur in this order. Upper and lower case do not differ.
        pub words: DisplayName<2, 100>,
        /// Mutes only entries of this feed. Default: of all feeds.
        pub feed_id?: Id<FeedId>,
    }
}

impl FromRequest for AddMute {
    type Request = AddMuteRequest;

    fn from_request(_: &Target, request: AddMuteRequest) -> Result<Self, Error> {
        let words = request.words.into_inner().trim().to_owned();
        if !words.chars().any(char::is_alphanumeric) {
            return Err(Error::invalid("words", "must contain a letter or a digit"));
        }
        Ok(Self { words, feed: request.feed_id.map(Id::into_inner) })
    }
}

/// The new rule.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddMuteResponse {
    /// The new rule.
    pub mute: MuteView,
    /// Number of unread entries that the rule has marked as read.
    pub marked: usize,
    /// Id by which these marks are undone; null if there are none.
    pub mark_id: Option<EntryMarkId>,
}

impl Operation for AddMute {
    type Reply = AddMuteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AddMuteResponse, Error> {
        let (user, now) = (caller.user, ctx.core.clock.now());
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        if let Some(id) = self.feed {
            feed::Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
        }
        if list_mutes(&txn, user).await?.len() >= MAX_MUTES {
            return Err(Error::conflict("there are 200 muted words, which is the maximum; remove one first"));
        }
        let row = feed_mute::Model {
            id: FeedMuteId::new(now),
            user_id: user,
            feed_id: self.feed,
            words: self.words,
            created_at: now,
        };
        feed_mute::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        let muted = muted_entries(&txn, &row).await?;
        let mark_id = mark_as_read(&txn, user, &muted, now).await?;
        txn.commit().await?;
        Ok(AddMuteResponse { mute: row.into(), marked: muted.len(), mark_id })
    }
}

/// Returns the unread entries, of the newest ones, that a rule mutes.
async fn muted_entries(txn: &impl ConnectionTrait, rule: &feed_mute::Model) -> Result<Vec<EntryId>, Error> {
    let words = MutedWords::new(&rule.words);
    let backend = txn.get_database_backend();
    let unread = unread_page(rule.user_id, rule.feed_id, MAX_TESTED_ENTRIES, backend);
    let rows = entry::Model::find_by_statement(backend.build(&unread)).all(txn).await?;
    let is_muted = |row: &entry::Model| words.mute(&row.title, row.summary.as_deref());
    Ok(rows.iter().filter(|row| is_muted(row)).map(|row| row.id).collect())
}

/// Removes a rule. Entries that it has marked as read stay so.
#[derive(Debug)]
pub struct RemoveMute(FeedMuteId);

impl FromRequest for RemoveMute {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// The rule is removed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RemoveMuteResponse {}

impl Operation for RemoveMute {
    type Reply = RemoveMuteResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RemoveMuteResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let row = feed_mute::Entity::one_of(caller.user, self.0).one(&txn).await?.ok_or(Error::not_found())?;
        feed_mute::Entity::delete_owned_row(&txn, caller.user, row).await?;
        txn.commit().await?;
        Ok(RemoveMuteResponse {})
    }
}
