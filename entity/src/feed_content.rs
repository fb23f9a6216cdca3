//! The content of a feed from its last successful fetch, parsed and bounded. Later followers and retries are served from it.

use sea_orm::entity::prelude::*;
use values::id::FeedSourceId;

/// The content of a feed from its last successful fetch.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_content")]
pub struct Model {
    /// The source from which it was fetched.
    #[sea_orm(primary_key, auto_increment = false)]
    pub source_id: FeedSourceId,
    /// Number of successful fetches that stored a body, this one included.
    pub version: i64,
    /// The parsed feed, as JSON of the type `Feed` of crate parse.
    #[sea_orm(column_type = "Text")]
    pub body: String,
}

crate::owned::no_relations!();
