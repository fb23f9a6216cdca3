//! The text of a page, with what the page says of itself.

use entity::job;
use parse::html::{Article, ArticleError};
use sandbox::Page;

use super::super::attempt::JobError;
use super::super::store::Text;
use super::super::{file, unread};
use super::LONGEST_TITLE;
use crate::ingest::context::IngestContext;
use errors::Error;

/// Has a page read.
pub async fn article(
    ctx: &IngestContext,
    html: String,
    url: String,
    user_title: Option<String>,
) -> Result<Article, JobError> {
    ctx.sandbox.read_article(Page { html, url, user_title }).await.map_err(unread)
}

/// What is kept of a page that was read.
pub async fn text_of(ctx: &IngestContext, job: &job::Model, article: Article) -> Result<Text, JobError> {
    if article.text.is_empty() {
        // A page of pictures, or of a script, is known by its title all the same.
        return Err(with_title_alone(ctx, job, article.title).await?);
    }
    Ok(from_article(article))
}

/// Keeps the title of a page that has nothing else; why its document has no text.
async fn with_title_alone(ctx: &IngestContext, job: &job::Model, title: Option<String>) -> Result<JobError, Error> {
    file::name_in_place_of_address(ctx, job, |_| title.map(|title| text::cut(&title, LONGEST_TITLE))).await?;
    Ok(JobError::Permanent(ArticleError::NoText.to_string()))
}

fn from_article(article: Article) -> Text {
    Text {
        text: article.text,
        html: article.html,
        outline: article.outline,
        title: article.title.map(|title| text::cut(&title, LONGEST_TITLE)),
        author: article.author.map(|author| text::cut(&author, LONGEST_TITLE)),
        site_name: article.site_name.map(|name| text::cut(&name, LONGEST_TITLE)),
        description: article.description,
        image_url: article.image_url,
        published_at: article.published_at,
        canonical_url: article.canonical_url,
        language: article.language,
        ..Text::default()
    }
}
