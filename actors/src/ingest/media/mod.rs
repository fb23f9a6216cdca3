//! Makes the text of a recording: decoded in the sandbox, cut into windows, heard by the transcriber, and each window a
//! row before the next one, so that a recording of hours goes on where it stopped.

pub(super) mod fetched;
pub mod place;
mod recording_limit;
mod rows;
pub mod windows;

use std::path::Path;
use std::time::{Duration, Instant};

use entity::id::{DocumentId, UserId};
use entity::{document, entry, job, source, transcript};
use inference::transcriber::{
    SAMPLE_RATE_HZ, TranscribeError, Transcriber, Transcription, TranscriptionPermit, Waiter,
};
use parse::audio::AudioMetadata;
use runtime::Lane;
use sandbox::SandboxError;
use sandbox::audio::{AudioPiece, AudioReader, PIECE_SAMPLES};
use sea_orm::sea_query::Expr;
use sea_orm::{ColumnTrait, ConnectionTrait, EntityTrait, QueryFilter};
use storage::blobs::LocalFile;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tracing::warn;
use web::{BodyPolicy, FetchOutcome, FetchRequest, PageUrl};

use super::attempt::{JobError, say_reason};
use super::places::{Places, Spoken};
use super::queue::{self, Priority, JobKind};
use super::store::Text;
use super::{file, page, unread};
use crate::ai;
use crate::ingest::context::IngestContext;
use errors::Error;
use library::owned_transaction::begin_owned;
use rows::{Making, Step};
use windows::Windows;

const _: () = assert!(
    parse::audio::SAMPLE_RATE == SAMPLE_RATE_HZ,
    "the sample rate of the decoder differs from that of the transcriber"
);

/// What a document says of itself while there is nothing to transcribe it.
pub const NO_MODEL: &str = "waiting for the speech model";
/// A model's arrival wakes what waits for it, in the process that it arrives at; others look after this.
const LOOK_FOR_MODEL: Duration = Duration::from_secs(300);
/// Longer than this nothing waits without a look for the AI to go on, or for other recordings of its person.
const LOOK_AGAIN: Duration = Duration::from_secs(60);
/// Another recording is being heard.
const TAKEN: &str = "waiting until other recordings are transcribed";
const PAUSED: &str = "waiting until the pause of the AI ends";
/// Windows after which others have a turn: a few minutes of sound.
const WINDOWS: usize = 6;
/// Samples of silence that are written down like a window, and count as one.
const SILENCE: u64 = 300 * SAMPLE_RATE_HZ as u64;
/// A longer recording is refused: a day.
const MOST_SECONDS: u64 = 24 * 3600;
/// Less than so much that is missing is no loss: in seconds, and as a part of the whole.
const NOTICED: f64 = 1.5;
const LITTLE: f64 = 0.02;
/// Windows that may be refused one after the other. Where more are refused, their content is not the reason.
const MAX_REFUSED_WINDOWS: usize = 2;
/// Bytes at either end by which a recording is told from another of the same length.
const ENDS: u64 = 64 * 1024;

/// Hands the document of another job on: recordings wait on a track of their own.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn ask(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let now = ctx.core.clock.now();
    let txn = begin_owned(&ctx.core.db, job.user_id).await?;
    if !jobs::finish(&txn, job, now).await? {
        return Err(JobError::LeaseLost);
    }
    jobs::enqueue(&txn, job.user_id, JobKind::Transcribe, job.subject, Priority::of(job), now).await?;
    txn.commit().await?;
    ctx.job_signal.notify();
    Ok(())
}

/// Runs the job: hears an upload, the recording that comes with an entry, or the one at the document's address.
///
/// # Errors
/// [`JobError`], as every job.
pub async fn run(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let id = DocumentId(job.subject);
    let document = document::Entity::one_of(job.user_id, id).one(ctx.core.db.read()).await?;
    let Some(document) = document else {
        jobs::finish(ctx.core.db.write(), job, ctx.core.clock.now()).await?;
        return Ok(());
    };
    // Before gigabytes are brought here for a recording that nobody can hear.
    ctx.speech.transcriber().ok_or_else(no_model)?;
    page::must_have_room(ctx, &document).await?;
    may_begin(ctx, job).await?;
    let file = match file::stored(ctx, job).await? {
        Some(file) => file,
        None => fetch(ctx, job, &document).await?,
    };
    let said = document.content_type;
    if !page::is_recording(file::kind_of(ctx, job, file.path(), said).await?) {
        let text = file::text(ctx, job, file.path(), said).await?;
        return page::store(ctx, job, id, None, text.unwrap_or_default()).await;
    }
    match in_turn(ctx, job, file.path()).await? {
        Some(text) => page::store(ctx, job, id, None, text).await,
        // Of a job that has ended nothing changes.
        None => {
            jobs::yield_job(ctx.core.db.write(), job, 0, Priority::of(job), ctx.core.clock.now()).await?;
            ctx.job_signal.notify();
            Ok(())
        }
    }
}

