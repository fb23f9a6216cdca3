//! The entries that a follower has already, matched with those of a fetched feed.

use std::collections::{BTreeMap, HashMap};

use entity::{entry, feed};
use errors::Error;
use sea_orm::sea_query::{Expr, Func};
use sea_orm::{ColumnTrait, Condition, ConnectionTrait, QueryFilter};
use values::id::EntryId;
use values::time::Timestamp;

use super::incoming_entry::IncomingEntry;

/// The existing entries of the feed that may be among the incoming ones.
pub(super) struct ExistingEntries {
    /// Those whose ids are among the incoming ones, by id.
    by_key: HashMap<Vec<u8>, entry::Model>,
    /// Those whose ids the feed no longer contains, in the order of the stored ids.
    others: Vec<entry::Model>,
}

impl ExistingEntries {
    /// Loads the entries of a feed that may be among the incoming ones, each kind of match by its own index: one condition for all of them
    /// would read every entry of the feed.
    pub async fn load(
        txn: &impl ConnectionTrait,
        feed: &feed::Model,
        incoming: &[IncomingEntry],
    ) -> Result<Self, Error> {
        use entry::Column;
        let keys = incoming.iter().map(|incoming| incoming.key_hash.clone());
        let by_key = entry::Entity::owned_by(feed.user_id)
            .filter(Column::FeedId.eq(feed.id))
            .filter(Column::KeyHash.is_in(keys))
            .all(txn)
            .await?;
        let by_key: HashMap<Vec<u8>, entry::Model> =
            by_key.into_iter().map(|row| (row.key_hash.clone(), row)).collect();
        let unknown: Vec<_> =
            incoming.iter().filter(|incoming| !by_key.contains_key(&incoming.key_hash)).collect();
        let others = if unknown.is_empty() { Vec::new() } else { load_renamed(txn, feed, unknown).await? };
        // Each once, and in an order that does not depend on the index.
        let others: BTreeMap<EntryId, entry::Model> = others
            .into_iter()
            .filter(|row| !by_key.contains_key(&row.key_hash))
            .map(|row| (row.id, row))
            .collect();
        Ok(Self { by_key, others: others.into_values().collect() })
    }

    /// Removes and returns the row of an incoming entry: by its id, else by page and title, because some feeds change the ids of their
    /// entries. An existing entry matches one incoming entry at most, and one whose id is still in the feed matches no other.
    pub fn take_match(&mut self, incoming: &IncomingEntry) -> Option<entry::Model> {
        if let Some(row) = self.by_key.remove(&incoming.key_hash) {
            return Some(row);
        }
        let at = self.others.iter().position(|row| is_same_entry(row, incoming))?;
        Some(self.others.remove(at))
    }
}

/// Returns whether two entries with different ids are one. The URL alone does not tell: all episodes of a show may link to one
/// page, and comments on a page differ only in the fragment. Without a page, all of the content must be the same.
fn is_same_entry(row: &entry::Model, incoming: &IncomingEntry) -> bool {
    let fragment = |url: &str| url.split_once('#').map(|(_, fragment)| fragment.to_owned());
    let has_same_content = row.content_hash == incoming.content_hash;
    row.normalized_url == incoming.normalized_url
        && row.title == incoming.item.title
        && fragment(&row.url) == fragment(&incoming.url)
        && (has_same_content || (!incoming.normalized_url.is_empty() && has_same_time(row, incoming)))
}

fn has_same_time(row: &entry::Model, incoming: &IncomingEntry) -> bool {
    let published_at = incoming.item.published_at.map(Timestamp::from_millis);
    published_at.is_some() && row.published_at == published_at
}

/// Loads the entries of a feed that may be incoming ones under other ids: those for which [`is_same_entry`] has to compare the title and
/// the fragment.
async fn load_renamed(
    txn: &impl ConnectionTrait,
    feed: &feed::Model,
    incoming: Vec<&IncomingEntry>,
) -> Result<Vec<entry::Model>, Error> {
    use entry::Column;
    let (paged, unpaged): (Vec<&IncomingEntry>, Vec<&IncomingEntry>) =
        incoming.into_iter().partition(|incoming| !incoming.normalized_url.is_empty());
    let contents = |entries: &[&IncomingEntry]| -> Vec<Vec<u8>> {
        entries.iter().map(|incoming| incoming.content_hash.clone()).collect()
    };
    let mut renamed = Vec::new();
    if !unpaged.is_empty() {
        let same = entry::Entity::owned_by(feed.user_id)
            .filter(Column::FeedId.eq(feed.id))
            // Spelled as in the partial index `entry_feed_content`.
            .filter(Expr::cust("normalized_url = ''"))
            .filter(Column::ContentHash.is_in(contents(&unpaged)));
        renamed.extend(same.all(txn).await?);
    }
    if !paged.is_empty() {
        let pages = paged.iter().map(|incoming| incoming.normalized_url.clone());
        let times = paged.iter().filter_map(|incoming| incoming.item.published_at);
        let has_same_content_or_time = Condition::any()
            .add(Column::ContentHash.is_in(contents(&paged)))
            .add(Column::PublishedAt.is_in(times.map(Timestamp::from_millis)));
        // `COALESCE` keeps SQLite from choosing an index that begins with the feed, by which it would read all of its entries.
        let is_of_feed = Expr::from(Func::coalesce([Column::FeedId.eq(feed.id), Expr::value(false)]));
        let same = entry::Entity::owned_by(feed.user_id)
            .filter(is_of_feed)
            .filter(Column::NormalizedUrl.is_in(pages))
            .filter(has_same_content_or_time);
        renamed.extend(same.all(txn).await?);
    }
    Ok(renamed)
}
