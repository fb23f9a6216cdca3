//! The decisions of a project (contract.md, section 9).

use entity::decision::{Column, Entity, Model};
use entity::id::{DecisionId, ProjectId, UserId};
use entity::kind::DecisionStatus;
use entity::project;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, ModelTrait, QueryFilter,
    QueryOrder, QuerySelect,
};
use serde::Serialize;

use super::{DEFAULT_LIMIT, kinds, open_for_writing, readable, touch};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use library::library_quota::LibraryRoom;
use crate::operations::page::{CURSOR, PageOf};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

const BODY: Field = Field::optional("body", kinds::TEXT, "What was decided, and why.");
const STATUS: Field = Field::optional("status", Kind::Choice(DecisionStatus::NAMES), "Where it stands.");

/// A decision as it is shown.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DecisionView {
    id: DecisionId,
    title: String,
    body: String,
    status: DecisionStatus,
    decided_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl From<Model> for DecisionView {
    fn from(row: Model) -> Self {
        let Model { id, title, body, status, decided_at, created_at, updated_at, .. } = row;
        Self { id, title, body, status, decided_at, created_at, updated_at }
    }
}

/// One decision under its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DecisionResponse {
    decision: DecisionView,
}

/// A page of a project's decisions.
#[derive(Debug)]
pub struct ListDecisions {
    project: ProjectId,
    page: PageOf,
}

impl ListDecisions {
    /// The parameters of the route.
    pub const FIELDS: &'static [Field] = &[CURSOR, kinds::LIMIT];

    /// Reads path and parameters.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, page: PageOf::read(&mut values, DEFAULT_LIMIT) })
    }
}

/// Decisions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListDecisionsResponse {
    decisions: Vec<DecisionView>,
    next_cursor: Option<String>,
}

impl Operation for ListDecisions {
    type Reply = ListDecisionsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListDecisionsResponse, Error> {
        let project = readable(ctx.core.db.read(), caller.user, self.project).await?;
        let list = format!("decisions:{}", project.id);
        let after: Option<DecisionId> = self.page.position(ctx, caller.user, &list)?;
        let mut query = Entity::within(&project).order_by_desc(Column::Id);
        if let Some(after) = after {
            query = query.filter(Column::Id.lt(after));
        }
        let mut rows = query.limit(self.page.limit + 1).all(ctx.core.db.read()).await?;
        let next_cursor = self.page.cut(ctx, caller.user, &list, &mut rows, |row| row.id);
        Ok(ListDecisionsResponse {
            decisions: rows.into_iter().map(DecisionView::from).collect(),
            next_cursor,
        })
    }
}

/// A new decision.
#[derive(Debug)]
pub struct CreateDecision {
    project: ProjectId,
    title: String,
    body: String,
    status: DecisionStatus,
}

impl CreateDecision {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] =
        &[Field::required("title", kinds::TITLE, "What it is about."), BODY, STATUS];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            project: target.id(0)?,
            title: values.text("title").unwrap_or_default(),
            body: values.text("body").unwrap_or_default(),
            status: status(&mut values).unwrap_or(DecisionStatus::Proposed),
        })
    }
}

fn status(values: &mut Values) -> Option<DecisionStatus> {
    values.name("status").and_then(|name| name.parse().ok())
}

/// Since when a decision holds: it keeps the time at which it became decided, as long as it is.
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
        let txn = begin_request(&ctx.core.db, caller).await?;
        let project = open_for_writing(&txn, caller.user, self.project).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
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
        touch(&txn, &project, now).await?;
        room.must_hold(&txn).await?;
        txn.commit().await?;
        Ok(DecisionResponse { decision: row.into() })
    }
}

/// A decision of a project, by its path.
#[derive(Debug)]
struct Place {
    project: ProjectId,
    decision: DecisionId,
}

impl Place {
    fn read(target: &Target) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, decision: target.id(1)? })
    }

    /// The project, to be written to, and the decision in it.
    async fn open(&self, txn: &impl ConnectionTrait, user: UserId) -> Result<(project::Model, Model), Error> {
        let project = super::locked(txn, user, self.project).await?;
        let found = Entity::within(&project).filter(Column::Id.eq(self.decision)).one(txn).await?;
        let decision = found.ok_or(Error::not_found())?;
        Ok((super::must_be_open(project)?, decision))
    }
}

/// What is to be different.
#[derive(Debug)]
pub struct ChangeDecision {
    place: Place,
    title: Option<String>,
    body: Option<String>,
    status: Option<DecisionStatus>,
}

impl ChangeDecision {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] =
        &[Field::optional("title", kinds::TITLE, "The new title."), BODY, STATUS];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self {
            place: Place::read(target)?,
            title: values.text("title"),
            body: values.change("body").map(Option::unwrap_or_default),
            status: status(&mut values),
        })
    }
}

impl Operation for ChangeDecision {
    type Reply = DecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DecisionResponse, Error> {
        let now = ctx.core.clock.now();
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (project, row) = self.place.open(&txn, caller.user).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
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
            changed.clone().into_active_model().reset_all().update(&txn).await?;
            touch(&txn, &project, now).await?;
            room.must_hold(&txn).await?;
        }
        txn.commit().await?;
        Ok(DecisionResponse { decision: changed.into() })
    }
}

/// Which goes.
#[derive(Debug)]
pub struct DeleteDecision(Place);

impl DeleteDecision {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Place::read(target).map(Self)
    }
}

/// The decision was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteDecisionResponse {}

impl Operation for DeleteDecision {
    type Reply = DeleteDecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DeleteDecisionResponse, Error> {
        let txn = begin_request(&ctx.core.db, caller).await?;
        let (project, row) = self.0.open(&txn, caller.user).await?;
        row.delete(&txn).await?;
        touch(&txn, &project, ctx.core.clock.now()).await?;
        txn.commit().await?;
        Ok(DeleteDecisionResponse {})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_keeps_the_time_at_which_it_became_decided_as_long_as_it_is() {
        let (before, now) = (Timestamp::from_millis(1), Timestamp::from_millis(2));

        assert_eq!(decided_at(DecisionStatus::Decided, None, now), Some(now));
        assert_eq!(decided_at(DecisionStatus::Decided, Some(before), now), Some(before));
        assert_eq!(decided_at(DecisionStatus::Rejected, Some(before), now), None);
        assert_eq!(decided_at(DecisionStatus::Proposed, None, now), None);
    }
}
