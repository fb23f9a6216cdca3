//! Renames and removes a folder of feeds. A folder is a name that feeds have, so it ends with its last feed.

use entity::feed;
use errors::Error;
use library::owned_transaction::begin_request;
use schemars::JsonSchema;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, QueryFilter, QueryOrder};
use serde::Serialize;
use validation::{DisplayName, request};
use values::id::{FeedId, UserId};
use values::scope::Scope;

use super::fields::{FeedName, trim_name};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;

/// Feeds that are changed with one statement.
const BATCH_ROWS: usize = 500;

/// Gives all feeds of a folder another folder, or none.
#[derive(Debug)]
pub struct RenameFolder {
    folder: String,
    name: Option<String>,
}

request! {
    /// A folder and its new name.
    pub struct RenameFolderRequest {
        /// The name of the folder.
        pub folder: DisplayName<1, 300>,
        /// The new name. If a folder has it already, the feeds are added to that one. An empty string leaves the feeds without a folder.
        pub name: FeedName,
    }
}

impl FromRequest for RenameFolder {
    type Request = RenameFolderRequest;

    fn from_request(_: &Target, request: RenameFolderRequest) -> Result<Self, Error> {
        Ok(Self { folder: request.folder.into_inner(), name: trim_name(request.name) })
    }
}

/// The number of feeds that are in another folder now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RenameFolderResponse {
    /// Number of feeds of the folder.
    pub changed: usize,
}

impl Operation for RenameFolder {
    type Reply = RenameFolderResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteFeeds];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<RenameFolderResponse, Error> {
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let feeds = feeds_in(&txn, caller.user, &self.folder).await?;
        if feeds.is_empty() {
            return Err(Error::not_found());
        }
        for batch in feeds.chunks(BATCH_ROWS) {
            feed::Entity::update_owned(caller.user)
                .col_expr(feed::Column::Folder, Expr::value(self.name.clone()))
                .filter(feed::Column::Id.is_in(batch.iter().copied()))
                .exec(&txn)
                .await?;
        }
        txn.commit().await?;
        Ok(RenameFolderResponse { changed: feeds.len() })
    }
}

/// Returns the feeds of a folder. All feeds of the user are read: they are followed by hand, and no index has folders.
pub async fn feeds_in(db: &impl ConnectionTrait, user: UserId, folder: &str) -> Result<Vec<FeedId>, Error> {
    let rows = feed::Entity::owned_by(user).order_by_asc(feed::Column::Id).all(db).await?;
    Ok(rows.into_iter().filter(|row| row.folder.as_deref() == Some(folder)).map(|row| row.id).collect())
}
