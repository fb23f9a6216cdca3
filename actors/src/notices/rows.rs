//! Rows of notices. Each is written in the transaction of the event that it is about, together with the job that sends it by
//! e-mail (contract.md, section 11: App), so neither exists without the other. The latest of a user are kept.

use entity::notice;
use jobs::{JobKind, Priority};
use sea_orm::sea_query::Query;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter};
use values::id::{GrantId, NoticeId, UserId};
use values::kind::NoticeKind;
use values::time::Timestamp;

/// Notices of a user that are kept: years of them, in about a megabyte. Creating and deleting keys is not limited, and a program that
/// does so in a loop and uses each key causes a notice each time.
const MAX_NOTICES: u64 = 1_000;

/// Inserts a notice and enqueues its e-mail. Deletes the oldest notices of the user beyond [`MAX_NOTICES`].
pub(super) async fn insert(txn: &impl ConnectionTrait, row: notice::Model) -> Result<(), DbErr> {
    let (user, id, now) = (row.user_id, row.id, row.created_at);
    notice::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    jobs::enqueue(txn, user, JobKind::SendEmail, id.0, Priority::Now, now).await?;
    delete_oldest(txn, user, id).await
}

/// Deletes the notices of a user beyond [`MAX_NOTICES`] with the jobs of their e-mails, but not the one that was just inserted.
async fn delete_oldest(txn: &impl ConnectionTrait, user: UserId, inserted: NoticeId) -> Result<(), DbErr> {
    let is_deleted = notice::Entity::is_beyond_newest(user, MAX_NOTICES, inserted);
    let deleted = Query::select()
        .column(notice::Column::Id)
        .from(notice::Entity)
        .and_where(notice::Column::UserId.eq(user))
        .and_where(is_deleted.clone())
        .to_owned();
    // An e-mail that a server refuses leaves a job that is kept for 90 days, so these rows must not outlive the notice.
    jobs::remove_with_subjects(txn, user, JobKind::SendEmail, deleted).await?;
    notice::Entity::delete_owned(user).filter(is_deleted).exec(txn).await.map(drop)
}

/// Inserts the notice that a client was connected, in the transaction that connects it.
pub(crate) async fn app_connected(
    txn: &impl ConnectionTrait,
    user: UserId,
    grant: GrantId,
    client: &str,
    now: Timestamp,
) -> Result<(), DbErr> {
    let row = notice::Model {
        id: NoticeId::new(now),
        user_id: user,
        kind: NoticeKind::AppConnected,
        title: format!("“{client}” was connected to your library"),
        body: format!(
            "{client} can now use your library with the permissions that you allowed. If you did not connect it, disconnect it \
             in the settings of Carrel, under Connected apps, and change your password."
        ),
        client: Some(client.to_owned()),
        created_at: now,
        read_at: None,
        subject_id: Some(grant.0),
    };
    insert(txn, row).await
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use database::{Db, QueryPlan, insert_all};
    use entity::{job, user};
    use sea_orm::QueryOrder;
    use values::plan::Plan;

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    /// An empty database in this folder.
    async fn open_database(folder: &tempfile::TempDir) -> Db {
        Db::open(&format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display())).await.unwrap()
    }

    async fn insert_user(db: &Db) -> UserId {
        let id = UserId::new(NOON);
        let row = user::Model::new(id, format!("{id}@reader.example"), String::new(), Plan::Pro, NOON);
        user::Entity::insert(row.into_active_model()).exec_without_returning(db.write()).await.unwrap();
        id
    }

    /// Inserts as many notices as are kept, a millisecond apart from [`NOON`] on. Returns their ids, the oldest first.
    async fn insert_notices(db: &Db, user: UserId) -> Vec<NoticeId> {
        let row = |number| {
            let created_at = NOON + Duration::from_millis(number);
            notice::Model {
                id: NoticeId::new(created_at),
                user_id: user,
                kind: NoticeKind::AppConnected,
                title: String::new(),
                body: String::new(),
                client: None,
                created_at,
                read_at: None,
                subject_id: None,
            }
        };
        let rows: Vec<notice::Model> = (0..MAX_NOTICES).map(row).collect();
        insert_all::<notice::Entity>(db.write(), rows.clone(), None).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }

    async fn list_notices(db: &Db, user: UserId) -> Vec<NoticeId> {
        let oldest_first = notice::Entity::owned_by(user).order_by_asc(notice::Column::Id);
        oldest_first.all(db.read()).await.unwrap().into_iter().map(|row| row.id).collect()
    }

    #[actix::test]
    async fn notice_beyond_the_maximum_deletes_the_oldest_with_its_job() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let (user, other) = (insert_user(&db).await, insert_user(&db).await);
        let (own, of_other) = (insert_notices(&db, user).await, insert_notices(&db, other).await);
        for (owner, notice) in [(user, own[0]), (user, own[1]), (other, of_other[0])] {
            jobs::enqueue(db.write(), owner, JobKind::SendEmail, notice.0, Priority::Now, NOON)
                .await
                .unwrap();
        }

        app_connected(db.write(), user, GrantId::new(NOON), "Heron", NOON + Duration::from_secs(60))
            .await
            .unwrap();

        let left = list_notices(&db, user).await;
        assert_eq!((left.len() as u64, &left[..left.len() - 1]), (MAX_NOTICES, &own[1..]));
        assert_eq!(list_notices(&db, other).await, of_other);
        let jobs = job::Entity::of_every_user().all(db.read()).await.unwrap();
        let subjects: Vec<NoticeId> = jobs.iter().map(|job| NoticeId(job.subject)).collect();
        assert_eq!(subjects.len(), 3);
        assert!(!subjects.contains(&own[0]) && subjects.contains(&left[left.len() - 1]));
    }

    #[actix::test]
    async fn notice_is_kept_although_the_clock_was_set_back() {
        let folder = tempfile::tempdir().unwrap();
        let db = open_database(&folder).await;
        let user = insert_user(&db).await;
        let own = insert_notices(&db, user).await;

        for minutes in [2, 1] {
            let earlier = NOON - Duration::from_secs(60 * minutes);
            app_connected(db.write(), user, GrantId::new(NOON), "Heron", earlier).await.unwrap();
        }

        // The second one deletes the first one, and not the later ones.
        let left = list_notices(&db, user).await;
        assert_eq!(left[0].created_at(), Some(NOON - Duration::from_secs(60)));
        assert_eq!(left[1..], own[..]);
    }

    #[actix::test]
    async fn oldest_notices_are_found_by_indexes() {
        let folder = tempfile::tempdir().unwrap();
        let mut db = open_database(&folder).await;
        let (unrecorded, user) = (db.clone(), insert_user(&db).await);
        let sent = db.record_statements();

        app_connected(db.write(), user, GrantId::new(NOON), "Heron", NOON).await.unwrap();

        let plans = QueryPlan::of_each(&unrecorded, sent.take()).await.unwrap();
        for step in ["notice_user (user_id=? AND id<?)", "job_subject (subject=?)"] {
            assert!(plans.iter().any(|plan| plan.has_step(step)), "no step {step}: {plans:#?}");
        }
        assert!(plans.iter().all(|plan| plan.full_scans().is_empty() && !plan.sorts()), "{plans:#?}");
    }
}
