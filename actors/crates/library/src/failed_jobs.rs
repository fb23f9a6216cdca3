//! Counts, lists and retries the background jobs that failed: they were given up, and their work is still missing.

use database::Transaction;
use entity::job::{Column, Entity, Model};
use entity::{document, user};
use jobs::JobKind;
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, FromQueryResult, JoinType, QueryFilter,
    QueryOrder, QuerySelect, RelationDef, Select,
};
use uuid::Uuid;
use values::id::{DocumentId, JobId, UserId};
use values::time::Timestamp;

use crate::context::CoreContext;
use crate::documents;
use crate::owned_transaction::begin_owned;
use errors::Error;

/// A job that failed, with what a report shows beside it.
#[derive(Clone, Debug, PartialEq, FromQueryResult)]
pub struct FailedJob {
    /// Id of the job, by which it is retried.
    pub id: JobId,
    /// E-mail address of the account for which it ran.
    pub email: String,
    /// Name of the kind of work.
    pub kind: String,
    /// Id of the object of the work, such as a document.
    pub subject: Uuid,
    /// Title of the document that is its subject; `None` if it has another subject, or its user does not see the document.
    pub title: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Time at which it was given up.
    pub finished_at: Option<Timestamp>,
}

/// Why a job is not retried.
#[derive(Debug, thiserror::Error)]
pub enum RetryJobError {
    /// No job with this id has failed, or another process retries it at the same time.
    #[error("no failed job has this id")]
    UnknownJob,
    /// The job is an import, which is resumed or undone further instead.
    #[error("the job is an import")]
    IsImport,
    /// The job is an export, instead of which another one is started.
    #[error("the job is an export")]
    IsExport,
    /// A newer version created the job; this one does not know its kind.
    #[error("this version does not know the kind of the job")]
    UnknownKind,
    /// The document that the job makes is deleted or is being processed, or the database failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// Counts the failed jobs of all users, by kind. A job that makes a document counts while the error of its document is recorded,
/// which another job may remove, and while the document is not hidden. It reads every job that was given up.
pub async fn count_failed_jobs(db: &impl ConnectionTrait) -> Result<Vec<(String, i64)>, DbErr> {
    failed_jobs(None)
        .select_only()
        .column(Column::Kind)
        .column_as(Column::Id.count(), "jobs")
        .group_by(Column::Kind)
        .order_by_asc(Column::Kind)
        .into_tuple()
        .all(db)
        .await
}

/// Lists the jobs that [`count_failed_jobs`] counts, of a user or of all users, the latest first.
pub async fn list_failed_jobs(
    db: &impl ConnectionTrait,
    user: Option<UserId>,
    limit: u64,
) -> Result<Vec<FailedJob>, DbErr> {
    select_listed_jobs(user, limit).into_model::<FailedJob>().all(db).await
}

/// A failed fetch of a page, a file or a recording.
#[derive(Clone, Debug, PartialEq, FromQueryResult)]
pub struct FailedFetch {
    /// Id of the job, by which it is retried.
    pub id: JobId,
    /// The URL that was fetched.
    pub url: String,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Time at which it was given up.
    pub finished_at: Option<Timestamp>,
}

/// Lists the failed jobs of all users whose documents were to be made of something on the web, the latest first.
pub async fn list_failed_fetches(db: &impl ConnectionTrait, limit: u64) -> Result<Vec<FailedFetch>, DbErr> {
    select_failed_fetches(limit).into_model::<FailedFetch>().all(db).await
}

fn select_failed_fetches(limit: u64) -> Select<Entity> {
    failed_jobs(None)
        .join(JoinType::InnerJoin, visible_document())
        .filter(document::Column::Url.is_not_null())
        .select_only()
        .columns([Column::Id, Column::Error, Column::FinishedAt])
        .column(document::Column::Url)
        .order_by_desc(Column::FinishedAt)
        .order_by_desc(Column::Id)
        .limit(limit)
}

fn select_listed_jobs(user: Option<UserId>, limit: u64) -> Select<Entity> {
    let account: RelationDef =
        Entity::belongs_to(user::Entity).from(Column::UserId).to(user::Column::Id).into();
    failed_jobs(user)
        .join(JoinType::InnerJoin, account)
        .join(JoinType::LeftJoin, visible_document())
        .select_only()
        .columns([Column::Id, Column::Kind, Column::Subject, Column::Error, Column::FinishedAt])
        .column(user::Column::Email)
        .column(document::Column::Title)
        .order_by_desc(Column::FinishedAt)
        .order_by_desc(Column::Id)
        .limit(limit)
}

/// Returns the join of a job with the document that is its subject, if the user of the job sees it.
fn visible_document() -> RelationDef {
    Entity::belongs_to(document::Entity)
        .from(Column::Subject)
        .to(document::Column::Id)
        .on_condition(|_, _| {
            let owner = Expr::col((document::Entity, document::Column::UserId));
            let hidden_at = Expr::col((document::Entity, document::Column::HiddenAt));
            Condition::all().add(owner.equals((Entity, Column::UserId))).add(hidden_at.is_null())
        })
        .into()
}

/// Enqueues a job that was given up once more.
///
/// # Errors
/// A [`RetryJobError`]. It is [`RetryJobError::Failed`] with [`Error::Conflict`] when the document of the job is being processed, with
/// [`Error::NotFound`] when it is deleted at the same time, and with another error when the database fails.
pub async fn retry_failed_job(core: &CoreContext, id: JobId) -> Result<(), RetryJobError> {
    let job = find_failed(core.db.read(), id).await.map_err(Error::from)?;
    let job = job.ok_or(RetryJobError::UnknownJob)?;
    let kind = retried_kind(&job)?;
    let txn = begin_owned(&core.db, job.user_id).await.map_err(Error::from)?;
    enqueue_again(core, &txn, &job, kind).await?;
    txn.commit().await.map_err(Error::from)?;
    Ok(())
}

/// Returns the job with this id, of any user, if [`count_failed_jobs`] counts it.
async fn find_failed(db: &impl ConnectionTrait, id: JobId) -> Result<Option<Model>, DbErr> {
    failed_jobs(None).filter(Column::Id.eq(id)).one(db).await
}

/// Selects the jobs of a user, or of all users, that were given up and, if they make a document, whose document the user sees and no
/// other job has made since.
fn failed_jobs(user: Option<UserId>) -> Select<Entity> {
    let makes_document = Column::Kind.is_in(JobKind::that_make_documents());
    let still_failed = Query::select()
        .column(document::Column::Id)
        .from(document::Entity)
        .and_where(Expr::col((document::Entity, document::Column::Id)).equals((Entity, Column::Subject)))
        .and_where(Expr::col((document::Entity, document::Column::Error)).is_not_null())
        .and_where(Expr::col((document::Entity, document::Column::HiddenAt)).is_null())
        .to_owned();
    jobs::given_up(user).filter(makes_document.not().or(Expr::exists(still_failed)))
}

/// Returns the kind of a job that can be retried.
fn retried_kind(job: &Model) -> Result<JobKind, RetryJobError> {
    match JobKind::named(&job.kind) {
        Some(JobKind::Import) => Err(RetryJobError::IsImport),
        Some(JobKind::Export) => Err(RetryJobError::IsExport),
        Some(kind) => Ok(kind),
        None => Err(RetryJobError::UnknownKind),
    }
}

async fn enqueue_again(
    core: &CoreContext,
    txn: &Transaction,
    job: &Model,
    kind: JobKind,
) -> Result<(), RetryJobError> {
    let now = core.clock.now();
    if kind.makes_document() {
        documents::retry_document(txn, job.user_id, DocumentId(job.subject), now).await?;
    } else if !jobs::retry_failed(txn, job, kind, now).await.map_err(Error::from)? {
        return Err(RetryJobError::UnknownJob);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use jobs::Priority;
    use sea_orm::{DbBackend, IntoActiveModel, QueryTrait};
    use tempfile::TempDir;
    use values::kind::{ContentType, DocumentStatus, JobState};
    use values::plan::Plan;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    /// An empty database.
    struct TestLibrary {
        db: Db,
        _folder: TempDir,
    }

    impl TestLibrary {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
            Self { db: Db::open(&url).await.unwrap(), _folder: folder }
        }

        async fn add_user(&self) -> UserId {
            let id = UserId::new(NOON);
            let user = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
            let user = user.into_active_model();
            user::Entity::insert(user).exec_without_returning(self.db.write()).await.unwrap();
            id
        }

        /// Inserts a document whose text could not be extracted, and returns its id.
        async fn add_failed_document(&self, user: UserId, hidden_at: Option<Timestamp>) -> DocumentId {
            let document = document::Model {
                status: DocumentStatus::Failed,
                error: Some("refused".to_owned()),
                hidden_at,
                ..document::Model::pending(user, ContentType::Article, "On ants".to_owned(), NOON)
            };
            let (id, row) = (document.id, document.into_active_model());
            document::Entity::insert(row).exec_without_returning(self.db.write()).await.unwrap();
            id
        }

        /// Inserts a job that was given up.
        async fn add_given_up(&self, user: UserId, kind: JobKind, subject: Uuid) -> Model {
            let job = Model {
                state: JobState::GivenUp,
                error: Some("refused".to_owned()),
                finished_at: Some(NOON),
                ..Model::queued(user, kind.name(), subject, (0, 0), NOON)
            };
            let row = job.clone().into_active_model();
            Entity::insert(row).exec_without_returning(self.db.write()).await.unwrap();
            job
        }
    }

    #[tokio::test]
    async fn failed_jobs_are_listed_and_retried() {
        let library = TestLibrary::new().await;
        let (user, other) = (library.add_user().await, library.add_user().await);
        let (db, kind, subject) = (library.db.write(), JobKind::SendEmail, Uuid::from_u128(1));
        let failed = library.add_given_up(user, kind, subject).await;
        jobs::enqueue(db, user, JobKind::Index, Uuid::from_u128(2), Priority::Now, NOON).await.unwrap();

        let listed = FailedJob {
            id: failed.id,
            email: format!("{user}@reader.example"),
            kind: kind.name().to_owned(),
            subject,
            title: None,
            error: failed.error.clone(),
            finished_at: failed.finished_at,
        };
        assert_eq!(list_failed_jobs(db, None, 10).await.unwrap(), vec![listed.clone()]);
        assert_eq!(list_failed_jobs(db, Some(user), 10).await.unwrap(), vec![listed]);
        assert_eq!(list_failed_jobs(db, Some(other), 10).await.unwrap(), vec![]);
        assert_eq!(find_failed(db, failed.id).await.unwrap(), Some(failed.clone()));

        assert!(jobs::retry_failed(db, &failed, kind, NOON).await.unwrap());
        assert!(!jobs::retry_failed(db, &failed, kind, NOON).await.unwrap());

        assert_eq!(list_failed_jobs(db, None, 10).await.unwrap(), vec![]);
        assert!(jobs::is_waiting(db, kind, subject).await.unwrap());
    }

    #[tokio::test]
    async fn failed_job_of_hidden_document_is_not_listed() {
        let library = TestLibrary::new().await;
        let (user, other) = (library.add_user().await, library.add_user().await);
        let db = library.db.write();
        let visible = library.add_failed_document(user, None).await;
        let hidden = library.add_failed_document(user, Some(NOON)).await;
        let failed = library.add_given_up(user, JobKind::FetchPage, visible.0).await;
        let of_hidden = library.add_given_up(user, JobKind::FetchPage, hidden.0).await;
        // The document of a job that deletes is hidden before the job is queued.
        let removal = library.add_given_up(user, JobKind::RemoveFromIndex, hidden.0).await;
        // A title is shown with the jobs of its owner only.
        let foreign = library.add_given_up(other, JobKind::RemoveFromIndex, visible.0).await;

        let listed = list_failed_jobs(db, None, 10).await.unwrap();

        let mut titles: Vec<_> = listed.into_iter().map(|job| (job.id, job.title)).collect();
        titles.sort();
        let mut expected =
            vec![(failed.id, Some("On ants".to_owned())), (removal.id, None), (foreign.id, None)];
        expected.sort();
        assert_eq!(titles, expected);
        assert_eq!(find_failed(db, of_hidden.id).await.unwrap(), None);
        let counts = count_failed_jobs(db).await.unwrap();
        assert_eq!(counts, [("fetch_page".to_owned(), 1), ("remove_from_index".to_owned(), 2)]);
    }

    #[tokio::test]
    async fn failed_jobs_are_listed_in_the_order_of_an_index() {
        let library = TestLibrary::new().await;

        for (user, index) in
            [(None, "INDEX job_given_up"), (Some(UserId::new(NOON)), "INDEX job_user_given_up")]
        {
            let list = select_listed_jobs(user, 1).build(DbBackend::Sqlite);
            let plan = QueryPlan::of(&library.db, list).await.unwrap();

            assert!(plan.has_step(index) && plan.full_scans().is_empty(), "{plan:#?}");
            assert!(!plan.sorts(), "{plan:#?}");
        }
        let fetches = select_failed_fetches(1).build(DbBackend::Sqlite);
        let plan = QueryPlan::of(&library.db, fetches).await.unwrap();
        assert!(plan.has_step("INDEX job_given_up") && !plan.sorts(), "{plan:#?}");
    }

    #[test]
    fn transfers_and_unknown_kinds_are_not_retried() {
        let job = |kind: &str| Model::queued(UserId(Uuid::nil()), kind, Uuid::nil(), (0, 0), NOON);
        let kind = |name: &str| retried_kind(&job(name));

        assert!(matches!(kind(JobKind::Import.name()), Err(RetryJobError::IsImport)));
        assert!(matches!(kind(JobKind::Export.name()), Err(RetryJobError::IsExport)));
        assert!(matches!(kind("a_later_kind"), Err(RetryJobError::UnknownKind)));
        assert!(matches!(kind(JobKind::Index.name()), Ok(JobKind::Index)));
    }
}
