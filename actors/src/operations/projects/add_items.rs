//! Adds items to a project: all or none, with the URLs among them saved first (contract.md, sections 5 and 11).

use std::collections::HashSet;

use entity::id::{BookmarkId, EntryId, HighlightId, NoteId, ProjectId};
use entity::kind::ItemRole;
use entity::project;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use sea_orm::ConnectionTrait;
use serde::Serialize;
use web::PageUrl;

use super::items::{self, ItemView};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use crate::operations::target::Target;
use errors::Error;
use jobs::Priority;
use library::bookmarks::{self, NewBookmark};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use library::projects::{self, ItemRef, NewItem, ResolvedItem};
use validation::{Field, Kind, Values};

/// An item of the body.
const ITEM: Kind = Kind::Either {
    one: &[
        Field::optional("bookmarkId", Kind::Id, "A bookmark."),
        Field::optional("highlightId", Kind::Id, "A highlight."),
        Field::optional("noteId", Kind::Id, "A note."),
        Field::optional("entryId", Kind::Id, "An entry of a followed feed."),
        Field::optional("url", bookmarks::kinds::URL, "A URL. It is saved to the library first."),
    ],
    beside: &[Field::optional(
        "role",
        Kind::Choice(ItemRole::NAMES),
        "The item's role in the project. Default `source`.",
    )],
};

/// Items to be added.
#[derive(Debug)]
pub struct AddItems {
    project: ProjectId,
    items: Vec<NewItem>,
}

impl AddItems {
    /// The fields of the body.
    pub const FIELDS: &'static [Field] = &[Field::required(
        "items",
        Kind::List { of: &ITEM, min: 1, max: 100 },
        "The items to add. Either all are added or none.",
    )];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        let items = values.records("items").unwrap_or_default().into_iter().map(read_item);
        // `Kind::Either` refuses an item that names nothing.
        let items = items
            .collect::<Option<_>>()
            .ok_or_else(|| Error::internal("an item of a request names nothing"))?;
        Ok(Self { project: target.id(0)?, items })
    }
}

/// Reads an [`ITEM`]; `None` if it names nothing.
fn read_item(mut item: Values) -> Option<NewItem> {
    let role = item.name("role").and_then(|name| name.parse().ok()).unwrap_or(ItemRole::Source);
    let refs = [
        item.id("bookmarkId").map(|id| ItemRef::Bookmark(BookmarkId(id))),
        item.id("highlightId").map(|id| ItemRef::Highlight(HighlightId(id))),
        item.id("noteId").map(|id| ItemRef::Note(NoteId(id))),
        item.id("entryId").map(|id| ItemRef::Entry(EntryId(id))),
        item.text("url").map(ItemRef::Url),
    ];
    Some(NewItem { item: refs.into_iter().flatten().next()?, role })
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
        let (now, max_items) = (ctx.core.clock.now(), ctx.core.plans.limits(caller.plan).items_per_project);
        let txn = begin_request(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        let project = projects::lock(&txn, caller.user, self.project).await?;
        let mut resolved = Vec::with_capacity(self.items.len());
        for (n, item) in self.items.iter().enumerate() {
            let found = projects::resolve_item(&txn, caller.user, item).await;
            resolved.push(found.map_err(|error| error.of_item(&format!("items[{n}]")))?);
        }
        let project = projects::require_active(project)?;
        for (n, item) in self.items.iter().enumerate() {
            if let ItemRef::Url(url) = &item.item {
                let checked =
                    bookmarks::require_savable(&txn, caller.user, url, ctx.feeds.fetcher.guard()).await;
                checked.map_err(|error| error.of_item(&format!("items[{n}]")))?;
            }
        }
        save_pages(&txn, &project, &self.items, &mut resolved, now).await?;
        let resolved: Vec<ResolvedItem> = resolved.into_iter().flatten().collect();
        let items = projects::add_items(&txn, &project, &resolved, max_items, now).await?;
        let reply = AddItemsResponse {
            added: items::views(&ctx.core, &txn, caller.user, items.new).await?,
            already_present: items::views(&ctx.core, &txn, caller.user, items.existing).await?,
        };
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(reply)
    }
}

/// Saves the URLs among the items. They are saved in the order of their normalised URLs: two requests that save the same pages in
/// different orders would deadlock.
async fn save_pages(
    txn: &impl ConnectionTrait,
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
    pages.sort_by(|a, b| a.0.cmp(&b.0));
    let mut saved = HashSet::new();
    for (key, url, item, slot) in pages {
        let new = NewBookmark { url: url.to_owned(), ..NewBookmark::default() };
        let (row, created) =
            bookmarks::save_in_transaction(txn, project.user_id, new, Priority::Now, now).await?;
        if created {
            saved.insert(key.clone());
        }
        // Of a URL that is named twice both items are new.
        *slot = Some(ResolvedItem::from_bookmark(&row, saved.contains(&key), item.role));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use errors::Invalid;
    use validation::read_json;

    use super::*;

    const ID: &str = "01890000-0000-7000-8000-000000000000";
    const FIELDS: &[Field] = &[Field::required("items", Kind::List { of: &ITEM, min: 1, max: 9 }, "")];

    fn read_items(items: &str) -> Result<Vec<NewItem>, Invalid> {
        let mut values = read_json(format!(r#"{{"items": {items}}}"#).as_bytes(), FIELDS)?;
        Ok(values.records("items").unwrap().into_iter().filter_map(read_item).collect())
    }

    #[test]
    fn item_names_one_object_and_is_a_source_by_default() {
        let items = read_items(&format!(
            r#"[{{"noteId": "{ID}"}}, {{"url": "https://a.example", "role": "background", "entryId": null}}]"#
        ));

        let note = NewItem { item: ItemRef::Note(ID.parse().unwrap()), role: ItemRole::Source };
        let url = NewItem { item: ItemRef::Url("https://a.example".into()), role: ItemRole::Background };
        assert_eq!(items.unwrap(), [note, url]);
    }

    #[test]
    fn item_that_names_none_or_two_objects_is_a_fault() {
        let faulty = read_items(&format!(
            r#"[{{}}, {{"noteId": "{ID}"}}, {{"noteId": "{ID}", "url": "https://a.example"}}, {{"role": "source"}}]"#
        ));

        let fields: Vec<_> = faulty.unwrap_err().faults.into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["items[0]", "items[2]", "items[3]"]);
    }
}
