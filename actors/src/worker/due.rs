//! What is due: one statement answers it for everything that the worker begins at its time. While no request arrives,
//! this is nearly all that the worker sends.
//!
//! It is read again each time, and nothing is remembered from one time to the next: jobs, feeds and removed accounts of other processes
//! are found as soon as those of this one, and no lost signal can hide them.

use std::sync::LazyLock;

use database::{Db, DirectQuery, DirectRow};
use jobs::DueJobs;
use sea_orm::{DbErr, Value};
use uuid::Uuid;
use values::time::Timestamp;

use crate::ingest::metadata_task::METADATA_IS_DUE;
use crate::service_state::REMOVED_USER_CONDITION;

static DUE: LazyLock<DirectQuery> = LazyLock::new(|| DirectQuery::of_sql(|_| due_sql()));

fn due_sql() -> String {
    // The last column has an order instead of `EXISTS`: of many documents that the index lacks, whose jobs were given up, PostgreSQL expects
    // one that passes the other conditions to be found soon in any order, and would read all of them.
    let jobs = DueJobs::columns();
    format!(
        r#"SELECT {jobs},
            EXISTS (SELECT 1 FROM "feed_source" WHERE "feed_source"."next_fetch_at" <= $1),
            EXISTS (SELECT 1 FROM "feed_push" WHERE "feed_push"."renew_at" <= $1),
            EXISTS (SELECT 1 FROM "service_state" WHERE {REMOVED_USER_CONDITION}),
            (SELECT "user_id" FROM "document"
                WHERE "user_id" > $2 AND "unindexed_since" IS NOT NULL AND "hidden_at" IS NULL
                    AND {METADATA_IS_DUE}
                ORDER BY "user_id" LIMIT 1) IS NOT NULL"#
    )
}

/// Returns the values of the statement: the time, and an id before those of all users, from which SQLite searches an index by the user.
fn due_values(now: Timestamp) -> [Value; 2] {
    [now.millis().into(), Uuid::nil().into()]
}

/// What is due at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DueWork {
    /// What is due in the queue.
    pub jobs: DueJobs,
    /// Whether a feed is to be fetched, or a subscription at a hub to be renewed.
    pub has_feeds: bool,
    /// Whether the index may have passages of an account that was removed.
    pub has_removed_users: bool,
    /// Whether the index lacks a change of a document that [`metadata_task`](crate::ingest::metadata_task) puts into it.
    pub has_unindexed_metadata: bool,
}

impl DueWork {
    /// Looks for everything that is due at this time.
    pub async fn find(db: &Db, now: Timestamp) -> Result<Self, DbErr> {
        let found = db.direct().query_one(&DUE, due_values(now), Self::from_row).await?;
        // The statement reads from no table, so it has one row.
        found.ok_or_else(|| DbErr::RecordNotFound("the row of what is due".to_owned()))
    }

    fn from_row(row: &DirectRow<'_>) -> Result<Self, DbErr> {
        let next = DueJobs::COLUMN_COUNT;
        let (fetch, subscribe): (bool, bool) = (row.get(next)?, row.get(next + 1)?);
        Ok(Self {
            jobs: DueJobs::from_row(row, 0)?,
            has_feeds: fetch || subscribe,
            has_removed_users: row.get(next + 2)?,
            has_unindexed_metadata: row.get(next + 3)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use database::QueryPlan;
    use entity::{document, user};
    use sea_orm::sea_query::Expr;
    use sea_orm::{ColumnTrait, DbBackend, EntityTrait, IntoActiveModel, QueryFilter, Statement};
    use values::id::UserId;
    use values::kind::ContentType;
    use values::plan::Plan;

    use super::*;
    use crate::service_state::{self, ServiceStateKey};

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    async fn open_database(folder: &tempfile::TempDir) -> Db {
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        Db::open(&url).await.unwrap()
    }

    #[actix::test]
    async fn removed_account_is_due_until_its_row_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        assert_eq!(DueWork::find(&db, NOON).await.unwrap(), DueWork::default());
        let removed = ServiceStateKey::RemovedUser(UserId(Uuid::from_u128(1)));

        service_state::write(db.write(), removed, String::new()).await.unwrap();
        let due = DueWork::find(&db, NOON).await.unwrap();
        assert_eq!(due, DueWork { has_removed_users: true, ..DueWork::default() });

        service_state::forget(db.write(), removed).await.unwrap();
        assert_eq!(DueWork::find(&db, NOON).await.unwrap(), DueWork::default());
    }

    #[actix::test]
    async fn documents_that_no_task_indexes_are_not_due() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let owner = UserId::new(NOON);
        let account = user::Model::new(owner, "a@b".to_owned(), String::new(), Plan::Pro, NOON);
        user::Entity::insert(account.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let new = document::Model::pending(owner, ContentType::Article, "Herons".to_owned(), NOON);
        let id = new.id;
        document::Entity::insert(new.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        let set = async |column: document::Column, value: Expr| {
            let change = document::Entity::update_owned(owner).col_expr(column, value);
            change.filter(document::Column::Id.eq(id)).exec(db.write()).await.unwrap();
            DueWork::find(&db, NOON).await.unwrap().has_unindexed_metadata
        };

        assert!(set(document::Column::Version, Expr::value(1)).await);
        assert!(!set(document::Column::AwaitsIndexJob, Expr::value(true)).await, "a job waits");
        assert!(set(document::Column::AwaitsIndexJob, Expr::value(false)).await);
        let later = NOON + Duration::from_secs(1);
        assert!(
            !set(document::Column::IndexedAt, Expr::value(Some(later))).await,
            "only its text is lacking"
        );
    }

    #[actix::test]
    async fn everything_due_is_found_by_one_statement() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = open_database(&folder).await;
        let sent = db.record_statements();

        DueWork::find(&db, NOON).await.unwrap();

        assert_eq!(sent.take().len(), 1);
    }

    #[actix::test]
    async fn only_the_few_rows_of_the_service_are_scanned() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let sql = DUE.sql(DbBackend::Sqlite);
        let statement = Statement::from_sql_and_values(DbBackend::Sqlite, sql, due_values(NOON));

        let plan = QueryPlan::of(&db, statement).await.unwrap();

        let scans = plan.full_scans();
        assert!(scans.len() == 1 && scans.iter().all(|step| step.contains("service_state")), "{plan:#?}");
        assert!(plan.has_step("feed_source_due") && plan.has_step("feed_push_due"), "{plan:#?}");
        assert!(plan.has_step("document_unindexed_metadata (user_id>?)"), "{plan:#?}");
    }
}
