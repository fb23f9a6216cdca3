//! Writes the texts of documents and the files of uploads.

use entity::{chunk, document, rendition, transcript_segment};
use parse::archive::{DocumentRecord, PassageRecord, SegmentRecord, document_path};
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder};
use storage::blobs::{BlobError, PART_BYTES};
use tokio::io::AsyncReadExt;
use values::id::DocumentId;
use values::kind::DocumentStatus;

use super::LibraryWriter;
use crate::documents::parse_outline;
use errors::Error;

impl LibraryWriter<'_> {
    pub(super) async fn write_texts(&mut self) -> Result<(), Error> {
        for id in std::mem::take(&mut self.texts) {
            let Some(text) = self.find_record(id).await? else { continue };
            let json = serde_json::to_string(&text).map_err(Error::internal)?;
            self.archive.add_file(&document_path(&id.to_string()), json).await?;
        }
        Ok(())
    }

    /// Reads the current text of a document. If it is replaced while it is read, the new one is read.
    async fn find_record(&self, id: DocumentId) -> Result<Option<DocumentRecord>, Error> {
        let find = || document::Entity::one_visible_to(self.user, id);
        let Some(mut row) = find().one(self.db).await? else { return Ok(None) };
        loop {
            // Passages, segments and rendition are read by several statements, so the version is compared afterwards.
            let version = row.version;
            let text = self.text_of(row).await?;
            match find().one(self.db).await? {
                None => return Ok(None),
                Some(now) if now.version == version => return Ok(Some(text)),
                Some(newer) => row = newer,
            }
        }
    }

    async fn text_of(&self, row: document::Model) -> Result<DocumentRecord, Error> {
        let passages = chunk::Entity::owned_by(self.user)
            .filter(chunk::Column::DocumentId.eq(row.id))
            .filter(chunk::Column::Version.eq(row.version))
            .order_by_asc(chunk::Column::Ordinal)
            .all(self.db)
            .await?;
        let segments = transcript_segment::Entity::owned_by(self.user)
            .filter(transcript_segment::Column::DocumentId.eq(row.id))
            .filter(transcript_segment::Column::Version.eq(row.version))
            .order_by_asc(transcript_segment::Column::Ordinal)
            .all(self.db)
            .await?;
        let rendition = rendition::Entity::one_of_document(self.user, row.id).one(self.db).await?;
        let outline = rendition.as_ref().map(parse_outline).transpose()?.unwrap_or_default();
        Ok(DocumentRecord {
            content_type: row.content_type,
            title: row.title,
            title_given: row.has_user_title,
            author: row.author,
            site_name: row.site_name,
            description: row.description,
            image_url: row.image_url,
            published_at: row.published_at,
            canonical_url: row.canonical_url,
            recording_url: row.recording_url,
            lacks: row.missing_reason,
            failed: row.error.filter(|_| row.status == DocumentStatus::Failed),
            language: row.language,
            passages: passages.into_iter().map(passage_record).collect(),
            spoken: segments.into_iter().map(segment_record).collect(),
            html: rendition.and_then(|rendition| rendition.html),
            outline,
        })
    }

    pub(super) async fn write_files(&mut self) -> Result<(), Error> {
        for (stored, path) in std::mem::take(&mut self.files) {
            let local = match self.store.local_file(&stored).await {
                Ok(local) => local,
                // The upload was deleted meanwhile; its record stays, and the import reports that the file is not in the archive.
                Err(BlobError::Missing) => continue,
                Err(error) => return Err(error.into()),
            };
            self.archive.start_stored_file(&path).await?;
            let mut file = tokio::fs::File::open(local.path()).await.map_err(BlobError::from)?;
            loop {
                let mut part = Vec::with_capacity(PART_BYTES);
                (&mut file).take(PART_BYTES as u64).read_to_end(&mut part).await.map_err(BlobError::from)?;
                if part.is_empty() {
                    break;
                }
                self.archive.write(part).await?;
            }
        }
        Ok(())
    }
}

fn passage_record(row: chunk::Model) -> PassageRecord {
    PassageRecord {
        text: row.text,
        page: row.page.and_then(|page| u32::try_from(page).ok()),
        start_seconds: row.start_seconds,
        end_seconds: row.end_seconds,
    }
}

fn segment_record(row: transcript_segment::Model) -> SegmentRecord {
    SegmentRecord { start_seconds: row.start_seconds, end_seconds: row.end_seconds, text: row.text }
}
