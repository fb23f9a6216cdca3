//! Adds items to a project: all or none, with the URLs among them saved first (contract.md, sections 5 and 11).

use std::collections::HashSet;

use entity::project;
use schemars::JsonSchema;
use sea_orm::ConnectionTrait;
use serde::Serialize;
use values::id::ProjectId;
use values::scope::Scope;
use values::time::Timestamp;
use web::PageUrl;

use super::item_object::ItemObject;
use super::items::{self, ItemView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use jobs::{Priority, RecentCounts};
use library::bookmarks::{self, NewBookmark};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use library::projects::{self, ItemRef, NewItem, ResolvedItem};
use validation::{List, request};

request! {
    /// Items to be added to a project.
    pub struct AddItemsRequest {
        /// The items to add. Either all are added or none.
        pub items: List<ItemObject, 1, 100>,
    }
}

/// The items to add, and the project that they are added to.
#[derive(Debug)]
pub struct AddItems {
    project: ProjectId,
    items: Vec<NewItem>,
}

impl FromRequest for AddItems {
    type Request = AddItemsRequest;

    fn from_request(target: &Target, request: AddItemsRequest) -> Result<Self, Error> {
        Ok(Self { project: target.id(0)?, items: request.items.map(ItemObject::into_inner) })
    }
}

/// The items of the request, in its order and each once: those that were added, and those that the project contained already.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddItemsResponse {
    added: Vec<ItemView>,
    already_present: Vec<ItemView>,
}

impl Operation for AddItems {
    type Reply = AddItemsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteProjects];
    const ERRORS: &'static [&'static str] =
        &[code::PLAN_LIMIT_REACHED, code::PROJECT_LIMIT_REACHED, code::PROJECT_ARCHIVED];

    fn count(reply: &AddItemsResponse) -> Option<usize> {
        Some(reply.added.len() + reply.already_present.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AddItemsResponse, Error> {
        let (now, max_items) = (ctx.core.clock.now(), ctx.core.plans.limits(caller.plan).items_per_project);
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let project = projects::lock(&txn, caller.user, self.project).await?;
        let mut resolved = Vec::with_capacity(self.items.len());
        for (n, item) in self.items.iter().enumerate() {
            // A URL resolves to `None`: its bookmark is saved below, once the whole request is known to be valid.
            let found = projects::resolve_item(&txn, caller.user, item).await;
            resolved.push(found.map_err(|error| error.of_item(&format!("items[{n}]")))?);
        }
        let project = projects::require_active(project)?;
        for (n, item) in self.items.iter().enumerate() {
            if let ItemRef::Url(url) = &item.item {
                let checked =
                    bookmarks::require_savable(&txn, caller.user, url, ctx.ingest.fetcher.guard()).await;
                checked.map_err(|error| error.of_item(&format!("items[{n}]")))?;
            }
        }
        save_pages(&txn, &ctx.core.waiting_jobs, &project, &self.items, &mut resolved, now).await?;
        let resolved: Vec<ResolvedItem> = resolved.into_iter().flatten().collect();
        let items = projects::add_items(&txn, &project, &resolved, max_items, now).await?;
        let reply = AddItemsResponse {
            added: items::views(&ctx.core, &txn, caller.user, items.new).await?,
            already_present: items::views(&ctx.core, &txn, caller.user, items.existing).await?,
        };
        // The size of the library is checked after the changes: the rollback of the transaction removes them again.
        room.must_hold(&txn).await?;
        txn.commit().await?;
        // Only now: before the commit, no worker would see the jobs of the saved pages.
        ctx.job_signal.notify();
        Ok(reply)
    }
}

/// Saves the URLs among the items.
async fn save_pages(
    txn: &impl ConnectionTrait,
    waiting: &RecentCounts,
    project: &project::Model,
    items: &[NewItem],
    resolved: &mut [Option<ResolvedItem>],
    now: Timestamp,
) -> Result<(), Error> {
    let mut pages: Vec<(String, &str, &NewItem, &mut Option<ResolvedItem>)> = Vec::new();
    for (item, slot) in items.iter().zip(resolved) {
        if let ItemRef::Url(url) = &item.item {
            pages.push((PageUrl::parse(url)?.key(), url, item, slot));
        }
    }
    // Two requests that save the same pages in different orders would deadlock.
    pages.sort_by(|a, b| a.0.cmp(&b.0));
    let mut saved = HashSet::new();
    for (key, url, item, slot) in pages {
        let new = NewBookmark { url: url.to_owned(), ..NewBookmark::default() };
        let (user, waiting) = (project.user_id, Some(waiting));
        let page = bookmarks::save_in_transaction(txn, user, new, Priority::Now, waiting, now).await?;
        if page.is_created {
            saved.insert(key.clone());
        }
        // If a URL is named twice, its bookmark exists the second time. Both items still count as new.
        *slot = Some(ResolvedItem::from_bookmark(&page.row, saved.contains(&key), item.role));
    }
    Ok(())
}
