//! The exports of highlights: files with all that match the filter of the address.

use actix_web::HttpResponse;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::Bytes;
use actors::operations::highlights::{ExportFormat, HighlightExport};
use errors::Error;
use futures_util::{StreamExt, stream};

use super::filter::filter_of;
use crate::web::page::request::PageRequest;

/// Sends the highlights as Markdown.
///
/// # Errors
/// [`Error::NotFound`] when the document of the filter does not exist.
pub async fn markdown(request: PageRequest) -> Result<HttpResponse, Error> {
    export(request, ExportFormat::Markdown).await
}

/// Sends the highlights as CSV.
///
/// # Errors
/// As [`markdown`].
pub async fn csv(request: PageRequest) -> Result<HttpResponse, Error> {
    export(request, ExportFormat::Csv).await
}

/// Sends the highlights as JSON.
///
/// # Errors
/// As [`markdown`].
pub async fn json(request: PageRequest) -> Result<HttpResponse, Error> {
    export(request, ExportFormat::Json).await
}

/// Sends the highlights that match the filter of the address, a page at a time.
async fn export(request: PageRequest, format: ExportFormat) -> Result<HttpResponse, Error> {
    let (content_type, extension) = match format {
        ExportFormat::Markdown => ("text/markdown; charset=utf-8", "md"),
        ExportFormat::Csv => ("text/csv; charset=utf-8", "csv"),
        ExportFormat::Json => ("application/json", "json"),
    };
    let mut export = HighlightExport::new(filter_of(&request.query), format);
    let (caller, ctx) = (request.viewer.caller.clone(), request.ctx.clone());
    // The first part before the head of the response, so that a failure is still answered with a page.
    let first = export.next_part(&caller, &ctx).await?;
    let rest = stream::try_unfold((export, caller, ctx), |(mut export, caller, ctx)| async move {
        let part = export.next_part(&caller, &ctx).await?;
        Ok::<_, Error>(part.map(|part| (Bytes::from(part), (export, caller, ctx))))
    });
    let first = stream::iter(first.map(|part| Ok(Bytes::from(part))));
    let body = first.chain(rest);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, content_type))
        .insert_header((CONTENT_DISPOSITION, format!("attachment; filename=\"highlights.{extension}\"")))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .streaming(Box::pin(body)))
}