/// A transcript is all of an entry: neither what its feed says of the episode nor its page takes the place of it.
///
/// # Errors
/// What a failure of the database converts to.
pub async fn make_whole(txn: &impl ConnectionTrait, document: &document::Model) -> Result<(), Error> {
    let (user, id) = (document.user_id, document.id);
    entry::Entity::update_many()
        .col_expr(entry::Column::Whole, Expr::value(true))
        .filter(entry::Column::UserId.eq(user))
        .filter(entry::Column::DocumentId.eq(id))
        .exec(txn)
        .await?;
    source::Entity::delete_many()
        .filter(source::Column::UserId.eq(user))
        .filter(source::Column::DocumentId.eq(id))
        .exec(txn)
        .await?;
    for work in [JobKind::Text, JobKind::Page] {
        jobs::withdraw(txn, user, work, id.0).await?;
    }
    Ok(fetched::release_file(txn, id).await?)
}

/// Whether a document's text is what was heard.
///
/// # Errors
/// What a failure of the database converts to.
pub async fn is_heard(db: &impl ConnectionTrait, user: UserId, id: DocumentId) -> Result<bool, Error> {
    let heard = transcript::Entity::owned_by(user)
        .filter(transcript::Column::DocumentId.eq(id))
        .filter(transcript::Column::Finished.eq(true));
    Ok(heard.one(db).await?.is_some())
}

fn no_model() -> JobError {
    JobError::Blocked { reason: NO_MODEL, after: LOOK_FOR_MODEL }
}

/// Waits for the permit to transcribe. The file of the job is here already, so that a slow host delays no other recording.
async fn acquire_transcriber(ctx: &IngestContext, job: &job::Model) -> Result<TranscriptionPermit<UserId>, JobError> {
    if !ctx.speech.is_free() {
        say_reason(ctx.core.db.write(), job, TAKEN).await?;
    }
    ctx.speech.acquire(waiter(job)).await.ok_or_else(no_model)
}

/// The text, when it is this job's turn.
async fn in_turn(ctx: &IngestContext, job: &job::Model, file: &Path) -> Result<Option<Text>, JobError> {
    let permit = acquire_transcriber(ctx, job).await?;
    // Others of the same person may have begun meanwhile.
    may_begin(ctx, job).await?;
    text(ctx, job, file, &*permit.transcriber).await
}

async fn may_begin(ctx: &IngestContext, job: &job::Model) -> Result<(), JobError> {
    let wait = JobError::Blocked { reason: TAKEN, after: LOOK_AGAIN };
    if recording_limit::has_place(ctx, job).await? { Ok(()) } else { Err(wait) }
}

fn waiter(job: &job::Model) -> Waiter<UserId> {
    Waiter { account: job.user_id, priority: job.priority }
}

/// The recording at an address: kept since it was fetched, or fetched now, with the manners of [`page`].
async fn fetch(ctx: &IngestContext, job: &job::Model, document: &document::Model) -> Result<LocalFile, JobError> {
    if let Some(file) = fetched::find_file(ctx, document.id).await? {
        return Ok(file);
    }
    let gone = || JobError::Permanent("there is no recording at the URL".to_owned());
    let url = place::beside(ctx.core.db.read(), document).await?.or_else(|| document.url.clone());
    let url = url.and_then(|url| PageUrl::parse(&url).ok()).ok_or_else(gone)?;
    let _permit = page::acquire_host(ctx, job, &url)?;
    let policy = |_: Option<&str>| BodyPolicy::File;
    match ctx.fetcher.get_or_save(&url, FetchRequest::page(), &ctx.uploads.scratch, policy).await {
        Ok(FetchOutcome::File(file)) => {
            if let Err(error) = fetched::keep_file(ctx, document.id, file.path()).await {
                let cause = error.chain();
                warn!(job.id = %job.id, cause, "a fetched recording is heard without being kept");
            }
            Ok(LocalFile::Temporary(file))
        }
        Ok(FetchOutcome::Page(_) | FetchOutcome::Skipped) => Err(gone()),
        Err(error) => {
            ctx.host_throttle.record_retry_after(&error);
            Err(page::failed(error))
        }
    }
}

