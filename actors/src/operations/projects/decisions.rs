//! Lists, creates, changes and deletes the decisions of a project (contract.md, section 9).

use entity::decision::{Column, Entity, Model};
use entity::project;
use schemars::JsonSchema;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder,
};
use serde::Serialize;
use values::id::{DecisionId, ProjectId, UserId};
use values::kind::DecisionStatus;
use values::scope::Scope;
use values::time::Timestamp;

use super::DEFAULT_LIMIT;
use super::field_types::{ProjectText, ProjectTitle};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use library::projects;
use validation::{Choice, DisplayName, NoFields, Text, request};

/// A decision of a project, whatever its status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    /// Id of the decision.
    pub id: DecisionId,
    /// Title, in one line.
    pub title: String,
    /// What was decided, and why; may be empty.
    pub body: String,
    /// Whether it is proposed, decided or rejected.
    pub status: DecisionStatus,
    /// When the status became `decided`; null with another status.
    pub decided_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl From<Model> for DecisionView {
    fn from(row: Model) -> Self {
        let Model { id, title, body, status, decided_at, created_at, updated_at, .. } = row;
        Self { id, title, body, status, decided_at, created_at, updated_at }
    }
}

/// A decision, as it is after the request.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionResponse {
    /// The decision after the request.
    pub decision: DecisionView,
}

/// A page of a project's decisions.
#[derive(Debug)]
pub struct ListDecisions {
    project: ProjectId,
    page: PageRequest,
}

request! {
    /// A page of the decisions of a project.
    pub struct ListDecisionsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of results. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListDecisions {
    type Request = ListDecisionsRequest;

    fn from_request(target: &Target, request: ListDecisionsRequest) -> Result<Self, Error> {
        let page = PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT);
        Ok(Self { project: target.id(0)?, page })
    }
}

/// A page of a project's decisions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListDecisionsResponse {
    /// The decisions of the page.
    pub decisions: Vec<DecisionView>,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

impl Operation for ListDecisions {
    type Reply = ListDecisionsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListDecisionsResponse, Error> {
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let list = self.page.of_list(ctx, caller, ListName::selected_by("decisions", project.id));
        let after: Option<DecisionId> = list.position()?;
        let mut query = Entity::within(&project).order_by_desc(Column::Id);
        if let Some(after) = after {
            query = query.filter(Column::Id.lt(after));
        }
        let ListPage { rows, next_cursor } = list.fetch(query, |row| row.id).await?;
        Ok(ListDecisionsResponse {
            decisions: rows.into_iter().map(DecisionView::from).collect(),
            next_cursor,
        })
    }
}

/// Records a decision in a project that is not archived.
#[derive(Debug)]
pub struct CreateDecision {
    project: ProjectId,
    title: String,
    body: String,
    status: DecisionStatus,
}

request! {
    /// A new decision in a project.
    pub struct CreateDecisionRequest {
        /// What was decided, in one line of 1 to 300 characters.
        pub title: ProjectTitle,
        /// What was decided, and why. Default: empty.
        pub body?: ProjectText,
        /// `proposed`, `decided` or `rejected`. Assistants see only decided ones. Default `proposed`.
        pub status?: Choice<DecisionStatus>,
    }
}

impl FromRequest for CreateDecision {
    type Request = CreateDecisionRequest;

    fn from_request(target: &Target, request: CreateDecisionRequest) -> Result<Self, Error> {
        Ok(Self {
            project: target.id(0)?,
            title: request.title.into_inner(),
            body: request.body.map(Text::into_inner).unwrap_or_default(),
            status: request.status.map_or(DecisionStatus::Proposed, Choice::into_inner),
        })
    }
}

/// Returns since when a decision is in force: it keeps that time as long as its status is `decided`.
fn decided_at(status: DecisionStatus, before: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    match status {
        DecisionStatus::Decided => Some(before.unwrap_or(now)),
        DecisionStatus::Proposed | DecisionStatus::Rejected => None,
    }
}

