//! Onboarding: four ways to start, which of them the user has taken, and the sample project (web app, first run).
//!
//! What was done is read from the library itself, so it is right whichever surface did it.

use entity::{account_count, api_key, import, oauth_grant, project_count, web_state};
use errors::Error;
use library::sample_project;
use library::web_state as states;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use validation::NoFields;
use values::id::{ProjectId, UserId};
use values::kind::GrantState;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use library::owned_transaction::begin_request;

/// What a new user has done. The cards of the home page show it until all four are done or the user ends onboarding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OnboardingView {
    /// Whether something other than the sample texts is saved.
    pub has_saved: bool,
    /// Whether a file was imported.
    pub has_imported: bool,
    /// Whether a feed is followed.
    pub has_followed: bool,
    /// Whether an app is connected or a key was used.
    pub has_connected: bool,
    /// Whether onboarding is over: all four are done, or the user ended it.
    pub is_over: bool,
    /// The sample project; null if there is none.
    pub sample_project: Option<SampleProjectView>,
}

/// The sample project.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SampleProjectView {
    /// Id of the project.
    pub id: ProjectId,
    /// Its name.
    pub name: String,
    /// Number of its sources.
    pub source_count: i64,
}

/// Shows what a new user has done.
#[derive(Debug)]
pub struct ShowOnboarding;

/// Ends onboarding: its cards are not shown any more.
#[derive(Debug)]
pub struct EndOnboarding;

/// Creates the sample project, or returns the one that exists.
#[derive(Debug)]
pub struct AddSampleProject;

/// Removes the sample project with its texts.
#[derive(Debug)]
pub struct RemoveSampleProject;

macro_rules! without_fields {
    ($($name:ident),+) => {$(
        impl FromRequest for $name {
            type Request = NoFields;

            fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
                Ok(Self)
            }
        }
    )+};
}

without_fields!(ShowOnboarding, EndOnboarding, AddSampleProject, RemoveSampleProject);

impl Operation for ShowOnboarding {
    type Reply = OnboardingView;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<OnboardingView, Error> {
        let db = ctx.core.db.read();
        load(db, caller.user, states::find(db, caller.user).await?.as_ref()).await
    }
}

impl Operation for EndOnboarding {
    type Reply = OnboardingView;
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<OnboardingView, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let state = states::end_onboarding(&txn, caller.user, ctx.core.clock.now()).await?;
        let view = load(&txn, caller.user, Some(&state)).await?;
        txn.commit().await?;
        Ok(view)
    }
}

impl Operation for AddSampleProject {
    type Reply = OnboardingView;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects, Scope::WriteBookmarks];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<OnboardingView, Error> {
        sample_project::create(&ctx.core, &caller.owner()).await?;
        ctx.job_signal.notify();
        ShowOnboarding.run(caller, ctx).await
    }
}

impl Operation for RemoveSampleProject {
    type Reply = OnboardingView;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects, Scope::WriteBookmarks];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<OnboardingView, Error> {
        sample_project::remove(&ctx.core, &caller.owner()).await?;
        ctx.job_signal.notify();
        ShowOnboarding.run(caller, ctx).await
    }
}

/// Reads what a user has done.
pub async fn load(
    db: &impl ConnectionTrait,
    user: UserId,
    state: Option<&web_state::Model>,
) -> Result<OnboardingView, Error> {
    let sample = load_sample(db, user).await?;
    let counts = account_count::Entity::owned_by(user).one(db).await?;
    let (bookmarks, feeds) = counts.map_or((0, 0), |counts| (counts.bookmarks, counts.feeds));
    let sample_texts = sample.as_ref().map_or(0, |sample| sample.source_count);
    let (has_saved, has_followed) = (bookmarks > sample_texts, feeds > 0);
    let newest_import = import::Entity::owned_by(user).order_by_desc(import::Column::Id);
    let has_imported = newest_import.one(db).await?.is_some();
    let has_connected = has_connected(db, user).await?;
    let is_ended = state.is_some_and(|state| state.onboarding_ended_at.is_some());
    Ok(OnboardingView {
        has_saved,
        has_imported,
        has_followed,
        has_connected,
        is_over: is_ended || (has_saved && has_imported && has_followed && has_connected),
        sample_project: sample,
    })
}

async fn load_sample(db: &impl ConnectionTrait, user: UserId) -> Result<Option<SampleProjectView>, Error> {
    let Some(project) = sample_project::find(db, user).await? else { return Ok(None) };
    let count = project_count::Entity::owned_by(user)
        .filter(project_count::Column::ProjectId.eq(project.id))
        .one(db)
        .await?;
    let source_count = count.map_or(0, |count| count.sources);
    Ok(Some(SampleProjectView { id: project.id, name: project.name, source_count }))
}

/// Returns whether an app is connected or a key was used.
async fn has_connected(db: &impl ConnectionTrait, user: UserId) -> Result<bool, Error> {
    let grants = oauth_grant::Entity::owned_by(user).all(db).await?;
    if grants.iter().any(|grant| grant.state == GrantState::Connected) {
        return Ok(true);
    }
    let keys = api_key::Entity::created_by(user).order_by_asc(api_key::Column::Id).all(db).await?;
    Ok(keys.iter().any(|key| key.first_used_at.is_some()))
}
