//! Exports as a person sees them (contract.md, section 9).

use entity::export;
use entity::id::ExportId;
use entity::kind::ExportState;
use entity::scope::Scope;
use entity::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use storage::blobs::LocalFile;

use crate::context::OperationContext;
use crate::auth::caller::Caller;
use errors::Error;
use library::exports;
use validation::{Field, Values};
use crate::operations::target::Target;
use crate::pipeline::Operation;

/// An export as it is shown.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportView {
    id: ExportId,
    status: ExportState,
    /// Where the file is, once it is packed; for the browser that is signed in.
    url: Option<String>,
    /// How long the file is; while it is packed, so far; none of one that waits for its turn.
    bytes: Option<i64>,
    error: Option<String>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
}

/// One export under its name.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportResponse {
    export: ExportView,
}

impl ExportResponse {
    fn of(ctx: &OperationContext, row: export::Model) -> Self {
        let done = row.state == ExportState::Done;
        let url = done.then(|| format!("{}/app/api/exports/{}/file", ctx.core.base_url, row.id));
        Self {
            export: ExportView {
                id: row.id,
                status: row.state,
                url,
                bytes: row.bytes,
                error: row.error,
                created_at: row.created_at,
                finished_at: row.finished_at,
            },
        }
    }
}

/// Packs everything.
#[derive(Debug)]
pub struct BeginExport;

impl BeginExport {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads nothing.
    pub fn read(_: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for BeginExport {
    type Reply = ExportResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    const NEEDS_SPACE: bool = true;
    const TAKES_TURN: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportResponse, Error> {
        let row = exports::begin(ctx, caller.user).await?;
        ctx.job_signal.notify();
        Ok(ExportResponse::of(ctx, row))
    }
}

/// One export.
#[derive(Debug)]
pub struct ShowExport(ExportId);

impl ShowExport {
    /// It takes none.
    pub const FIELDS: &'static [Field] = &[];

    /// Reads the path.
    pub fn read(target: &Target, _: Values) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowExport {
    type Reply = ExportResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    const TAKES_TURN: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportResponse, Error> {
        Ok(ExportResponse::of(ctx, exports::find(ctx, caller.user, self.0).await?))
    }
}

/// The file of an export, on this machine.
///
/// # Errors
/// [`Error::NotFound`] where it is not the caller's, or not packed, or was kept long enough.
pub async fn file(ctx: &OperationContext, caller: &Caller, id: ExportId) -> Result<(export::Model, LocalFile), Error> {
    let row = exports::find(ctx, caller.user, id).await?;
    let local = exports::file(ctx, &*ctx.uploads.store, &row).await?;
    Ok((row, local))
}
