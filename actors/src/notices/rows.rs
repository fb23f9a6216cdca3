//! Rows of notices. Each is written in the transaction of the event that it is about, together with the job that sends it by
//! e-mail (contract.md, section 11: App), so neither exists without the other.

use entity::notice;
use jobs::{JobKind, Priority};
use sea_orm::{ConnectionTrait, DbErr, EntityTrait, IntoActiveModel};
use values::id::{NoticeId, UserId};
use values::kind::NoticeKind;
use values::time::Timestamp;

/// Inserts a notice and enqueues its e-mail.
pub(super) async fn insert(txn: &impl ConnectionTrait, row: notice::Model) -> Result<(), DbErr> {
    let (user, id, now) = (row.user_id, row.id, row.created_at);
    notice::Entity::insert(row.into_active_model()).exec_without_returning(txn).await?;
    jobs::enqueue(txn, user, JobKind::SendEmail, id.0, Priority::Now, now).await
}

/// Inserts the notice that a client was connected, in the transaction that connects it.
pub(crate) async fn app_connected(
    txn: &impl ConnectionTrait,
    user: UserId,
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
             with `carrel app disconnect`, or ask the operator of your server to do so."
        ),
        client: Some(client.to_owned()),
        created_at: now,
        read_at: None,
    };
    insert(txn, row).await
}