/// The text of a recording, when all of it was heard; none where others are to have a turn before.
///
/// # Errors
/// A file without sound, or one that cannot be decoded, is a reason.
pub async fn text(
    ctx: &IngestContext,
    job: &job::Model,
    file: &Path,
    transcriber: &dyn Transcriber,
) -> Result<Option<Text>, JobError> {
    let began = Instant::now();
    let id = DocumentId(job.subject);
    let found =
        document::Entity::of(job.user_id).filter(document::Column::Id.eq(id)).one(ctx.core.db.read()).await?;
    let document = found.ok_or_else(|| JobError::Permanent("the document was deleted".to_owned()))?;
    let recording = fingerprint(file).await.map_err(Error::internal)?;
    let mut making = rows::begin(ctx, &document, recording, transcriber.model()).await?;
    let whole = if making.row.finished {
        // All of it was heard before its text could be put in.
        decoded(ctx, file).await?
    } else {
        waits_no_longer(ctx, &document).await?;
        match hear(ctx, job, file, transcriber, &mut making, began).await? {
            Some(whole) => whole,
            None => return Ok(None),
        }
    };
    let text = gathered(ctx, &making.row).await?;
    if text.text.is_empty() && whole.is_lost() {
        return Err(JobError::Permanent(
            "the recording could not be transcribed: the file is damaged".to_owned(),
        ));
    }
    let refused = seconds(u64::try_from(making.row.refused_samples).unwrap_or_default());
    let lacks = whole.lacks(&text.text, refused);
    // What a feed calls its episode is the better name.
    let AudioMetadata { title, author, .. } =
        if is_entry(ctx, &document).await? { AudioMetadata::default() } else { whole.about };
    Ok(Some(Text { lacks, title, author, ..text }))
}

async fn is_entry(ctx: &IngestContext, document: &document::Model) -> Result<bool, Error> {
    let own = entry::Entity::owned_by(document.user_id).filter(entry::Column::DocumentId.eq(document.id));
    Ok(own.one(ctx.core.db.read()).await?.is_some())
}

/// A recording that was decoded to its end: its seconds, those of them that could not be, where it broke off, and what it
/// says of itself.
struct Whole {
    seconds: f64,
    lost: f64,
    broke_off: Option<f64>,
    about: AudioMetadata,
}

impl Whole {
    /// A recording whose end was come to, after so many seconds.
    fn of(sound: &AudioReader, seconds: f64) -> Self {
        let broke_off = sound.is_aborted().then_some(seconds);
        let seconds = sound.duration_seconds().unwrap_or_default().max(seconds);
        Self { seconds, lost: sound.lost_seconds(), broke_off, about: sound.metadata().clone() }
    }

    /// Whether next to nothing of it could be decoded.
    fn is_lost(&self) -> bool {
        self.lost > 0.0 && self.lost >= self.seconds * (1.0 - LITTLE)
    }

    /// What is missing in a transcript, in words for the person; so many seconds were refused by the transcriber.
    fn lacks(&self, text: &str, refused: f64) -> Option<String> {
        if refused > 0.0 {
            let (refused, whole) = (length(refused), length(self.seconds));
            return Some(format!(
                "{refused} of {whole} were not transcribed: the transcription service refused them"
            ));
        }
        if self.lost >= NOTICED && self.lost >= self.seconds * LITTLE {
            let (lost, whole) = (length(self.lost), length(self.seconds));
            return Some(format!("{lost} of {whole} could not be transcribed: the file is damaged"));
        }
        if let Some(heard) = self.broke_off {
            let heard = length(heard);
            return Some(format!("the part after {heard} could not be transcribed: the file is damaged"));
        }
        let others = match self.about.tracks {
            0 | 1 => String::new(),
            tracks => format!(": one of its {tracks} audio tracks was transcribed"),
        };
        text.is_empty().then(|| format!("the recording contains no speech{others}"))
    }
}

fn length(seconds: f64) -> String {
    let whole = seconds.round();
    if whole < 120.0 { format!("{whole} seconds") } else { format!("{} minutes", (whole / 60.0).round()) }
}

