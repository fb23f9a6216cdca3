//! POST /imports: a file in a form (multipart, RFC 7578), written to the store while it arrives and never held in memory.

use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, Bytes, Data, Payload, ServiceConfig};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operation;
use actors::operations::imports::{BeginImport, ImportResponse, ListImports};
use actors::pipeline;
use concurrency::KeyedMutex;
use entity::id::UserId;
use errors::Error;
use futures_util::TryStreamExt;
use library::imports::{self, ImportFile};
use library::stored_files::FileLease;
use parse::bookmarks::Format;
use storage::blobs::PART_BYTES;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;
use validation::{NoFields, read_query};

use super::handler::WebApp;
use super::routes::LIST_IMPORTS;
use crate::http::body::declared_length;
use crate::http::envelope::{failure, success};
use crate::http::session::{require_own_origin, signed_in};
use crate::http::task::run_to_end;
use crate::http::upload_deadline::UploadDeadline;
use crate::routing::{self, RouteSurface};

/// The longest field other than the file.
const MAX_FIELD_BYTES: usize = 64;
/// Bytes of a form for its boundaries, the headers of its parts and the fields other than the file.
const MAX_FORM_OVERHEAD_BYTES: u64 = 4096;
/// Longest wait for another file of the same user. It may take hours to arrive, and a request waits even if its client has left.
const MAX_UPLOAD_WAIT: Duration = Duration::from_secs(10);

/// Mounts the route.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD", "POST"].map(str::to_owned).to_vec();
    let list = |request, payload| {
        let read = <ListImports as operation::FromRequest>::from_request;
        WebApp::answer::<ListImports, _>(&LIST_IMPORTS, request, payload, read, |_| StatusCode::OK)
    };
    config.service(
        web::resource("/imports")
            .route(web::post().to(serve))
            .route(web::get().to(list))
            .default_service(routing::refuse::<WebApp>(methods)),
    );
}

async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    run_to_end(request.clone(), async move {
        match begin(&request, &ctx, payload).await {
            Ok(reply) => success(&request, &ctx, StatusCode::ACCEPTED, &reply),
            Err(error) => failure(&request, &ctx, &error),
        }
    })
    .await
}

async fn begin(
    request: &HttpRequest,
    ctx: &OperationContext,
    payload: Payload,
) -> Result<ImportResponse, Error> {
    require_own_origin(request, ctx)?;
    let caller = signed_in(request, ctx).await?;
    // A bucket would accept the whole file even while the disk of the database is below its floor.
    ctx.disk.require_room()?;
    let announced = announced_bytes(request);
    if announced > ctx.uploads.import_bytes {
        return Err(too_large(ctx));
    }
    let _lock = lock_uploads(&ctx.upload_locks, caller.user, MAX_UPLOAD_WAIT).await?;
    imports::ensure_can_begin(&ctx.core, caller.user).await?;
    let mut reader = FormReader { ctx, user: caller.user, announced, deadline: UploadDeadline::start() };
    let parse = async |_: &Caller| reader.read(request, payload).await.into();
    pipeline::execute::<BeginImport>(ctx, &caller, None, parse).await.into_reply()
}

/// Waits until no other file of the user is being received.
///
/// # Errors
/// [`Error::Conflict`] when that takes longer than `max_wait`.
async fn lock_uploads(
    locks: &KeyedMutex<UserId>,
    user: UserId,
    max_wait: Duration,
) -> Result<OwnedMutexGuard<()>, Error> {
    let lock = timeout(max_wait, locks.lock(user)).await;
    lock.map_err(|_| {
        Error::Conflict(
            "another file to import is being uploaded for this account; try again when it has arrived",
        )
    })
}

fn too_large(ctx: &OperationContext) -> Error {
    Error::TooLarge { what: "the file", limit: ctx.uploads.import_bytes }
}

/// The least number of bytes of the file by the request's Content-Length; 0 if it has none.
fn announced_bytes(request: &HttpRequest) -> u64 {
    declared_length(request).unwrap_or_default().saturating_sub(MAX_FORM_OVERHEAD_BYTES)
}

/// Reads a form and stores its file.
struct FormReader<'a> {
    ctx: &'a OperationContext,
    user: UserId,
    /// The least number of bytes of the file.
    announced: u64,
    deadline: UploadDeadline,
}

/// The fields of the form.
#[derive(Default)]
struct ImportForm {
    file: Option<FileLease>,
    file_name: Option<String>,
    format: Option<Format>,
    dry_run: Option<bool>,
}

