//! The tool add_bookmark: saves a page and adds it to a project (spec.md: MCP server).

use entity::document;
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, ProjectId};
use values::kind::{DocumentStatus, ItemRole};
use values::scope::{Scope, Scopes};

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::Operation;
use errors::Error;
use jobs::Priority;
use library::bookmarks::{self, NewBookmark};
use library::library_quota::LibraryRoom;
use library::owned_transaction::begin_request_in_group;
use library::projects::{self, ResolvedItem};

/// Saves a page for an assistant and, if it names a project, adds the page to that project.
#[derive(Debug)]
pub struct AddBookmark {
    /// URL of the page, absolute and http or https.
    pub url: String,
    /// Tags, each once. A page that is saved already only gets these.
    pub tags: Vec<String>,
    /// The project to add the page to; the call then also needs the scope `write:projects`.
    pub project: Option<ProjectId>,
}

/// The bookmark, and what was changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddBookmarkResponse {
    /// Whether the bookmark is new. If not, the URL was saved before and only tags were added.
    pub created: bool,
    /// Id of the new or existing bookmark.
    pub bookmark_id: BookmarkId,
    /// The document with the text of the page.
    pub document_id: DocumentId,
    /// Title of the page; the URL until the page was fetched.
    pub title: String,
    /// URL of the page that was saved.
    pub url: String,
    /// `processing` until the page was fetched and indexed, then `ready` or `failed`.
    pub status: DocumentStatus,
    /// The bookmark's place in the requested project; null without one.
    pub project: Option<ProjectMembership>,
}

/// The bookmark's place in a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMembership {
    /// Id of the requested project.
    pub project_id: ProjectId,
    /// Whether the bookmark was added. If not, the project contained it already.
    pub added: bool,
}

impl Operation for AddBookmark {
    type Reply = AddBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    // Tools that write count two calls (spec.md: Limits, rule 3).
    const WEIGHT: u32 = 2;

    fn scopes(&self) -> Scopes {
        let scopes: Scopes = Self::SCOPES.into();
        if self.project.is_some() { scopes.with(Scope::WriteProjects) } else { scopes }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AddBookmarkResponse, Error> {
        bookmarks::require_savable(ctx.core.db.read(), caller.user, &self.url, ctx.ingest.fetcher.guard())
            .await?;
        let (user, now) = (caller.user, ctx.core.clock.now());
        let max_items = ctx.core.plans.limits(caller.plan).items_per_project;
        let txn = begin_request_in_group(&ctx.core.db, &caller.owner()).await?;
        let room = LibraryRoom::of_request(&txn, &ctx.core, &caller.owner()).await?;
        // One transaction with the save: with a foreign, archived or full project no page is saved (contract.md, section 11:
        // Projects).
        let project = match self.project {
            Some(id) => Some(projects::lock_active(&txn, user, id).await?),
            None => None,
        };
        let new = NewBookmark { url: self.url, tags: self.tags, ..NewBookmark::default() };
        let waiting = Some(&ctx.core.waiting_jobs);
        let saved = bookmarks::save_in_transaction(&txn, user, new, Priority::Now, waiting, now).await?;
        let (row, created) = (saved.row, saved.is_created);
        let project = match project {
            Some(project) => {
                let page = ResolvedItem::from_bookmark(&row, created, ItemRole::Source);
                let added = projects::add_items(&txn, &project, &[page], max_items, now).await?;
                Some(ProjectMembership { project_id: project.id, added: !added.new.is_empty() })
            }
            None => None,
        };
        let document = match saved.document {
            Some(document) => document,
            None => {
                let text =
                    document::Entity::with_hidden(user).filter(document::Column::Id.eq(row.document_id));
                text.one(&txn).await?.ok_or(Error::not_found())?
            }
        };
        room.must_hold(&txn).await?;
        txn.commit().await?;
        ctx.job_signal.notify();
        Ok(AddBookmarkResponse {
            created,
            bookmark_id: row.id,
            document_id: document.id,
            url: ctx.core.url_of(&document),
            title: document.title,
            status: document.status,
            project,
        })
    }
}
