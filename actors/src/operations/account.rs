//! Shows the account, and changes its name.

use entity::{account_count, user};
use schemars::JsonSchema;
use sea_orm::EntityTrait;
use serde::Serialize;
use values::id::UserId;
use values::plan::Plan;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::accounts;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::uploads::stored_bytes;
use validation::{DisplayName, NoFields, request};

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
        // The account may have been deleted after the request was authenticated.
        let row = user::Entity::find_by_id(id).one(db).await?.ok_or(Error::not_found())?;
        let counts = account_count::Entity::owned_by(id).one(db).await?.ok_or(Error::not_found())?;
        Ok(ShowAccountResponse {
            user_id: row.id,
            email: row.email,
            name: row.name,
            plan: row.plan,
            created_at: row.created_at,
            counts: AccountCounts {
                bookmarks: number(counts.bookmarks),
                documents: number(counts.documents),
                highlights: number(counts.highlights),
                collections: number(counts.collections),
                feeds: number(counts.feeds),
                projects: number(counts.projects),
                uploads: number(counts.uploads),
                stored_bytes: stored_bytes(db, id, ctx.core.clock.now()).await?,
            },
        })
    }
}

/// Changes the name of the account.
#[derive(Debug)]
pub struct ChangeProfile(ChangeProfileRequest);

request! {
    /// The new name of the user.
    pub struct ChangeProfileRequest {
        /// Name of the user; null for none.
        pub name~: DisplayName<1, 300>,
    }
}

impl FromRequest for ChangeProfile {
    type Request = ChangeProfileRequest;

    fn from_request(_: &Target, request: ChangeProfileRequest) -> Result<Self, Error> {
        Ok(Self(request))
    }
}

/// The account as its user sees it after a change.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProfileResponse {
    /// E-mail address with which the user signs in.
    pub email: String,
    /// Name that the user gave; null if none was given.
    pub name: Option<String>,
}

impl Operation for ChangeProfile {
    type Reply = ProfileResponse;
    // Only the session of the web app reaches it.
    const SCOPES: &'static [Scope] = &[];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ProfileResponse, Error> {
        let name = self.0.name.into_change();
        let name = name.map(|name| name.map(DisplayName::into_inner));
        let row = accounts::set_name(&ctx.core, caller.user, name).await?;
        Ok(ProfileResponse { email: row.email, name: row.name })
    }
}

/// Returns the number of a counter, which is never negative.
fn number(counter: i64) -> u64 {
    u64::try_from(counter).unwrap_or_default()
}
