//! The notice that an application was connected: written in the transaction that connects it, so once each time.

use entity::id::{NoticeId, UserId};
use entity::kind::NoticeKind;
use entity::notice;
use entity::time::Timestamp;
use sea_orm::{ConnectionTrait, DbErr};

use super::letter;

/// Tells a person that this application was connected.
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
            "{client} may now use what you allowed. If that was not you, disconnect it in the settings."
        ),
        client: Some(client.to_owned()),
        created_at: now,
        read_at: None,
    };
    letter::write(txn, row).await
}
