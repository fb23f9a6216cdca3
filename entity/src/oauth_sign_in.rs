//! A sign-in page shown during an authorization request. The parameters of the request are stored here, not in the page.

use sea_orm::entity::prelude::*;
use values::time::Timestamp;

/// A sign-in page shown during an authorization request.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_sign_in")]
pub struct Model {
    /// SHA-256 of the ticket in the page's form.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// Parameters of the authorization request, as a query string.
    pub query: String,
    /// Expiry time of the page.
    pub expires_at: Timestamp,
}

crate::owned::no_relations!();

impl Entity {
    /// Returns the page with this ticket. It has no owner, because no user is signed in yet.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }
}
