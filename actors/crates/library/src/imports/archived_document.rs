//! Restores documents from an export: their metadata, their passages and their transcripts. Nothing is fetched or transcribed
//! again.

use database::insert_all;
use entity::{document, transcript, transcript_segment};
use parse::archive::{DocumentRecord, SegmentRecord};
use sea_orm::sea_query::Expr;
use sea_orm::{ActiveModelTrait, ColumnTrait, ConnectionTrait, IntoActiveModel, QueryFilter};
use text::chunk::Piece;
use values::kind::DocumentStatus;
use values::time::Timestamp;
use web::PageUrl;

use super::limits::{MAX_NAME_CHARS, MAX_TEXT_CHARS};
use crate::documents::{self, ChunkedDocument, ExtractedDocument};
use errors::Error;
use jobs::Priority;

/// Bytes of a time in RFC 3339.
const MAX_TIME_BYTES: usize = 40;
/// Characters of a language code.
const MAX_LANGUAGE_CHARS: usize = 8;
/// Bytes of a passage, or of a segment of a transcript. This server writes none as long: 20,000 characters of 4 bytes.
const MAX_PASSAGE_BYTES: usize = 80_000;

/// Returns the document with the metadata of its record.
pub fn with_metadata(document: document::Model, record: &DocumentRecord) -> document::Model {
    let cut = |name: &Option<String>| name.as_deref().map(|name| text::cut(name, MAX_NAME_CHARS));
    document::Model {
        content_type: record.content_type,
        title: text::cut(&text::without_controls(&record.title), MAX_NAME_CHARS),
        has_user_title: record.title_given,
        author: cut(&record.author),
        site_name: cut(&record.site_name),
        description: record.description.as_deref().map(|words| text::cut(words, MAX_TEXT_CHARS)),
        image_url: valid_url(&record.image_url),
        published_at: record.published_at.clone().filter(|time| time.len() <= MAX_TIME_BYTES),
        canonical_url: valid_url(&record.canonical_url),
        recording_url: valid_url(&record.recording_url),
        language: record.language.as_deref().map(|name| text::cut(name, MAX_LANGUAGE_CHARS)),
        ..document
    }
}

fn valid_url(url: &Option<String>) -> Option<String> {
    url.clone().filter(|url| PageUrl::parse(url).is_ok())
}

/// Passages that a document may have whatever their length: a page or a sentence may be short.
const MAX_SHORT_PASSAGES: usize = 2_000;
/// Bytes that the passages beyond those have on average, at least.
const MIN_AVERAGE_BYTES: usize = 50;

/// Segments of a transcript: those of about a day.
const MAX_SEGMENTS: usize = 100_000;

/// Returns the record if this server could have written it. Otherwise the text is extracted again.
///
/// An export is a file that anyone may write. A record that is accepted here becomes rows without passing through an extractor.
pub fn keep_valid(record: Option<DocumentRecord>) -> Option<DocumentRecord> {
    record.filter(|record| has_valid_passages(record) && has_valid_transcript(record))
}

/// Returns whether the segments of a transcript are in order and not much longer than the passages. The passages count towards the size
/// of the library; the segments do not, because they are a copy.
fn has_valid_transcript(record: &DocumentRecord) -> bool {
    let segments = &record.spoken;
    let bytes: usize = segments.iter().map(|segment| segment.text.len()).sum();
    let passage_bytes: usize = record.passages.iter().map(|passage| passage.text.len()).sum();
    let mut previous_start = 0.0;
    // Comparisons with NaN are false, so a start that is not a number needs no separate check.
    bytes <= passage_bytes.saturating_mul(2)
        && segments.len() <= MAX_SEGMENTS
        && segments.iter().all(|segment| {
            let is_in_order =
                segment.start_seconds >= previous_start && segment.end_seconds >= segment.start_seconds;
            previous_start = segment.start_seconds;
            is_in_order
                && segment.end_seconds.is_finite()
                && !segment.text.is_empty()
                && segment.text.len() <= MAX_PASSAGE_BYTES
                && !segment.text.contains('\0')
        })
}

/// Returns whether the passages have sensible lengths and times. Many tiny ones are refused, because each costs work whatever its
/// length.
fn has_valid_passages(record: &DocumentRecord) -> bool {
    let bytes: usize = record.passages.iter().map(|passage| passage.text.len()).sum();
    if record.passages.len() > MAX_SHORT_PASSAGES + bytes / MIN_AVERAGE_BYTES {
        return false;
    }
    let is_time = |seconds: &Option<f64>| seconds.is_none_or(|seconds| seconds.is_finite() && seconds >= 0.0);
    record.passages.iter().all(|passage| {
        !passage.text.is_empty()
            && passage.text.len() <= MAX_PASSAGE_BYTES
            // PostgreSQL stores no NUL in a text: one would fail the whole batch, on every attempt.
            && !passage.text.contains('\0')
            && is_time(&passage.start_seconds)
            && is_time(&passage.end_seconds)
    })
}

