//! An OAuth client (RFC 7591). It belongs to no user: any user may connect it.

use sea_orm::entity::prelude::*;
use values::id::ClientId;
use values::kind::ClientAuth;
use values::time::Timestamp;

/// An OAuth client (RFC 7591).
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "oauth_client")]
pub struct Model {
    /// The `client_id` of a client that registered dynamically. A client with a metadata document uses its URL instead.
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: ClientId,
    /// Name that the client gave itself; it is not verified.
    pub name: Option<String>,
    /// URL of its home page, http or https.
    pub uri: Option<String>,
    /// Redirect URIs, compared byte for byte.
    #[sea_orm(column_type = "Text")]
    pub redirect_uris: RedirectUris,
    /// How it authenticates at the token endpoint.
    pub auth: ClientAuth,
    /// SHA-256 of its secret, if it has one.
    pub secret_hash: Option<Vec<u8>>,
    /// URL of the client ID metadata document by which it is identified; `None` if it registered dynamically.
    #[sea_orm(column_type = "Text", nullable)]
    pub metadata_url: Option<String>,
    /// Time at which that document was last read.
    pub metadata_read_at: Option<Timestamp>,
    /// Time of the registration, or of the first use of the document.
    pub created_at: Timestamp,
    /// Time of its last request.
    pub last_used_at: Timestamp,
}

/// Redirect URIs of a client, stored one per line: a URI contains no line break.
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
    /// Returns the client that is identified by the metadata document at this URL.
    pub fn by_metadata_url(url: &str) -> Select<Entity> {
        Self::find().filter(Column::MetadataUrl.eq(url))
    }
}
