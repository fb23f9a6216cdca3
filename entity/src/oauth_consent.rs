//! A consent page that was shown and not answered yet: what it asked for is kept here, not in the page.

use crate::id::{ClientId, SessionId, UserId};
use crate::scope::Scopes;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A consent page that was shown and not answered yet.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_consent")]
pub struct Model {
    /// SHA-256 of the ticket in the page's form.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The browser that it was shown to.
    pub session_id: SessionId,
    /// Who is signed in there.
    pub user_id: UserId,
    /// Who asks.
    pub client_id: ClientId,
    /// Where the answer goes: one of the client's redirect addresses.
    pub redirect_uri: String,
    /// What the client wants back with the answer.
    pub state: String,
    /// SHA-256 of the client's verifier, in base64url.
    pub challenge: String,
    /// What was offered.
    pub scopes: Scopes,
    /// From then on the page is too old.
    pub expires_at: Timestamp,
}

crate::owned::owned_changes!();

impl Entity {
    /// The page with this ticket, if it was shown to this browser of this user.
    pub fn shown_to(user: UserId, session: SessionId, hash: &[u8]) -> Select<Entity> {
        let own = Self::find().filter(Column::UserId.eq(user)).filter(Column::SessionId.eq(session));
        own.filter(Column::Hash.eq(hash))
    }
}
