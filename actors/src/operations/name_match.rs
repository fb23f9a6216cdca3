//! The condition that a name contains a text, for lists that are filtered by names.

use sea_orm::ColumnTrait;
use sea_orm::sea_query::{Expr, ExprTrait, Func, LikeExpr};

use super::bookmarks::{escape_like, spellings};

/// Returns the condition that a name contains a text; case does not count. SQLite changes the case of ASCII letters alone, so the text is
/// looked for in its usual spellings.
///
/// No index serves it. A statement with it begins with the owner, is in the order of an index, and has a limit.
pub(super) fn name_contains(name: impl ColumnTrait, text: &str) -> Expr {
    let contains = |spelling: &String| {
        let pattern = LikeExpr::new(format!("%{}%", escape_like(spelling))).escape('\\');
        Expr::expr(Func::lower(name.into_expr())).like(pattern)
    };
    spellings(text).iter().map(contains).reduce(Expr::or).unwrap_or_else(|| Expr::value(false))
}
