//! What tests of this crate and of its users need: the statements that are sent, how the database runs them, and its errors.

mod error;
mod explainer;
mod large_tables;
mod query_plan;
mod schema;
mod statement_log;
mod triggers;

pub use error::refusal_with_code;
pub use explainer::Explainer;
pub use query_plan::{PartialRead, QueryPlan, ResidualFilter};
pub use statement_log::{DistinctStatements, StatementLog};
