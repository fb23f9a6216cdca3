//! Transcribes a recording window by window, and yields to other recordings after a few of them.

use std::path::Path;
use std::time::{Duration, Instant};

use concurrency::Lane;
use entity::{document, entry, job, transcript};
use errors::Error;
use inference::transcriber::{
    SAMPLE_RATE_HZ, TranscribeError, Transcriber, Transcription, TranscriptionPermit, Waiter,
};
use jobs::JobError;
use library::context::CoreContext;
use library::documents::{ExtractedDocument, SourceMap, SpokenSegment, parser_job_error};
use parse::audio::AudioMetadata;
use sandbox::audio::AudioReader;
use sea_orm::{ColumnTrait, QueryFilter};
use values::id::{DocumentId, UserId};

use super::decoded_audio::{DecodedAudio, decode_to_end, open_audio, skip_samples, to_seconds};
use super::fingerprint::fingerprint;
use super::transcript_builder::{TranscriptBuilder, TranscriptStep, load_segments};
use super::wait::{
    AI_PAUSED_REASON, SLOT_TAKEN_REASON, WAIT_RETRY_DELAY, clear_wait_reason, ensure_slot, model_missing,
};
use super::windows::WindowCutter;
use crate::ai;
use crate::ingest::extraction_context::ExtractionContext;

/// Windows after which a recording yields to others: a few minutes of audio.
const TURN_WINDOWS: usize = 6;
/// A recording's turn lasts at least this many times as long as it took to resume it, so that
/// most of the time goes into transcription.
const TURN_PER_RESUME_TIME: u32 = 5;
/// Samples of silence that are stored like a window, and count as one: 5 minutes.
const SILENCE_STEP_SAMPLES: u64 = 300 * SAMPLE_RATE_HZ as u64;
/// A longer recording is refused: a day.
const MAX_RECORDING_SECONDS: u64 = 24 * 3600;
/// Windows in a row that the transcriber may refuse. If it refuses more, their content is not the reason.
const MAX_REFUSED_WINDOWS: usize = 2;

/// Waits for the transcriber, and transcribes the recording with it. Returns `None` if the recording yielded before its end,
/// or its document was deleted.
///
/// # Errors
/// [`JobError::Blocked`] while there is no transcriber or no slot, and the errors of [`transcribe`].
pub async fn transcribe_in_turn(
    ctx: &ExtractionContext,
    job: &job::Model,
    file: &Path,
) -> Result<Option<ExtractedDocument>, JobError> {
    let permit = acquire_transcriber(ctx, job).await?;
    // Other recordings of the user may have begun while this one waited.
    ensure_slot(&ctx.core, job).await?;
    transcribe(ctx, job, file, &*permit.transcriber).await
}

/// Waits for the permit to transcribe. The file of the job is on this machine already, so that a
/// slow host does not delay other recordings.
async fn acquire_transcriber(
    ctx: &ExtractionContext,
    job: &job::Model,
) -> Result<TranscriptionPermit<UserId>, JobError> {
    if !ctx.speech.is_free() {
        jobs::record_document_reason(ctx.core.db.write(), job, SLOT_TAKEN_REASON).await?;
    }
    ctx.speech.acquire(waiter_of(job)).await.ok_or_else(model_missing)
}

fn waiter_of(job: &job::Model) -> Waiter<UserId> {
    Waiter { account: job.user_id, priority: job.priority }
}

/// Transcribes what is left of a recording, and returns its whole text; `None` if it yielded to other recordings before its
/// end, or its document was deleted.
///
/// # Errors
/// [`JobError::Permanent`] when the file has no audio, cannot be decoded, or is longer than a day.
pub async fn transcribe(
    ctx: &ExtractionContext,
    job: &job::Model,
    file: &Path,
    transcriber: &dyn Transcriber,
) -> Result<Option<ExtractedDocument>, JobError> {
    let started = Instant::now();
    let id = DocumentId(job.subject);
    let own = document::Entity::with_hidden(job.user_id).filter(document::Column::Id.eq(id));
    let document = own.one(ctx.core.db.read()).await?;
    let document = document.ok_or_else(|| JobError::Permanent("the document was deleted".to_owned()))?;
    let recording = fingerprint(file).await.map_err(Error::internal)?;
    let mut builder = TranscriptBuilder::open(&ctx.core, &document, recording, transcriber.model()).await?;
    let audio = if builder.row.is_finished {
        // An earlier attempt transcribed all of it, and ended before its text was stored.
        decode_to_end(&ctx.sandbox, file).await?
    } else {
        clear_wait_reason(&ctx.core, &document).await?;
        match transcribe_rest(ctx, job, file, transcriber, &mut builder, started).await? {
            Some(audio) => audio,
            None => return Ok(None),
        }
    };
    let text = assemble_text(&ctx.core, &builder.row).await?;
    if text.text.is_empty() && audio.is_lost() {
        return Err(JobError::Permanent(
            "the recording could not be transcribed: the file is damaged; upload an undamaged copy"
                .to_owned(),
        ));
    }
    let refused_seconds = to_seconds(u64::try_from(builder.row.refused_samples).unwrap_or_default());
    let missing_reason = audio.missing_reason(&text.text, refused_seconds);
    // The title that a feed gives its episode is better than that of the file.
    let AudioMetadata { title, author, .. } =
        if is_entry(&ctx.core, &document).await? { AudioMetadata::default() } else { audio.metadata };
    Ok(Some(ExtractedDocument { missing_reason, title, author, ..text }))
}

