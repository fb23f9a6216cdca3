//! Lists, counts and finds the jobs that failed: they were given up, and their work is still missing.

use std::collections::{HashMap, HashSet};

use entity::job::{Column, Entity, Model};
use entity::{document, user};
use sea_orm::sea_query::{Expr, ExprTrait, Query};
use sea_orm::{
    ColumnTrait, Condition, ConnectionTrait, DbErr, EntityTrait, QueryFilter, QueryOrder, QuerySelect,
};
use uuid::Uuid;
use values::id::{DocumentId, JobId, UserId};
use values::kind::JobState;

use super::kind::JobKind;

/// A job that failed, with what a report shows beside its row.
#[derive(Clone, Debug, PartialEq)]
pub struct FailedJob {
    /// The row of the job.
    pub row: Model,
    /// E-mail address of the account for which it ran.
    pub email: String,
    /// Title of the document that is its subject; `None` if it has another subject, or its user does not see the document.
    pub title: Option<String>,
}

/// Counts the failed jobs of all users, by kind. A job that makes a document counts while the error of its document is recorded,
/// which another job may remove, and while the document is not hidden. It reads every job that was given up.
pub async fn failed_by_kind(db: &impl ConnectionTrait) -> Result<Vec<(String, i64)>, DbErr> {
    Entity::of_every_user()
        .select_only()
        .column(Column::Kind)
        .column_as(Column::Id.count(), "jobs")
        .filter(has_failed())
        .group_by(Column::Kind)
        .order_by_asc(Column::Kind)
        .into_tuple()
        .all(db)
        .await
}

/// Lists the jobs that [`failed_by_kind`] counts, of a user or of all users, the latest first.
pub async fn list_failed(
    db: &impl ConnectionTrait,
    user: Option<UserId>,
    limit: u64,
) -> Result<Vec<FailedJob>, DbErr> {
    let jobs = user.map_or_else(Entity::of_every_user, Entity::owned_by).filter(has_failed());
    let latest = jobs.order_by_desc(Column::FinishedAt).order_by_desc(Column::Id).limit(limit);
    let rows = latest.all(db).await?;
    let emails = load_emails(db, &rows).await?;
    let titles = load_titles(db, &rows).await?;
    let with_names = |row: Model| FailedJob {
        email: emails.get(&row.user_id).cloned().unwrap_or_default(),
        title: titles.get(&row.subject).cloned(),
        row,
    };
    Ok(rows.into_iter().map(with_names).collect())
}

/// Returns the job with this id, of any user, if [`failed_by_kind`] counts it.
pub async fn find_failed(db: &impl ConnectionTrait, id: JobId) -> Result<Option<Model>, DbErr> {
    Entity::of_every_user().filter(Column::Id.eq(id)).filter(has_failed()).one(db).await
}

/// Selects the jobs that were given up and, if they make a document, whose document the user sees and no other job has made since.
fn has_failed() -> Condition {
    let makes_document = Column::Kind.is_in(JobKind::that_make_documents());
    let still_failed = Query::select()
        .column(document::Column::Id)
        .from(document::Entity)
        .and_where(Expr::col((document::Entity, document::Column::Id)).equals((Entity, Column::Subject)))
        .and_where(Expr::col((document::Entity, document::Column::Error)).is_not_null())
        .and_where(Expr::col((document::Entity, document::Column::HiddenAt)).is_null())
        .to_owned();
    Condition::all()
        .add(Column::State.eq(JobState::GivenUp))
        .add(makes_document.not().or(Expr::exists(still_failed)))
}

/// Loads the e-mail addresses of the accounts for which the jobs ran.
async fn load_emails(db: &impl ConnectionTrait, rows: &[Model]) -> Result<HashMap<UserId, String>, DbErr> {
    let users: HashSet<UserId> = rows.iter().map(|row| row.user_id).collect();
    // Two columns rather than rows, which have the hashes of passwords.
    let accounts = user::Entity::find()
        .select_only()
        .columns([user::Column::Id, user::Column::Email])
        .filter(user::Column::Id.is_in(users));
    let emails: Vec<(UserId, String)> = accounts.into_tuple().all(db).await?;
    Ok(emails.into_iter().collect())
}

