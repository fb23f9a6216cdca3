//! An authorization code. Only its hash is kept; a spent one stays for a while, so that its second use is noticed.

use crate::id::{ClientId, UserId};
use crate::kind::CodeState;
use crate::scope::Scopes;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An authorization code.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_code")]
pub struct Model {
    /// SHA-256 of the code.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// Who consented.
    pub user_id: UserId,
    /// To whom.
    pub client_id: ClientId,
    /// Where it was sent.
    pub redirect_uri: String,
    /// SHA-256 of the client's verifier, in base64url.
    pub challenge: String,
    /// What was granted.
    pub scopes: Scopes,
    /// When it was issued.
    pub issued_at: Timestamp,
    /// From then on it is refused.
    pub expires_at: Timestamp,
    /// How far it has come.
    pub state: CodeState,
    /// The number of the connection that it made, once redeemed.
    pub branch: Option<i64>,
}

crate::owned::owned_table!();

impl Entity {
    /// The code with this hash, whoever's it is: how a client redeems one.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }
}