async fn is_entry(core: &CoreContext, document: &document::Model) -> Result<bool, Error> {
    let own = entry::Entity::owned_by(document.user_id).filter(entry::Column::DocumentId.eq(document.id));
    Ok(own.one(core.db.read()).await?.is_some())
}

/// Transcribes what is left of a recording. Returns `None` if it yielded before its end, or its document was deleted.
async fn transcribe_rest(
    ctx: &ExtractionContext,
    job: &job::Model,
    file: &Path,
    transcriber: &dyn Transcriber,
    builder: &mut TranscriptBuilder,
    started: Instant,
) -> Result<Option<DecodedAudio>, JobError> {
    let mut audio = open_audio(&ctx.sandbox, file).await?;
    // By the declared duration first, before a day of audio is decoded. A file may declare too little, so the samples count too.
    if audio.duration_seconds().is_some_and(|seconds| seconds > MAX_RECORDING_SECONDS as f64) {
        return Err(too_long());
    }
    let done = builder.done_samples();
    let (read_share, mut first_piece) = skip_samples(&mut audio, done).await.map_err(parser_job_error)?;
    let windows = WindowCutter::new(transcriber.max_window_samples(), done);
    let turn = TranscriptionTurn::new(started);
    let mut rest = RemainingAudio {
        ctx,
        job,
        transcriber,
        builder,
        audio,
        windows,
        read_share,
        refused_windows: 0,
        refused_samples: 0,
        turn,
    };
    loop {
        let piece = match first_piece.take() {
            Some(piece) => Some(piece),
            None => rest.audio.next_piece().await.map_err(parser_job_error)?,
        };
        let is_end = piece.is_none();
        if let Some(piece) = piece {
            rest.windows.push(&piece.samples);
            rest.read_share = piece.progress;
        }
        if rest.windows.done_samples() > MAX_RECORDING_SECONDS * u64::from(SAMPLE_RATE_HZ) {
            return Err(too_long());
        }
        if !rest.transcribe_windows(is_end).await? {
            return Ok(None);
        }
        if is_end {
            return rest.finish().await;
        }
        if !rest.store_long_silence().await? {
            return Ok(None);
        }
    }
}

/// What is left of a recording while it is transcribed.
struct RemainingAudio<'a> {
    ctx: &'a ExtractionContext,
    job: &'a job::Model,
    transcriber: &'a dyn Transcriber,
    builder: &'a mut TranscriptBuilder,
    audio: AudioReader,
    windows: WindowCutter,
    /// The share of the file that was read.
    read_share: f64,
    /// Windows that were refused in a row.
    refused_windows: usize,
    /// Samples of refused windows that are not stored yet.
    refused_samples: usize,
    turn: TranscriptionTurn,
}

