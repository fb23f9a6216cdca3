//! The tool add_bookmark: saving a page, and putting it into a project (spec.md: MCP server).

use entity::document;
use entity::id::{BookmarkId, DocumentId, ProjectId};
use entity::kind::{DocumentStatus, ItemRole};
use entity::scope::{Scope, Scopes};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;

use super::save::{self, NewBookmark};
use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use jobs::Priority;
use library::library_quota::LibraryRoom;
use crate::operations::projects::{self, Chosen};
use library::owned_transaction::begin_request;
use crate::pipeline::Operation;

/// A page to be saved.
#[derive(Debug)]
pub struct AddBookmark {
    /// Its address.
    pub url: String,
    /// Tags, each once; all that is added where the page is saved already.
    pub tags: Vec<String>,
    /// A project to put it into.
    pub project: Option<ProjectId>,
}

/// The bookmark, and what was done.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AddBookmarkResponse {
    /// `false`: the address was saved already, and only tags were added.
    pub created: bool,
    /// The bookmark.
    pub bookmark_id: BookmarkId,
    /// The document with its text.
    pub document_id: DocumentId,
    /// Its title; the address until the page was read.
    pub title: String,
    /// The way back to the source.
    pub url: String,
    /// How far its text is.
    pub status: DocumentStatus,
    /// What became of the project that was named.
    pub project: Option<ProjectMembership>,
}

/// The bookmark's place in a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectMembership {
    /// The project.
    pub project_id: ProjectId,
    /// `false`: it was in the project already.
    pub added: bool,
}

impl Operation for AddBookmark {
    type Reply = AddBookmarkResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteBookmarks];
    const WEIGHT: u32 = 2;

    fn scopes(&self) -> Scopes {
        let scopes: Scopes = Self::SCOPES.into();
        if self.project.is_some() { scopes.with(Scope::WriteProjects) } else { scopes }
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<AddBookmarkResponse, Error> {
        save::may_save(ctx.core.db.read(), caller.user, &self.url, ctx.ingest.fetcher.guard()).await?;
        let (user, now) = (caller.user, ctx.core.clock.now());
        let most = ctx.core.plans.limits(caller.plan).items_per_project;
        let txn = begin_request(&ctx.core.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, ctx, caller).await?;
        let into = match self.project {
            Some(id) => Some(projects::open_for_writing(&txn, user, id).await?),
            None => None,
        };
        let new = NewBookmark { url: self.url, tags: self.tags, ..NewBookmark::default() };
        let (row, created) = save::save_in(&txn, user, new, Priority::Now, now).await?;
        let project = match into {
            Some(project) => {
                let page = Chosen::page(&row, created, ItemRole::Source);
                let put = projects::put(&txn, &project, &[page], most, now).await?;
                Some(ProjectMembership { project_id: project.id, added: !put.new.is_empty() })
            }
            None => None,
        };
        let text = document::Entity::of(user).filter(document::Column::Id.eq(row.document_id));
        let document = text.one(&txn).await?.ok_or(Error::not_found())?;
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
