//! Conditions for which the databases must not read an index.

use sea_orm::DbBackend;
use sea_orm::sea_query::{Expr, ExprTrait, Func};

/// Returns a column in a form that SQLite does not look up in an index: its value is tested on rows that are found in another way. Without
/// statistics SQLite prefers a range of one index to the order of another one, and to an equal value with few rows.
pub fn tested_only(column: Expr, backend: DbBackend) -> Expr {
    // PostgreSQL chooses by statistics, which it has of columns and not of expressions.
    if backend == DbBackend::Postgres { column } else { Expr::cust_with_expr("+?", column) }
}

/// Returns the condition that a column is null whose values are not negative, on rows that are found in another way. No partial index is
/// read for it: without statistics PostgreSQL expects next to no entries in an index of the rows where a column is null, and reads all of
/// them for each row of a join.
pub fn is_null_tested(column: Expr) -> Expr {
    let absent = || Expr::cust("-1");
    Expr::from(Func::coalesce([column, absent()])).eq(absent())
}

#[cfg(test)]
mod tests {
    use sea_orm::sea_query::Query;

    use super::*;
    use crate::test_support::QueryPlan;
    use crate::tests::TestDatabase;

    #[tokio::test]
    async fn index_of_a_tested_column_is_not_searched() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        let plan = async |column: Expr| {
            let found = Query::select().expr(Expr::col("n")).from("number").and_where(column.eq(1)).take();
            QueryPlan::of(&db, DbBackend::Sqlite.build(&found)).await.unwrap()
        };

        let found = plan(Expr::col("n")).await;
        let tested = plan(tested_only(Expr::col("n"), DbBackend::Sqlite)).await;

        assert!(found.has_step("(n=?)") && !tested.has_step("(n=?)"), "{found:#?} {tested:#?}");
    }
}