impl RemainingAudio<'_> {
    /// Transcribes and stores the windows that are complete. Returns `false` if the recording is to yield before more of it is
    /// transcribed, or its document was deleted.
    async fn transcribe_windows(&mut self, is_end: bool) -> Result<bool, JobError> {
        while let Some(window) = self.windows.next(is_end) {
            let start_seconds = to_seconds(window.start);
            let submitted_samples = window.samples.len();
            let Some(transcription) = self.transcribe_unless_refused(window.samples).await? else { continue };
            let silence = self.step_without_speech();
            let step = TranscriptStep { start_seconds, transcription, submitted_samples, ..silence };
            if !self.store(step).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Transcribes a window. Returns `None` if the transcriber refuses it and the recording continues without it.
    async fn transcribe_unless_refused(
        &mut self,
        samples: Vec<i16>,
    ) -> Result<Option<Transcription>, JobError> {
        let (submitted_samples, language) = (samples.len(), self.builder.row.language.clone());
        match transcribe_window(self.ctx, self.transcriber, samples, language).await {
            // The rest of the recording is worth more than the reason why a window was refused.
            Err(JobError::Permanent(_))
                if self.builder.row.segments > 0 && self.refused_windows < MAX_REFUSED_WINDOWS =>
            {
                self.refused_windows += 1;
                self.refused_samples += submitted_samples;
                Ok(None)
            }
            transcription => {
                let transcription = transcription?;
                self.refused_windows = 0;
                Ok(Some(transcription))
            }
        }
    }

    /// Stores silence of some minutes too: it renews the lease, and is not decoded again by the next attempt. Returns `false` like
    /// [`Self::transcribe_windows`].
    async fn store_long_silence(&mut self) -> Result<bool, JobError> {
        if self.windows.done_samples() < self.builder.done_samples() + SILENCE_STEP_SAMPLES {
            return Ok(true);
        }
        let step = self.step_without_speech();
        self.store(step).await
    }

    /// Stores a step. Returns `false` like [`Self::transcribe_windows`].
    async fn store(&mut self, step: TranscriptStep) -> Result<bool, JobError> {
        let is_wanted = self.builder.append(&self.ctx.core, self.job, step).await?;
        Ok(is_wanted && !self.turn.is_over(self.ctx, self.job).await?)
    }

    /// Stores the end of the recording. Returns `None` if its document was deleted.
    async fn finish(mut self) -> Result<Option<DecodedAudio>, JobError> {
        let step = TranscriptStep { progress: 1.0, is_finished: true, ..self.step_without_speech() };
        let decoded_seconds = to_seconds(step.done_samples);
        let is_wanted = self.builder.append(&self.ctx.core, self.job, step).await?;
        Ok(is_wanted.then(|| DecodedAudio::at_end(&self.audio, decoded_seconds)))
    }

    /// Returns a step to where the windows are, with the samples that were refused before.
    fn step_without_speech(&mut self) -> TranscriptStep {
        let done_samples = self.windows.done_samples();
        let progress = progress(done_samples, self.audio.duration_seconds(), self.read_share);
        let refused_samples = std::mem::take(&mut self.refused_samples);
        TranscriptStep { refused_samples, ..TranscriptStep::silence(done_samples, progress) }
    }
}

fn too_long() -> JobError {
    JobError::Permanent("the recording is longer than 24 hours; upload it in shorter parts".to_owned())
}

/// The windows and the time that a recording may transcribe before it yields.
struct TranscriptionTurn {
    started: Instant,
    min_duration: Duration,
    windows: usize,
}

impl TranscriptionTurn {
    /// Creates the turn of a recording whose resumption began at `started` and has just ended.
    fn new(started: Instant) -> Self {
        Self { started, min_duration: started.elapsed() * TURN_PER_RESUME_TIME, windows: 0 }
    }

    /// Counts a window. Returns whether the recording is to yield now, to one that waits for the transcriber
    /// or for a slot of the track.
    async fn is_over(&mut self, ctx: &ExtractionContext, job: &job::Model) -> Result<bool, Error> {
        self.windows += 1;
        if self.windows < TURN_WINDOWS || self.started.elapsed() < self.min_duration {
            return Ok(false);
        }
        Ok(ctx.speech.should_yield(waiter_of(job)) || jobs::others_wait(ctx.core.db.read(), job).await?)
    }
}

async fn transcribe_window(
    ctx: &ExtractionContext,
    transcriber: &dyn Transcriber,
    window: Vec<i16>,
    language: Option<String>,
) -> Result<Transcription, JobError> {
    if transcriber.is_budgeted() {
        let now = ctx.core.clock.now();
        if let Some(until) = ai::paused_until(&ctx.core.db).await?.filter(|until| now < *until) {
            let millis = u64::try_from(until.millis() - now.millis()).unwrap_or_default();
            let after = Duration::from_millis(millis).min(WAIT_RETRY_DELAY);
            return Err(JobError::Blocked { reason: AI_PAUSED_REASON, after });
        }
    }
    transcriber.transcribe(window, language).await.map_err(|error| {
        let reason = format!("the recording could not be transcribed: {error}");
        match error {
            _ if error.is_permanent() => JobError::Permanent(reason),
            TranscribeError::Refused { retry_after, .. } => {
                JobError::Transient { reason, after: retry_after }
            }
            TranscribeError::Model | TranscribeError::Unreachable => {
                JobError::Transient { reason, after: None }
            }
        }
    })
}

/// Joins the stored segments of a transcript to a text with their times.
async fn assemble_text(core: &CoreContext, row: &transcript::Model) -> Result<ExtractedDocument, JobError> {
    let rows = load_segments(core.db.read(), row).await?;
    let segments = rows.into_iter().map(|segment| SpokenSegment {
        start: segment.start_seconds,
        end: segment.end_seconds,
        text: segment.text,
    });
    let segments: Vec<SpokenSegment> = segments.collect();
    let language = row.language.clone();
    let (text, source_map) =
        core.workers.run(Lane::Background, move || SourceMap::from_segments(&segments)).await?;
    Ok(ExtractedDocument { text, source_map, language, ..ExtractedDocument::default() })
}

/// Returns the part of a recording that is done: by its duration where the file declares one, else by the
/// share of the file that was read.
#[expect(clippy::cast_precision_loss, reason = "a share is shown, not counted with")]
fn progress(done_samples: u64, duration_seconds: Option<f64>, read_share: f64) -> f64 {
    let share = duration_seconds
        .map_or(read_share, |duration| done_samples as f64 / f64::from(SAMPLE_RATE_HZ) / duration);
    // 1 is reserved for a recording whose last segment is stored.
    share.clamp(0.0, 0.99)
}
