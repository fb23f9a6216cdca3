//! Shows the account.

use entity::{bookmark, collection, document, feed, highlight, project, upload, user};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, EntityTrait, PaginatorTrait, QueryFilter};
use serde::Serialize;
use values::id::UserId;
use values::plan::Plan;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::uploads::stored_bytes;
use validation::NoFields;

/// Shows the account of the caller: profile, plan, and how much the library contains.
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
    /// E-mail address with which the user signs in.
    email: String,
    /// Name that the user gave; null if none was given.
    name: Option<String>,
    plan: Plan,
    /// When the account was created.
    created_at: Timestamp,
    /// Numbers of items in the library.
    counts: AccountCounts,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AccountCounts {
    /// Saved pages and uploads, without deleted ones.
    bookmarks: u64,
    /// Documents that can be read: the texts of bookmarks, uploads, notes and feed entries.
    documents: u64,
    highlights: u64,
    collections: u64,
    /// Feeds that the user follows.
    feeds: u64,
    projects: u64,
    /// Uploads that were completed.
    uploads: u64,
    /// Bytes of the uploaded files, including those of announced uploads.
    stored_bytes: u64,
}

impl Operation for ShowAccount {
    type Reply = ShowAccountResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadUser];
    // A response of a few fixed fields needs no slot.
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShowAccountResponse, Error> {
        let (db, id) = (ctx.core.db.read(), caller.user);
        let completed = upload::Column::CompletedAt.is_not_null();
        // The account may have been deleted after the request was authenticated.
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
