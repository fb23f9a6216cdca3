//! POST /imports: a file in a form (multipart, RFC 7578), written to the store while it arrives and never held in memory. The faults
//! of all fields are reported together, but a file is not received for that: a form with a fault is refused when its file begins,
//! with the faults that were found by then. So the form is read field by field and is no `request!`, which reads a whole body.

use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::StatusCode;
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{self, Bytes, Data, Payload, ServiceConfig};
use actix_web::{FromRequest, HttpRequest, HttpResponse};
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operations::imports::{BeginImport, ImportResponse};
use actors::pipeline;
use concurrency::KeyedMutex;
use errors::Error;
use futures_util::stream::Fuse;
use futures_util::{StreamExt, TryStreamExt};
use library::imports::{self, ImportFile};
use library::stored_files::{self, FileLease};
use parse::bookmarks::Format;
use storage::blobs::PART_BYTES;
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;
use validation::{Fault, Invalid, MAX_NAME_CHARS, NoFields, read_query, reasons};
use values::id::UserId;

use super::handler::WebApp;
use super::routes::LIST_IMPORTS;
use crate::http::body::declared_length;
use crate::http::envelope::{failure, success};
use crate::http::session::{require_own_origin, signed_in};
use crate::http::task::run_to_end;
use crate::http::upload_deadline::UploadDeadline;
use crate::routing;

/// The longest field other than the file.
const MAX_FIELD_BYTES: usize = 64;
/// Bytes that are read of the rest of a field with a fault, to reach the fields after it.
const MAX_SKIPPED_BYTES: u64 = 64 << 10;
/// Fields of a form that are read. A valid form has at most three; of a longer one, the faults in the first fields are reported.
const MAX_FIELDS: usize = 16;
/// Bytes of a form for its boundaries, the headers of its parts and the fields other than the file.
const MAX_FORM_OVERHEAD_BYTES: u64 = 4096;
/// Longest wait for another file of the same user. It may take hours to arrive, and a request waits even if its client has left.
const MAX_UPLOAD_WAIT: Duration = Duration::from_secs(10);

