//! Content that was handed over with a document, such as by an import or a feed, and is read in place of its page.

use concurrency::Lane;
use entity::{document, job, source};
use errors::Error;
use jobs::{JobError, JobKind};
use library::documents::ExtractedDocument;
use sea_orm::ConnectionTrait;
use values::id::DocumentId;
use values::kind::SourceFormat;

use super::article::{document_of_article, read_article};
use super::fetch::user_title;
use crate::ingest::extraction_context::ExtractionContext;

/// Finds the handed-over content that the job is to read. Content that could not be read, and whose own job was given up, is
/// left aside: the page is fetched instead.
pub async fn find_readable_source(
    ctx: &ExtractionContext,
    job: &job::Model,
    id: DocumentId,
) -> Result<Option<source::Model>, Error> {
    let source = source::Entity::one_of_document(job.user_id, id).one(ctx.core.db.read()).await?;
    let is_unreadable = source.is_some() && has_given_up_source(ctx.core.db.read(), job).await?;
    Ok(source.filter(|_| !is_unreadable))
}

/// Returns whether the job that reads the handed-over content of this job's document was given up.
pub async fn has_given_up_source(db: &impl ConnectionTrait, job: &job::Model) -> Result<bool, Error> {
    let reads_source = JobKind::named(&job.kind) == Some(JobKind::ProcessText);
    Ok(!reads_source && jobs::is_given_up(db, JobKind::ProcessText, job.subject).await?)
}

/// Reads handed-over content: plain text as it is, HTML like a page.
///
/// # Errors
/// [`JobError::Permanent`] when the content has no text, and the errors of the sandbox and the database.
pub async fn read_source(
    ctx: &ExtractionContext,
    job: &job::Model,
    document: &document::Model,
    source: source::Model,
) -> Result<ExtractedDocument, JobError> {
    match source.format {
        SourceFormat::Text => {
            let source::Model { body, html, outline, .. } = source;
            let outline =
                outline.as_deref().map(serde_json::from_str).transpose().map_err(Error::internal)?;
            let text = ctx.core.workers.run(Lane::Background, move || text::normalize_input(&body)).await?;
            Ok(ExtractedDocument { text, html, outline: outline.unwrap_or_default(), ..Default::default() })
        }
        SourceFormat::Html => {
            let url = document.url.clone().unwrap_or_default();
            let article = read_article(ctx, source.body, url, user_title(document)).await?;
            document_of_article(ctx, job, article).await
        }
    }
}