/// What the document said while it waited is over.
async fn waits_no_longer(ctx: &IngestContext, document: &document::Model) -> Result<(), Error> {
    document::Entity::update_many()
        .col_expr(document::Column::Error, Expr::value(None::<String>))
        .filter(document::Column::UserId.eq(document.user_id))
        .filter(document::Column::Id.eq(document.id))
        .filter(document::Column::Error.is_in([NO_MODEL, TAKEN, PAUSED]))
        .exec(ctx.core.db.write())
        .await?;
    Ok(())
}

/// How far the transcript of a document is, 0 to 1: of the one in the making, else of the one that is shown.
///
/// # Errors
/// What a failure of the database converts to.
pub async fn progress(ctx: &IngestContext, document: &document::Model) -> Result<Option<f64>, Error> {
    let own =
        transcript::Entity::owned_by(document.user_id).filter(transcript::Column::DocumentId.eq(document.id));
    let all = own.all(ctx.core.db.read()).await?;
    Ok(all.into_iter().max_by_key(|row| row.version).map(|row| row.progress))
}

/// Hears what is left, and tells what could not be decoded; none where others wait and this has had its turn, and where nobody
/// wants it any more.
async fn hear(
    ctx: &IngestContext,
    job: &job::Model,
    file: &Path,
    transcriber: &dyn Transcriber,
    making: &mut Making,
    began: Instant,
) -> Result<Option<Whole>, JobError> {
    let mut sound = open(ctx, file).await?;
    if sound.duration_seconds().is_some_and(|seconds| seconds > MOST_SECONDS as f64) {
        return Err(JobError::Permanent("the recording is longer than 24 hours".to_owned()));
    }
    let done = making.done();
    let (mut read, mut first) = pass(&mut sound, done).await.map_err(unread)?;
    let mut windows = Windows::new(transcriber.max_window_samples(), done);
    // Windows that were refused one after the other, and samples of those that are not written down yet.
    let (mut passed, mut refused) = (0, 0);
    let mut span = Span { began, at_least: began.elapsed() * 5, windows: 0 };
    loop {
        let piece = match first.take() {
            Some(piece) => Some(piece),
            None => sound.next_piece().await.map_err(unread)?,
        };
        let ended = piece.is_none();
        if let Some(piece) = piece {
            windows.push(&piece.samples);
            read = piece.progress;
        }
        if windows.heard() > MOST_SECONDS * u64::from(SAMPLE_RATE_HZ) {
            return Err(JobError::Permanent("the recording is longer than 24 hours".to_owned()));
        }
        while let Some(window) = windows.next(ended) {
            let start = seconds(window.start);
            let given = window.samples.len();
            let heard = match listen(ctx, transcriber, window.samples, making.row.language.clone()).await {
                // What it takes of this recording otherwise is worth more than a reason.
                Err(JobError::Permanent(_)) if making.row.segments > 0 && passed < MAX_REFUSED_WINDOWS => {
                    passed += 1;
                    refused += given;
                    continue;
                }
                heard => heard?,
            };
            passed = 0;
            let until = windows.heard();
            let progress = share(until, sound.duration_seconds(), read);
            let before = std::mem::take(&mut refused);
            let step = Step { start, heard, refused: before, given, until, progress, finished: false };
            if !making.add(ctx, job, step).await? || span.is_over(ctx, job).await? {
                return Ok(None);
            }
        }
        if ended {
            let until = windows.heard();
            let step = Step { finished: true, refused, ..Step::silent(until, 1.0) };
            let wanted = making.add(ctx, job, step).await?;
            return Ok(wanted.then(|| Whole::of(&sound, seconds(until))));
        }
        let until = windows.heard();
        if until >= making.done() + SILENCE {
            let progress = share(until, sound.duration_seconds(), read);
            let step = Step { refused: std::mem::take(&mut refused), ..Step::silent(until, progress) };
            if !making.add(ctx, job, step).await? || span.is_over(ctx, job).await? {
                return Ok(None);
            }
        }
    }
}

/// What a recording hears before others have a turn: so many windows, and five times as long as it took to come to its place.
struct Span {
    began: Instant,
    at_least: Duration,
    windows: usize,
}

impl Span {
    /// Counts a window, and says whether it is somebody else's turn now: one who waits for the transcriber, or for a place on
    /// the track.
    async fn is_over(&mut self, ctx: &IngestContext, job: &job::Model) -> Result<bool, Error> {
        self.windows += 1;
        if self.windows < WINDOWS || self.began.elapsed() < self.at_least {
            return Ok(false);
        }
        Ok(ctx.speech.should_yield(waiter(job)) || jobs::others_wait(ctx.core.db.read(), job).await?)
    }
}

