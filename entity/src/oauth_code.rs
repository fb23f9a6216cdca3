//! An authorization code. Only its hash is stored; a used code is kept for some time, so that a second use is detected.

use sea_orm::entity::prelude::*;
use values::id::{ClientId, UserId};
use values::kind::CodeState;
use values::scope::Scopes;
use values::time::Timestamp;

/// An authorization code (RFC 6749, section 4.1.2). It can be presented once.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_code")]
pub struct Model {
    /// SHA-256 of the code; the code itself is not stored.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The user who consented to the grant.
    pub user_id: UserId,
    /// The client to which it was issued.
    pub client_id: ClientId,
    /// The redirect URI to which it was sent.
    pub redirect_uri: String,
    /// PKCE challenge: SHA-256 of the code verifier, in base64url.
    pub challenge: String,
    /// The scopes to which the user consented.
    pub scopes: Scopes,
    /// Time at which it was issued.
    pub issued_at: Timestamp,
    /// Time after which it is refused.
    pub expires_at: Timestamp,
    /// Whether it was presented, and with what result.
    pub state: CodeState,
    /// Token family of the grant for which it was exchanged; `None` until then.
    pub token_family: Option<i64>,
}

crate::owned::owned_table!();

impl Entity {
    /// Returns the code with this hash, whatever its owner: for the exchange by a client.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }
}
