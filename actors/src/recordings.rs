//! Transcripts with the places of their segments in the text of their document, and the times of its characters.

use std::sync::Arc;
use std::time::Duration;

use database::Db;
use entity::{document, transcript_segment};
use errors::Error;
use library::documents::{SourceMap, SpokenSegment, TimedSpan};
use moka::sync::Cache;
use sea_orm::{ColumnTrait, QueryFilter, QueryOrder, QuerySelect};

use crate::originals::FileVersion;

/// Bytes of all transcripts that are kept: some hundred hours of speech.
const MAX_BYTES: u64 = 16 << 20;
/// Bytes that a segment takes besides its text.
const SEGMENT_BYTES: usize = 96;
/// Time after which a transcript that is not read again makes room.
const MAX_IDLE: Duration = Duration::from_secs(600);
/// Segments of a transcript that are shown at most: those of some days of speech.
const MAX_SEGMENTS: u64 = 100_000;

/// Reads transcripts, and keeps them for a while. Clones share them.
#[derive(Clone)]
pub struct Recordings {
    db: Db,
    kept: Cache<FileVersion, Arc<TimedTranscript>>,
}

/// A transcript with the places of its segments.
#[derive(Debug, Default)]
pub struct TimedTranscript {
    /// Its segments in order.
    pub segments: Vec<SpokenSegment>,
    /// Their places in the text of the document; empty while that is another text.
    spans: Vec<TimedSpan>,
}

impl Recordings {
    /// Creates the reader of transcripts.
    pub fn new(db: Db) -> Self {
        let weight = |_: &FileVersion, transcript: &Arc<TimedTranscript>| {
            let bytes =
                transcript.segments.iter().map(|segment| segment.text.len() + SEGMENT_BYTES).sum::<usize>();
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let kept = Cache::builder().weigher(weight).max_capacity(MAX_BYTES).time_to_idle(MAX_IDLE).build();
        Self { db, kept }
    }

    /// Reads the transcript of this version of a document: that of its text, or one that is being made.
    ///
    /// # Errors
    /// The errors of the database.
    pub async fn read(
        &self,
        document: &document::Model,
        version: i32,
    ) -> Result<Arc<TimedTranscript>, Error> {
        let is_text = version == document.version;
        let key = FileVersion { document: document.id, version };
        // One that is being made grows, so it is read each time.
        if is_text && let Some(kept) = self.kept.get(&key) {
            return Ok(kept);
        }
        let rows = transcript_segment::Entity::owned_by(document.user_id)
            .filter(transcript_segment::Column::DocumentId.eq(document.id))
            .filter(transcript_segment::Column::Version.eq(version))
            .order_by_asc(transcript_segment::Column::Ordinal)
            .limit(MAX_SEGMENTS)
            .all(self.db.read())
            .await?;
        let segment = |row: transcript_segment::Model| SpokenSegment {
            start: row.start_seconds,
            end: row.end_seconds,
            text: row.text,
        };
        let segments: Vec<SpokenSegment> = rows.into_iter().map(segment).collect();
        let text_chars = is_text.then_some(document.total_chars);
        let transcript = Arc::new(TimedTranscript::new(segments, text_chars));
        if is_text {
            self.kept.insert(key, transcript.clone());
        }
        Ok(transcript)
    }
}

impl TimedTranscript {
    /// Makes it of segments. `text_chars` is the length of the text that was made from them; `None` before there is one.
    fn new(segments: Vec<SpokenSegment>, text_chars: Option<i32>) -> Self {
        let (text, map) = SourceMap::from_segments(&segments);
        let is_text = text_chars.is_some_and(|chars| usize::try_from(chars) == Ok(text::char_count(&text)));
        let spans = match map {
            SourceMap::Speech(spans) if is_text => spans,
            SourceMap::Speech(_) | SourceMap::Pages(_) | SourceMap::None => Vec::new(),
        };
        Self { segments, spans }
    }

    /// Returns the offsets of a segment in the text of the document: of its first character, and after its last one.
    pub fn offsets(&self, index: usize) -> Option<(usize, usize)> {
        self.spans.get(index).map(|span| (span.from, span.to))
    }

    /// Returns the segment that has the character at this offset, or the last one before it.
    pub fn index_of_offset(&self, offset: usize) -> usize {
        self.spans.partition_point(|span| span.from <= offset).saturating_sub(1)
    }

    /// Returns the segment that is spoken at this time, or the last one before it.
    pub fn index_at(&self, seconds: f64) -> usize {
        self.segments.partition_point(|segment| segment.start <= seconds).saturating_sub(1)
    }

    /// Returns when the characters from offset `start` up to `end` are spoken, in seconds: from the start of their first segment to the end of
    /// the last one.
    pub fn times(&self, start: usize, end: usize) -> Option<(f64, f64)> {
        let first = self.spans.get(self.index_of_offset(start))?;
        let last = self.spans.get(self.index_of_offset(end.saturating_sub(1)))?;
        Some((first.start, last.end.max(first.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transcript(text_chars: Option<i32>) -> TimedTranscript {
        let segment = |start, end, text: &str| SpokenSegment { start, end, text: text.to_owned() };
        TimedTranscript::new(
            vec![segment(0.0, 2.0, "One é."), segment(2.5, 4.0, "Two."), segment(9.0, 11.0, "Three.")],
            text_chars,
        )
    }

    #[test]
    fn segments_have_their_offsets_and_times() {
        let found = transcript(Some(19));

        assert_eq!([0, 1, 2].map(|index| found.offsets(index).unwrap()), [(0, 6), (7, 11), (13, 19)]);
        assert_eq!([0, 6, 7, 12, 13, 500].map(|offset| found.index_of_offset(offset)), [0, 0, 1, 1, 2, 2]);
        assert_eq!([0.0, 2.4, 2.5, 8.9, 9.0, 99.0].map(|at| found.index_at(at)), [0, 0, 1, 1, 2, 2]);
        assert_eq!(found.times(3, 9), Some((0.0, 4.0)));
        assert_eq!(found.times(8, 9), Some((2.5, 4.0)));
    }

    #[test]
    fn segments_of_another_text_have_no_offsets() {
        for found in [transcript(None), transcript(Some(18))] {
            assert_eq!((found.offsets(0), found.times(0, 3)), (None, None));
            assert_eq!(found.index_at(3.0), 1);
        }
    }
}
