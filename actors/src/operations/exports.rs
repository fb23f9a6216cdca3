//! Begins and shows exports (contract.md, section 9).

use entity::export;
use schemars::JsonSchema;
use serde::Serialize;
use storage::blobs::LocalFile;
use values::id::ExportId;
use values::kind::ExportState;
use values::scope::Scope;
use values::time::Timestamp;

use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operation::{FromRequest, Operation};
use crate::target::Target;
use errors::Error;
use library::context::CoreContext;
use library::exports;
use validation::NoFields;

/// An export of the whole library into one file.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExportView {
    /// Id of the export.
    pub id: ExportId,
    /// Whether it is being packed, is packed, or failed.
    pub status: ExportState,
    /// URL of the file, once it is packed; it needs the session of the web app.
    pub url: Option<String>,
    /// Length of the file in bytes; while it is being packed, the length so far; null before that.
    pub bytes: Option<i64>,
    /// Why the export failed; null unless it failed.
    pub error: Option<String>,
    /// When the export was requested.
    pub created_at: Timestamp,
    /// When the export was packed or failed; null before that.
    pub finished_at: Option<Timestamp>,
}

/// An export, with the state that it has now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ExportResponse {
    /// The export.
    pub export: ExportView,
}

impl ExportResponse {
    fn from_row(core: &CoreContext, row: export::Model) -> Self {
        Self { export: ExportView::from_row(core, row) }
    }
}

impl ExportView {
    fn from_row(core: &CoreContext, row: export::Model) -> Self {
        let is_packed = row.state == ExportState::Done;
        let url = is_packed.then(|| format!("{}/app/api/exports/{}/file", core.base_url, row.id));
        Self {
            id: row.id,
            status: row.state,
            url,
            bytes: row.bytes,
            error: row.error,
            created_at: row.created_at,
            finished_at: row.finished_at,
        }
    }
}

/// Lists the exports that are kept.
#[derive(Debug)]
pub struct ListExports;

impl FromRequest for ListExports {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

/// The latest 20 exports, newest first. Packed ones are kept for a week.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListExportsResponse {
    /// The exports.
    pub exports: Vec<ExportView>,
}

impl Operation for ListExports {
    type Reply = ListExportsResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ListExportsResponse, Error> {
        let rows = exports::list_latest(&ctx.core, caller.user).await?;
        Ok(ListExportsResponse {
            exports: rows.into_iter().map(|row| ExportView::from_row(&ctx.core, row)).collect(),
        })
    }
}

/// Begins an export, or returns the one that is being packed.
#[derive(Debug)]
pub struct BeginExport;

impl FromRequest for BeginExport {
    type Request = NoFields;

    fn from_request(_: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Operation for BeginExport {
    type Reply = ExportResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    /// The scope only reads, but the export writes a file.
    const NEEDS_SPACE: bool = true;
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportResponse, Error> {
        let row = exports::begin(&ctx.core, caller.user).await?;
        ctx.job_signal.notify();
        Ok(ExportResponse::from_row(&ctx.core, row))
    }
}

/// Shows an export, so that a client can wait for its file.
#[derive(Debug)]
pub struct ShowExport(ExportId);

impl FromRequest for ShowExport {
    type Request = NoFields;

    fn from_request(target: &Target, _: NoFields) -> Result<Self, Error> {
        Ok(Self(target.id(0)?))
    }
}

impl Operation for ShowExport {
    type Reply = ExportResponse;
    const SCOPES: &'static [Scope] = &[Scope::ReadLibrary];
    const NEEDS_RESPONSE_SLOT: bool = false;

    async fn run(self, caller: &Caller, ctx: &OperationContext) -> Result<ExportResponse, Error> {
        let row = exports::find(&ctx.core, caller.user, self.0).await?;
        Ok(ExportResponse::from_row(&ctx.core, row))
    }
}

/// Returns an export with its file, as a local file.
///
/// # Errors
/// [`Error::NotFound`] when the export does not exist, belongs to another user, is not packed, or its file was deleted; the errors
/// of the database and of the store.
pub async fn open_file(
    ctx: &OperationContext,
    caller: &Caller,
    id: ExportId,
) -> Result<(export::Model, LocalFile), Error> {
    let row = exports::find(&ctx.core, caller.user, id).await?;
    let file = exports::open_file(&ctx.core, &*ctx.uploads.store, &row).await?;
    Ok((row, file))
}
