//! A database with users, and points of the index, for the tests of this module.

use database::{Db, insert_all};
use entity::user;
use search::index::{Labels, Language, Point, Source};
use search::lexical;
use tempfile::TempDir;
use uuid::Uuid;
use values::id::{ChunkId, DocumentId, UserId};
use values::kind::{ContentType, DocumentStatus};
use values::plan::Plan;
use values::time::Timestamp;

use super::passage::PassageColumns;

/// The time at which the users were created.
pub const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

/// Opens a new database in a folder.
pub async fn open_database(folder: &TempDir) -> Db {
    let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
    Db::open(&url).await.unwrap()
}

/// Adds a user.
pub async fn add_user(db: &Db) -> UserId {
    let id = UserId::new(NOON);
    let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
    insert_all::<user::Entity>(db.write(), [row], None).await.unwrap();
    id
}

/// Returns the columns of the first passage of an article that is ready.
pub fn passage_columns(id: ChunkId, document_id: DocumentId, title: &str, text: &str) -> PassageColumns {
    PassageColumns {
        id,
        document_id,
        version: 1,
        ordinal: 0,
        start_offset: 0,
        page: None,
        start_seconds: None,
        end_seconds: None,
        text: text.to_owned(),
        document_version: 1,
        bookmark_id: None,
        entry_id: None,
        feed_id: None,
        content_type: ContentType::Article,
        status: DocumentStatus::Ready,
        url: None,
        title: title.to_owned(),
    }
}

/// Returns a passage of a bookmarked English article.
pub fn point(number: u128, document: u128, text: &str) -> Point {
    Point {
        id: Uuid::from_u128(number),
        document: Uuid::from_u128(document),
        version: 1,
        labels: Labels { source: Source::Bookmarks, feed: None, content_type: ContentType::Article },
        language: Language::English,
        sparse: lexical::analyze_passage("", text, Language::English),
        dense: Vec::new(),
    }
}
