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
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use jobs::Priority;
use library::bookmarks::{self, NewBookmark};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request;
use library::projects::{self, ItemRef, NewItem, ResolvedItem};
use validation::{Alternatives, Choice, ExactlyOne, Id, List, UrlText, request};

request! {
    /// An item of a project: exactly one of the ids and `url`, and its role.
    pub struct ItemRequest {
        /// A bookmark.
        pub bookmark_id?: Id<BookmarkId>,
        /// A highlight.
        pub highlight_id?: Id<HighlightId>,
        /// A note.
        pub note_id?: Id<NoteId>,
        /// An entry of a followed feed.
        pub entry_id?: Id<EntryId>,
        /// A URL. It is saved to the library first.
        pub url?: UrlText,
        /// The item's role in the project. Default `source`.
        pub role?: Choice<ItemRole>,
    }
}

impl Alternatives for ItemRequest {
    const NAMES: &'static [&'static str] = &["bookmarkId", "highlightId", "noteId", "entryId", "url"];
}

request! {
    /// Items to be added to a project.
    pub struct AddItemsRequest {
        /// The items to add. Either all are added or none.
        pub items: List<ExactlyOne<ItemRequest>, 1, 100>,
    }
}

/// Items to be added.
#[derive(Debug)]
pub struct AddItems {
    project: ProjectId,
    items: Vec<NewItem>,
}

impl FromRequest for AddItems {
    type Request = AddItemsRequest;

    fn from_request(target: &Target, request: AddItemsRequest) -> Result<Self, Error> {
        let items = request.items.map(|item| read_item(item.into_inner()));
        // `ExactlyOne` refuses an item that names nothing.
        let items = items
            .into_iter()
            .collect::<Option<_>>()
            .ok_or_else(|| Error::internal("an item of a request names nothing"))?;
        Ok(Self { project: target.id(0)?, items })
    }
}

/// Reads an item of a request; `None` if it names nothing.
fn read_item(item: ItemRequest) -> Option<NewItem> {
    let role = item.role.map_or(ItemRole::Source, Choice::into_inner);
    let refs = [
        item.bookmark_id.map(|id| ItemRef::Bookmark(id.into_inner())),
        item.highlight_id.map(|id| ItemRef::Highlight(id.into_inner())),
        item.note_id.map(|id| ItemRef::Note(id.into_inner())),
        item.entry_id.map(|id| ItemRef::Entry(id.into_inner())),
        item.url.map(|url| ItemRef::Url(url.into_inner())),
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

    fn read_items(items: &str) -> Result<Vec<NewItem>, Invalid> {
        let body = format!(r#"{{"items": {items}}}"#);
        let request = read_json::<AddItemsRequest>(body.as_bytes())?;
        let read = request.items.into_inner().into_iter();
        Ok(read.filter_map(|item| read_item(item.into_inner())).collect())
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
