//! Adding items to a project: all or nothing, saving of addresses included (contract.md, sections 5 and 11).

use std::collections::{HashMap, HashSet};

use entity::id::{DocumentId, ProjectId, ProjectItemId};
use entity::kind::ItemKind;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::{note, project, project_item};
use schemars::JsonSchema;
use sea_orm::{
    ColumnTrait, ConnectionTrait, EntityTrait, IntoActiveModel, PaginatorTrait, QueryFilter, QuerySelect,
};
use serde::Serialize;
use uuid::Uuid;
use web::PageUrl;

use super::items::{self, ItemView};
use super::thing::{self, Chosen, Named, Wanted};
use super::{locked, must_be_open, touch};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use jobs::Priority;
use library::library_quota::LibraryRoom;
use library::bookmarks::save::{self, NewBookmark};
use crate::operations::target::Target;
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// Items to be added.
#[derive(Debug)]
pub struct AddItems {
    project: ProjectId,
    items: Vec<Wanted>,
}

impl AddItems {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[Field::required(
        "items",
        Kind::List { of: &thing::ITEM, min: 1, max: 100 },
        "The items to add. Either all are added or none.",
    )];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let items = values.records("items").unwrap_or_default().into_iter().map(thing::read);
        let items = items
            .collect::<Option<_>>()
            .ok_or_else(|| Error::internal("an item was read that names nothing"))?;
        Ok(Self { project: target.id(0)?, items })
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

