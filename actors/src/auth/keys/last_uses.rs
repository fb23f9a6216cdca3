//! The last uses of keys in their rows.

use entity::api_key;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, QueryFilter};
use values::id::KeyId;

use crate::auth::last_use::LastUses;

/// Writes absolute times and names, so uses that are written again change nothing.
pub(crate) async fn write_last_uses(txn: &impl ConnectionTrait, uses: &LastUses<KeyId>) -> Result<(), DbErr> {
    for (key, used) in uses.iter() {
        // A key that was revoked meanwhile matches no row, which is no error.
        let mut update = api_key::Entity::update_owned(used.user)
            .col_expr(api_key::Column::LastUsedAt, Expr::value(used.at))
            .filter(api_key::Column::Id.eq(key));
        if let Some(client) = &used.client {
            update = update.col_expr(api_key::Column::LastClient, Expr::value(client.to_string()));
        }
        update.exec(txn).await?;
    }
    Ok(())
}
