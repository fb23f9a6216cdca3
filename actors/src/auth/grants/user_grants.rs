//! The grants of a user: their list, and the end of one. The command line uses these functions beside a
//! running server, which notices the end within a second by the generation that it raises.

use database::{Db, on_behalf_of};
use entity::{oauth_client, oauth_grant};
use errors::Error;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use values::id::{GrantId, UserId};

use super::revocation::{GrantEnd, end, lock_active_owner};

/// Returns every grant of a user, ended ones too, with its client; the latest connected first.
pub async fn list_grants(
    db: &Db,
    user: UserId,
) -> Result<Vec<(oauth_grant::Model, oauth_client::Model)>, Error> {
    let rows = oauth_grant::Entity::owned_by(user)
        .order_by_desc(oauth_grant::Column::ConnectedAt)
        .order_by_desc(oauth_grant::Column::Id)
        .all(db.read())
        .await?;
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let ids = rows.iter().map(|row| row.client_id);
    let clients = oauth_client::Entity::find().filter(oauth_client::Column::Id.is_in(ids));
    let clients = clients.all(db.read()).await?;
    let of = |row: oauth_grant::Model| {
        let client = clients.iter().find(|client| client.id == row.client_id)?;
        Some((row, client.clone()))
    };
    Ok(rows.into_iter().filter_map(of).collect())
}

/// Ends a grant of a user: no token of it works any more. Returns the generation that this raised.
///
/// # Errors
/// [`Error::NotFound`] if the user has no such grant, it has ended already, or the account is disabled; [`Error::Internal`] when
/// the database fails.
pub async fn disconnect(db: &Db, user: UserId, id: GrantId) -> Result<i64, Error> {
    let txn = on_behalf_of(user, db.begin()).await?;
    lock_active_owner(&txn, user).await?.ok_or(Error::not_found())?;
    let grant = oauth_grant::Entity::one_of(user, id).one(&txn).await?.ok_or(Error::not_found())?;
    let ended = end(&txn, &grant, GrantEnd::Disconnected).await?;
    let generation = ended.ok_or(Error::not_found())?;
    txn.commit().await?;
    Ok(generation)
}