/// Mounts `POST /imports`, and `GET /imports`, which has the same path.
pub fn mount(config: &mut ServiceConfig) {
    let methods = ["GET", "HEAD", "POST"].map(str::to_owned).to_vec();
    let list = |request, payload| (LIST_IMPORTS.handle)(&LIST_IMPORTS, request, payload);
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

/// Receives the form with a file, and begins its import.
///
/// # Errors
/// The errors of [`BeginImport`]; [`Error::Invalid`] with all faults of the form.
pub async fn begin(
    request: &HttpRequest,
    ctx: &OperationContext,
    payload: Payload,
) -> Result<ImportResponse, Error> {
    require_own_origin(request, &ctx.core)?;
    let caller = signed_in(request, &ctx.auth).await?;
    // A bucket would accept the whole file even while the disk of the database is below its floor.
    ctx.disk.require_room()?;
    let announced = announced_bytes(request);
    if announced > ctx.uploads.import_bytes {
        return Err(too_large(ctx));
    }
    let _lock = lock_uploads(&ctx.user_slots.import_uploads, caller.user, MAX_UPLOAD_WAIT).await?;
    // `BeginImport` checks it again. This check spares the client the upload of a file that would be refused.
    imports::ensure_can_begin(&ctx.core, caller.user).await?;
    let deadline = UploadDeadline::start();
    let faults = Vec::new();
    let mut reader = FormReader { ctx, user: caller.user, announced, deadline, received: 0, faults };
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
        Error::conflict(
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
    /// Bytes of the contents of all fields that have arrived.
    received: u64,
    /// The faults that were found so far, at most one for each field.
    faults: Vec<Fault>,
}

/// The fields of the form.
#[derive(Default)]
struct ImportForm {
    /// The names of all fields that were sent.
    names: BTreeSet<String>,
    file: Option<FileLease>,
    file_name: Option<String>,
    format: Option<Format>,
    dry_run: Option<bool>,
}

impl FormReader<'_> {
    async fn read(&mut self, request: &HttpRequest, payload: Payload) -> Result<BeginImport, Error> {
        const NOT_A_FORM: Error =
            Error::UnsupportedType("the body must be multipart/form-data with a field named file");
        let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().trim_start().to_ascii_lowercase();
        if !content_type.starts_with("multipart/form-data") {
            return Err(NOT_A_FORM);
        }
        if let Err(invalid) = read_query::<NoFields>(request.query_string()) {
            self.faults = invalid.faults;
        }
        let mut inner = payload.into_inner();
        let multipart = Multipart::from_request(request, &mut inner).await;
        let multipart = multipart.map_err(|_| NOT_A_FORM)?;
        let mut form = ImportForm::default();
        let outcome = self.read_fields(&mut form, multipart).await;
        let ImportForm { file, file_name, format, dry_run, .. } = form;
        match (outcome, file) {
            (Ok(()), Some(file)) if self.faults.is_empty() => {
                Ok(BeginImport { file, file_name, format, dry_run: dry_run.unwrap_or(false) })
            }
            (outcome, file) => {
                if let Some(file) = file {
                    // Before the response: until its lease ends, the file would count towards the quota of the corrected request.
                    stored_files::discard(&self.ctx.core, &*self.ctx.uploads.store, file).await;
                }
                Err(outcome.err().unwrap_or_else(|| self.refusal()))
            }
        }
    }

    /// Reads all fields into `form`. After an error, `form` may have a file that must be discarded.
    async fn read_fields(&mut self, form: &mut ImportForm, mut multipart: Multipart) -> Result<(), Error> {
        let mut fields = 0;
        while let Some(field) = self.next(multipart.try_next()).await? {
            // A `Field` panics when it is polled after its end, as `skip` does with a field that was read completely.
            let mut field = field.fuse();
            self.read_field(form, &mut field).await?;
            self.skip(&mut field).await?;
            fields += 1;
            if fields == MAX_FIELDS {
                return Err(self.refusal());
            }
        }
        if !form.names.contains("file") {
            self.add_fault("file", "is required");
        }
        Ok(())
    }

    /// Reads a field, or adds its fault. A field with a fault may have a rest that was not read.
    async fn read_field(&mut self, form: &mut ImportForm, field: &mut Fuse<Field>) -> Result<(), Error> {
        let name = field.get_ref().name().unwrap_or_default().to_owned();
        let is_repeated = !form.names.insert(name.clone());
        match name.as_str() {
            "file" | "format" | "dryRun" if is_repeated => self.add_fault(&name, reasons::REPEATED_FIELD),
            "file" => {
                let disposition = field.get_ref().content_disposition();
                form.file_name = disposition.and_then(|sent| sent.get_filename()).map(str::to_owned);
                form.file = self.store_file(field).await?;
            }
            "format" => {
                if let Some(name) = self.read_text(field).await? {
                    form.format = name.parse::<Format>().ok();
                    if form.format.is_none() {
                        self.add_fault("format", reasons::must_be_one_of(Format::NAMES));
                    }
                }
            }
            "dryRun" => {
                if let Some(text) = self.read_text(field).await? {
                    match text.as_str() {
                        "true" => form.dry_run = Some(true),
                        "false" => form.dry_run = Some(false),
                        _ => self.add_fault("dryRun", reasons::INVALID_FLAG),
                    }
                }
            }
            "" => self.add_fault("body", "has a field without a name"),
            unknown => {
                let reason = "is not a field of this form, which has file, format and dryRun";
                self.add_fault(&format!("{unknown:.MAX_NAME_CHARS$}"), reason);
            }
        }
        Ok(())
    }

    /// Adds a fault, unless the field has one already.
    fn add_fault(&mut self, field: &str, reason: impl Into<String>) {
        if !self.faults.iter().any(|earlier| earlier.field == field) {
            self.faults.push(Fault { field: field.to_owned(), reason: reason.into() });
        }
    }

    /// Returns the error of a form in which faults were found.
    fn refusal(&mut self) -> Error {
        Error::Invalid(Invalid { faults: mem::take(&mut self.faults) })
    }

    /// Reads the text of a field; `None` if it has a fault.
    async fn read_text(&mut self, field: &mut Fuse<Field>) -> Result<Option<String>, Error> {
        let mut text = Vec::new();
        while let Some(chunk) = self.next_chunk(field).await? {
            text.extend_from_slice(&chunk);
            if text.len() > MAX_FIELD_BYTES {
                let reason = format!("has a field of more than {MAX_FIELD_BYTES} bytes that is not the file");
                self.add_fault("body", reason);
                return Ok(None);
            }
        }
        let text = String::from_utf8(text).ok();
        if text.is_none() {
            self.add_fault("body", "has a field that is not UTF-8");
        }
        Ok(text)
    }

    /// Reads the rest of a field, so that the fields after it can be read. A field without a fault has no rest.
    ///
    /// # Errors
    /// [`Error::Invalid`] with the faults when the rest is longer than [`MAX_SKIPPED_BYTES`].
    async fn skip(&mut self, field: &mut Fuse<Field>) -> Result<(), Error> {
        let end = self.received.saturating_add(MAX_SKIPPED_BYTES);
        while self.next_chunk(field).await?.is_some() {
            if self.received > end {
                return Err(self.refusal());
            }
        }
        Ok(())
    }

    /// Writes the file to the store while it arrives. A file that does not arrive completely is removed. Returns `None` if the
    /// file is empty.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the fields before the file have faults and the file is not empty.
    async fn store_file(&mut self, field: &mut Fuse<Field>) -> Result<Option<FileLease>, Error> {
        if !self.faults.is_empty() {
            // The file may have gigabytes. Its first bytes tell that it is not empty, so no more of it is received.
            while let Some(chunk) = self.next_chunk(field).await? {
                if !chunk.is_empty() {
                    return Err(self.refusal());
                }
            }
            self.add_fault("file", "is empty");
            return Ok(None);
        }
        let ctx = self.ctx;
        let store = &*ctx.uploads.store;
        let mut file = ImportFile::begin(&ctx.core, store, self.user, self.announced).await?;
        match self.copy(field, &mut file).await {
            Ok(0) => {
                file.abort().await;
                self.add_fault("file", "is empty");
                Ok(None)
            }
            Ok(_) => file.finish().await.map(Some),
            Err(error) => {
                file.abort().await;
                Err(error)
            }
        }
    }

    /// Writes the content of the field to the file. Returns the number of bytes.
    async fn copy(&mut self, field: &mut Fuse<Field>, file: &mut ImportFile<'_>) -> Result<u64, Error> {
        let (mut part, begin) = (Vec::with_capacity(PART_BYTES), self.received);
        while let Some(chunk) = self.next_chunk(field).await? {
            if self.received - begin > self.ctx.uploads.import_bytes {
                return Err(too_large(self.ctx));
            }
            part.extend_from_slice(&chunk);
            if part.len() >= PART_BYTES {
                let write = file.write(Bytes::from(mem::take(&mut part)));
                self.deadline.wait_for_write(write).await?;
            }
        }
        if !part.is_empty() {
            file.write(Bytes::from(part)).await?;
        }
        Ok(self.received - begin)
    }

    async fn next_chunk(&mut self, field: &mut Fuse<Field>) -> Result<Option<Bytes>, Error> {
        let chunk = self.next(field.try_next()).await?;
        let bytes = chunk.as_ref().map_or(0, Bytes::len);
        self.deadline.record_received(bytes);
        self.received = self.received.saturating_add(bytes as u64);
        Ok(chunk)
    }

    /// Waits for the next field or chunk of the form. The wait ends with an error when the client is too slow, so that what was
    /// stored is removed.
    async fn next<T>(&mut self, next: impl Future<Output = Result<T, MultipartError>>) -> Result<T, Error> {
        // After an error the form is not polled again: the connection may be gone, and its stream would never end.
        let Ok(next) = self.deadline.wait_for(next).await? else {
            // It explains the other faults of the body: a field that was cut off may be faulty only for that.
            self.faults.retain(|earlier| earlier.field != "body");
            self.add_fault("body", "is not a complete multipart form");
            return Err(self.refusal());
        };
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use values::time::Timestamp;

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
