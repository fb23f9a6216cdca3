//! GET /exports/:id/file: the archive of an export, sent while it is read.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, X_CONTENT_TYPE_OPTIONS};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};
use actors::context::OperationContext;
use actors::operations::exports;
use actors::target::Target;
use errors::Error;
use futures_util::stream;
use storage::blobs::{BlobError, LocalFile};
use tokio::io::AsyncReadExt;
use tokio_util::bytes::Bytes;

use super::handler::WebApp;
use crate::http::envelope::failure;
use crate::http::session::signed_in;
use crate::routing;

/// The file is read and sent in chunks of this size.
const CHUNK_BYTES: usize = 256 * 1024;

/// Mounts the route of the archive.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD"].map(str::to_owned).to_vec();
    config.service(
        web::resource("/exports/{id}/file")
            .route(web::get().to(serve))
            .default_service(routing::refuse::<WebApp>(methods)),
    );
}

async fn serve(request: HttpRequest, ctx: Data<OperationContext>) -> HttpResponse {
    match send(&request, &ctx).await {
        Ok(response) => response,
        Err(error) => failure(&request, &ctx, &error),
    }
}

async fn send(request: &HttpRequest, ctx: &OperationContext) -> Result<HttpResponse, Error> {
    let caller = signed_in(request, &ctx.auth).await?;
    let target = Target(vec![request.match_info().query("id").to_owned()]);
    let (export, local) = exports::open_file(ctx, &caller, target.id(0)?).await?;
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
        // With the length a browser shows the progress, and notices a download that ended early.
        .no_chunking(length)
        .streaming(chunks(file, local)))
}

/// Returns the contents of the file in chunks.
fn chunks(
    file: tokio::fs::File,
    local: LocalFile,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    // `local` is kept with the stream, because it deletes its copy when it is dropped.
    stream::try_unfold((file, local), |(mut file, local)| async move {
        let mut chunk = vec![0; CHUNK_BYTES];
        let length = file.read(&mut chunk).await?;
        chunk.truncate(length);
        Ok((length > 0).then(|| (Bytes::from(chunk), (file, local))))
    })
}
