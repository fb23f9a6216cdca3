//! The last uses of grants in their rows.

use entity::oauth_grant;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use values::id::GrantId;

use crate::auth::last_use::LastUses;

/// Writes absolute times, so uses that are written again change nothing.
pub(crate) async fn write_last_uses(
    txn: &impl ConnectionTrait,
    uses: &LastUses<GrantId>,
) -> Result<(), DbErr> {
    for (grant, used) in uses.iter() {
        // A grant that was removed meanwhile matches no row, which is no error.
        oauth_grant::Entity::update_owned(used.user)
            .col_expr(oauth_grant::Column::LastUsedAt, Expr::value(used.at))
            .filter(oauth_grant::Column::Id.eq(grant))
            .exec(txn)
            .await?;
    }
    Ok(())
}
