//! Lists accounts with their plans and their usage, and changes plans and access.

use std::collections::HashMap;

use entity::{account_count, library_usage, usage_day, user};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter, QueryOrder};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use values::id::UserId;
use values::plan::Plan;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::accounts;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use validation::{Choice, Flag, request};

const DEFAULT_LIMIT: u64 = 50;

/// Lists the accounts, oldest first.
#[derive(Debug)]
pub struct ListUsers(PageRequest);

request! {
    /// A page of the accounts.
    pub struct ListUsersRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of accounts. Default 50.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListUsers {
    type Request = ListUsersRequest;

    fn from_request(_: &Target, request: ListUsersRequest) -> Result<Self, Error> {
        Ok(Self(PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT)))
    }
}

/// An account as operators see it: nothing of what its user reads or writes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatedUser {
    /// Id of the account.
    pub user_id: UserId,
    /// E-mail address with which the user signs in.
    pub email: String,
    /// The plan, which decides the limits.
    pub plan: Plan,
    /// Whether the account is that of an operator.
    pub is_operator: bool,
    /// When the account was disabled; null if it is enabled.
    pub disabled_at: Option<Timestamp>,
    /// When the account was created.
    pub created_at: Timestamp,
    /// Number of documents that can be read.
    pub documents: u64,
    /// Number of documents whose text could not be extracted.
    pub failed_documents: u64,
    /// Bytes of the library, as they count towards the plan.
    pub library_bytes: u64,
    /// Bytes of uploaded files.
    pub upload_bytes: u64,
    /// REST requests and MCP tool calls of the UTC day.
    pub calls_today: u64,
}

/// A page of the accounts, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListUsersResponse {
    /// The accounts.
    pub users: Vec<OperatedUser>,
    /// The cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct UserPosition {
    id: UserId,
}

impl Operation for ListUsers {
    type Reply = ListUsersResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListUsersResponse, Error> {
        let list = self.0.of_list(ctx, caller, ListName::new("users"));
        let last: Option<UserPosition> = list.position()?;
        // With a condition on the first page too, so that both databases read a range of the primary key.
        let after = last.map_or(UserId(Uuid::nil()), |last| last.id);
        let accounts = user::Entity::find().filter(user::Column::Id.gt(after)).order_by_asc(user::Column::Id);
        let ListPage { rows, next_cursor } =
            list.fetch(accounts, |row: &user::Model| UserPosition { id: row.id }).await?;
        Ok(ListUsersResponse { users: views(ctx, rows).await?, next_cursor })
    }
}

/// Returns the accounts with their counts.
async fn views(ctx: &OperationContext, rows: Vec<user::Model>) -> Result<Vec<OperatedUser>, Error> {
    let (db, today) = (ctx.core.db.read(), ctx.core.clock.now().day());
    let ids: Vec<UserId> = rows.iter().map(|row| row.id).collect();
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let counts = account_count::Entity::of_users(ids.iter().copied()).all(db).await?;
    let counts: HashMap<UserId, account_count::Model> =
        counts.into_iter().map(|row| (row.user_id, row)).collect();
    let bytes = library_usage::Entity::of_users(ids.iter().copied()).all(db).await?;
    let bytes: HashMap<UserId, i64> = bytes.into_iter().map(|row| (row.user_id, row.bytes)).collect();
    let of_today = usage_day::Entity::of_users(ids).filter(usage_day::Column::Day.eq(today));
    let mut calls: HashMap<UserId, i64> = HashMap::new();
    for row in of_today.all(db).await? {
        *calls.entry(row.user_id).or_default() += row.calls;
    }
    let number = |number: i64| u64::try_from(number).unwrap_or_default();
    let view = |row: user::Model| {
        let counts = counts.get(&row.id);
        OperatedUser {
            user_id: row.id,
            plan: row.plan,
            is_operator: row.operator_since.is_some(),
            disabled_at: row.disabled_at,
            created_at: row.created_at,
            documents: counts.map_or(0, |counts| number(counts.documents)),
            failed_documents: counts.map_or(0, |counts| number(counts.failed_documents)),
            library_bytes: bytes.get(&row.id).copied().map_or(0, number),
            upload_bytes: counts.map_or(0, |counts| number(counts.upload_bytes)),
            calls_today: calls.get(&row.id).copied().map_or(0, number),
            email: row.email,
        }
    };
    Ok(rows.into_iter().map(view).collect())
}

/// Changes the plan of an account, disables it, or enables it again.
#[derive(Debug)]
pub struct ChangeUser {
    id: UserId,
    plan: Option<Plan>,
    disabled: Option<bool>,
}

impl ChangeUser {
    /// Moves an account to another plan.
    pub fn plan(id: UserId, plan: Plan) -> Self {
        Self { id, plan: Some(plan), disabled: None }
    }

    /// Disables an account, or enables it again.
    pub fn disabled(id: UserId, disabled: bool) -> Self {
        Self { id, plan: None, disabled: Some(disabled) }
    }
}

request! {
    /// The changes of an account.
    pub struct ChangeUserRequest {
        /// The new plan of the account. Keys keep their scopes; those that the plan lacks are ignored.
        pub plan?: Choice<Plan>,
        /// `true` disables the account: its sessions and connected apps end, and its keys are refused. `false` enables it again.
        pub disabled?: Flag,
    }
}

impl FromRequest for ChangeUser {
    type Request = ChangeUserRequest;

    fn from_request(target: &Target, request: ChangeUserRequest) -> Result<Self, Error> {
        let plan = request.plan.map(Choice::into_inner);
        Ok(Self { id: target.id(0)?, plan, disabled: request.disabled.map(Flag::into_inner) })
    }
}

/// An account.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ChangeUserResponse {
    /// The account after the change.
    pub user: OperatedUser,
}

impl Operation for ChangeUser {
    type Reply = ChangeUserResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ChangeUserResponse, Error> {
        if self.disabled == Some(true) && self.id == caller.user {
            return Err(Error::conflict(
                "this is your own account; another operator, or `carrel user disable`, can disable it",
            ));
        }
        if let Some(plan) = self.plan {
            accounts::set_plan(&ctx.core, self.id, plan).await?;
        }
        if let Some(disabled) = self.disabled {
            accounts::set_disabled(&ctx.core, self.id, disabled).await?;
        }
        // Cached keys and access tokens of the account are read again, at once in this process.
        ctx.auth.keys.catch_up(&ctx.core.accounts_db).await?;
        let row = user::Entity::find_by_id(self.id).one(ctx.core.accounts_db.read()).await?;
        let changed = views(ctx, row.into_iter().collect()).await?.pop();
        Ok(ChangeUserResponse { user: changed.ok_or(Error::not_found())? })
    }
}
