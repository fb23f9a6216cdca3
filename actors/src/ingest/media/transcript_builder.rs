//! The rows of a transcript in progress: how far it is, and the segments until there. Each window is one transaction that
//! also renews the lease of its job, so nothing is transcribed twice and nothing is lost if the process ends.

use database::insert_all;
use entity::{document, job, transcript, transcript_segment};
use errors::Error;
use inference::transcriber::{SAMPLE_RATE_HZ, Segment, Transcription};
use jobs::JobError;
use library::context::CoreContext;
use library::owned_transaction::begin_owned;
use sea_orm::ActiveValue::Set;
use sea_orm::{ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, QueryFilter, QueryOrder};
use values::id::UserId;
use values::kind::BudgetGroup;
use values::time::Timestamp;

use super::decoded_audio::to_seconds;
use super::recording_file;
use crate::ai::budget::{self, ModelUse};

/// Tokens of the AI budget that a second of audio counts for: hosted models count one for each tenth of a second.
const TOKENS_PER_SECOND: i64 = 10;
/// Shortest duration of a segment: one that the model gives no duration still covers a span of the recording.
const MIN_SEGMENT_SECONDS: f64 = 0.02;

/// A transcript in progress, for the next version of its document.
pub struct TranscriptBuilder {
    /// The row of the transcript, as it was last stored.
    pub row: transcript::Model,
    /// The end of the last stored segment, in seconds.
    segments_end: f64,
}

impl TranscriptBuilder {
    /// Continues the transcript for the document's next version if it is of the same recording
    /// and model, or starts a new one.
    pub async fn open(
        core: &CoreContext,
        document: &document::Model,
        recording: String,
        model: &str,
    ) -> Result<Self, JobError> {
        let version = document.version + 1;
        let txn = begin_owned(&core.db, document.user_id).await?;
        let existing =
            transcript::Entity::one_of_document(document.user_id, document.id, version).one(&txn).await?;
        if let Some(row) = existing.as_ref().filter(|row| row.recording == recording && row.model == model) {
            let last = load_segments(&txn, row).await?.pop();
            let segments_end = last.map_or(0.0, |last| last.end_seconds);
            return Ok(Self { row: row.clone(), segments_end });
        }
        // Segments of another model or recording do not fit to those that follow, so they are made again.
        if let Some(outdated) = existing {
            transcript::Entity::delete_owned_row(&txn, document.user_id, outdated).await?;
        }
        let row = transcript::Model {
            document_id: document.id,
            version,
            user_id: document.user_id,
            recording,
            model: model.to_owned(),
            language: None,
            transcribed_samples: 0,
            refused_samples: 0,
            segments: 0,
            progress: 0.0,
            is_finished: false,
        };
        transcript::Entity::insert(row.clone().into_active_model()).exec_without_returning(&txn).await?;
        txn.commit().await?;
        Ok(Self { row, segments_end: 0.0 })
    }

    /// Returns the number of samples from the start that are stored as transcribed.
    pub fn done_samples(&self) -> u64 {
        u64::try_from(self.row.transcribed_samples).unwrap_or_default()
    }

