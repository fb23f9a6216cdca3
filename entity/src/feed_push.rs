//! The hub that a feed names, and whether it tells this service of new entries (WebSub, W3C Recommendation of 2018).

use crate::id::FeedSourceId;
use crate::kind::PushState;
use crate::time::Timestamp;
use sea_orm::entity::prelude::*;

/// The hub of a source.
#[derive(Clone, Debug, PartialEq, DeriveEntityModel)]
#[sea_orm(table_name = "feed_push")]
pub struct Model {
    /// The source; it has one hub at a time.
    #[sea_orm(primary_key, auto_increment = false)]
    pub source_id: FeedSourceId,
    /// Where subscriptions are asked for.
    #[sea_orm(column_type = "Text")]
    pub hub: String,
    /// The feed's own address, as it names itself to the hub.
    #[sea_orm(column_type = "Text")]
    pub topic: String,
    /// How far the subscription is.
    pub state: PushState,
    /// From then on the hub says nothing more.
    pub ends_at: Option<Timestamp>,
    /// When it is asked, or asked again.
    pub renew_at: Timestamp,
}

crate::owned::no_relations!();
