//! AI budget that a user spent in one UTC month, by group.

use sea_orm::entity::prelude::*;
use values::id::UserId;
use values::kind::BudgetGroup;
use values::time::Month;

/// AI budget that a user spent in one UTC month, by group.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "usage_month")]
pub struct Model {
    /// The user who spent the budget.
    #[sea_orm(primary_key, auto_increment = false)]
    pub user_id: UserId,
    /// The UTC month in which it was spent.
    #[sea_orm(primary_key, auto_increment = false)]
    pub month: Month,
    /// The group of the budget.
    #[sea_orm(primary_key, auto_increment = false)]
    pub budget_group: BudgetGroup,
    /// Number of uses, such as answers or recordings.
    pub times: i64,
    /// Number of tokens, as counted towards the AI budget.
    pub tokens: i64,
}

crate::owned::owned_table!();
