//! An application that registered to sign people in (RFC 7591). It is nobody's: any person may connect it.

use crate::id::ClientId;
use crate::kind::ClientAuth;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// An application that registered to sign people in (RFC 7591).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_client")]
pub struct Model {
    /// The `client_id`.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ClientId,
    /// What it calls itself; nobody has checked that.
    pub name: Option<String>,
    /// Its home page, http or https.
    pub uri: Option<String>,
    /// Where people may be sent back to: a list of texts, compared byte for byte.
    #[sea_orm(column_type = "Text")]
    pub redirect_uris: RedirectUris,
    /// How it proves to be itself.
    pub auth: ClientAuth,
    /// SHA-256 of its secret, where it has one.
    pub secret_hash: Option<Vec<u8>>,
    /// The address of the document about itself that it is named by; none where it registered.
    #[sea_orm(column_type = "Text", nullable)]
    pub document: Option<String>,
    /// When that was last read.
    pub document_read_at: Option<Timestamp>,
    /// When it registered, or was first heard of.
    pub created_at: Timestamp,
    /// When it last asked for anything.
    pub last_used_at: Timestamp,
}

/// The redirect addresses of a client, one a line: none holds a line break.
#[derive(Clone, Debug, PartialEq, Eq, sea_orm::DeriveValueType)]
#[sea_orm(value_type = "String")]
pub struct RedirectUris(pub Vec<String>);

impl std::fmt::Display for RedirectUris {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl std::str::FromStr for RedirectUris {
    type Err = std::convert::Infallible;

    fn from_str(lines: &str) -> Result<Self, Self::Err> {
        Ok(Self(lines.lines().map(str::to_owned).collect()))
    }
}

crate::owned::no_relations!();

impl Entity {
    /// The client that is named by this address.
    pub fn by_document(address: &str) -> Select<Entity> {
        Self::find().filter(Column::Document.eq(address))
    }
}
