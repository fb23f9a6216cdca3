//! Receives files in a form, for browsers without script. Each file is stored when it has arrived, so a fault of one keeps those before it.

use std::time::Duration;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::web::Payload;
use actix_web::{FromRequest, HttpResponse};
use actors::operations::uploads::SendUpload;
use disk::ScratchFile;
use errors::Error;
use futures_util::TryStreamExt;
use library::uploads::{MediaType, NewUpload};
use storage::blobs::BlobError;
use tokio::time::timeout;

use super::show::show_faults;
use crate::http::upload_deadline::UploadDeadline;
use crate::web::page::done::DoneMessage;
use crate::web::page::request::PageRequest;
use crate::web::strings::MessageValue;

/// Files of one form.
const MAX_FILES: usize = 20;
/// The longest name of a file, in characters.
const MAX_NAME_CHARS: usize = 255;
/// The fault of a file that is not made into a text.
const UNSUPPORTED_FILE: &str = "must be a PDF, audio or video file";
/// Longest wait for another form of the same user, which may take hours to arrive.
const MAX_FORM_WAIT: Duration = Duration::from_secs(10);

/// Receives the form and sends the user back to the page.
pub async fn receive(request: PageRequest, payload: Payload) -> Result<HttpResponse, Error> {
    request.ctx.disk.require_room()?;
    match receive_files(&request, payload).await {
        Ok(0) => show_faults(&request, Error::invalid("file", "is required")).await,
        Ok(count) => {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            request.done(
                "/uploads",
                DoneMessage::new("uploads-received").with("count", MessageValue::Number(count)),
            )
        }
        Err(error) => show_faults(&request, error).await,
    }
}

/// Stores the files of the form. Returns their number.
async fn receive_files(request: &PageRequest, payload: Payload) -> Result<usize, Error> {
    let lock =
        timeout(MAX_FORM_WAIT, request.ctx.user_slots.form_uploads.lock(request.viewer.caller.user)).await;
    let _lock = lock.map_err(|_| {
        Error::conflict(
            "another form with files is being uploaded for this account; try again when it has arrived",
        )
    })?;
    let mut inner = payload.into_inner();
    let multipart = Multipart::from_request(&request.http, &mut inner).await;
    let mut multipart =
        multipart.map_err(|_| Error::UnsupportedType("the body must be multipart/form-data"))?;
    let mut deadline = UploadDeadline::start();
    let mut count = 0;
    while let Some(mut field) = next(&mut deadline, multipart.try_next()).await? {
        let Some(name) = file_name(&field) else {
            skip(&mut deadline, &mut field).await?;
            continue;
        };
        if count == MAX_FILES {
            return Err(Error::invalid("file", "must have 1 to 20 items"));
        }
        let media_type = media_type(&field, &name);
        if MediaType::parse(&media_type).and_then(|kind| kind.content_type()).is_none() {
            // A browser shows no answer that comes before it has sent the file.
            skip(&mut deadline, &mut field).await?;
            return Err(Error::invalid("file", UNSUPPORTED_FILE));
        }
        let (file, bytes) = store(request, &mut deadline, &mut field).await?;
        if bytes > 0 {
            let new = NewUpload { filename: name, content_type: media_type, bytes };
            request.run(SendUpload { file, new }).await?;
            count += 1;
        }
    }
    Ok(count)
}

/// Returns the name of the file in a field, without its path; `None` if the field has no file.
fn file_name(field: &Field) -> Option<String> {
    let name = field.content_disposition()?.get_filename()?;
    let name = text::one_line(name.rsplit(['/', '\\']).next().unwrap_or_default());
    (!name.is_empty()).then(|| text::cut(&name, MAX_NAME_CHARS))
}

/// Returns the media type that the browser states, or else that of the name: systems without a registry of types state none.
fn media_type(field: &Field, name: &str) -> String {
    let stated = field.content_type().map(ToString::to_string).unwrap_or_default();
    if !stated.is_empty() && stated != "application/octet-stream" {
        return stated;
    }
    type_of_name(name).to_owned()
}

/// Returns the media type for the end of a name. `media-type.js` has the same table.
fn type_of_name(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    match extension.as_deref().unwrap_or_default() {
        "pdf" => "application/pdf",
        "mp3" => "audio/mpeg",
        "m4a" | "m4b" => "audio/mp4",
        "aac" => "audio/aac",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" | "oga" | "opus" => "audio/ogg",
        "mp4" | "m4v" => "video/mp4",
        "mov" => "video/quicktime",
        "webm" => "video/webm",
        "mkv" => "video/x-matroska",
        _ => "application/octet-stream",
    }
}

/// Writes the file of a field to this machine while it arrives. Returns it with its length in bytes.
async fn store(
    request: &PageRequest,
    deadline: &mut UploadDeadline,
    field: &mut Field,
) -> Result<(ScratchFile, u64), Error> {
    let limit = request.ctx.core.plans.limits(request.viewer.caller.plan).upload_bytes;
    let mut writer = request.ctx.uploads.scratch.writer(None).map_err(BlobError::from)?;
    let mut bytes = 0_u64;
    while let Some(chunk) = next(deadline, field.try_next()).await? {
        deadline.record_received(chunk.len());
        bytes = bytes.saturating_add(chunk.len() as u64);
        if bytes > limit {
            return Err(Error::TooLarge { what: "the file", limit });
        }
        writer.write(&chunk).await.map_err(BlobError::from)?;
    }
    Ok((writer.finish().await.map_err(BlobError::from)?, bytes))
}

async fn skip(deadline: &mut UploadDeadline, field: &mut Field) -> Result<(), Error> {
    while let Some(chunk) = next(deadline, field.try_next()).await? {
        deadline.record_received(chunk.len());
    }
    Ok(())
}

/// Waits for the next field or chunk of the form. The wait ends with an error when the client is too slow.
async fn next<T>(
    deadline: &mut UploadDeadline,
    next: impl Future<Output = Result<T, MultipartError>>,
) -> Result<T, Error> {
    deadline.wait_for(next).await?.map_err(|_| Error::invalid("body", "is not a complete multipart form"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_has_the_same_types_of_names() {
        let script = include_str!("../assets/media-type.js");
        let table = script.split("const TYPES = {").nth(1).unwrap().split('}').next().unwrap();
        let types: Vec<(&str, &str)> =
            table.split(',').filter_map(|row| row.trim().trim_end_matches('"').split_once(": \"")).collect();

        assert!(types.len() > 10, "{types:?}");
        for (extension, media_type) in types {
            assert_eq!(type_of_name(&format!("Talk.{extension}")), media_type, "{extension}");
        }
    }
}
