//! Responses with pictures of pages, recordings, captions and archives of exports. The web app sends them from its pages and below
//! /app/api.

use std::ops::Range;

use actix_web::http::StatusCode;
use actix_web::http::header::Charset;
use actix_web::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_RANGE,
    CONTENT_SECURITY_POLICY, ContentDisposition, DispositionParam, DispositionType, ETAG, ExtendedValue,
    HeaderValue, IF_NONE_MATCH, IF_RANGE, RANGE, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::auth::caller::Caller;
use actors::context::OperationContext;
use actors::operations::recording::RecordingFile;
use actors::operations::{exports, pdf, recording};
use actors::pdf_pages::PictureWidth;
use errors::Error;
use futures_util::{TryStreamExt, stream};
use storage::blobs::{BlobError, LocalFile};
use tokio::io::AsyncReadExt;
use tokio_util::bytes::Bytes;
use values::id::{DocumentId, ExportId};

/// A picture and a recording of one version never change, but the session of their user may end.
const REVALIDATED: &str = "private, no-cache";
/// A file of a user that is opened by its address can do nothing in our origin.
const SANDBOXED: &str = "default-src 'none'; sandbox";

/// The archive of an export is read and sent in chunks of this size.
const CHUNK_BYTES: usize = 256 * 1024;

/// Returns the archive of an export, which is sent while it is read.
///
/// # Errors
/// The errors of [`exports::open_file`].
pub async fn export_file(
    ctx: &OperationContext,
    caller: &Caller,
    id: ExportId,
) -> Result<HttpResponse, Error> {
    let (export, local) = exports::open_file(ctx, caller, id).await?;
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
        .streaming(file_chunks(file, local)))
}

/// Returns the contents of the file in chunks.
fn file_chunks(
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

/// Returns the picture of a page of a PDF, counted from 1.
///
/// # Errors
/// The errors of [`pdf::draw_page`].
pub async fn page_picture(
    request: &HttpRequest,
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
    number: u32,
    width: PictureWidth,
) -> Result<HttpResponse, Error> {
    let version = pdf::version_of(ctx, caller, document).await?;
    let tag = format!("\"{version}-{number}-{}\"", width.pixels());
    if has_tag(request, &tag) {
        return Ok(guarded(StatusCode::NOT_MODIFIED, &tag).finish());
    }
    let drawn = pdf::draw_page(ctx, caller, document, number, width).await?;
    Ok(guarded(StatusCode::OK, &tag).content_type("image/webp").body(drawn.webp.clone()))
}

/// Returns the captions of a recording as WebVTT.
///
/// # Errors
/// The errors of [`recording::captions`].
pub async fn captions(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<HttpResponse, Error> {
    let vtt = recording::captions(ctx, caller, document).await?;
    Ok(HttpResponse::Ok()
        .content_type("text/vtt; charset=utf-8")
        .insert_header((CACHE_CONTROL, REVALIDATED))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CONTENT_SECURITY_POLICY, SANDBOXED))
        .body(vtt))
}

/// Returns the file of a recording or a PDF, or the part of it that the request's `Range` names (RFC 9110, section 14).
///
/// # Errors
/// The errors of [`recording::open_media`].
pub async fn media(
    request: &HttpRequest,
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<HttpResponse, Error> {
    let file = recording::open_media(ctx, caller, document).await?;
    let tag = format!("\"{}\"", file.version);
    if has_tag(request, &tag) {
        return Ok(guarded(StatusCode::NOT_MODIFIED, &tag).finish());
    }
    let (status, range) = match requested_range(request, &tag, file.length) {
        RequestedRange::Whole => (StatusCode::OK, 0..file.length),
        RequestedRange::Part(range) => (StatusCode::PARTIAL_CONTENT, range),
        RequestedRange::Unsatisfiable => {
            let mut refused = guarded(StatusCode::RANGE_NOT_SATISFIABLE, &tag);
            return Ok(refused.insert_header((CONTENT_RANGE, format!("bytes */{}", file.length))).finish());
        }
    };
    let mut response = guarded(status, &tag);
    response
        .content_type(file.media_type)
        .insert_header((ACCEPT_RANGES, "bytes"))
        .insert_header((CONTENT_DISPOSITION, disposition(request, &file)))
        .insert_header((CONTENT_LENGTH, range.end - range.start));
    if status == StatusCode::PARTIAL_CONTENT {
        let part = format!("bytes {}-{}/{}", range.start, range.end - 1, file.length);
        response.insert_header((CONTENT_RANGE, part));
    }
    let length = range.end - range.start;
    let chunks = file.read(range).await?.map_err(std::io::Error::other);
    Ok(response.no_chunking(length).streaming(chunks))
}

fn guarded(status: StatusCode, tag: &str) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response
        .insert_header((ETAG, tag))
        .insert_header((CACHE_CONTROL, REVALIDATED))
        .insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"))
        .insert_header((CONTENT_SECURITY_POLICY, SANDBOXED));
    response
}

