//! GET /exports/:id/file: the archive itself, sent as it is read.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use actors::operations::exports;
use actors::operations::target::Target;
use futures_util::stream;
use storage::blobs::{BlobError, LocalFile};
use tokio::io::AsyncReadExt;
use tokio_util::bytes::Bytes;

use super::door::signed_in;
use crate::http::table::{self, Door};
use crate::rest::failure;

/// Bytes that are read at once.
const PART: usize = 256 * 1024;

/// Mounts the route.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD"].map(str::to_owned).to_vec();
    config.service(
        web::resource("/exports/{id}/file")
            .route(web::get().to(serve))
            .default_service(table::refuse(Door::Session, methods)),
    );
}

async fn serve(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    match send(&request, &ctx).await {
        Ok(response) => response,
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn send(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, ctx).await?;
    let target = Target(vec![request.match_info().query("id").to_owned()]);
    let (export, local) = exports::file(ctx, &caller, target.id(0)?).await?;
    let file = tokio::fs::File::open(local.path()).await.map_err(BlobError::from)?;
    let length = file.metadata().await.map_err(BlobError::from)?.len();
    let day = export.created_at.to_string();
    let name = format!("attachment; filename=\"carrel-{}.zip\"", day.get(..10).unwrap_or_default());
    Ok(HttpResponse::Ok()
        .content_type("application/zip")
        .insert_header((CONTENT_DISPOSITION, name))
        .insert_header((CONTENT_LENGTH, length))
        .insert_header((CACHE_CONTROL, "no-store"))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .no_chunking(length)
        .streaming(parts(file, local)))
}

/// The file part by part; a copy that was made for this goes with its last.
fn parts(
    file: tokio::fs::File,
    local: LocalFile,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::try_unfold((file, local), |(mut file, local)| async move {
        let mut part = vec![0; PART];
        let read = file.read(&mut part).await?;
        part.truncate(read);
        Ok((read > 0).then(|| (Bytes::from(part), (file, local))))
    })
}
