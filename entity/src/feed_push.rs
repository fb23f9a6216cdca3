//! The hub that a feed declares, and the state of the subscription there (WebSub, W3C Recommendation of 2018).

use sea_orm::entity::prelude::*;
use values::id::FeedSourceId;
use values::kind::PushState;
use values::time::Timestamp;

/// The subscription of a source at its hub.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_push")]
pub struct Model {
    /// The source. It has at most one hub at a time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub source_id: FeedSourceId,
    /// URL of the hub, to which subscription requests are sent.
    #[sea_orm(column_type = "Text")]
    pub hub: String,
    /// Topic URL: the URL of the feed as it declares itself to the hub.
    #[sea_orm(column_type = "Text")]
    pub topic: String,
    /// State of the subscription at the hub.
    pub state: PushState,
    /// End of the subscription: after it the hub sends no notifications.
    pub ends_at: Option<Timestamp>,
    /// Time of the next subscription request.
    pub renew_at: Timestamp,
}

crate::owned::no_relations!();
