//! The sign-in page: the request that it goes on with waits here until somebody has signed in.
//!
//! The page holds a ticket and nothing else of the request, so a form cannot lead anywhere but where the application was
//! allowed to ask (RFC 9700, section 4.11). It is good at any node and after a restart.

use std::time::Duration;

use entity::oauth_sign_in;
use sea_orm::{EntityTrait, IntoActiveModel};

use super::GrantContext;
use errors::Error;
use crate::auth::secret::Secret;

/// What the ticket in a sign-in page begins with.
pub const SIGN_IN_PREFIX: &str = "ci_";
/// Long enough to look up a password.
const LIFE: Duration = Duration::from_secs(1800);

/// Keeps the query of a request that was found good; the ticket that stands for it.
pub(super) async fn keep(ctx: &GrantContext, query: String) -> Result<Secret, Error> {
    let ticket = Secret::new_token(SIGN_IN_PREFIX).map_err(Error::internal)?;
    let expires_at = ctx.clock.now() + LIFE;
    let row = oauth_sign_in::Model { hash: ticket.hash().bytes().to_vec(), query, expires_at };
    let insert = oauth_sign_in::Entity::insert(row.into_active_model());
    insert.exec_without_returning(ctx.db.write()).await?;
    Ok(ticket)
}

/// The query that a ticket stands for, while it does.
pub(super) async fn kept(ctx: &GrantContext, ticket: &Secret) -> Result<Option<String>, Error> {
    let found = oauth_sign_in::Entity::by_hash(ticket.hash().bytes()).one(ctx.db.read()).await?;
    Ok(found.filter(|page| ctx.clock.now() < page.expires_at).map(|page| page.query))
}

/// Somebody signs in: the ticket is good no more. `false` where it was not.
pub(super) async fn spend(ctx: &GrantContext, ticket: &Secret) -> Result<bool, Error> {
    let hash = ticket.hash().bytes().to_vec();
    let gone = oauth_sign_in::Entity::delete_by_id(hash).exec(ctx.db.write()).await?;
    Ok(gone.rows_affected == 1)
}
