//! The rows of a transcript in the making: how far it is, and what was said until there. Each window is one transaction
//! with the lease of its job, so nothing is heard twice and nothing is lost, whatever ends the process.

use database::insert_all;
use entity::id::UserId;
use entity::kind::BudgetGroup;
use entity::time::Timestamp;
use entity::{document, job, transcript, transcript_segment};
use inference::transcriber::{SAMPLE_RATE_HZ, Segment, Transcription};
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DbErr, EntityTrait, IntoActiveModel, ModelTrait,
    QueryFilter, QueryOrder,
};

use super::super::attempt::JobError;
use super::super::queue;
use super::fetched;
use crate::ai::budget::{self, Spent};
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;

/// Tokens of the AI budget that a second of sound counts for: hosted models count one for each tenth of a second.
const TOKENS_A_SECOND: i64 = 10;
/// The shortest time that a segment takes: one that the model gives no time to still has a place.
const SHORTEST: f64 = 0.02;

/// A transcript in the making.
pub struct Making {
    /// Its row, as it stands.
    pub row: transcript::Model,
    /// When the last segment ends.
    until: f64,
}

/// The transcript that the document's next text is made of: as far as it is, where it is of this recording and this
/// model, else a new one.
pub async fn begin(
    ctx: &IngestContext,
    document: &document::Model,
    recording: String,
    model: &str,
) -> Result<Making, JobError> {
    let version = document.version + 1;
    let txn = begin_owned(&ctx.core.db, document.user_id).await?;
    let there = transcript::Entity::one_of(document.user_id, document.id, version).one(&txn).await?;
    if let Some(row) = there.as_ref().filter(|row| row.recording == recording && row.model == model) {
        let last = said(&txn, row).await?.pop();
        let until = last.map_or(0.0, |last| last.end_seconds);
        return Ok(Making { row: row.clone(), until });
    }
    if let Some(other) = there {
        other.delete(&txn).await?;
    }
    let new = transcript::Model {
        document_id: document.id,
        version,
        user_id: document.user_id,
        recording,
        model: model.to_owned(),
        language: None,
        heard_samples: 0,
        refused_samples: 0,
        segments: 0,
        progress: 0.0,
        finished: false,
    };
    transcript::Entity::insert(new.clone().into_active_model()).exec_without_returning(&txn).await?;
    txn.commit().await?;
    Ok(Making { row: new, until: 0.0 })
}

/// What a window brought.
pub struct Step {
    /// Where it began, in seconds.
    pub start: f64,
    /// What was heard in it; nothing for silence.
    pub heard: Transcription,
    /// Samples before it that the transcriber did not take.
    pub refused: usize,
    /// Samples that were given to the transcriber.
    pub given: usize,
    /// Up to which sample the recording is done.
    pub until: u64,
    /// The part that is done, 0 to 1.
    pub progress: f64,
    /// Whether that is all.
    pub finished: bool,
}

impl Step {
    /// Up to this sample nothing was said.
    pub fn silent(until: u64, progress: f64) -> Self {
        let start = super::seconds(until);
        Self {
            start,
            heard: Transcription::default(),
            refused: 0,
            given: 0,
            until,
            progress,
            finished: false,
        }
    }
}

impl Making {
    /// Up to which sample everything is written down.
    pub fn done(&self) -> u64 {
        u64::try_from(self.row.heard_samples).unwrap_or_default()
    }

    /// Writes a window down and begins the lease anew. With progress made, the job has all its tries again. `false` where the
    /// document is out of sight by now: the job has ended.
    pub async fn add(&mut self, ctx: &IngestContext, job: &job::Model, step: Step) -> Result<bool, JobError> {
        let now = ctx.core.clock.now();
        let (segments, until) = self.segments(&step);
        let mut row = self.row.clone().into_active_model();
        row.heard_samples = Set(i64::try_from(step.until).unwrap_or(i64::MAX));
        let refused = i64::try_from(step.refused).unwrap_or(i64::MAX);
        row.refused_samples = Set(self.row.refused_samples.saturating_add(refused));
        row.segments = Set(self.row.segments + i32::try_from(segments.len()).unwrap_or(i32::MAX));
        row.progress = Set(step.progress.clamp(self.row.progress, 1.0));
        row.finished = Set(step.finished);
        if step.heard.is_language_certain && self.row.language.is_none() {
            row.language = Set(step.heard.language);
        }
        let txn = begin_owned(&ctx.core.db, job.user_id).await?;
        if !jobs::advance(&txn, job, now).await? {
            return Err(JobError::LeaseLost);
        }
        let updated = row.update(&txn).await?;
        insert_all::<transcript_segment::Entity>(&txn, segments, None).await?;
        count(&txn, self.row.user_id, step.given, step.finished, now).await?;
        let wanted = document::Entity::one_of(self.row.user_id, self.row.document_id).one(&txn).await?;
        if wanted.is_none() {
            fetched::release_file(&txn, self.row.document_id).await?;
            jobs::finish(&txn, job, now).await?;
        }
        txn.commit().await?;
        (self.row, self.until) = (updated, until);
        Ok(wanted.is_some())
    }

    /// The window's segments at their places in the recording, in order and none before the last one's end.
    fn segments(&self, step: &Step) -> (Vec<transcript_segment::Model>, f64) {
        let mut until = self.until;
        let place = |(segment, ordinal): (&Segment, i32)| {
            let start = (step.start + segment.start).max(until);
            let end = (step.start + segment.end).max(start + SHORTEST);
            until = end;
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
        let segments = step.heard.segments.iter().zip(self.row.segments..).map(place).collect();
        (segments, until)
    }
}

/// Everything that was said, in order.
pub async fn said(
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

/// Adds to what the user spent this month.
async fn count(
    db: &impl ConnectionTrait,
    user: UserId,
    samples: usize,
    finished: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let tokens = i64::try_from(samples).unwrap_or(i64::MAX) * TOKENS_A_SECOND / i64::from(SAMPLE_RATE_HZ);
    let spent = Spent { times: i64::from(finished), tokens };
    budget::spend(db, user, now.month(), BudgetGroup::Transcription, spent).await
}
