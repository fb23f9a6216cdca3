//! Files: the stored file of an upload, and what a file holds by its first bytes.

use std::path::Path;

use entity::{job, stored_file, upload};
use jobs::JobError;
use library::context::CoreContext;
use percent_encoding::percent_decode_str;
use sea_orm::{ColumnTrait, QueryFilter};
use storage::blobs::{BlobError, LocalFile};
use tokio::io::AsyncReadExt;
use url::Url;
use values::kind::ContentType;

use super::document_row::{MAX_TITLE_CHARS, replace_url_title, set_content_type};
use super::extraction_context::ExtractionContext;
use super::file_type::{self, FileType};

/// The reason that the document of any other file shows.
const UNSUPPORTED_FILE: &str = "the file is not a PDF, audio or video file";

/// The content of a file, which decides how its text is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileContent {
    /// A PDF, whose text is extracted.
    Pdf,
    /// Audio or video, which is transcribed.
    Recording,
}

/// Brings the stored file of the job's document to this machine; returns `None` if the document is not an upload.
///
/// # Errors
/// [`JobError::Permanent`] when the upload's file is missing from the store.
pub async fn find_stored_file(
    ctx: &ExtractionContext,
    job: &job::Model,
) -> Result<Option<LocalFile>, JobError> {
    let own = upload::Entity::owned_by(job.user_id).filter(upload::Column::DocumentId.eq(job.subject));
    let Some(upload) = own.one(ctx.core.db.read()).await? else { return Ok(None) };
    let row = stored_file::Entity::of_upload(upload.id).one(ctx.core.db.read()).await?;
    let row = row.ok_or_else(missing_file)?;
    match ctx.uploads.store.local_file(&row.path).await {
        Ok(file) => Ok(Some(file)),
        Err(BlobError::Missing) => Err(missing_file()),
        Err(error) => Err(error.into()),
    }
}

/// The error of a job whose document has no stored file.
pub fn missing_file() -> JobError {
    JobError::Permanent("the stored file is missing".to_owned())
}

/// Detects by its first bytes what a file holds, and sets the content type of the job's document accordingly. `declared`
/// decides only where the bytes leave open whether a container holds audio or video.
///
/// # Errors
/// [`JobError::Permanent`] when the file is of another type.
pub async fn detect_content(
    core: &CoreContext,
    job: &job::Model,
    file: &Path,
    declared: ContentType,
) -> Result<FileContent, JobError> {
    let content_type = match read_file_type(file).await? {
        None => return Err(JobError::Permanent(UNSUPPORTED_FILE.to_owned())),
        Some(FileType::Pdf) => ContentType::Pdf,
        Some(FileType::Audio) => ContentType::Audio,
        Some(FileType::Video) => ContentType::Video,
        Some(FileType::AudioOrVideo) if declared == ContentType::Audio => ContentType::Audio,
        Some(FileType::AudioOrVideo) => ContentType::Video,
    };
    set_content_type(core, job, content_type).await?;
    replace_url_title(core, job, file_name_of_url).await?;
    Ok(if content_type == ContentType::Pdf { FileContent::Pdf } else { FileContent::Recording })
}

async fn read_file_type(file: &Path) -> Result<Option<FileType>, JobError> {
    let mut head = Vec::new();
    let opened = tokio::fs::File::open(file).await.map_err(BlobError::from)?;
    opened.take(file_type::HEAD_BYTES as u64).read_to_end(&mut head).await.map_err(BlobError::from)?;
    Ok(file_type::detect(&head))
}

/// The last segment of a URL's path, decoded; none if it has no letter and no digit.
fn file_name_of_url(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let last = url.path_segments()?.rfind(|segment| !segment.is_empty())?;
    let name = percent_decode_str(last).decode_utf8().ok()?;
    let name = text::cut(&text::one_line(&name), MAX_TITLE_CHARS);
    name.chars().any(char::is_alphanumeric).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::file_name_of_url;

    #[test]
    fn file_name_is_the_last_path_segment_of_its_url() {
        let name = file_name_of_url;

        assert_eq!(name("https://a.example/d/On%20herons.pdf?x=1").as_deref(), Some("On herons.pdf"));
        assert_eq!(name("https://a.example/talks/12/").as_deref(), Some("12"));
        assert_eq!((name("https://a.example/"), name("https://a.example/%ff%fe")), (None, None));
    }
}
