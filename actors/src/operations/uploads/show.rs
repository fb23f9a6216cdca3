//! Shows uploads.

use entity::{document, upload};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, UploadId};
use values::kind::DocumentStatus;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::ingest::media::transcript_progress;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::uploads;
use validation::NoFields;

/// Shows an upload, so that a client can wait for its text.
#[derive(Debug)]
pub struct ShowUpload(UploadId);

impl FromRequest for ShowUpload {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

/// Status of an upload (contract.md, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UploadStatus {
    /// The upload waits for the file, or for its completion.
    Awaiting,
    /// The text is being extracted.
    Processing,
    /// The text can be read and searched.
    Ready,
    /// The last attempt to extract the text failed.
    Failed,
    /// The file did not arrive in time.
    Expired,
}

/// An upload (contract.md, section 5: GET /uploads/:id).
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ShowUploadResponse {
    upload_id: UploadId,
    /// The document with the text; null before the upload is completed.
    document_id: Option<DocumentId>,
    /// The bookmark of the upload; null before it is completed.
    bookmark_id: Option<BookmarkId>,
    status: UploadStatus,
    filename: String,
    /// Media type that the client announced.
    content_type: String,
    /// The announced length in bytes.
    bytes: i64,
    /// Progress of the text, from 0 to 1. Only transcription has values in between.
    progress: f64,
    /// Why the last attempt to extract the text failed; null if it did not fail.
    error: Option<String>,
}

impl Operation for ShowUpload {
    type Reply = ShowUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShowUploadResponse, Error> {
        let row = upload::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?;
        let row = row.ok_or(Error::not_found())?;
        let document = match row.document_id {
            Some(id) => {
                // Also hidden ones: the upload of a deleted bookmark keeps its status.
                let own = document::Entity::with_hidden(caller.user).filter(document::Column::Id.eq(id));
                own.one(ctx.core.db.read()).await?
            }
            None => None,
        };
        let status = match &document {
            Some(document) => document.status.into(),
            None => status_without_document(ctx, &row).await?,
        };
        let progress = match &document {
            Some(_) if status == UploadStatus::Ready => 1.0,
            // Only recordings have a progress; other files are processed within moments.
            Some(document) => transcript_progress(ctx.core.db.read(), document).await?.unwrap_or(0.0),
            None => 0.0,
        };
        Ok(ShowUploadResponse {
            upload_id: row.id,
            document_id: row.document_id,
            bookmark_id: row.bookmark_id,
            status,
            filename: row.filename,
            content_type: row.content_type,
            bytes: row.bytes,
            progress,
            error: document.and_then(|document| document.error),
        })
    }
}

impl From<DocumentStatus> for UploadStatus {
    fn from(status: DocumentStatus) -> Self {
        match status {
            DocumentStatus::Processing => UploadStatus::Processing,
            DocumentStatus::Ready => UploadStatus::Ready,
            DocumentStatus::Failed => UploadStatus::Failed,
        }
    }
}

/// Returns the status of an upload that is not completed.
pub(super) async fn status_without_document(
    ctx: &OperationContext,
    row: &upload::Model,
) -> Result<UploadStatus, Error> {
    // Bytes that arrived in time may be completed later (contract.md, section 11: Uploads). The store is asked only when the row
    // does not say whether they arrived.
    let in_time = row.arrived_at.is_some() || row.accepts_bytes(ctx.core.clock.now());
    if in_time || uploads::find_direct_upload(&ctx.uploads, row).await?.is_some() {
        Ok(UploadStatus::Awaiting)
    } else {
        Ok(UploadStatus::Expired)
    }
}
