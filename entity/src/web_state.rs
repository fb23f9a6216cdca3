//! What the web app remembers of a user between visits.

use sea_orm::entity::prelude::*;
use values::id::{ProjectId, UserId};
use values::time::Timestamp;

/// What the web app remembers of a user: visits and the state of onboarding. Created with the first visit.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "web_state")]
pub struct Model {
    /// The user.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// Time at which a page was opened, to a few minutes.
    pub seen_at: Timestamp,
    /// The end of the visit before the current one; `None` during the first visit.
    pub last_visit_at: Option<Timestamp>,
    /// Time at which the user ended onboarding; `None` until then.
    pub onboarding_ended_at: Option<Timestamp>,
    /// The sample project, if the user has it. The project may have been deleted since.
    pub sample_project_id: Option<ProjectId>,
}

crate::owned::owned_table!();
