//! What the last good fetch of a feed brought, read and bounded: later followers and retries are served from it.

use crate::id::FeedSourceId;
use sea_orm::entity::prelude::*;

/// What the last good fetch of a feed brought.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_copy")]
pub struct Model {
    /// Whose copy it is.
    #[sea_orm(primary_key, auto_increment = false)]
    pub source_id: FeedSourceId,
    /// The feed as JSON.
    #[sea_orm(column_type = "Text")]
    pub body: String,
}

crate::owned::no_relations!();
