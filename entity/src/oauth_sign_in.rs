//! A sign-in page that an application sent somebody to: what it goes on with is kept here, not in the page.

use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// A sign-in page that was shown.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_sign_in")]
pub struct Model {
    /// SHA-256 of the ticket in the page's form.
    #[sea_orm(primary_key, auto_increment = false)]
    pub hash: Vec<u8>,
    /// The parameters of the request for authorization, as a query.
    pub query: String,
    /// From then on the page is too old.
    pub expires_at: Timestamp,
}

crate::owned::no_relations!();

impl Entity {
    /// The page with this ticket; nobody is signed in on it, so it has no owner.
    pub fn by_hash(hash: &[u8]) -> Select<Entity> {
        Self::find().filter(Column::Hash.eq(hash))
    }
}
