//! POST /imports: a file in a form (multipart, RFC 7578), written to the store as it comes and never held in memory.

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, Bytes, Data, Payload, ServiceConfig};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use actors::context::OperationContext;
use errors::Error;
use validation;
use library::imports::{self, ImportFile};
use actors::operations::imports::{BeginImport, ListImports};
use actors::pipeline::perform_for;
use library::stored_files::Held;
use entity::id::UserId;
use futures_util::TryStreamExt;
use parse::bookmarks::Format;
use storage::blobs::PART_BYTES;
use tokio::time::Instant;

use super::door::{operation, own_origin, signed_in};
use super::routes::LIST_IMPORTS;
use crate::http::body::declared_length;
use crate::http::pace::{LONGEST, SILENCE, late};
use crate::http::table::{self, Door};
use crate::rest::{failure, success, whole};

/// Characters of a field that is no file.
const WORD: usize = 64;
/// Bytes of a form that may belong to its boundaries, the headers of its parts and the fields beside the file.
const MAX_FORM_OVERHEAD: u64 = 4096;

/// Mounts the route.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD", "POST"].map(str::to_owned).to_vec();
    let list = |request, payload| {
        operation::<ListImports>(&LIST_IMPORTS, request, payload, ListImports::read, |_| StatusCode::OK)
    };
    config.service(
        web::resource("/imports")
            .route(web::post().to(serve))
            .route(web::get().to(list))
            .default_service(table::refuse(Door::Session, methods)),
    );
}

async fn serve(request: HttpRequest, ctx: Data<OperationContext>, payload: Payload) -> HttpResponse {
    whole(request.clone(), async move {
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
) -> Result<actors::operations::imports::ImportResponse, Error> {
    own_origin(request, ctx)?;
    let caller = signed_in(request, ctx).await?;
    // A bucket takes the whole file also while the disk of the database is below its floor.
    ctx.disk.require_room()?;
    let announced = announced_bytes(request);
    if announced > ctx.uploads.import_bytes {
        return Err(too_large(ctx));
    }
    let _alone = ctx.arriving.alone(caller.user).await;
    imports::ensure_can_begin(&ctx.core, caller.user).await?;
    let reading = Reading { app, user: caller.user, announced, until: Instant::now() + LONGEST };
    perform_for(ctx, &caller, async || read(request, &reading, payload).await).await
}

fn too_large(ctx: &OperationContext) -> Error {
    Error::TooLarge { what: "the file", limit: ctx.uploads.import_bytes }
}

/// How long the file is at least, as the request announces it; 0 where it does not, as of a body in chunks.
fn announced_bytes(request: &HttpRequest) -> u64 {
    declared_length(request).unwrap_or_default().saturating_sub(MAX_FORM_OVERHEAD)
}

/// What a form is read with.
struct Reading<'a> {
    app: &'a OperationContext,
    user: UserId,
    /// How long its file is at least.
    announced: u64,
    /// All of it must have come by then.
    until: Instant,
}

/// The fields of the form.
#[derive(Default)]
struct Form {
    file: Option<Held>,
    file_name: Option<String>,
    format: Option<Format>,
    dry_run: Option<bool>,
}

async fn read(request: &HttpRequest, reading: &Reading<'_>, payload: Payload) -> Result<BeginImport, Error> {
    fields::read_query(request.query_string(), &[])?;
    const FORM: Error =
        Error::UnsupportedType("the body must be multipart/form-data with a field named file");
    let said = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !said.trim_start().to_ascii_lowercase().starts_with("multipart/form-data") {
        return Err(FORM);
    }
    let mut inner = payload.into_inner();
    let mut multipart = Multipart::from_request(request, &mut inner).await.map_err(|_| FORM)?;
    let mut form = Form::default();
    while let Some(field) = in_time(reading.until, multipart.try_next()).await? {
        form.take(reading, field).await?;
    }
    let Form { file, file_name, format, dry_run } = form;
    let file = file.ok_or_else(|| Error::invalid("file", "is required"))?;
    Ok(BeginImport { file, file_name, format, dry_run: dry_run.unwrap_or(false) })
}

impl Form {
    async fn take(&mut self, reading: &Reading<'_>, mut field: Field) -> Result<(), Error> {
        let until = reading.until;
        match field.name().unwrap_or_default().to_owned().as_str() {
            "file" if self.file.is_none() => {
                let disposition = field.content_disposition();
                self.file_name = disposition.and_then(|sent| sent.get_filename()).map(str::to_owned);
                self.file = Some(written(reading, &mut field).await?);
            }
            "format" if self.format.is_none() => {
                let name = word(&mut field, until).await?;
                let must_be = || format!("must be one of {}", Format::NAMES.join(", "));
                self.format = Some(name.parse::<Format>().map_err(|_| Error::invalid("format", must_be()))?);
            }
            "dryRun" if self.dry_run.is_none() => {
                self.dry_run = match word(&mut field, until).await?.as_str() {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => return Err(Error::invalid("dryRun", "must be true or false")),
                };
            }
            twice @ ("file" | "format" | "dryRun") => {
                return Err(Error::invalid(twice, "is given more than once"));
            }
            _ => return Err(Error::invalid("body", "has a field other than file, format and dryRun")),
        }
        Ok(())
    }
}

async fn word(field: &mut Field, until: Instant) -> Result<String, Error> {
    let mut word = Vec::new();
    while let Some(some) = in_time(until, field.try_next()).await? {
        word.extend_from_slice(&some);
        if word.len() > WORD {
            return Err(Error::invalid(
                "body",
                format!("has a field of more than {WORD} bytes that is not the file"),
            ));
        }
    }
    String::from_utf8(word).map_err(|_| Error::invalid("body", "has a field that is not UTF-8"))
}

/// Writes the file as it comes; what breaks off leaves nothing.
async fn written(reading: &Reading<'_>, field: &mut Field) -> Result<Held, Error> {
    let &Reading { app, user, announced, .. } = reading;
    let mut file = ImportFile::begin(&ctx.core, &*ctx.uploads.store, user, announced).await?;
    match copy(reading, field, &mut file).await {
        Ok(()) => file.finish().await,
        Err(error) => {
            file.abort().await;
            Err(error)
        }
    }
}

async fn copy(reading: &Reading<'_>, field: &mut Field, file: &mut ImportFile<'_>) -> Result<(), Error> {
    let (mut part, mut got) = (Vec::with_capacity(PART_BYTES), 0);
    while let Some(some) = in_time(reading.until, field.try_next()).await? {
        got += some.len() as u64;
        if got > reading.app.uploads.import_bytes {
            return Err(too_large(reading.app));
        }
        part.extend_from_slice(&some);
        if part.len() >= PART_BYTES {
            file.write(Bytes::from(std::mem::take(&mut part))).await?;
        }
    }
    if got == 0 {
        return Err(Error::invalid("file", "is empty"));
    }
    if part.is_empty() { Ok(()) } else { file.write(Bytes::from(part)).await }
}

/// What comes next of the form, as long as something comes and it is not too late. (What is given up ends by an error: what
/// was written so far is taken away then.)
async fn in_time<T>(
    until: Instant,
    next: impl Future<Output = Result<T, MultipartError>>,
) -> Result<T, Error> {
    let next = tokio::time::timeout_at(until.min(Instant::now() + SILENCE), next).await;
    next.map_err(|_| late())?.map_err(|error| broken(&error))
}

fn broken(_: &MultipartError) -> Error {
    Error::invalid("body", "is not a complete multipart form")
}
