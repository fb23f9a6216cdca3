//! Shows one decision of a project.

use entity::decision::{Column, Entity};
use errors::Error;
use library::projects;
use sea_orm::{ColumnTrait, QueryFilter};
use validation::NoFields;
use values::id::{DecisionId, ProjectId};
use values::scope::Scope;

use super::decisions::{DecisionResponse, DecisionView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Shows a decision of a project.
#[derive(Debug)]
pub struct ShowDecision {
    project: ProjectId,
    decision: DecisionId,
}

impl FromRequest for ShowDecision {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, decision: target.id(1)? })
    }
}

impl Operation for ShowDecision {
    type Reply = DecisionResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadProjects];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<DecisionResponse, Error> {
        let project = projects::find(ctx.core.db.read(), caller.user, self.project).await?;
        let found =
            Entity::within(&project).filter(Column::Id.eq(self.decision)).one(ctx.core.db.read()).await?;
        Ok(DecisionResponse { decision: DecisionView::from(found.ok_or(Error::not_found())?) })
    }
}
