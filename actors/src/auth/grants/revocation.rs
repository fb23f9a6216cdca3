//! The end of grants. One statement raises the number of a grant, which invalidates every earlier token and code. Their
//! rows stay until they would have expired or there are many newer ones, so presenting one of them does not count as a guess.
//!
//! Lock order: each step that changes grants of a user locks the user's row first. So such steps run one after another, on
//! several processes too, and cannot deadlock.

use database::Transaction;
use entity::{oauth_code, oauth_consent, oauth_grant, user};
use sea_orm::sea_query::{Expr, ExprTrait};
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QuerySelect, UpdateMany};
use values::id::{ClientId, UserId};
use values::kind::{CodeState, GrantState};

use crate::service_state;

/// Locks the row of a user until the transaction ends. Returns `None` if the account is disabled or removed.
pub async fn lock_active_owner(txn: &Transaction, user: UserId) -> Result<Option<user::Model>, DbErr> {
    let owner = user::Entity::find_by_id(user).lock_exclusive().one(txn).await?;
    Ok(owner.filter(|owner| owner.disabled_at.is_none()))
}

/// The end of a grant. The grant is valid again only after the user connects the client again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantEnd {
    /// By the user, with the account, or because it was unused for too long.
    Disconnected,
    /// By the client, or because a secret of it was used twice.
    Revoked,
}

impl From<GrantEnd> for GrantState {
    fn from(ending: GrantEnd) -> Self {
        match ending {
            GrantEnd::Disconnected => GrantState::Disconnected,
            GrantEnd::Revoked => GrantState::Revoked,
        }
    }
}

/// Turns an update of grants into one that ends them. Under the next number, nothing that was issued works.
pub fn end_update(
    grants: UpdateMany<oauth_grant::Entity>,
    ending: GrantEnd,
) -> UpdateMany<oauth_grant::Entity> {
    use oauth_grant::Column;
    grants
        .col_expr(Column::State, Expr::value(GrantState::from(ending)))
        // One update invalidates every token at once, without a list of them.
        .col_expr(Column::TokenFamily, Expr::col(Column::TokenFamily).add(1))
        .filter(Column::State.eq(GrantState::Connected))
}

/// Ends a grant, unless it has ended or was made again since it was read. Returns the generation that this raised; `None` if the grant
/// was not ended.
pub async fn end(
    txn: &impl ConnectionTrait,
    grant: &oauth_grant::Model,
    ending: GrantEnd,
) -> Result<Option<i64>, DbErr> {
    // The number of the grant does not invalidate a code without a grant: its exchange would connect the client again.
    remove_pending_codes(txn, grant.user_id, grant.client_id).await?;
    let ended = end_update(oauth_grant::Entity::update_owned(grant.user_id), ending)
        .filter(oauth_grant::Column::Id.eq(grant.id))
        .filter(oauth_grant::Column::TokenFamily.eq(grant.token_family))
        .exec(txn)
        .await?;
    if ended.rows_affected == 0 {
        return Ok(None);
    }
    service_state::raise_generation(txn).await.map(Some)
}

/// Ends every grant of a user, and removes pending consents and codes. The caller must lock the user's row before, and raise the
/// generation in the same transaction.
pub async fn end_all_grants(txn: &impl ConnectionTrait, user: UserId) -> Result<(), DbErr> {
    oauth_consent::Entity::delete_owned(user).exec(txn).await?;
    oauth_code::Entity::delete_owned(user).exec(txn).await?;
    end_update(oauth_grant::Entity::update_owned(user), GrantEnd::Disconnected).exec(txn).await.map(drop)
}

/// Removes codes that were not exchanged yet.
async fn remove_pending_codes(
    txn: &impl ConnectionTrait,
    user: UserId,
    client: ClientId,
) -> Result<(), DbErr> {
    oauth_code::Entity::delete_owned(user)
        .filter(oauth_code::Column::ClientId.eq(client))
        .filter(oauth_code::Column::State.eq(CodeState::Issued))
        .exec(txn)
        .await
        .map(drop)
}
