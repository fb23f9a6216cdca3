//! A consent page that was shown and not answered yet. The requested scopes are stored here, not in the page.

use sea_orm::entity::prelude::*;
use values::id::{ClientId, SessionId, UserId};
use values::scope::Scopes;
use values::time::Timestamp;

/// A consent page that was shown and not answered yet.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_consent")]
pub struct Model {
    /// SHA-256 of the ticket in the page's form.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The session to which it was shown.
    pub session_id: SessionId,
    /// The user of the session.
    pub user_id: UserId,
    /// The client that asks for consent.
    pub client_id: ClientId,
    /// Where the response is sent: one of the redirect URIs of the client.
    pub redirect_uri: String,
    /// `state` parameter of the request, returned with the response.
    pub state: String,
    /// PKCE challenge: SHA-256 of the code verifier, in base64url.
    pub challenge: String,
    /// The scopes that the page offers; the user may decline some.
    pub scopes: Scopes,
    /// Expiry time of the page.
    pub expires_at: Timestamp,
}

crate::owned::owned_changes!();

impl Entity {
    /// Returns the page with this ticket, if it was shown in this session of this user.
    pub fn shown_to(user: UserId, session: SessionId, hash: &[u8]) -> Select<Entity> {
        let own = Self::find().filter(Column::UserId.eq(user)).filter(Column::SessionId.eq(session));
        own.filter(Column::Hash.eq(hash))
    }
}