    /// Stores a step and renews the lease of the job, which has all its attempts again after this progress. Returns `false`
    /// if the document was deleted meanwhile: the job has ended.
    ///
    /// # Errors
    /// [`JobError::LeaseLost`] when another worker has the job; [`JobError::Internal`] when the database fails.
    pub async fn append(
        &mut self,
        core: &CoreContext,
        job: &job::Model,
        step: TranscriptStep,
    ) -> Result<bool, JobError> {
        let now = core.clock.now();
        let (segments, segments_end) = self.place_segments(&step);
        let mut row = self.row.clone().into_active_model();
        row.transcribed_samples = Set(i64::try_from(step.done_samples).unwrap_or(i64::MAX));
        let refused = i64::try_from(step.refused_samples).unwrap_or(i64::MAX);
        row.refused_samples = Set(self.row.refused_samples.saturating_add(refused));
        row.segments = Set(self.row.segments + i32::try_from(segments.len()).unwrap_or(i32::MAX));
        // Never less than before: the declared duration and the share of the file that was read may disagree.
        row.progress = Set(step.progress.clamp(self.row.progress, 1.0));
        row.is_finished = Set(step.is_finished);
        if step.transcription.is_language_certain && self.row.language.is_none() {
            row.language = Set(step.transcription.language);
        }
        let txn = begin_owned(&core.db, job.user_id).await?;
        // The check of the lease and the segments are one transaction, so two attempts never store the same window.
        if !jobs::advance(&txn, job, now).await? {
            return Err(JobError::LeaseLost);
        }
        let updated = transcript::Entity::update_owned_row(&txn, self.row.user_id, row).await?;
        insert_all::<transcript_segment::Entity>(&txn, segments, None).await?;
        // Charged with the segments in one transaction, so a window that is transcribed again after a crash is
        // charged once.
        charge(&txn, self.row.user_id, step.submitted_samples, step.is_finished, now).await?;
        let document =
            document::Entity::one_visible_to(self.row.user_id, self.row.document_id).one(&txn).await?;
        if document.is_none() {
            recording_file::release(&txn, self.row.document_id).await?;
            jobs::finish(&txn, job, now).await?;
        }
        txn.commit().await?;
        (self.row, self.segments_end) = (updated, segments_end);
        Ok(document.is_some())
    }

    /// Places the segments of a window in the recording, in order: models give times that overlap now and then, so none
    /// begins before the one before it ends. Returns them with the end of the last one.
    fn place_segments(&self, step: &TranscriptStep) -> (Vec<transcript_segment::Model>, f64) {
        let mut previous_end = self.segments_end;
        let to_row = |(segment, ordinal): (&Segment, i32)| {
            // Models give neighbouring segments overlapping times, and offsets in the text are mapped to times in order.
            let start = (step.start_seconds + segment.start).max(previous_end);
            let end = (step.start_seconds + segment.end).max(start + MIN_SEGMENT_SECONDS);
            previous_end = end;
            transcript_segment::Model {
                document_id: self.row.document_id,
                version: self.row.version,
                ordinal,
                user_id: self.row.user_id,
                start_seconds: start,
                end_seconds: end,
                text: segment.text.clone(),
            }
        };
        let segments = step.transcription.segments.iter().zip(self.row.segments..).map(to_row).collect();
        (segments, previous_end)
    }
}

/// A window, or a stretch of silence, that is to be stored.
pub struct TranscriptStep {
    /// The start of the step in the recording, in seconds.
    pub start_seconds: f64,
    /// The segments of a window; none for silence.
    pub transcription: Transcription,
    /// Samples before it that the transcriber refused.
    pub refused_samples: usize,
    /// Samples that the transcriber was given.
    pub submitted_samples: usize,
    /// Samples from the start of the recording that are done with it.
    pub done_samples: u64,
    /// The part of the recording that is done with it, from 0 to 1.
    pub progress: f64,
    /// Whether this is the last step of the recording.
    pub is_finished: bool,
}

impl TranscriptStep {
    /// A stretch of silence that ends at this sample.
    pub fn silence(done_samples: u64, progress: f64) -> Self {
        Self {
            start_seconds: to_seconds(done_samples),
            transcription: Transcription::default(),
            refused_samples: 0,
            submitted_samples: 0,
            done_samples,
            progress,
            is_finished: false,
        }
    }
}

/// Loads the segments of a transcript, in order.
pub async fn load_segments(
    db: &impl ConnectionTrait,
    row: &transcript::Model,
) -> Result<Vec<transcript_segment::Model>, DbErr> {
    transcript_segment::Entity::owned_by(row.user_id)
        .filter(transcript_segment::Column::DocumentId.eq(row.document_id))
        .filter(transcript_segment::Column::Version.eq(row.version))
        .order_by_asc(transcript_segment::Column::Ordinal)
        .all(db)
        .await
}

/// Charges the samples to the user's AI budget of this month. A recording counts once, when it is finished.
async fn charge(
    db: &impl ConnectionTrait,
    user: UserId,
    samples: usize,
    is_finished: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let tokens = i64::try_from(samples).unwrap_or(i64::MAX) * TOKENS_PER_SECOND / i64::from(SAMPLE_RATE_HZ);
    let spent = ModelUse { times: i64::from(is_finished), tokens };
    budget::spend(db, user, now.month(), BudgetGroup::Transcription, spent).await
}
