//! The tool add_bookmark: saving a page, and putting it into a project (spec.md: MCP server).

use entity::document;
use entity::id::{BookmarkId, DocumentId, ProjectId};
use entity::kind::{DocumentStatus, ItemRole};
use entity::scope::{Scope, Scopes};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;

use super::save::{self, NewBookmark};
use crate::app::App;
use crate::caller::Caller;
use crate::error::Error;
use crate::ingest::queue::Priority;
use crate::library_quota::LibraryRoom;
use crate::ops::projects::{self, Chosen};
use crate::owned_transaction::begin_request;
use crate::perform::Operation;

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

    async fn run(self, caller: &Caller, app: &App) -> Result<AddBookmarkResponse, Error> {
        save::may_save(app.db.read(), caller.user, &self.url, app.fetcher.guard()).await?;
        let (user, now) = (caller.user, app.clock.now());
        let most = app.plans.limits(caller.plan).items_per_project;
        let txn = begin_request(&app.db, caller).await?;
        let room = LibraryRoom::of_caller(&txn, app, caller).await?;
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
        app.ingest.wake();
        Ok(AddBookmarkResponse {
            created,
            bookmark_id: row.id,
            document_id: document.id,
            url: app.url_of(&document),
            title: document.title,
            status: document.status,
            project,
        })
    }
}