impl Operation for CreateDecision {
    type Reply = DecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DecisionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let project = projects::lock_active(&txn, caller.user, self.project).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let row = Model {
            id: DecisionId::new(now),
            user_id: caller.user,
            project_id: project.id,
            title: self.title,
            body: self.body,
            status: self.status,
            decided_at: decided_at(self.status, None, now),
            created_at: now,
            updated_at: now,
        };
        Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        projects::touch(&txn, &project, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(DecisionResponse { decision: row.into() })
    }
}

/// A decision of a project, as the path names it.
#[derive(Debug)]
struct DecisionPath {
    project: ProjectId,
    decision: DecisionId,
}

impl DecisionPath {
    fn from_target(target: &Target) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, decision: target.id(1)? })
    }

    /// Locks the project for a change and returns it with the decision.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an unknown project or decision; [`Error::ProjectArchived`].
    async fn lock(&self, txn: &impl ConnectionTrait, user: UserId) -> Result<(project::Model, Model), Error> {
        let project = projects::lock(txn, user, self.project).await?;
        let found = Entity::within(&project).filter(Column::Id.eq(self.decision)).one(txn).await?;
        // 404 before 409, also in an archived project (contract.md, section 2: order of checks).
        let decision = found.ok_or(Error::not_found())?;
        Ok((projects::require_active(project)?, decision))
    }
}

/// Changes the given fields of a decision; `None` keeps a field.
#[derive(Debug)]
pub struct ChangeDecision {
    path: DecisionPath,
    title: Option<String>,
    body: Option<String>,
    status: Option<DecisionStatus>,
}

request! {
    /// The changes of a decision.
    pub struct ChangeDecisionRequest {
        /// The new title, 1 to 300 characters.
        pub title?: ProjectTitle,
        /// The new text: what was decided, and why. `null` empties it.
        pub body~: ProjectText,
        /// The new status. `decidedAt` is set when it becomes `decided`, and removed when it becomes another one.
        pub status?: Choice<DecisionStatus>,
    }
}

impl FromRequest for ChangeDecision {
    type Request = ChangeDecisionRequest;

    fn from_request(target: &Target, request: ChangeDecisionRequest) -> Result<Self, Error> {
        Ok(Self {
            path: DecisionPath::from_target(target)?,
            title: request.title.map(DisplayName::into_inner),
            body: request.body.map(Text::into_inner).into_change().map(Option::unwrap_or_default),
            status: request.status.map(Choice::into_inner),
        })
    }
}

impl Operation for ChangeDecision {
    type Reply = DecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DecisionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (project, row) = self.path.lock(&txn, caller.user).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let status = self.status.unwrap_or(row.status);
        let mut changed = Model {
            title: self.title.unwrap_or_else(|| row.title.clone()),
            body: self.body.unwrap_or_else(|| row.body.clone()),
            status,
            decided_at: decided_at(status, row.decided_at, now),
            ..row.clone()
        };
        if changed != row {
            changed.updated_at = now;
            let update = changed.clone().into_active_model().reset_all();
            Entity::update_owned_row(&txn, caller.user, update).await?;
            projects::touch(&txn, &project, now).await?;
            room.must_hold(&txn).await?;
        }
        txn.commit().await?;
        Ok(DecisionResponse { decision: changed.into() })
    }
}

/// Deletes a decision of a project that is not archived.
#[derive(Debug)]
pub struct DeleteDecision(DecisionPath);

impl FromRequest for DeleteDecision {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        DecisionPath::from_target(target).map(Self)
    }
}

/// The decision was deleted from its project.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteDecisionResponse {}

impl Operation for DeleteDecision {
    type Reply = DeleteDecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteDecisionResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let (project, row) = self.0.lock(&txn, caller.user).await?;
        Entity::delete_owned_row(&txn, caller.user, row).await?;
        projects::touch(&txn, &project, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(DeleteDecisionResponse {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decided_at_is_kept_while_the_status_is_decided() {
        let (before, now) = (Timestamp::from_millis(1), Timestamp::from_millis(2));

        assert_eq!(decided_at(DecisionStatus::Decided, None, now), Some(now));
        assert_eq!(decided_at(DecisionStatus::Decided, Some(before), now), Some(before));
        assert_eq!(decided_at(DecisionStatus::Rejected, Some(before), now), None);
        assert_eq!(decided_at(DecisionStatus::Proposed, None, now), None);
    }
}
