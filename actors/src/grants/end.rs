//! The end of connections. A connection's number moves on, so every token and code of before it is dead by one statement;
//! removing their rows is tidiness.
//!
//! Each step that changes connections of a person holds that person's row first, so such steps come one after another,
//! on two nodes too, and never wait for each other in a circle.

use entity::id::{ClientId, UserId};
use entity::kind::GrantState;
use entity::{oauth_code, oauth_consent, oauth_grant, oauth_token, user};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, ConnectionTrait, DatabaseTransaction, DbErr, EntityTrait, QueryFilter, QuerySelect,
};

use crate::state;

/// The person, held until the transaction ends; `None` where the account is shut or gone.
pub async fn living_owner(txn: &DatabaseTransaction, user: UserId) -> Result<Option<user::Model>, DbErr> {
    let owner = user::Entity::find_by_id(user).lock_exclusive().one(txn).await?;
    Ok(owner.filter(|owner| owner.disabled_at.is_none()))
}

/// Ends a connection, unless it has ended or was made anew since; whether it did.
pub async fn end(
    txn: &impl ConnectionTrait,
    grant: &oauth_grant::Model,
    state: GrantState,
) -> Result<bool, DbErr> {
    forget_codes(txn, grant.user_id, grant.client_id).await?;
    let ended = oauth_grant::Entity::update_many()
        .col_expr(oauth_grant::Column::State, Expr::value(state))
        .col_expr(oauth_grant::Column::Branch, Expr::col(oauth_grant::Column::Branch).add(1))
        .filter(oauth_grant::Column::Id.eq(grant.id))
        .filter(oauth_grant::Column::Branch.eq(grant.branch))
        .filter(oauth_grant::Column::State.eq(GrantState::Connected))
        .exec(txn)
        .await?;
    if ended.rows_affected == 0 {
        return Ok(false);
    }
    oauth_token::Entity::delete_many().filter(oauth_token::Column::GrantId.eq(grant.id)).exec(txn).await?;
    state::raise_generation(txn).await?;
    Ok(true)
}

/// Ends every connection of a person, and what was on its way to one. The caller holds the person's row and raises the
/// generation.
pub async fn end_all(txn: &impl ConnectionTrait, user: UserId) -> Result<(), DbErr> {
    oauth_consent::Entity::delete_many().filter(oauth_consent::Column::UserId.eq(user)).exec(txn).await?;
    oauth_code::Entity::delete_many().filter(oauth_code::Column::UserId.eq(user)).exec(txn).await?;
    oauth_grant::Entity::update_many()
        .col_expr(oauth_grant::Column::State, Expr::value(GrantState::Disconnected))
        .col_expr(oauth_grant::Column::Branch, Expr::col(oauth_grant::Column::Branch).add(1))
        .filter(oauth_grant::Column::UserId.eq(user))
        .filter(oauth_grant::Column::State.eq(GrantState::Connected))
        .exec(txn)
        .await?;
    let own = Query::select()
        .column(oauth_grant::Column::Id)
        .from(oauth_grant::Entity)
        .and_where(oauth_grant::Column::UserId.eq(user))
        .take();
    let tokens =
        oauth_token::Entity::delete_many().filter(Expr::col(oauth_token::Column::GrantId).in_subquery(own));
    tokens.exec(txn).await.map(drop)
}

/// Codes that wait for their exchange work no more.
async fn forget_codes(txn: &impl ConnectionTrait, user: UserId, client: ClientId) -> Result<(), DbErr> {
    oauth_code::Entity::delete_many()
        .filter(oauth_code::Column::UserId.eq(user))
        .filter(oauth_code::Column::ClientId.eq(client))
        .filter(oauth_code::Column::UsedAt.is_null())
        .exec(txn)
        .await
        .map(drop)
}