    fn count(reply: &AddItemsResponse) -> Option<usize> {
        Some(reply.added.len() + reply.already_present.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AddItemsResponse, Error> {
        let (now, most) = (ctx.core.clock.now(), ctx.core.plans.limits(caller.plan).items_per_project);
        let txn = begin_request(&ctx.core.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let project = locked(&txn, caller.user, self.project).await?;
        let mut chosen = Vec::with_capacity(self.items.len());
        for (n, item) in self.items.iter().enumerate() {
            let found = thing::find(&txn, caller.user, item).await;
            chosen.push(found.map_err(|error| error.of_item(&format!("items[{n}]")))?);
        }
        let project = must_be_open(project)?;
        for (n, item) in self.items.iter().enumerate() {
            if let Named::Url(url) = &item.named {
                let checked = save::may_save(&txn, caller.user, url, ctx.ingest.fetcher.guard()).await;
                checked.map_err(|error| error.of_item(&format!("items[{n}]")))?;
            }
        }
        save_pages(&txn, &project, &self.items, &mut chosen, now).await?;
        let chosen: Vec<Chosen> = chosen.into_iter().flatten().collect();
        let put = put(&txn, &project, &chosen, most, now).await?;
        let reply = AddItemsResponse {
            added: items::views(ctx, &txn, caller.user, put.new).await?,
            already_present: items::views(ctx, &txn, caller.user, put.there).await?,
        };
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(reply)
    }
}

/// Saves the pages among the items, in the order of their addresses: two requests that save the same pages in two orders
/// would wait for each other.
async fn save_pages(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    items: &[Wanted],
    chosen: &mut [Option<Chosen>],
    now: Timestamp,
) -> Result<(), Error> {
    let mut pages: Vec<(String, &str, &Wanted, &mut Option<Chosen>)> = Vec::new();
    for (item, slot) in items.iter().zip(chosen) {
        if let Named::Url(url) = &item.named {
            pages.push((address(url)?, url, item, slot));
        }
    }
    pages.sort_by(|a, b| a.0.cmp(&b.0));
    let mut made = HashSet::new();
    for (address, url, item, slot) in pages {
        let new = NewBookmark { url: url.to_owned(), ..NewBookmark::default() };
        let (row, created) = save::save_in(txn, project.user_id, new, Priority::Now, now).await?;
        if created {
            made.insert(address.clone());
        }
        *slot = Some(Chosen::page(&row, made.contains(&address), item.role));
    }
    Ok(())
}

fn address(url: &str) -> Result<String, Error> {
    let parsed = PageUrl::parse(url)?;
    Ok(parsed.key())
}

/// What came of putting things into a project.
#[derive(Debug, Default)]
pub struct Added {
    /// Items that were made now.
    pub new: Vec<project_item::Model>,
    /// Items that were there already; they stay as they were.
    pub there: Vec<project_item::Model>,
}

/// Puts things into a project that is [open for writing](super::open_for_writing), each once, up to `most` items.
///
/// # Errors
/// [`Error::ProjectLimit`] where it would be more; what is there already does not matter then.
pub async fn put(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    chosen: &[Chosen],
    most: u32,
    now: Timestamp,
) -> Result<Added, Error> {
    let mut there = present(txn, project, chosen).await?;
    let own = own_notes(txn, project, chosen).await?;
    let (mut put, mut seen) = (Added::default(), HashSet::new());
    let others = chosen.iter().filter(|chosen| !own.contains(&chosen.document));
    for chosen in others.filter(|chosen| seen.insert(chosen.thing())) {
        match there.remove(&chosen.thing()) {
            Some(row) => put.there.push(row),
            None => put.new.push(item(project, chosen, now)),
        }
    }
    if put.new.is_empty() {
        return Ok(put);
    }
    let items = project_item::Entity::within(project).count(txn).await?;
    if items + put.new.len() as u64 > u64::from(most) {
        return Err(Error::ProjectLimit { limit: most });
    }
    take_place(txn, project, &put.new).await?;
    let rows = put.new.iter().cloned().map(IntoActiveModel::into_active_model);
    project_item::Entity::insert_many(rows).exec_without_returning(txn).await?;
    touch(txn, project, now).await?;
    Ok(put)
}

/// Those that are notes of the project itself: it has them already, and they are no items.
async fn own_notes(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    chosen: &[Chosen],
) -> Result<HashSet<DocumentId>, Error> {
    let notes = chosen.iter().filter(|chosen| chosen.kind == ItemKind::Note);
    let notes: Vec<DocumentId> = notes.map(|chosen| chosen.document).collect();
    if notes.is_empty() {
        return Ok(HashSet::new());
    }
    let own = note::Entity::owned_by(project.user_id)
        .filter(note::Column::ProjectId.eq(project.id))
        .filter(note::Column::DocumentId.is_in(notes))
        .select_only()
        .column(note::Column::DocumentId);
    Ok(own.into_tuple().all(txn).await?.into_iter().collect())
}

async fn present(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    chosen: &[Chosen],
) -> Result<HashMap<Uuid, project_item::Model>, Error> {
    let things = project_item::Column::Thing.is_in(chosen.iter().map(Chosen::thing));
    let rows = project_item::Entity::within(project).filter(things).all(txn).await?;
    Ok(rows.into_iter().map(|row| (row.thing, row)).collect())
}

/// Removes items of the same things that are out of sight: an entry whose bookmark was in the project, and was deleted.
async fn take_place(
    txn: &impl ConnectionTrait,
    project: &project::Model,
    new: &[project_item::Model],
) -> Result<(), Error> {
    project_item::Entity::delete_many()
        .filter(project_item::Column::UserId.eq(project.user_id))
        .filter(project_item::Column::ProjectId.eq(project.id))
        .filter(project_item::Column::Thing.is_in(new.iter().map(|item| item.thing)))
        .exec(txn)
        .await?;
    Ok(())
}

fn item(project: &project::Model, chosen: &Chosen, now: Timestamp) -> project_item::Model {
    project_item::Model {
        id: ProjectItemId::new(now),
        user_id: project.user_id,
        project_id: project.id,
        kind: chosen.kind,
        thing: chosen.thing(),
        document_id: chosen.document,
        highlight_id: chosen.highlight,
        role: chosen.role,
        pinned: false,
        added_at: now,
    }
}
