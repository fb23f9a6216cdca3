//! Announcing an upload.

use std::collections::BTreeMap;

use entity::id::UploadId;
use entity::scope::Scope;
use entity::time::Timestamp;
use entity::upload;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use validation::{Field, Kind, Values};
use crate::operations::target::Target;
use crate::pipeline::Operation;
use library::uploads::{self, Announced};

/// What is to come.
#[derive(Debug)]
pub struct CreateUpload(Announced);

impl CreateUpload {
    /// The body.
    pub const FIELDS: &'static [Field] = &[
        Field::required("filename", Kind::Filename { max: 255 }, "Name of the file, without a path."),
        Field::required(
            "contentType",
            Kind::Words { min: 1, max: 255 },
            "Media type of the file: `audio/*`, `video/*` or `application/pdf`.",
        ),
        Field::required("bytes", Kind::Integer { min: 1, max: i64::MAX }, "Length of the file in bytes."),
    ];

    /// Reads the body.
    pub fn read(_: &Target, mut values: Values) -> Result<Self, Error> {
        Ok(Self(Announced {
            filename: values.text("filename").unwrap_or_default(),
            content_type: values.text("contentType").unwrap_or_default(),
            bytes: values.integer("bytes").unwrap_or_default(),
        }))
    }
}

/// Where to send the file, with which headers, and until when.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateUploadResponse {
    upload_id: UploadId,
    put_url: String,
    put_headers: BTreeMap<&'static str, String>,
    expires_at: Timestamp,
}

impl From<uploads::Ticket> for CreateUploadResponse {
    fn from(ticket: uploads::Ticket) -> Self {
        Self {
            upload_id: ticket.upload.id,
            put_url: ticket.put_url,
            put_headers: [("Content-Type", ticket.upload.content_type)].into(),
            expires_at: ticket.upload.expires_at,
        }
    }
}

const SECRET: &str = "putUrl";

impl Operation for CreateUpload {
    type Reply = CreateUploadResponse;
    const SCOPES: &'static [Scope] = &[Scope::WriteUploads];

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<CreateUploadResponse, Error> {
        Ok(uploads::announce(ctx, caller, self.0).await?.into())
    }

    fn stored_body(reply: &CreateUploadResponse) -> serde_json::Result<Value> {
        let mut kept = serde_json::to_value(reply)?;
        if let Some(members) = kept.as_object_mut() {
            members.remove(SECRET);
        }
        Ok(kept)
    }

    async fn restore_body(mut stored: Value, caller: &Caller, ctx: &OperationContext) -> Result<Value, Error> {
        let id = stored.get("uploadId").and_then(Value::as_str).and_then(|id| id.parse().ok());
        let id: UploadId = id.ok_or_else(|| Error::internal("a stored response names no upload"))?;
        let row =
            upload::Entity::one_of(caller.user, id).one(ctx.core.db.read()).await?.ok_or(Error::not_found())?;
        let address = uploads::put_address(ctx, &row).await?;
        if let Some(members) = stored.as_object_mut() {
            members.insert(SECRET.to_owned(), Value::String(address));
        }
        Ok(stored)
    }
}
