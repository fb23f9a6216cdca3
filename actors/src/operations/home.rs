//! The home page: what to continue, what is new, what was saved, and one highlight of the day.
//!
//! All of it comes from a fixed number of statements, each a range of an index, so that it takes as long in a large library as in a
//! small one.

mod continued;
mod highlight_of_day;

use entity::{bookmark, notice};
use errors::Error;
use library::web_state;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder, QuerySelect};
use serde::Serialize;
use validation::{Integer, request};
use values::id::{BookmarkId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

pub use continued::ContinuedView;
pub use highlight_of_day::DayHighlightView;

use super::bookmarks::{BookmarkView, load_views};
use super::entries::{StreamEntry, new_entries};
use super::notices::{NoticeView, load_notices};
use super::onboarding::{self, OnboardingView};
use super::projects::{ListProjects, ProjectView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Texts that are continued.
const MAX_CONTINUED_TEXTS: usize = 3;
/// Saves that are listed.
const MAX_SAVED_BOOKMARKS: u64 = 5;
/// New entries that are listed.
const MAX_ENTRIES: u64 = 5;
/// Projects that are listed.
const MAX_PROJECTS: usize = 3;
/// Unread notices that are listed.
const MAX_NOTICES: u64 = 2;

/// Shows the home page, and records the visit.
#[derive(Debug)]
pub struct ShowHome {
    turn: u32,
}

request! {
    /// The home page.
    pub struct ShowHomeRequest {
        /// Shows another highlight of the day for each number. Default 0.
        pub turn?: Integer<0, 1000>,
    }
}

impl ShowHome {
    /// Requests the page with another highlight of the day for each number.
    pub fn with_turn(turn: u32) -> Self {
        Self { turn }
    }
}

impl FromRequest for ShowHome {
    type Request = ShowHomeRequest;

    fn from_request(_: &Target, request: ShowHomeRequest) -> Result<Self, Error> {
        Ok(Self { turn: request.turn.and_then(Integer::convert).unwrap_or_default() })
    }
}

/// What the home page shows. A part without content is empty.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HomeResponse {
    /// What a new user has done; null once onboarding is over.
    pub onboarding: Option<OnboardingView>,
    /// Texts that were begun and not finished, the one that was read last first; at most 3.
    pub continued: Vec<ContinuedView>,
    /// Number of texts that were begun, not finished and not archived, at most 100.
    pub continued_count: usize,
    /// The newest unread entries of feeds, at most 5.
    pub new_entries: Vec<StreamEntry>,
    /// Number of unread entries since the last visit, at most 100; 0 during the first visit.
    pub new_entry_count: usize,
    /// The end of the visit before this one; null during the first.
    pub last_visit_at: Option<Timestamp>,
    /// What was saved last, at most 5, also if it could not be read.
    pub saved: Vec<BookmarkView>,
    /// A highlight of the library, another one each day; null without highlights.
    pub highlight: Option<DayHighlightView>,
    /// Projects that were active last, at most 3.
    pub projects: Vec<ProjectView>,
    /// Unread notices, the newest first; at most 2.
    pub notices: Vec<NoticeView>,
}

impl Operation for ShowHome {
    type Reply = HomeResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary, Scope::ReadEntries];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<HomeResponse, Error> {
        let (user, now, db) = (caller.user, ctx.core.clock.now(), ctx.core.db.read());
        let state = visit(ctx, user, now).await?;
        let last_visit_at = state.as_ref().and_then(|state| state.last_visit_at);
        let is_ended = state.as_ref().is_some_and(|state| state.onboarding_ended_at.is_some());
        let onboarding = if is_ended {
            None
        } else {
            Some(onboarding::load(db, user, state.as_ref()).await?).filter(|view| !view.is_over)
        };
        let begun = continued::select_ids(db, user).await?;
        let shown = begun.get(..MAX_CONTINUED_TEXTS).unwrap_or(&begun);
        // Two statements: a bookmark may be in both lists.
        let begun_views = load_views(&ctx.core, db, user, shown).await?;
        let saved = load_views(&ctx.core, db, user, &saved_ids(db, user).await?).await?;
        let entries = new_entries(db, user, last_visit_at, MAX_ENTRIES).await?;
        let mut projects = ListProjects::first_page(None, None).run(caller, ctx).await?.projects;
        projects.truncate(MAX_PROJECTS);
        Ok(HomeResponse {
            onboarding,
            continued: continued::load(db, user, begun_views).await?,
            continued_count: begun.len(),
            new_entries: entries.entries,
            new_entry_count: entries.since,
            last_visit_at,
            saved,
            highlight: highlight_of_day::load(db, user, now, self.turn).await?,
            projects,
            notices: unread_notices(ctx, user).await?,
        })
    }
}

/// Lists what was saved last, for the part of the home page that changes while a text is being made. It records no visit.
#[derive(Debug)]
pub struct ListLastSaved;

/// What was saved last.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListLastSavedResponse {
    /// The bookmarks, at most 5, also if they could not be read.
    pub saved: Vec<BookmarkView>,
}

impl Operation for ListLastSaved {
    type Reply = ListLastSavedResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListLastSavedResponse, Error> {
        let (user, db) = (caller.user, ctx.core.db.read());
        let saved = load_views(&ctx.core, db, user, &saved_ids(db, user).await?).await?;
        Ok(ListLastSavedResponse { saved })
    }
}

/// Records the visit. A page is shown although this fails, such as on a full disk: then the state of before holds.
async fn visit(
    ctx: &OperationContext,
    user: UserId,
    now: Timestamp,
) -> Result<Option<entity::web_state::Model>, Error> {
    match web_state::record_visit(&ctx.core.db, user, now).await {
        Ok(state) => Ok(Some(state)),
        Err(error) => {
            tracing::warn!(%error, "could not record the visit of a user");
            Ok(web_state::find(ctx.core.db.read(), user).await?)
        }
    }
}

/// Returns what a user saved last.
async fn saved_ids(db: &impl ConnectionTrait, user: UserId) -> Result<Vec<BookmarkId>, Error> {
    let ids = bookmark::Entity::visible_to(user)
        .order_by_desc(bookmark::Column::SavedAt)
        .order_by_desc(bookmark::Column::Id)
        .limit(MAX_SAVED_BOOKMARKS)
        .select_only()
        .column(bookmark::Column::Id);
    Ok(ids.into_tuple().all(db).await?)
}

async fn unread_notices(ctx: &OperationContext, user: UserId) -> Result<Vec<NoticeView>, Error> {
    let rows = notice::Entity::owned_by(user)
        .filter(notice::Column::ReadAt.is_null())
        .order_by_desc(notice::Column::Id)
        .limit(MAX_NOTICES)
        .all(ctx.core.db.read())
        .await?;
    load_notices(ctx, user, rows).await
}
