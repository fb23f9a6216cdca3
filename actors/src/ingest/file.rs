//! Makes the text of a document from a file: a stored upload, or what a saved address turned out to lead to.

use std::path::Path;

use entity::id::DocumentId;
use entity::kind::ContentType;
use entity::{document, job, stored_file, upload};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, EntityTrait, QueryFilter};
use tokio::io::AsyncReadExt;

use super::attempt::Failure;
use super::magic::{self, Nature};
use super::store::Text;
use super::{media, page, pdf, queue};
use crate::adapters::blobs::{BlobError, LocalFile};
use crate::app::App;
use crate::error::Error;

/// Runs the job: reads the document's stored file.
pub async fn run(app: &App, job: &job::Model) -> Result<(), Failure> {
    let id = DocumentId(job.subject);
    let Some(document) = document::Entity::one_of(job.user_id, id).one(app.db.read()).await? else {
        queue::finish(app.db.write(), job, app.clock.now()).await?;
        return Ok(());
    };
    if matches!(document.content_type, ContentType::Audio | ContentType::Video) {
        // Before gigabytes are brought here for a recording that must wait.
        media::may_begin(app)?;
    }
    let file = stored(app, job).await?;
    let text = text(app, job, file.path(), document.content_type).await?;
    page::store(app, job, id, None, text).await
}

/// The document's stored file, on this machine.
async fn stored(app: &App, job: &job::Model) -> Result<LocalFile, Failure> {
    let gone = || Failure::Permanent("the stored file is gone".to_owned());
    let own = upload::Entity::owned_by(job.user_id).filter(upload::Column::DocumentId.eq(job.subject));
    let upload = own.one(app.db.read()).await?.ok_or_else(gone)?;
    let file = stored_file::Entity::of_upload(upload.id).one(app.db.read()).await?.ok_or_else(gone)?;
    match app.uploads.store.local(&file.path).await {
        Ok(file) => Ok(file),
        Err(BlobError::Missing) => Err(gone()),
        Err(error) => Err(error.into()),
    }
}

/// The text of a file. What it is, its bytes say; `said` decides only where they leave open whether there are pictures
/// with the sound. The document is of that type from then on.
pub async fn text(app: &App, job: &job::Model, file: &Path, said: ContentType) -> Result<Text, Failure> {
    let Some(nature) = nature_of(file).await? else {
        return Err(Failure::Permanent("the file is neither a PDF nor audio nor video".to_owned()));
    };
    let content_type = match nature {
        Nature::Pdf => ContentType::Pdf,
        Nature::Audio => ContentType::Audio,
        Nature::Video => ContentType::Video,
        Nature::AudioOrVideo if said == ContentType::Audio => ContentType::Audio,
        Nature::AudioOrVideo => ContentType::Video,
    };
    becomes(app, job, content_type).await?;
    read(app, job, file, content_type).await
}

/// The one place that hands a file on to whoever reads its kind.
async fn read(app: &App, job: &job::Model, file: &Path, content_type: ContentType) -> Result<Text, Failure> {
    match content_type {
        ContentType::Pdf => pdf::text(app, file).await,
        ContentType::Audio | ContentType::Video => media::text(app, job, file).await,
        ContentType::Article | ContentType::Note => {
            Err(Failure::Permanent("the file is neither a PDF nor audio nor video".to_owned()))
        }
    }
}

async fn nature_of(file: &Path) -> Result<Option<Nature>, Failure> {
    let mut head = Vec::new();
    let opened = tokio::fs::File::open(file).await.map_err(BlobError::from)?;
    opened.take(magic::HEAD as u64).read_to_end(&mut head).await.map_err(BlobError::from)?;
    Ok(magic::nature(&head))
}

/// Says what the job's document is, where it was taken for something else.
pub async fn becomes(app: &App, job: &job::Model, content_type: ContentType) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::ContentType, Expr::value(content_type))
        .filter(document::Column::UserId.eq(job.user_id))
        .filter(document::Column::Id.eq(job.subject))
        .filter(document::Column::ContentType.ne(content_type))
        .exec(app.db.write())
        .await?;
    Ok(())
}
