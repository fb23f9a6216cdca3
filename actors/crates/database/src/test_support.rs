//! What tests of this crate and of its users need: the statements that are sent, how the database runs them, and its errors.

mod error;
mod query_plan;
mod statement_log;

pub use error::refusal_with_code;
pub use query_plan::QueryPlan;
pub use statement_log::StatementLog;
