//! Completing an upload: from here on it is a bookmark, and its text is made.

use entity::id::{BookmarkId, DocumentId, UploadId};
use entity::kind::DocumentStatus;
use entity::scope::Scope;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::target::Target;
use crate::pipeline::Operation;
use library::uploads::{self, Completion};

/// Which, and what its bytes add up to.
#[derive(Debug)]
pub struct CompleteUpload {
    upload: UploadId,
    sha256: Option<String>,
}

impl CompleteUpload {
    /// The body, which may be empty.
    pub const FIELDS: &'static [Field] = &[Field::optional(
        "sha256",
        Kind::Sha256,
        "SHA-256 of the file in hexadecimal digits. If it does not match the bytes that arrived, the upload is not completed.",
    )];

    /// Reads path and body.
    pub fn read(target: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self { upload: target.id(0)?, sha256: values.text("sha256") })
    }
}

/// The bookmark and the document that the upload became.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteUploadResponse {
    upload_id: UploadId,
    document_id: DocumentId,
    bookmark_id: BookmarkId,
    status: DocumentStatus,
}

impl Operation for CompleteUpload {
    type Reply = CompleteUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CompleteUploadResponse, Error> {
        let asked = Completion { caller, upload: self.upload, sha256: self.sha256 };
        let done = uploads::complete(ctx, asked).await?;
        Ok(CompleteUploadResponse {
            upload_id: done.upload,
            document_id: done.document,
            bookmark_id: done.bookmark,
            // Said again it answers the same, so it says how completion began, not how far the work is by now.
            status: DocumentStatus::Processing,
        })
    }
}
