//! Notices when another node of the server may have written passages in a language that is new to a library. A search must know the language
//! of every passage that it can find, and an index on a server counts the languages only now and then.

use std::time::Duration;

use database::Db;
use entity::document;
use errors::Error;
use moka::sync::Cache;
use sea_orm::{QueryOrder, QuerySelect};
use values::id::{DocumentId, UserId};

/// Maximum number of users whose newest documents are kept.
const MAX_USERS: u64 = 100_000;
/// Time after which the newest document of a user is not kept any more if no search needs it: longer than counted languages are used.
const MAX_AGE: Duration = Duration::from_secs(600);

/// The newest document of each user when the languages were last counted. Clones share them.
#[derive(Clone)]
pub struct LanguageWatch {
    db: Db,
    counted: Cache<UserId, Option<DocumentId>>,
}

impl LanguageWatch {
    /// Reads documents from this database.
    pub fn new(db: Db) -> Self {
        Self { db, counted: Cache::builder().max_capacity(MAX_USERS).time_to_idle(MAX_AGE).build() }
    }

    /// Calls `forget`, which makes the next request count the languages of a user, if documents were added since the last call, or if the
    /// index lacked a change of one then. A new language of an older document, whose change began and ended between two calls, is not
    /// noticed.
    ///
    /// # Errors
    /// [`Error::Internal`] when the database fails.
    pub async fn refresh(&self, user: UserId, forget: impl FnOnce()) -> Result<(), Error> {
        // Before the changes that the index lacks: a document that is added in between is the newest one at the next call.
        let newest = document::Entity::visible_to(user).order_by_desc(document::Column::Id).limit(1);
        let newest = newest.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        let newest = newest.one(self.db.read()).await?;
        let unindexed = document::Entity::newest_unindexed_of(user).limit(1);
        let unindexed = unindexed.select_only().column(document::Column::Id).into_tuple::<DocumentId>();
        let is_pending = unindexed.one(self.db.read()).await?.is_some();
        if self.counted.get(&user) == Some(newest) {
            if is_pending {
                self.counted.invalidate(&user);
                forget();
            }
            return Ok(());
        }
        forget();
        if !is_pending {
            self.counted.insert(user, newest);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use database::insert_all;
    use sea_orm::sea_query::Expr;
    use values::kind::ContentType;
    use values::time::Timestamp;

    use super::*;
    use crate::retrieval::test_library::{NOON, add_user, open_database};

    async fn add_document(db: &Db, owner: UserId, unindexed_since: Option<Timestamp>) {
        let mut added = document::Model::pending(owner, ContentType::Article, String::new(), NOON);
        added.unindexed_since = unindexed_since;
        insert_all::<document::Entity>(db.write(), [added], None).await.unwrap();
    }

    #[tokio::test]
    async fn languages_are_counted_after_a_document_is_added_and_indexed() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = add_user(&db).await;
        let watch = LanguageWatch::new(db.clone());
        let counts = async || {
            let mut is_counted = false;
            watch.refresh(owner, || is_counted = true).await.unwrap();
            is_counted
        };
        assert_eq!((counts().await, counts().await), (true, false));

        add_document(&db, owner, None).await;
        assert_eq!((counts().await, counts().await), (true, false));

        add_document(&db, owner, Some(NOON)).await;
        assert_eq!((counts().await, counts().await), (true, true), "it may be written at any time");
        let indexed = document::Entity::update_owned(owner)
            .col_expr(document::Column::UnindexedSince, Expr::value(None::<Timestamp>));
        indexed.exec(db.write()).await.unwrap();
        assert_eq!((counts().await, counts().await), (true, false));
    }
}
