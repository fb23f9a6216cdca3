//! What the searches of PostgreSQL have in common, in SQL.

/// Settings of the transaction of a search. The time limit of a statement is short enough that a search ends within two seconds, including
/// the wait for the server of the index. The planner knows neither how common the words of a query are nor whose they are, so it may not
/// read whole tables, and compiling a plan would take longer than running it.
pub(super) const SEARCH_SETTINGS: &str =
    "SET LOCAL statement_timeout = 250; SET LOCAL enable_seqscan = off; SET LOCAL jit = off";
