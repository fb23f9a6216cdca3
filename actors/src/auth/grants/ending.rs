//! The end of connections. A connection's number moves on, so every token and code of before it is dead by one statement.
//! Their rows stay until they would have expired: whoever presents one of them is told that it is dead, and did not guess.
//!
//! Each step that changes connections of a person holds that person's row first, so such steps come one after another,
//! on two nodes too, and never wait for each other in a circle.

use database::Transaction;
use entity::id::{ClientId, UserId};
use entity::kind::{CodeState, GrantState};
use entity::{oauth_code, oauth_consent, oauth_grant, user};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, UpdateMany};

use crate::service_state;

/// The person, held until the transaction ends; `None` where the account is shut or gone.
pub async fn living_owner(txn: &Transaction, user: UserId) -> Result<Option<user::Model>, DbErr> {
    let owner = user::Entity::find_by_id(user).lock_exclusive().one(txn).await?;
    Ok(owner.filter(|owner| owner.disabled_at.is_none()))
}

/// How a connection ends. It lives again only by being made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// By the person, with the account, or for want of use.
    Disconnected,
    /// By the application, or because a secret of it was used twice.
    Revoked,
}

impl From<ConnectionEnd> for GrantState {
    fn from(ending: ConnectionEnd) -> Self {
        match ending {
            ConnectionEnd::Disconnected => GrantState::Disconnected,
            ConnectionEnd::Revoked => GrantState::Revoked,
        }
    }
}

/// The one transition from connected to ended, of whichever connections are chosen: under the next number nothing that was
/// issued works.
pub fn ended(ending: ConnectionEnd) -> UpdateMany<oauth_grant::Entity> {
    use oauth_grant::Column;
    oauth_grant::Entity::update_many()
        .col_expr(Column::State, Expr::value(GrantState::from(ending)))
        .col_expr(Column::Branch, Expr::col(Column::Branch).add(1))
        .filter(Column::State.eq(GrantState::Connected))
}

/// Ends a connection, unless it has ended or was made anew since; whether it did.
pub async fn end(
    txn: &impl ConnectionTrait,
    grant: &oauth_grant::Model,
    ending: ConnectionEnd,
) -> Result<bool, DbErr> {
    forget_codes(txn, grant.user_id, grant.client_id).await?;
    let ended = ended(ending)
        .filter(oauth_grant::Column::Id.eq(grant.id))
        .filter(oauth_grant::Column::Branch.eq(grant.branch))
        .exec(txn)
        .await?;
    if ended.rows_affected == 0 {
        return Ok(false);
    }
    service_state::raise_generation(txn).await?;
    Ok(true)
}

/// Ends every connection of a person, and what was on its way to one. The caller holds the person's row and raises the
/// generation.
pub async fn end_all(txn: &impl ConnectionTrait, user: UserId) -> Result<(), DbErr> {
    oauth_consent::Entity::delete_many().filter(oauth_consent::Column::UserId.eq(user)).exec(txn).await?;
    oauth_code::Entity::delete_many().filter(oauth_code::Column::UserId.eq(user)).exec(txn).await?;
    ended(ConnectionEnd::Disconnected).filter(oauth_grant::Column::UserId.eq(user)).exec(txn).await.map(drop)
}

/// Codes that wait for their exchange work no more.
async fn forget_codes(txn: &impl ConnectionTrait, user: UserId, client: ClientId) -> Result<(), DbErr> {
    oauth_code::Entity::delete_many()
        .filter(oauth_code::Column::UserId.eq(user))
        .filter(oauth_code::Column::ClientId.eq(client))
        .filter(oauth_code::Column::State.eq(CodeState::Issued))
        .exec(txn)
        .await
        .map(drop)
}