/// Loads the titles of the documents that are subjects of jobs, by their ids.
async fn load_titles(db: &impl ConnectionTrait, rows: &[Model]) -> Result<HashMap<Uuid, String>, DbErr> {
    let mut documents: HashMap<UserId, Vec<DocumentId>> = HashMap::new();
    for row in rows {
        documents.entry(row.user_id).or_default().push(DocumentId(row.subject));
    }
    let mut titles = HashMap::new();
    for (user, ids) in documents {
        let own = document::Entity::visible_to(user).filter(document::Column::Id.is_in(ids));
        // Two columns rather than rows: a document may have a long text.
        let found = own.select_only().columns([document::Column::Id, document::Column::Title]);
        let found: Vec<(Uuid, String)> = found.into_tuple().all(db).await?;
        titles.extend(found);
    }
    Ok(titles)
}

#[cfg(test)]
mod tests {
    use sea_orm::IntoActiveModel;
    use values::kind::{ContentType, DocumentStatus};
    use values::time::Timestamp;

    use super::*;
    use crate::test_queue::{NOON, TestQueue, subject};
    use crate::{is_waiting, retry_failed};

    /// Returns a job that was given up.
    fn given_up(user: UserId, kind: JobKind, subject: Uuid) -> Model {
        Model {
            state: JobState::GivenUp,
            error: Some("refused".to_owned()),
            finished_at: Some(NOON),
            ..Model::queued(user, kind.name(), subject, (0, 0), NOON)
        }
    }

    /// Inserts a document whose text could not be extracted, and returns its id.
    async fn insert_failed_document(
        queue: &TestQueue,
        user: UserId,
        hidden_at: Option<Timestamp>,
    ) -> DocumentId {
        let document = document::Model {
            status: DocumentStatus::Failed,
            error: Some("refused".to_owned()),
            hidden_at,
            ..document::Model::pending(user, ContentType::Article, "On ants".to_owned(), NOON)
        };
        let (id, row) = (document.id, document.into_active_model());
        document::Entity::insert(row).exec_without_returning(queue.db.write()).await.unwrap();
        id
    }

    #[tokio::test]
    async fn failed_jobs_are_listed_and_retried() {
        let queue = TestQueue::new().await;
        let (user, other) = (queue.add_user().await, queue.add_user().await);
        let (db, kind) = (queue.db.write(), JobKind::SendEmail);
        let failed = given_up(user, kind, subject(1));
        queue.insert(&failed).await;
        queue.enqueue(user, subject(2)).await;

        let listed = FailedJob { row: failed.clone(), email: format!("{user}@reader.example"), title: None };
        assert_eq!(list_failed(db, None, 10).await.unwrap(), vec![listed.clone()]);
        assert_eq!(list_failed(db, Some(user), 10).await.unwrap(), vec![listed]);
        assert_eq!(list_failed(db, Some(other), 10).await.unwrap(), vec![]);
        assert_eq!(find_failed(db, failed.id).await.unwrap(), Some(failed.clone()));

        assert!(retry_failed(db, &failed, kind, NOON).await.unwrap());
        assert!(!retry_failed(db, &failed, kind, NOON).await.unwrap());

        assert_eq!(list_failed(db, None, 10).await.unwrap(), vec![]);
        assert!(is_waiting(db, kind, subject(1)).await.unwrap());
    }

    #[tokio::test]
    async fn failed_job_of_hidden_document_is_not_listed() {
        let queue = TestQueue::new().await;
        let user = queue.add_user().await;
        let db = queue.db.write();
        let visible = insert_failed_document(&queue, user, None).await;
        let hidden = insert_failed_document(&queue, user, Some(NOON)).await;
        let [failed, of_hidden] =
            [visible, hidden].map(|document| given_up(user, JobKind::FetchPage, document.0));
        queue.insert(&failed).await;
        queue.insert(&of_hidden).await;
        // The document of a job that deletes is hidden before the job is queued.
        let removal = given_up(user, JobKind::RemoveFromIndex, hidden.0);
        queue.insert(&removal).await;

        let listed = list_failed(db, None, 10).await.unwrap();

        let mut titles: Vec<_> = listed.into_iter().map(|job| (job.row.id, job.title)).collect();
        titles.sort();
        let mut expected = vec![(failed.id, Some("On ants".to_owned())), (removal.id, None)];
        expected.sort();
        assert_eq!(titles, expected);
        assert_eq!(find_failed(db, of_hidden.id).await.unwrap(), None);
        let counts = failed_by_kind(db).await.unwrap();
        assert_eq!(counts, [("fetch_page".to_owned(), 1), ("remove_from_index".to_owned(), 1)]);
    }
}
