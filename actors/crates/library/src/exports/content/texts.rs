//! Writes the texts of documents and the files of uploads.

use std::collections::HashMap;

use entity::{chunk, document, rendition, transcript_segment};
use parse::archive::{DocumentRecord, PassageRecord, SegmentRecord, document_path};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, QueryFilter, QuerySelect};
use storage::blobs::{BlobError, PART_BYTES};
use tokio::io::AsyncReadExt;
use values::groups::{GroupBounds, group_by_size};
use values::id::DocumentId;
use values::kind::DocumentStatus;

use super::LibraryWriter;
use crate::documents::parse_outline;
use errors::Error;

/// Documents whose rows are read by one statement.
const BATCH_DOCUMENTS: usize = 200;
/// Documents whose texts are read together, by the bytes of the texts, which are estimated.
const GROUP_BOUNDS: GroupBounds = GroupBounds { max_items: 50, max_size: 8 << 20 };

/// The rows of the text of a document: of its current version and, while it is replaced, of another.
#[derive(Default)]
struct TextRows {
    passages: Vec<chunk::Model>,
    segments: Vec<transcript_segment::Model>,
    rendition: Option<rendition::Model>,
}

impl LibraryWriter<'_> {
    pub(super) async fn write_texts(&mut self) -> Result<(), Error> {
        for ids in std::mem::take(&mut self.texts).chunks(BATCH_DOCUMENTS) {
            for group in group_by_size(self.load_documents(ids).await?, GROUP_BOUNDS) {
                self.write_group(group).await?;
            }
        }
        Ok(())
    }

    /// Returns the visible documents of these ids, in their order, each with the bytes of its text by estimate.
    async fn load_documents(&self, ids: &[DocumentId]) -> Result<Vec<(document::Model, u64)>, Error> {
        let rows = document::Entity::visible_to(self.user)
            .filter(document::Column::Id.is_in(ids.iter().copied()))
            .all(self.db)
            .await?;
        let mut rows: HashMap<DocumentId, document::Model> =
            rows.into_iter().map(|row| (row.id, row)).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let html_bytes = rendition::Entity::of_documents(self.user, rows.keys().copied())
            .select_only()
            .column(rendition::Column::DocumentId)
            // Does not read the HTML, which LENGTH would do to count its characters.
            .column_as(Expr::cust("CAST(OCTET_LENGTH(html) AS BIGINT)"), "bytes");
        let html_bytes: Vec<(DocumentId, Option<i64>)> = html_bytes.into_tuple().all(self.db).await?;
        let html_bytes: HashMap<DocumentId, Option<i64>> = html_bytes.into_iter().collect();
        let documents = ids.iter().filter_map(|id| {
            let row = rows.remove(id)?;
            let html = html_bytes.get(id).copied().flatten().unwrap_or_default();
            // A transcript has its words twice: in passages and in segments.
            let bytes = u64::from(row.total_chars.unsigned_abs()) * 2 + html.unsigned_abs();
            Some((row, bytes))
        });
        Ok(documents.collect())
    }

    /// Writes the current texts of documents. One that was replaced while it was read is read again.
    async fn write_group(&self, documents: Vec<document::Model>) -> Result<(), Error> {
        let ids: Vec<DocumentId> = documents.iter().map(|row| row.id).collect();
        let mut texts = self.load_texts(&ids).await?;
        // Passages, segments and rendition were read by several statements, so the versions are compared afterwards.
        let versions = document::Entity::visible_to(self.user)
            .filter(document::Column::Id.is_in(ids))
            .select_only()
            .columns([document::Column::Id, document::Column::Version]);
        let versions: Vec<(DocumentId, i32)> = versions.into_tuple().all(self.db).await?;
        let versions: HashMap<DocumentId, i32> = versions.into_iter().collect();
        for row in documents {
            let id = row.id;
            let record = match versions.get(&id) {
                None => None,
                Some(version) if *version == row.version => {
                    Some(document_record(row, texts.remove(&id).unwrap_or_default())?)
                }
                Some(_) => self.find_record(id).await?,
            };
            let Some(record) = record else { continue };
            let json = serde_json::to_string(&record).map_err(Error::internal)?;
            self.archive.add_file(&document_path(&id.to_string()), json).await?;
        }
        Ok(())
    }

    /// Reads the current text of one document. If it is replaced while it is read, the new one is read.
    async fn find_record(&self, id: DocumentId) -> Result<Option<DocumentRecord>, Error> {
        let find = || document::Entity::one_visible_to(self.user, id);
        let Some(mut row) = find().one(self.db).await? else { return Ok(None) };
        loop {
            let version = row.version;
            let text = self.load_texts(&[id]).await?.remove(&id).unwrap_or_default();
            match find().one(self.db).await? {
                None => return Ok(None),
                Some(now) if now.version == version => return Ok(Some(document_record(row, text)?)),
                Some(newer) => row = newer,
            }
        }
    }

    async fn load_texts(&self, ids: &[DocumentId]) -> Result<HashMap<DocumentId, TextRows>, Error> {
        let ids = || ids.iter().copied();
        let mut texts: HashMap<DocumentId, TextRows> = HashMap::new();
        let passages = chunk::Entity::owned_by(self.user).filter(chunk::Column::DocumentId.is_in(ids()));
        for row in passages.all(self.db).await? {
            texts.entry(row.document_id).or_default().passages.push(row);
        }
        let segments = transcript_segment::Entity::owned_by(self.user)
            .filter(transcript_segment::Column::DocumentId.is_in(ids()));
        for row in segments.all(self.db).await? {
            texts.entry(row.document_id).or_default().segments.push(row);
        }
        for row in rendition::Entity::of_documents(self.user, ids()).all(self.db).await? {
            let document = row.document_id;
            texts.entry(document).or_default().rendition = Some(row);
        }
        Ok(texts)
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

fn document_record(row: document::Model, text: TextRows) -> Result<DocumentRecord, Error> {
    let TextRows { mut passages, mut segments, rendition } = text;
    passages.retain(|passage| passage.version == row.version);
    passages.sort_by_key(|passage| passage.ordinal);
    segments.retain(|segment| segment.version == row.version);
    segments.sort_by_key(|segment| segment.ordinal);
    let outline = rendition.as_ref().map(|row| parse_outline(&row.outline)).transpose()?.unwrap_or_default();
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
