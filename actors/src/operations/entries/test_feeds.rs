//! A database with the feeds of a user, for the tests of this folder.

use database::Db;
use entity::{document, entry, feed, feed_source, user};
use sea_orm::{EntityTrait, IntoActiveModel};
use values::id::{DocumentId, EntryId, FeedId, FeedSourceId, UserId};
use values::kind::ContentType;
use values::plan::Plan;
use values::time::Timestamp;

/// The time at which the rows are created.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_714_996_800_000);

pub(super) fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

/// Creates a database in a folder.
pub(super) async fn open(folder: &tempfile::TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

/// A user with two feeds, and one document that all entries share.
pub(super) struct FollowedFeeds {
    pub(super) user: UserId,
    pub(super) ids: [FeedId; 2],
    document: DocumentId,
}

impl FollowedFeeds {
    pub(super) async fn insert(db: &Db) -> Self {
        let user = UserId::new(NOW);
        let row = user::Model::new(user, "reader@reader.example".to_owned(), String::new(), Plan::Pro, NOW);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let ids = [FeedId::new(NOW), FeedId::new(NOW)];
        for id in ids {
            insert_feed(db, user, id).await;
        }
        let row = document::Model::pending(user, ContentType::Article, String::new(), NOW);
        let document = row.id;
        document::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        Self { user, ids, document }
    }

    /// Returns an unread entry of the first feed. `n` tells it from others.
    pub(super) fn entry(&self, n: i64) -> entry::Model {
        entry::Model {
            id: EntryId::new(NOW),
            user_id: self.user,
            feed_id: self.ids[0],
            document_id: self.document,
            key_hash: n.to_be_bytes().to_vec(),
            content_hash: Vec::new(),
            url: String::new(),
            normalized_url: String::new(),
            title: String::new(),
            author: None,
            summary: None,
            has_full_text: false,
            enclosure_url: None,
            enclosure_type: None,
            enclosure_bytes: None,
            published_at: None,
            sorted_at: at(n),
            read: false,
            starred: false,
            created_at: at(n),
        }
    }
}

async fn insert_feed(db: &Db, user: UserId, id: FeedId) {
    let source = feed_source::Model {
        id: FeedSourceId::new(NOW),
        url: format!("https://reeds.example/{id}"),
        title: None,
        site_url: None,
        etag: None,
        last_modified: None,
        fetched_at: None,
        next_fetch_at: None,
        wait_until: None,
        interval_seconds: 1,
        failures: 0,
        error: None,
        created_at: NOW,
        tried_at: None,
        failing_since: None,
    };
    let row = feed::Model {
        id,
        user_id: user,
        source_id: source.id,
        url: source.url.clone(),
        title: None,
        folder: None,
        full_text: false,
        created_at: NOW,
    };
    let source = feed_source::Entity::insert(source.into_active_model());
    source.exec_without_returning(db.write()).await.unwrap();
    feed::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
}
