//! Announces uploads.

use std::collections::BTreeMap;

use entity::upload;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use values::id::UploadId;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::{Error, code};
use library::uploads::{self, NewUpload, UploadTicket};
use validation::{FileName, Integer, Words, request};

/// Announces an upload, and returns the URL for its bytes.
#[derive(Debug)]
pub struct CreateUpload(NewUpload);

request! {
    /// A file that will be uploaded.
    pub struct CreateUploadRequest {
        /// Name of the file, without a path.
        pub filename: FileName<255>,
        /// Media type of the file: `audio/*`, `video/*` or `application/pdf`.
        pub content_type: Words<1, 255>,
        /// Length of the file in bytes, at most the plan's limit for an upload. A file of another length is refused.
        pub bytes: Integer<1, { i64::MAX }>,
    }
}

impl FromRequest for CreateUpload {
    type Request = CreateUploadRequest;

    fn from_request(_: &Target, request: CreateUploadRequest) -> Result<Self, Error> {
        Ok(Self(NewUpload {
            filename: request.filename.into_inner(),
            content_type: request.content_type.into_inner(),
            // The bounds of the field are positive, so the conversion does not fail.
            bytes: request.bytes.convert().unwrap_or_default(),
        }))
    }
}

/// An announced upload: the URL for the file, the headers to send, and when the URL expires.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateUploadResponse {
    /// Id of the upload, for its completion.
    upload_id: UploadId,
    /// URL that accepts the bytes by PUT, without an API key. It is a secret.
    put_url: String,
    /// Headers to send with the PUT request.
    put_headers: BTreeMap<&'static str, String>,
    /// When `putUrl` expires: 15 minutes after the announcement.
    expires_at: Timestamp,
}

impl From<UploadTicket> for CreateUploadResponse {
    fn from(ticket: UploadTicket) -> Self {
        Self {
            upload_id: ticket.upload.id,
            put_url: ticket.put_url,
            put_headers: [("Content-Type", ticket.upload.content_type)].into(),
            expires_at: ticket.upload.expires_at,
        }
    }
}

/// The member with the URL, which is a secret.
const SECRET_MEMBER: &str = "putUrl";

impl Operation for CreateUpload {
    type Reply = CreateUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];
    const ERRORS: &'static [&'static str] = &[code::PLAN_LIMIT_REACHED];
    const SECRET_MEMBERS: &'static [&'static str] = &[SECRET_MEMBER];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateUploadResponse, Error> {
        Ok(uploads::announce(&ctx.core, &ctx.uploads, &caller.owner(), self.0).await?.into())
    }

    // The URL expires, so a replay within 24 hours gets a newly signed one (contract.md, section 11).
    async fn restore_body(
        mut stored: Value,
        caller: &Caller,
        ctx: &OperationContext,
    ) -> Result<Value, Error> {
        let id = stored.get("uploadId").and_then(Value::as_str).and_then(|id| id.parse().ok());
        let id: UploadId = id.ok_or_else(|| Error::internal("a stored response names no upload"))?;
        // The upload may have been removed since the response was stored.
        let row = upload::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?;
        let put_url = uploads::put_url(&ctx.core, &ctx.uploads, &row.ok_or(Error::not_found())?).await?;
        if let Some(members) = stored.as_object_mut() {
            members.insert(SECRET_MEMBER.to_owned(), Value::String(put_url));
        }
        Ok(stored)
    }
}
