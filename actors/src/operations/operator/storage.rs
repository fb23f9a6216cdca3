//! Shows how much is stored, and how much space is left.

use database::Db;
use disk::SpaceLevel;
use entity::{account_count, library_usage};
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{DbErr, QuerySelect};
use serde::Serialize;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use validation::NoFields;

/// Reads the sums of all accounts, and the free space.
#[derive(Debug)]
pub struct ShowStorage;

impl FromRequest for ShowStorage {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// How much is stored, over all accounts.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StorageResponse {
    /// The database: `sqlite` or `postgres`.
    pub database: &'static str,
    /// Number of accounts.
    pub accounts: u64,
    /// Number of saved pages and uploads.
    pub bookmarks: u64,
    /// Number of documents that can be read.
    pub documents: u64,
    /// Bytes of the libraries, as they count towards the plans: texts, and a constant number for each row.
    pub library_bytes: u64,
    /// Number of uploaded files.
    pub uploads: u64,
    /// Bytes of uploaded files.
    pub upload_bytes: u64,
    /// Free bytes of the fullest disk of the database and the index; null if it cannot be measured.
    pub free_bytes: Option<u64>,
    /// Free bytes below which nothing is saved; 0 means no floor.
    pub min_free_bytes: u64,
    /// Whether the disks have more than that.
    pub has_room: bool,
}

impl Operation for ShowStorage {
    type Reply = StorageResponse;
    const SCOPES: &'static [Scope] = &[];
    const NEEDS_OPERATOR: bool = true;

    async fn run(self, _: &Caller, ctx: &OperationContext) -> Result<StorageResponse, Error> {
        let AccountSums { accounts, bookmarks, documents, uploads, upload_bytes } =
            AccountSums::read(&ctx.core.db).await?;
        Ok(StorageResponse {
            database: if ctx.core.db.is_postgres() { "postgres" } else { "sqlite" },
            accounts,
            bookmarks,
            documents,
            library_bytes: sum_library_bytes(&ctx.core.db).await?,
            uploads,
            upload_bytes,
            free_bytes: ctx.disk.free_bytes(),
            min_free_bytes: ctx.disk.min_free_bytes(),
            has_room: ctx.disk.level() == SpaceLevel::AboveFloor,
        })
    }
}

/// Sums over the counters of all accounts.
struct AccountSums {
    accounts: u64,
    bookmarks: u64,
    documents: u64,
    uploads: u64,
    upload_bytes: u64,
}

impl AccountSums {
    async fn read(db: &Db) -> Result<Self, DbErr> {
        // PostgreSQL sums BIGINT as NUMERIC.
        let sum =
            |column: &str| Expr::cust(format!("CAST(COALESCE(SUM(account_count.{column}), 0) AS BIGINT)"));
        let sums: Option<(i64, i64, i64, i64, i64)> = account_count::Entity::of_every_user()
            .select_only()
            .expr_as(Expr::cust("COUNT(*)"), "accounts")
            .expr_as(sum("bookmarks"), "bookmarks")
            .expr_as(sum("documents"), "documents")
            .expr_as(sum("uploads"), "uploads")
            .expr_as(sum("upload_bytes"), "upload_bytes")
            .into_tuple()
            .one(db.read())
            .await?;
        let [accounts, bookmarks, documents, uploads, upload_bytes] = sums
            .map_or([0; 5], |sums| <[i64; 5]>::from(sums).map(|sum| u64::try_from(sum).unwrap_or_default()));
        Ok(Self { accounts, bookmarks, documents, uploads, upload_bytes })
    }
}

async fn sum_library_bytes(db: &Db) -> Result<u64, DbErr> {
    let sum = Expr::cust("CAST(COALESCE(SUM(library_usage.bytes), 0) AS BIGINT)");
    let all = library_usage::Entity::of_every_user().select_only().expr_as(sum, "bytes");
    let bytes: Option<i64> = all.into_tuple().one(db.read()).await?;
    Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or_default())
}
