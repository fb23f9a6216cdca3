//! Completes uploads: an upload becomes a bookmark, and its text is extracted.

use schemars::JsonSchema;
use serde::Serialize;
use values::id::{BookmarkId, DocumentId, UploadId};
use values::kind::DocumentStatus;
use values::scope::Scope;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::uploads::{self, CompletedUpload, UploadCompletion};
use validation::{Sha256Hex, request};

/// Completes an upload whose bytes have arrived: creates its bookmark and has its text extracted.
#[derive(Debug)]
pub struct CompleteUpload {
    upload: UploadId,
    sha256: Option<String>,
}

request! {
    /// The completion of an upload. The body may be empty.
    pub struct CompleteUploadRequest {
        /// SHA-256 of the file in hexadecimal digits. If the bytes that arrived have another one, the upload is not
        /// completed. Default: it is not checked.
        pub sha256?: Sha256Hex,
    }
}

impl FromRequest for CompleteUpload {
    type Request = CompleteUploadRequest;

    fn from_request(target: &Target, request: CompleteUploadRequest) -> Result<Self, Error> {
        Ok(Self { upload: target.id(0)?, sha256: request.sha256.map(Sha256Hex::into_inner) })
    }
}

/// The bookmark and the document that the upload became.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompleteUploadResponse {
    /// Id of the upload.
    pub upload_id: UploadId,
    /// The document with the text of the file.
    pub document_id: DocumentId,
    /// The bookmark of the upload.
    pub bookmark_id: BookmarkId,
    /// Always `processing`; `GET /uploads/:id` shows the current status.
    pub status: DocumentStatus,
}

impl Operation for CompleteUpload {
    type Reply = CompleteUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];
    const ERRORS: &'static [&'static str] =
        &[code::PLAN_LIMIT_REACHED, code::UPLOAD_INCOMPLETE, code::UPLOAD_EXPIRED];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CompleteUploadResponse, Error> {
        let completion = UploadCompletion { upload: self.upload, sha256: self.sha256 };
        let completed = uploads::complete(&ctx.core, &ctx.uploads, &caller.owner(), completion).await?;
        ctx.job_signal.notify();
        Ok(completed.into())
    }
}

impl From<CompletedUpload> for CompleteUploadResponse {
    fn from(completed: CompletedUpload) -> Self {
        Self {
            upload_id: completed.upload,
            document_id: completed.document,
            bookmark_id: completed.bookmark,
            // Repeated requests get the same response, so it has the status after completion, not the current one.
            status: DocumentStatus::Processing,
        }
    }
}
