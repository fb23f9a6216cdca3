//! The condition by which a list continues after a row.

use sea_orm::sea_query::{BinOper, Expr, ExprTrait};

/// Returns the condition that compares two columns with a position in the order of these columns.
///
/// It is a comparison of rows, of which both databases make one range of an index. SQLite reads the alternatives of an OR one by one and
/// sorts them.
pub fn compare_rows(columns: [Expr; 2], comparison: BinOper, position: [Expr; 2]) -> Expr {
    Expr::tuple(columns).binary(comparison, Expr::tuple(position))
}

#[cfg(test)]
mod tests {
    use sea_orm::sea_query::Query;
    use sea_orm::{ConnectionTrait, DbBackend};

    use super::*;
    use crate::test_support::QueryPlan;
    use crate::tests::TestDatabase;

    #[tokio::test]
    async fn rows_after_a_position_are_a_range_of_an_index() {
        let database = TestDatabase::new();
        let db = database.with_numbers().await;
        for table in ["CREATE TABLE pair (a INTEGER, b INTEGER)", "CREATE INDEX pair_order ON pair (a, b)"] {
            db.write().execute_unprepared(table).await.unwrap();
        }
        let (columns, position) = (["a", "b"].map(Expr::col), [1, 2].map(Expr::value));
        let after = compare_rows(columns, BinOper::GreaterThan, position);

        let found = Query::select().expr(Expr::col("b")).from("pair").and_where(after).take();
        let plan = QueryPlan::of(&db, DbBackend::Sqlite.build(&found)).await.unwrap();

        assert!(plan.has_step("pair_order ((a,b)>(?,?))"), "{plan:#?}");
    }
}
