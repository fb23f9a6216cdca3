//! Finds what an access token grants in one statement.

use std::sync::LazyLock;

use database::{DirectQuery, DirectRow};
use entity::oauth_client::RedirectUris;
use sea_orm::{DbErr, Value};
use values::id::{GrantId, UserId};
use values::kind::{GrantState, TokenKind};
use values::plan::Plan;
use values::scope::Scopes;
use values::time::Timestamp;

use super::client::name_or_host;
use super::context::GrantContext;
use crate::auth::secret::SecretHash;

/// An access token whose grant is the same as when it was issued (`token::is_current`), and whose owner is not disabled.
static CURRENT_ACCESS: LazyLock<DirectQuery> = LazyLock::new(|| {
    DirectQuery::of_sql(|_| {
        r#"SELECT "oauth_grant"."id", "user"."id", "user"."plan", "oauth_token"."scopes", "oauth_token"."expires_at",
            "oauth_grant"."mcp_client", "oauth_client"."name", "oauth_client"."redirect_uris"
        FROM "oauth_token"
            JOIN "oauth_grant" ON "oauth_grant"."id" = "oauth_token"."grant_id"
            JOIN "user" ON "user"."id" = "oauth_grant"."user_id"
            JOIN "oauth_client" ON "oauth_client"."id" = "oauth_grant"."client_id"
        WHERE "oauth_token"."hash" = $1 AND "oauth_token"."kind" = $2 AND "oauth_grant"."state" = $3
            AND "oauth_grant"."token_family" = "oauth_token"."token_family" AND "oauth_grant"."resource" = $4
            AND "user"."disabled_at" IS NULL"#
            .to_owned()
    })
});

/// What a valid or expired access token grants.
pub struct AccessRow {
    /// The grant that the token belongs to.
    pub grant: GrantId,
    /// The user who connected the client.
    pub user: UserId,
    /// The plan of that user.
    pub plan: Plan,
    /// The scopes of the token.
    pub scopes: Scopes,
    /// Time after which the token is refused.
    pub expires_at: Timestamp,
    /// Client name and version from the latest MCP `initialize` request.
    pub mcp_client: Option<String>,
    /// The name of the client, as users see it.
    pub client_name: String,
}

/// Returns what the access token with this hash grants. An expired one is returned too; `None` if it is unknown or revoked, or its owner
/// is disabled.
pub async fn find_access(ctx: &GrantContext, hash: &SecretHash) -> Result<Option<AccessRow>, DbErr> {
    let values: [Value; 4] = [
        hash.bytes().to_vec().into(),
        TokenKind::Access.into(),
        GrantState::Connected.into(),
        ctx.resource.to_string().into(),
    ];
    ctx.db.direct().query_one(&CURRENT_ACCESS, values, decode_access).await
}

fn decode_access(row: &DirectRow<'_>) -> Result<AccessRow, DbErr> {
    let (name, redirect_uris): (Option<String>, RedirectUris) = (row.get(6)?, row.get(7)?);
    Ok(AccessRow {
        grant: row.get(0)?,
        user: row.get(1)?,
        plan: row.get(2)?,
        scopes: row.get(3)?,
        expires_at: row.get(4)?,
        mcp_client: row.get(5)?,
        client_name: name_or_host(name, &redirect_uris),
    })
}
