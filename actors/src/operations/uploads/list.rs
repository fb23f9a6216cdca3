//! Lists the uploads of a user.

use std::collections::HashMap;

use entity::{document, upload};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, Select};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, UploadId, UserId};
use values::scope::Scope;
use values::time::Timestamp;

use super::show::{UploadStatus, status_without_document};
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::media::transcript_progress;
use crate::operation::{FromRequest, Operation};
use crate::operations::page::{CursorText, ListName, ListPage, PageLimit, PageRequest};
use crate::target::Target;
use errors::Error;
use library::uploads::stored_bytes;
use validation::request;

const DEFAULT_LIMIT: u64 = 20;

/// Lists uploads, newest first.
#[derive(Debug)]
pub struct ListUploads {
    page: PageRequest,
}

request! {
    /// A page of the uploads of the account.
    pub struct ListUploadsRequest {
        /// The `nextCursor` of the page before. Without it the first page is returned.
        pub cursor?: CursorText,
        /// Maximum number of results. Default 20.
        pub limit?: PageLimit,
    }
}

impl FromRequest for ListUploads {
    type Request = ListUploadsRequest;

    fn from_request(_: &Target, request: ListUploadsRequest) -> Result<Self, Error> {
        Ok(Self { page: PageRequest::new(request.limit, request.cursor, DEFAULT_LIMIT) })
    }
}

/// A page of uploads, newest first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListUploadsResponse {
    /// The uploads.
    pub uploads: Vec<UploadView>,
    /// Bytes of uploaded files, including those of announced uploads.
    pub stored_bytes: u64,
    /// The plan's maximum of `storedBytes`.
    pub limit: u64,
    /// The plan's maximum length of one file in bytes.
    pub largest: u64,
    /// Cursor of the next page; null on the last page.
    pub next_cursor: Option<String>,
}

/// An upload in a list.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UploadView {
    /// Id of the upload.
    pub upload_id: UploadId,
    /// The document with the text; null before the upload is completed.
    pub document_id: Option<DocumentId>,
    /// The bookmark of the upload; null before it is completed.
    pub bookmark_id: Option<BookmarkId>,
    /// What has become of it.
    pub status: UploadStatus,
    /// Title of the document, or the name of the file before there is one.
    pub title: String,
    /// Name of the file.
    pub filename: String,
    /// Media type that the client announced.
    pub content_type: String,
    /// The announced length in bytes.
    pub bytes: i64,
    /// Progress of a transcription, from 0 to 1; null for other files.
    pub progress: Option<f64>,
    /// Why the last attempt to extract the text failed; null if it did not fail.
    pub error: Option<String>,
    /// What is missing from the text; null if nothing is.
    pub lacks: Option<String>,
    /// When it was announced.
    pub created_at: Timestamp,
}

impl Operation for ListUploads {
    type Reply = ListUploadsResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];
    const NEEDS_SPACE: bool = false;

    fn count(reply: &ListUploadsResponse) -> Option<usize> {
        Some(reply.uploads.len())
    }

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListUploadsResponse, Error> {
        let list = self.page.of_list(ctx, caller, ListName::new("uploads"));
        let before: Option<UploadId> = list.position()?;
        let ListPage { rows, next_cursor } =
            list.fetch(select_latest(caller.user, before), |row| row.id).await?;
        let mut documents = documents_of(ctx, caller.user, &rows).await?;
        let mut uploads = Vec::with_capacity(rows.len());
        for row in rows {
            let document = row.document_id.and_then(|id| documents.remove(&id));
            uploads.push(view(ctx, row, document).await?);
        }
        let limits = ctx.core.plans.limits(caller.plan);
        Ok(ListUploadsResponse {
            uploads,
            stored_bytes: stored_bytes(ctx.core.db.read(), caller.user, ctx.core.clock.now()).await?,
            limit: limits.stored_bytes,
            largest: limits.upload_bytes,
            next_cursor,
        })
    }
}

fn select_latest(user: UserId, before: Option<UploadId>) -> Select<upload::Entity> {
    let all = upload::Entity::owned_by(user).order_by_desc(upload::Column::Id);
    match before {
        Some(last) => all.filter(upload::Column::Id.lt(last)),
        None => all,
    }
}

/// Returns the documents of uploads, also hidden ones: the upload of a deleted bookmark keeps its status.
async fn documents_of(
    ctx: &OperationContext,
    user: UserId,
    rows: &[upload::Model],
) -> Result<HashMap<DocumentId, document::Model>, Error> {
    let ids: Vec<DocumentId> = rows.iter().filter_map(|row| row.document_id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let documents = document::Entity::with_hidden(user).filter(document::Column::Id.is_in(ids));
    let documents = documents.all(ctx.core.db.read()).await?;
    Ok(documents.into_iter().map(|document| (document.id, document)).collect())
}

async fn view(
    ctx: &OperationContext,
    row: upload::Model,
    document: Option<document::Model>,
) -> Result<UploadView, Error> {
    let status = match &document {
        Some(document) => document.status.into(),
        None => status_without_document(ctx, &row).await?,
    };
    let progress = match (&document, status) {
        (Some(document), UploadStatus::Processing) => {
            transcript_progress(ctx.core.db.read(), document).await?
        }
        (
            Some(_) | None,
            UploadStatus::Processing
            | UploadStatus::Awaiting
            | UploadStatus::Ready
            | UploadStatus::Failed
            | UploadStatus::Expired,
        ) => None,
    };
    let title = document.as_ref().map(|document| document.title.clone());
    Ok(UploadView {
        upload_id: row.id,
        document_id: row.document_id,
        bookmark_id: row.bookmark_id,
        status,
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| row.filename.clone()),
        filename: row.filename,
        content_type: row.content_type,
        bytes: row.bytes,
        progress,
        lacks: document.as_ref().and_then(|document| document.missing_reason.clone()),
        error: document.and_then(|document| document.error),
        created_at: row.created_at,
    })
}

#[cfg(test)]
mod tests {
    use database::{Db, QueryPlan};
    use sea_orm::{DbBackend, QuerySelect, QueryTrait};

    use super::*;

    const NOON: Timestamp = Timestamp::from_millis(1_714_996_800_000);

    #[tokio::test]
    async fn uploads_are_found_in_the_order_of_an_index() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}?mode=rwc", folder.path().join("a.db").display());
        let db = Db::open(&url).await.unwrap();

        for before in [None, Some(UploadId::new(NOON))] {
            let page = select_latest(UserId::new(NOON), before).limit(20).build(DbBackend::Sqlite);
            let plan = QueryPlan::of(&db, page).await.unwrap();

            assert!(plan.has_step("upload_listed (user_id=?") && !plan.sorts(), "{plan:#?}");
        }
    }
}
