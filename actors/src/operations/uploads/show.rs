//! How far an upload is.

use entity::id::{BookmarkId, DocumentId, UploadId};
use entity::kind::DocumentStatus;
use entity::scope::Scope;
use entity::{document, upload};
use schemars::JsonSchema;
use sea_orm::{ColumnTrait, QueryFilter};
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Values};
use crate::ingest::media;
use crate::operations::target::Target;
use crate::pipeline::Operation;
use library::uploads;

/// Which.
#[derive(Debug)]
pub struct ShowUpload(UploadId);

impl ShowUpload {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
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
    document_id: Option<DocumentId>,
    bookmark_id: Option<BookmarkId>,
    status: UploadStatus,
    filename: String,
    content_type: String,
    bytes: i64,
    progress: f64,
    error: Option<String>,
}

impl Operation for ShowUpload {
    type Reply = ShowUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];
    const NEEDS_SPACE: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ShowUploadResponse, Error> {
        let row =
            upload::Entity::one_of(caller.user, self.0).one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        let document = match row.document_id {
            Some(id) => {
                let own = document::Entity::of(caller.user).filter(document::Column::Id.eq(id));
                own.one(ctx.core.db.read()).await?
            }
            None => None,
        };
        let status = match &document {
            Some(document) => of_document(document.status),
            None => awaiting(ctx, &row).await?,
        };
        let progress = match &document {
            Some(_) if status == UploadStatus::Ready => 1.0,
            // How much of a recording was heard; a file of another kind is read in a moment.
            Some(document) => media::progress(ctx, document).await?.unwrap_or(0.0),
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

fn of_document(status: DocumentStatus) -> UploadStatus {
    match status {
        DocumentStatus::Processing => UploadStatus::Processing,
        DocumentStatus::Ready => UploadStatus::Ready,
        DocumentStatus::Failed => UploadStatus::Failed,
    }
}

/// An upload without a document: bytes that came in time may be completed late.
async fn awaiting(ctx: &OperationContext, row: &upload::Model) -> Result<UploadStatus, Error> {
    let in_time = row.arrived_at.is_some() || row.accepts_bytes(ctx.core.clock.now());
    if in_time || uploads::arrived_directly(&ctx.uploads, row).await?.is_some() {
        Ok(UploadStatus::Awaiting)
    } else {
        Ok(UploadStatus::Expired)
    }
}
