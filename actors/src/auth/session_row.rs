//! Finds a session with its account in one statement.

use std::sync::LazyLock;

use database::{Db, DirectQuery, DirectRow};
use entity::user;
use sea_orm::{DbErr, Value};
use values::id::SessionId;
use values::time::Timestamp;

use crate::auth::secret::SecretHash;

/// The session, then the columns of its account in their order. A disabled account is not signed in.
static SESSION_WITH_USER: LazyLock<DirectQuery> = LazyLock::new(|| {
    DirectQuery::of_sql(|_| {
        r#"SELECT "session"."id", "user"."id", "user"."email", "user"."name", "user"."password_hash", "user"."plan",
            "user"."disabled_at", "user"."operator_since", "user"."created_at", "session"."last_used_at"
        FROM "session" JOIN "user" ON "user"."id" = "session"."user_id" AND "user"."disabled_at" IS NULL
        WHERE "session"."secret_hash" = $1 AND "session"."expires_at" > $2"#
            .to_owned()
    })
});

/// A session with its account.
pub struct FoundSession {
    pub id: SessionId,
    pub owner: user::Model,
    pub last_used_at: Timestamp,
}

/// Returns the session whose secret has this hash, with its account; `None` if it has ended or the account is disabled.
pub async fn find_session(db: &Db, hash: &SecretHash, now: Timestamp) -> Result<Option<FoundSession>, DbErr> {
    let values: [Value; 2] = [hash.bytes().to_vec().into(), now.into()];
    db.direct().query_one(&SESSION_WITH_USER, values, decode_session).await
}

fn decode_session(row: &DirectRow<'_>) -> Result<FoundSession, DbErr> {
    let owner = user::Model {
        id: row.get(1)?,
        email: row.get(2)?,
        name: row.get(3)?,
        password_hash: row.get(4)?,
        plan: row.get(5)?,
        disabled_at: row.get(6)?,
        operator_since: row.get(7)?,
        created_at: row.get(8)?,
    };
    Ok(FoundSession { id: row.get(0)?, owner, last_used_at: row.get(9)? })
}