/// Returns whether the client has the entity with this tag already.
fn has_tag(request: &HttpRequest, tag: &str) -> bool {
    let known = request.headers().get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    known.is_some_and(|known| known.split(',').any(|one| one.trim().trim_start_matches("W/") == tag))
}

/// Returns how a browser shows the file: in a page, or with `?download` as a file under its name. A PDF is always saved: it may hold scripts.
fn disposition(request: &HttpRequest, file: &RecordingFile) -> ContentDisposition {
    let asks_for_download = request.query_string().split('&').any(|field| field == "download");
    let is_download = asks_for_download || file.media_type == "application/pdf";
    let disposition = if is_download { DispositionType::Attachment } else { DispositionType::Inline };
    let name = ExtendedValue {
        charset: Charset::Ext("UTF-8".to_owned()),
        language_tag: None,
        value: text::one_line(&file.name).into_bytes(),
    };
    ContentDisposition { disposition, parameters: vec![DispositionParam::FilenameExt(name)] }
}

/// What a request asks for of a file.
#[derive(Debug, PartialEq, Eq)]
enum RequestedRange {
    /// All of it.
    Whole,
    /// These bytes, at least one.
    Part(Range<u64>),
    /// Bytes behind its end.
    Unsatisfiable,
}

/// Returns what a request asks for of a file with this tag and length. A header that is malformed or names several parts is ignored, which
/// RFC 9110 allows.
fn requested_range(request: &HttpRequest, tag: &str, length: u64) -> RequestedRange {
    let text = |value: Option<&HeaderValue>| value.and_then(|value| value.to_str().ok()).map(str::to_owned);
    // The file changed since the client read its first part.
    if text(request.headers().get(IF_RANGE)).is_some_and(|known| known != tag) {
        return RequestedRange::Whole;
    }
    text(request.headers().get(RANGE)).map_or(RequestedRange::Whole, |range| parse_range(&range, length))
}

fn parse_range(range: &str, length: u64) -> RequestedRange {
    let part = range.trim().strip_prefix("bytes=").and_then(|part| part.split_once('-'));
    let Some((first, last)) = part.map(|(first, last)| (first.trim(), last.trim())) else {
        return RequestedRange::Whole;
    };
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), _) if first >= length && (last.is_empty() || last.parse::<u64>().is_ok()) => {
            RequestedRange::Unsatisfiable
        }
        (Ok(first), Ok(last)) if first <= last => {
            RequestedRange::Part(first..length.min(last.saturating_add(1)))
        }
        (Ok(first), Err(_)) if last.is_empty() => RequestedRange::Part(first..length),
        // The last bytes of the file.
        (Err(_), Ok(0)) if first.is_empty() => RequestedRange::Unsatisfiable,
        (Err(_), Ok(count)) if first.is_empty() => RequestedRange::Part(length.saturating_sub(count)..length),
        (Ok(_) | Err(_), Ok(_) | Err(_)) => RequestedRange::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file_are_understood() {
        let part = |range| parse_range(range, 100);

        assert_eq!(part("bytes=0-"), RequestedRange::Part(0..100));
        assert_eq!(part("bytes=10-19"), RequestedRange::Part(10..20));
        assert_eq!(part("bytes=90-500"), RequestedRange::Part(90..100));
        assert_eq!(part("bytes=-10"), RequestedRange::Part(90..100));
        assert_eq!(part("bytes=-500"), RequestedRange::Part(0..100));
    }

    #[test]
    fn parts_behind_the_end_are_refused() {
        for range in ["bytes=100-", "bytes=100-200", "bytes=-0"] {
            assert_eq!(parse_range(range, 100), RequestedRange::Unsatisfiable, "{range}");
        }
    }

    #[test]
    fn malformed_ranges_are_ignored() {
        for range in
            ["", "bytes", "bytes=", "bytes=-", "bytes=a-b", "lines=1-2", "bytes=5-3", "bytes=0-1,5-6"]
        {
            assert_eq!(parse_range(range, 100), RequestedRange::Whole, "{range}");
        }
    }
}
