//! Shows the account.

use entity::id::UserId;
use entity::plan::Plan;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{bookmark, collection, document, feed, highlight, project, upload, user};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};
use serde::Serialize;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::uploads::stored_bytes;
use validation::NoFields;

/// Shows the account of the caller.
#[derive(Debug)]
pub struct ShowAccount;

impl FromRequest for ShowAccount {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The account of the API key (contract.md, section 6: GET /user).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowAccountResponse {
    user_id: UserId,
    email: String,
    name: Option<String>,
    plan: Plan,
    created_at: Timestamp,
    counts: AccountCounts,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AccountCounts {
    bookmarks: u64,
    documents: u64,
    highlights: u64,
    collections: u64,
    feeds: u64,
    projects: u64,
    uploads: u64,
    stored_bytes: u64,
}

impl Operation for ShowAccount {
    type Reply = ShowAccountResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadUser];
    const NEEDS_ANSWER_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShowAccountResponse, Error> {
        let (db, id) = (ctx.core.db.read(), caller.user);
        let completed = upload::Column::CompletedAt.is_not_null();
        let row = user::Entity::find_by_id(id).one(db).await?.ok_or(Error::not_found())?;
        Ok(ShowAccountResponse {
            user_id: row.id,
            email: row.email,
            name: row.name,
            plan: row.plan,
            created_at: row.created_at,
            counts: AccountCounts {
                bookmarks: bookmark::Entity::visible_to(id).count(db).await?,
                documents: document::Entity::visible_to(id).count(db).await?,
                highlights: highlight::Entity::owned_by(id).count(db).await?,
                collections: collection::Entity::owned_by(id).count(db).await?,
                feeds: feed::Entity::owned_by(id).count(db).await?,
                projects: project::Entity::owned_by(id).count(db).await?,
                uploads: upload::Entity::owned_by(id).filter(completed).count(db).await?,
                stored_bytes: stored_bytes(db, id, ctx.core.clock.now()).await?,
            },
        })
    }
}