async fn open(ctx: &IngestContext, file: &Path) -> Result<AudioReader, JobError> {
    let file = tokio::fs::File::open(file).await.map_err(Error::internal)?.into_std().await;
    ctx.sandbox.open_audio(file).await.map_err(unread)
}

/// Decodes a recording for what of it cannot be.
async fn decoded(ctx: &IngestContext, file: &Path) -> Result<Whole, JobError> {
    let mut sound = open(ctx, file).await?;
    let mut samples = 0;
    while let Some(piece) = sound.skip_piece().await.map_err(unread)? {
        samples += piece.count as u64;
    }
    Ok(Whole::of(&sound, seconds(samples)))
}

/// Passes over what was heard before; the rest of the piece in which that ends comes back.
async fn pass(sound: &mut AudioReader, done: u64) -> Result<(f64, Option<AudioPiece>), SandboxError> {
    let (mut at, mut read) = (0, 0.0);
    let whole = PIECE_SAMPLES as u64;
    while at + whole <= done {
        match sound.skip_piece().await? {
            Some(piece) => (at, read) = (at + piece.count as u64, piece.progress),
            None => return Ok((1.0, None)),
        }
    }
    if at == done {
        return Ok((read, None));
    }
    let piece = sound.next_piece().await?.map(|mut piece| {
        let over = usize::try_from(done - at).unwrap_or(usize::MAX);
        piece.samples.drain(..over.min(piece.samples.len()));
        piece
    });
    Ok((piece.as_ref().map_or(1.0, |piece| piece.progress), piece))
}

async fn listen(
    ctx: &IngestContext,
    transcriber: &dyn Transcriber,
    window: Vec<i16>,
    language: Option<String>,
) -> Result<Transcription, JobError> {
    if transcriber.is_budgeted() {
        let now = ctx.core.clock.now();
        if let Some(until) = ai::paused_until(ctx.core.db.read()).await?.filter(|until| now < *until) {
            let millis = u64::try_from(until.millis() - now.millis()).unwrap_or_default();
            let after = Duration::from_millis(millis).min(LOOK_AGAIN);
            return Err(JobError::Blocked { reason: PAUSED, after });
        }
    }
    transcriber.transcribe(window, language).await.map_err(|error| {
        let reason = format!("the recording could not be transcribed: {error}");
        match error {
            _ if error.is_permanent() => JobError::Permanent(reason),
            TranscribeError::Refused { retry_after, .. } => JobError::Transient { reason, after: retry_after },
            TranscribeError::Model | TranscribeError::Unreachable => JobError::Transient { reason, after: None },
        }
    })
}

async fn gathered(ctx: &IngestContext, row: &transcript::Model) -> Result<Text, JobError> {
    let said = rows::said(ctx.core.db.read(), row).await?;
    let spoken = said.into_iter().map(|segment| Spoken {
        start: segment.start_seconds,
        end: segment.end_seconds,
        text: segment.text,
    });
    let spoken: Vec<Spoken> = spoken.collect();
    let language = row.language.clone();
    let told = ctx.core.workers.run(Lane::Background, move || Places::spoken(&spoken)).await?;
    let (text, places) = told;
    Ok(Text { text, places, language, ..Text::default() })
}

/// The part that is done: by the recording's length where its file tells it, else by how far the file was read.
#[expect(clippy::cast_precision_loss, reason = "a share is shown, not counted with")]
fn share(until: u64, length: Option<f64>, read: f64) -> f64 {
    let share = length.map_or(read, |length| until as f64 / f64::from(SAMPLE_RATE_HZ) / length);
    // All is done only when the last text is in.
    share.clamp(0.0, 0.99)
}

#[expect(clippy::cast_precision_loss, reason = "a recording has at most a day")]
fn seconds(samples: u64) -> f64 {
    samples as f64 / f64::from(SAMPLE_RATE_HZ)
}

/// Tells a recording from another: its length, and a sum over its two ends.
async fn fingerprint(file: &Path) -> std::io::Result<String> {
    use sha2::{Digest, Sha256};
    let mut file = tokio::fs::File::open(file).await?;
    let bytes = file.metadata().await?.len();
    let mut ends = Vec::new();
    (&mut file).take(ENDS).read_to_end(&mut ends).await?;
    file.seek(std::io::SeekFrom::Start(bytes.saturating_sub(ENDS))).await?;
    (&mut file).take(ENDS).read_to_end(&mut ends).await?;
    Ok(format!("{bytes}-{}", text::hexadecimal(&Sha256::digest(&ends))))
}
