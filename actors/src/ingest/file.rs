//! Makes the text of a document from a file: a stored upload, or what a saved address turned out to lead to.

use std::path::Path;

use entity::id::DocumentId;
use entity::kind::ContentType;
use entity::{document, job, stored_file, upload};
use percent_encoding::percent_decode_str;
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use storage::blobs::{BlobError, LocalFile};
use tokio::io::AsyncReadExt;
use url::Url;

use super::attempt::JobError;
use super::magic::{self, Nature};
use super::store::Text;
use super::{media, page, pdf, queue};
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;

const NEITHER: &str = "the file is not a PDF, audio or video file";

/// Runs the job: reads the document's stored file.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let Some(document) = document::Entity::one_of(job.user_id, id).one(ctx.core.db.read()).await? else {
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    if page::is_recording(document.content_type) {
        // Before gigabytes are brought here for a recording that must wait.
        return media::ask(ctx, job).await;
    }
    page::must_have_room(ctx, &document).await?;
    let file = stored(ctx, job).await?.ok_or_else(gone)?;
    match text(ctx, job, file.path(), document.content_type).await? {
        Some(text) => page::store(ctx, job, id, None, text).await,
        None => media::ask(ctx, job).await,
    }
}

fn gone() -> JobError {
    JobError::Permanent("the stored file is missing".to_owned())
}

/// The stored file of the job's document, on this machine; none where it is no upload.
pub(super) async fn stored(ctx: &IngestContext, job: &job::Model) -> Result<Option<LocalFile>, JobError> {
    let own = upload::Entity::owned_by(job.user_id).filter(upload::Column::DocumentId.eq(job.subject));
    let Some(upload) = own.one(ctx.core.db.read()).await? else { return Ok(None) };
    let file = stored_file::Entity::of_upload(upload.id).one(ctx.core.db.read()).await?.ok_or_else(gone)?;
    match ctx.uploads.store.local_file(&file.path).await {
        Ok(file) => Ok(Some(file)),
        Err(BlobError::Missing) => Err(gone()),
        Err(error) => Err(error.into()),
    }
}

/// The text of a file; none for a recording, which is still to be heard. What it is, its bytes say; `said` decides only
/// where they leave open whether there are pictures with the sound. The document is of that type from then on.
pub async fn text(
    ctx: &IngestContext,
    job: &job::Model,
    file: &Path,
    said: ContentType,
) -> Result<Option<Text>, JobError> {
    match kind_of(ctx, job, file, said).await? {
        ContentType::Pdf => pdf::text(ctx, file).await.map(Some),
        ContentType::Audio | ContentType::Video => Ok(None),
        ContentType::Article | ContentType::Note => Err(JobError::Permanent(NEITHER.to_owned())),
    }
}

/// What a file is; the job's document is of that type from then on.
pub(super) async fn kind_of(
    ctx: &IngestContext,
    job: &job::Model,
    file: &Path,
    said: ContentType,
) -> Result<ContentType, JobError> {
    let kind = match nature_of(file).await? {
        None => return Err(JobError::Permanent(NEITHER.to_owned())),
        Some(Nature::Pdf) => ContentType::Pdf,
        Some(Nature::Audio) => ContentType::Audio,
        Some(Nature::Video) => ContentType::Video,
        Some(Nature::AudioOrVideo) if said == ContentType::Audio => ContentType::Audio,
        Some(Nature::AudioOrVideo) => ContentType::Video,
    };
    becomes(ctx, job, kind).await?;
    name_in_place_of_address(ctx, job, name_in).await?;
    Ok(kind)
}

/// What is called by its address, for want of anything better, has this name from now on; `name` is given the address.
pub(super) async fn name_in_place_of_address(
    ctx: &IngestContext,
    job: &job::Model,
    name: impl FnOnce(&str) -> Option<String>,
) -> Result<(), Error> {
    let own = document::Entity::of(job.user_id).filter(document::Column::Id.eq(job.subject));
    let Some(document) = own.one(ctx.core.db.read()).await? else { return Ok(()) };
    let url = document.url.filter(|url| *url == document.title && !document.title_given);
    let Some(name) = url.as_deref().and_then(name) else { return Ok(()) };
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    document::Entity::update_many()
        .col_expr(document::Column::Title, Expr::value(name))
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(job.subject))
        .filter(document::Column::Title.eq(url))
        .filter(document::Column::TitleGiven.eq(false))
        .exec(&txn)
        .await?;
    Ok(txn.commit().await?)
}

/// The last part of an address, as its writer spelled it.
fn name_in(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let last = url.path_segments()?.rfind(|part| !part.is_empty())?;
    let name = percent_decode_str(last).decode_utf8().ok()?;
    let name = text::cut(&text::one_line(&name), page::LONGEST_TITLE);
    name.chars().any(char::is_alphanumeric).then_some(name)
}

async fn nature_of(file: &Path) -> Result<Option<Nature>, JobError> {
    let mut head = Vec::new();
    let opened = tokio::fs::File::open(file).await.map_err(BlobError::from)?;
    opened.take(magic::HEAD as u64).read_to_end(&mut head).await.map_err(BlobError::from)?;
    Ok(magic::nature(&head))
}

/// Says what the job's document is, where it was taken for something else.
pub async fn becomes(ctx: &IngestContext, job: &job::Model, content_type: ContentType) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::ContentType, Expr::value(content_type))
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(job.subject))
        .filter(document::Column::ContentType.ne(content_type))
        .exec(ctx.core.db.write())
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::name_in;

    #[test]
    fn a_file_is_called_by_the_last_part_of_its_address() {
        assert_eq!(name_in("https://a.example/d/On%20herons.pdf?x=1").as_deref(), Some("On herons.pdf"));
        assert_eq!(name_in("https://a.example/talks/12/").as_deref(), Some("12"));
        assert_eq!((name_in("https://a.example/"), name_in("https://a.example/%ff%fe")), (None, None));
    }
}
