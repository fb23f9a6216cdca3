//! Finds a key and the plan of its owner in one statement.

use std::sync::LazyLock;

use database::{Db, DirectQuery, DirectRow};
use entity::api_key;
use sea_orm::DbErr;
use values::plan::Plan;

use crate::auth::secret::SecretHash;

/// The columns of the key in their order, then the plan of its owner, whose account is not disabled.
static KEY_WITH_PLAN: LazyLock<DirectQuery> = LazyLock::new(|| {
    DirectQuery::of_sql(|_| {
        r#"SELECT "api_key"."id", "api_key"."user_id", "api_key"."name", "api_key"."kind", "api_key"."secret_hash",
            "api_key"."is_connection_test", "api_key"."display", "api_key"."scopes", "api_key"."hourly_limit",
            "api_key"."created_at", "api_key"."expires_at", "api_key"."first_used_at", "api_key"."last_used_at",
            "api_key"."last_client", "api_key"."mcp_client", "user"."plan"
        FROM "api_key" JOIN "user" ON "user"."id" = "api_key"."user_id" AND "user"."disabled_at" IS NULL
        WHERE "api_key"."secret_hash" = $1"#
            .to_owned()
    })
});

/// Returns the key whose secret has this hash, with the plan of its owner; `None` if it is unknown or its owner is disabled.
pub async fn find_key(db: &Db, hash: &SecretHash) -> Result<Option<(api_key::Model, Plan)>, DbErr> {
    db.direct().query_one(&KEY_WITH_PLAN, [hash.bytes().to_vec().into()], decode_key).await
}

fn decode_key(row: &DirectRow<'_>) -> Result<(api_key::Model, Plan), DbErr> {
    let key = api_key::Model {
        id: row.get(0)?,
        user_id: row.get(1)?,
        name: row.get(2)?,
        kind: row.get(3)?,
        secret_hash: row.get(4)?,
        is_connection_test: row.get(5)?,
        display: row.get(6)?,
        scopes: row.get(7)?,
        hourly_limit: row.get(8)?,
        created_at: row.get(9)?,
        expires_at: row.get(10)?,
        first_used_at: row.get(11)?,
        last_used_at: row.get(12)?,
        last_client: row.get(13)?,
        mcp_client: row.get(14)?,
    };
    Ok((key, row.get(15)?))
}
