//! Tickets of sign-in pages: the authorization request is stored until the user has signed in.
//!
//! The page contains a ticket and nothing else of the request, so its form can lead only to the validated request (RFC 9700,
//! section 4.11). A ticket is valid in any process and after a restart.

use std::time::Duration;

use entity::oauth_sign_in;
use errors::Error;
use sea_orm::{EntityTrait, IntoActiveModel};

use super::context::GrantContext;
use crate::auth::secret::Secret;

/// The prefix of the ticket in a sign-in page.
pub const SIGN_IN_PREFIX: &str = "ci_";
/// Long enough for a user to look up a password.
const TICKET_LIFETIME: Duration = Duration::from_secs(1800);

/// Stores the query of a validated request, and returns its ticket.
pub(super) async fn create(ctx: &GrantContext, query: String) -> Result<Secret, Error> {
    let ticket = Secret::new_token(SIGN_IN_PREFIX).map_err(Error::internal)?;
    let expires_at = ctx.clock.now() + TICKET_LIFETIME;
    let row = oauth_sign_in::Model { hash: ticket.hash().bytes().to_vec(), query, expires_at };
    let insert = oauth_sign_in::Entity::insert(row.into_active_model());
    insert.exec_without_returning(ctx.db.write()).await?;
    Ok(ticket)
}

/// Returns the query of a ticket that is valid.
pub(super) async fn find_query(ctx: &GrantContext, ticket: &Secret) -> Result<Option<String>, Error> {
    let found = oauth_sign_in::Entity::by_hash(ticket.hash().bytes()).one(ctx.db.read()).await?;
    Ok(found.filter(|page| ctx.clock.now() < page.expires_at).map(|page| page.query))
}

/// Uses up a ticket, and returns whether it was still unused.
pub(super) async fn spend(ctx: &GrantContext, ticket: &Secret) -> Result<bool, Error> {
    let hash = ticket.hash().bytes().to_vec();
    let deleted = oauth_sign_in::Entity::delete_by_id(hash).exec(ctx.db.write()).await?;
    Ok(deleted.rows_affected == 1)
}