impl FormReader<'_> {
    async fn read(&mut self, request: &HttpRequest, payload: Payload) -> Result<BeginImport, Error> {
        const NOT_A_FORM: Error =
            Error::UnsupportedType("the body must be multipart/form-data with a field named file");
        read_query::<NoFields>(request.query_string())?;
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().trim_start().to_ascii_lowercase();
        if !content_type.starts_with("multipart/form-data") {
            return Err(NOT_A_FORM);
        }
        let mut inner = payload.into_inner();
        let multipart = Multipart::from_request(request, &mut inner).await;
        let mut multipart = multipart.map_err(|_| NOT_A_FORM)?;
        let mut form = ImportForm::default();
        while let Some(field) = self.next(multipart.try_next()).await? {
            self.read_field(&mut form, field).await?;
        }
        let ImportForm { file, file_name, format, dry_run } = form;
        let file = file.ok_or_else(|| Error::invalid("file", "is required"))?;
        Ok(BeginImport { file, file_name, format, dry_run: dry_run.unwrap_or(false) })
    }

    async fn read_field(&mut self, form: &mut ImportForm, mut field: Field) -> Result<(), Error> {
        match field.name().unwrap_or_default().to_owned().as_str() {
            "file" if form.file.is_none() => {
                let disposition = field.content_disposition();
                form.file_name = disposition.and_then(|sent| sent.get_filename()).map(str::to_owned);
                form.file = Some(self.store_file(&mut field).await?);
            }
            "format" if form.format.is_none() => {
                let name = self.read_text(&mut field).await?;
                let must_be = || format!("must be one of {}", Format::NAMES.join(", "));
                form.format = Some(name.parse::<Format>().map_err(|_| Error::invalid("format", must_be()))?);
            }
            "dryRun" if form.dry_run.is_none() => {
                form.dry_run = match self.read_text(&mut field).await?.as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => return Err(Error::invalid("dryRun", "must be true or false")),
                };
            }
            repeated @ ("file" | "format" | "dryRun") => {
                return Err(Error::invalid(repeated, "is given more than once"));
            }
            _ => return Err(Error::invalid("body", "has a field other than file, format and dryRun")),
        }
        Ok(())
    }

    async fn read_text(&mut self, field: &mut Field) -> Result<String, Error> {
        let mut text = Vec::new();
        while let Some(chunk) = self.next(field.try_next()).await? {
            self.deadline.record_received(chunk.len());
            text.extend_from_slice(&chunk);
            if text.len() > MAX_FIELD_BYTES {
                return Err(Error::invalid(
                    "body",
                    format!("has a field of more than {MAX_FIELD_BYTES} bytes that is not the file"),
                ));
            }
        }
        String::from_utf8(text).map_err(|_| Error::invalid("body", "has a field that is not UTF-8"))
    }

    /// Writes the file to the store while it arrives. A file that does not arrive completely is removed.
    async fn store_file(&mut self, field: &mut Field) -> Result<FileLease, Error> {
        let ctx = self.ctx;
        let store = &*ctx.uploads.store;
        let mut file = ImportFile::begin(&ctx.core, store, self.user, self.announced).await?;
        match self.copy(field, &mut file).await {
            Ok(()) => file.finish().await,
            Err(error) => {
                file.abort().await;
                Err(error)
            }
        }
    }

    async fn copy(&mut self, field: &mut Field, file: &mut ImportFile<'_>) -> Result<(), Error> {
        let (mut part, mut received) = (Vec::with_capacity(PART_BYTES), 0);
        while let Some(chunk) = self.next(field.try_next()).await? {
            self.deadline.record_received(chunk.len());
            received += chunk.len() as u64;
            if received > self.ctx.uploads.import_bytes {
                return Err(too_large(self.ctx));
            }
            part.extend_from_slice(&chunk);
            if part.len() >= PART_BYTES {
                let write = file.write(Bytes::from(std::mem::take(&mut part)));
                self.deadline.wait_for_write(write).await?;
            }
        }
        if received == 0 {
            return Err(Error::invalid("file", "is empty"));
        }
        if part.is_empty() { Ok(()) } else { file.write(Bytes::from(part)).await }
    }

    /// Waits for the next field or chunk of the form. The wait ends with an error when the client is too slow, so that what was
    /// stored is removed.
    async fn next<T>(&self, next: impl Future<Output = Result<T, MultipartError>>) -> Result<T, Error> {
        let next = self.deadline.wait_for(next).await?;
        next.map_err(|_| Error::invalid("body", "is not a complete multipart form"))
    }
}

#[cfg(test)]
mod tests {
    use entity::time::Timestamp;

    use super::*;

    #[actix_web::test]
    async fn second_upload_of_a_user_is_refused_after_its_wait() {
        let (locks, user) = (KeyedMutex::default(), UserId::new(Timestamp::from_millis(0)));
        let first = lock_uploads(&locks, user, Duration::ZERO).await.unwrap();

        let second = lock_uploads(&locks, user, Duration::from_millis(1)).await;

        assert!(matches!(second, Err(Error::Conflict(_))));
        drop(first);
        assert!(lock_uploads(&locks, user, Duration::ZERO).await.is_ok());
    }
}