/// Returns whether the text is complete: there are passages, or a reason why there are none. A complete one is not fetched.
pub fn is_complete(record: &DocumentRecord) -> bool {
    !record.passages.is_empty() || record.failed.is_some() || record.lacks.is_some()
}

/// Restores the text of a document, and enqueues the job that indexes it. Returns `false` if the record has no complete text.
pub async fn restore_text(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    record: DocumentRecord,
    now: Timestamp,
) -> Result<bool, Error> {
    if let Some(reason) = record.failed.as_deref().filter(|_| record.passages.is_empty()) {
        mark_failed(txn, document, reason, now).await?;
        return Ok(true);
    }
    if !is_complete(&record) {
        return Ok(false);
    }
    let (mut body, mut pieces, mut chars) = (String::new(), Vec::with_capacity(record.passages.len()), 0);
    for passage in &record.passages {
        let (from, start) = (body.len(), chars);
        body.push_str(&passage.text);
        chars += text::char_count(&passage.text);
        pieces.push(Piece {
            start,
            end: chars,
            bytes: from..body.len(),
            page: passage.page,
            start_seconds: passage.start_seconds,
            end_seconds: passage.end_seconds,
        });
    }
    // The language of the record, which `with_metadata` set. Another is detected only if there is none.
    let language = document.language.clone();
    let DocumentRecord { html, outline, lacks, spoken, .. } = record;
    let missing_reason = lacks.map(|words| text::cut(&words, MAX_NAME_CHARS));
    let extracted = ExtractedDocument {
        text: body,
        language,
        html,
        outline,
        missing_reason,
        ..ExtractedDocument::default()
    };
    let chunked = ChunkedDocument::from_pieces(extracted, pieces);
    documents::replace_text(txn, document, chunked, Priority::Backlog, now).await?;
    if !spoken.is_empty() {
        insert_transcript(txn, document, spoken).await?;
    }
    Ok(true)
}

/// Marks a document as failed whose text could not be extracted where the export was made. It is not tried again here unless
/// the user asks for it.
async fn mark_failed(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    reason: &str,
    now: Timestamp,
) -> Result<(), Error> {
    document::Entity::update_owned(document.user_id)
        .col_expr(document::Column::Status, Expr::value(DocumentStatus::Failed))
        .col_expr(document::Column::Error, Expr::value(text::cut(reason, MAX_NAME_CHARS)))
        .col_expr(document::Column::UpdatedAt, Expr::value(now))
        .filter(document::Column::Id.eq(document.id))
        .exec(txn)
        .await?;
    Ok(())
}

/// Inserts the transcript of the text that was stored just now, as the next version of the document.
async fn insert_transcript(
    txn: &impl ConnectionTrait,
    document: &document::Model,
    segments: Vec<SegmentRecord>,
) -> Result<(), Error> {
    let version = document.version + 1;
    let row = transcript::Model {
        document_id: document.id,
        version,
        user_id: document.user_id,
        // The export names neither: nothing continues this transcript, because it is finished.
        recording: String::new(),
        model: String::new(),
        language: document.language.clone(),
        transcribed_samples: 0,
        refused_samples: 0,
        segments: i32::try_from(segments.len()).unwrap_or(i32::MAX),
        progress: 1.0,
        is_finished: true,
    };
    row.into_active_model().insert(txn).await?;
    let rows = segments.into_iter().zip(0..).map(|(segment, ordinal)| transcript_segment::Model {
        document_id: document.id,
        version,
        ordinal,
        user_id: document.user_id,
        start_seconds: segment.start_seconds,
        end_seconds: segment.end_seconds,
        text: segment.text,
    });
    insert_all::<transcript_segment::Entity>(txn, rows, None).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use values::kind::ContentType;

    use super::*;
    use parse::archive::PassageRecord;

    #[test]
    fn transcript_much_longer_than_its_passages_is_invalid() {
        let record = |spoken: &str| {
            let passage = PassageRecord {
                text: "Herons wade.".to_owned(),
                page: None,
                start_seconds: Some(0.0),
                end_seconds: Some(1.0),
            };
            let spoken = SegmentRecord { start_seconds: 0.0, end_seconds: 1.0, text: spoken.to_owned() };
            let unread = DocumentRecord::unread(ContentType::Audio, "T".to_owned(), false);
            Some(DocumentRecord { passages: vec![passage], spoken: vec![spoken], ..unread })
        };

        assert!(keep_valid(record("Herons wade.")).is_some());
        assert!(keep_valid(record(&"Herons wade. ".repeat(100))).is_none());
    }
}
