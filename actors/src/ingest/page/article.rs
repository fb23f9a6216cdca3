//! The article of an HTML page, with its metadata.

use entity::job;
use errors::Error;
use jobs::JobError;
use library::documents::{ExtractedDocument, parser_job_error};
use parse::html::{Article, ArticleError};
use sandbox::Page;

use crate::ingest::document_row::{MAX_TITLE_CHARS, replace_url_title};
use crate::ingest::extraction_context::ExtractionContext;

/// Extracts the article of a page in the sandbox. `user_title` is the title that the user gave the document.
pub async fn read_article(
    ctx: &ExtractionContext,
    html: String,
    url: String,
    user_title: Option<String>,
) -> Result<Article, JobError> {
    ctx.sandbox.read_article(Page { html, url, user_title }).await.map_err(parser_job_error)
}

/// Converts an article to the content of the job's document.
///
/// # Errors
/// [`JobError::Permanent`] when the page has no text. The document gets its title all the same.
pub async fn document_of_article(
    ctx: &ExtractionContext,
    job: &job::Model,
    article: Article,
) -> Result<ExtractedDocument, JobError> {
    if article.text.is_empty() {
        // A page of images, or one that a script draws, is still recognised by its title.
        return Err(keep_title_alone(ctx, job, article.title).await?);
    }
    Ok(convert(article))
}

/// Keeps the title of a page that has no text, and returns the reason why its document has none.
async fn keep_title_alone(
    ctx: &ExtractionContext,
    job: &job::Model,
    title: Option<String>,
) -> Result<JobError, Error> {
    replace_url_title(&ctx.core, job, |_| title.map(|title| text::cut(&title, MAX_TITLE_CHARS))).await?;
    Ok(JobError::Permanent(ArticleError::NoText.to_string()))
}

fn convert(article: Article) -> ExtractedDocument {
    ExtractedDocument {
        text: article.text,
        html: article.html,
        outline: article.outline,
        title: article.title.map(|title| text::cut(&title, MAX_TITLE_CHARS)),
        author: article.author.map(|author| text::cut(&author, MAX_TITLE_CHARS)),
        site_name: article.site_name.map(|name| text::cut(&name, MAX_TITLE_CHARS)),
        description: article.description,
        image_url: article.image_url,
        published_at: article.published_at,
        canonical_url: article.canonical_url,
        language: article.language,
        ..ExtractedDocument::default()
    }
}
