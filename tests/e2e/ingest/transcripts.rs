//! Transcription of recordings: window by window, resumed where it stopped, and returned with times.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actors::ingest::extraction_context::ExtractionContext;
use actors::ingest::{media, sequencer};
use entity::{document, job, transcript, usage_month};
use futures_util::future::BoxFuture;
use inference::transcriber::{Segment, TranscribeError, Transcriber, Transcription, Waiter, Whisper};
use jobs::JobError;
use jobs::{Deferral, Priority};
use library::documents::ExtractedDocument as Text;
use library::documents::{ChunkedDocument, replace_text};
use sea_orm::ActiveValue::Set;
use sea_orm::{
    ActiveModelTrait, ColumnTrait, ConnectionTrait, DatabaseBackend, EntityTrait, IntoActiveModel,
    QueryFilter, QuerySelect, Statement,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use uuid::Uuid;
use values::id::{DocumentId, UserId};
use values::kind::{ContentType, JobState};
use values::plan::Plan;

use crate::export::exports::pdf_with_text;
use crate::ingest::uploads::{self, upload};
use crate::support::{
    Client, Home, Key, Program, Reply, Server, Site, TranscriptionEndpoint, eventually, files, program,
};

/// Transcribes each window as its number. Fails at the window `fails_at`, until that is reset.
#[derive(Default)]
pub struct CountingTranscriber {
    transcribed: AtomicUsize,
    fails_at: Mutex<Option<usize>>,
}

impl Transcriber for CountingTranscriber {
    fn model(&self) -> &str {
        "counting"
    }

    fn max_window_samples(&self) -> usize {
        3 * 16_000
    }

    fn is_budgeted(&self) -> bool {
        false
    }

    fn transcribe(
        &self,
        window: Vec<i16>,
        _: Option<String>,
    ) -> BoxFuture<'static, Result<Transcription, TranscribeError>> {
        let number = self.transcribed.load(Ordering::SeqCst);
        if *self.fails_at.lock().unwrap() == Some(number) {
            return Box::pin(async { Err(TranscribeError::Model) });
        }
        self.transcribed.fetch_add(1, Ordering::SeqCst);
        let end = window.len() as f64 / 16_000.0;
        let segment = Segment { start: 0.1, end, text: format!("This is heron number {number}.") };
        Box::pin(async {
            Ok(Transcription {
                segments: vec![segment],
                language: Some("en".to_owned()),
                is_language_certain: true,
            })
        })
    }

    fn unload(&self) {}
}

/// Transcribes one window for each permit, so that a test decides how far a recording gets.
struct GatedTranscriber {
    permits: Arc<Semaphore>,
    begun: AtomicUsize,
}

impl Transcriber for GatedTranscriber {
    fn model(&self) -> &str {
        "gated"
    }

    fn max_window_samples(&self) -> usize {
        3 * 16_000
    }

    fn is_budgeted(&self) -> bool {
        false
    }

    fn transcribe(
        &self,
        window: Vec<i16>,
        _: Option<String>,
    ) -> BoxFuture<'static, Result<Transcription, TranscribeError>> {
        let (permits, end) = (self.permits.clone(), window.len() as f64 / 16_000.0);
        self.begun.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            permits.acquire().await.unwrap().forget();
            let segment = Segment { start: 0.1, end, text: "A heron calls.".to_owned() };
            Ok(Transcription {
                segments: vec![segment],
                language: Some("en".to_owned()),
                is_language_certain: true,
            })
        })
    }

    fn unload(&self) {}
}

/// A WAV file with this number of seconds of sound, each after a second of silence.
pub fn wav_recording(seconds: u32) -> tempfile::NamedTempFile {
    wav_file(2 * seconds, |second| !second.is_multiple_of(2))
}

/// A WAV file of this length with sound in the seconds that `sounds` selects.
fn wav_file(seconds: u32, sounds: impl Fn(u32) -> bool) -> tempfile::NamedTempFile {
    let rate = 8_000u32;
    let bytes = seconds * rate * 2;
    // The header of a RIFF file with PCM samples of 16 bits, one channel.
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"RIFF").unwrap();
    file.write_all(&(bytes + 36).to_le_bytes()).unwrap();
    file.write_all(b"WAVEfmt \x10\0\0\0\x01\0\x01\0").unwrap();
    file.write_all(&rate.to_le_bytes()).unwrap();
    file.write_all(&(2 * rate).to_le_bytes()).unwrap();
    file.write_all(b"\x02\0\x10\0data").unwrap();
    file.write_all(&bytes.to_le_bytes()).unwrap();
    let sample = |n: u32| if sounds(n / rate) { ((f64::from(n) * 0.3).sin() * 9_000.0) as i16 } else { 0 };
    let samples: Vec<u8> = (0..seconds * rate).flat_map(|n| sample(n).to_le_bytes()).collect();
    file.write_all(&samples).unwrap();
    file.flush().unwrap();
    file
}

/// Creates an audio document and a running job for it. Returns the owner's key, the document and the job.
async fn recording_with_job(server: &Server) -> (Key, document::Model, job::Model) {
    let owner = server.user(Plan::Pro).await;
    let (user, key) = (owner.id(), owner.full_key().await);
    let saved = key.save_text("https://example.org/talk", "not transcribed yet").await;
    let ready = key.wait_for(&saved, "ready").await;
    let id = DocumentId(ready["documentId"].as_str().unwrap().parse::<Uuid>().unwrap());
    let ctx = server.context();
    let row = document::Entity::one_visible_to(user, id).one(ctx.core.db.read()).await.unwrap().unwrap();
    let mut row = row.into_active_model();
    row.content_type = Set(ContentType::Audio);
    let row = row.update(ctx.core.db.write()).await.unwrap();
    let now = ctx.core.clock.now();
    let job = job::Model {
        state: JobState::Running,
        attempts: 1,
        lease_token: Some(Uuid::now_v7()),
        lease_until: Some(now + Duration::from_secs(3600)),
        ..job::Model::queued(user, "remove_from_index", id.0, (1, 0), now)
    };
    job::Entity::insert(job.clone().into_active_model())
        .exec_without_returning(ctx.core.db.write())
        .await
        .unwrap();
    (key, row, job)
}

/// Stores a text as the new version of a document, and finishes the job that produced it, if any.
async fn store_text(server: &Server, document: &document::Model, job: Option<&job::Model>, text: Text) {
    let (ctx, split) = (server.context(), ChunkedDocument::split(text));
    let txn = ctx.core.db.begin().await.unwrap();
    if let Some(job) = job {
        assert!(jobs::finish(&txn, job, ctx.core.clock.now()).await.unwrap());
    }
    replace_text(&txn, document, split, Priority::Now, ctx.core.clock.now()).await.unwrap();
    txn.commit().await.unwrap();
    ctx.job_signal.notify();
}

/// The context of the stages of ingest in the running server.
fn extraction(server: &Server) -> ExtractionContext {
    let ctx = server.context();
    ExtractionContext {
        core: ctx.core.for_jobs(),
        fetcher: ctx.ingest.fetcher.clone(),
        host_throttle: ctx.ingest.feeds.host_throttle.clone(),
        sandbox: ctx.ingest.sandbox.clone(),
        uploads: ctx.uploads.clone(),
        speech: server.service().speech.clone(),
        job_signal: ctx.job_signal.clone(),
    }
}

async fn transcribe_file(server: &Server, job: &job::Model, file: &Path) -> Result<Text, JobError> {
    let waiter = Waiter { account: job.user_id, priority: job.priority };
    let permit = server.service().speech.acquire(waiter).await.expect("a transcriber is free");
    let text = media::transcribe(&extraction(server), job, file, &*permit.transcriber).await?;
    Ok(text.expect("no other transcription waits"))
}

#[actix_web::test]
async fn interrupted_transcription_resumes_and_keeps_its_times() {
    let server = Server::start().await;
    let (key, document, job) = recording_with_job(&server).await;
    let (file, counting) = (wav_recording(10), Arc::new(CountingTranscriber::default()));
    server.service().speech.set_transcriber(counting.clone());
    let path = format!("/rest/v2/documents/{}/transcript", document.id);

    *counting.fails_at.lock().unwrap() = Some(3);
    let stopped = transcribe_file(&server, &job, file.path()).await;
    assert!(matches!(stopped, Err(JobError::Transient { .. })), "{stopped:?}");
    let so_far = key.get(&path).await.data(200)["segments"].as_array().unwrap().len();
    assert_eq!(so_far, 3);

    *counting.fails_at.lock().unwrap() = None;
    let text = transcribe_file(&server, &job, file.path()).await.unwrap();
    let windows = counting.transcribed.load(Ordering::SeqCst);
    assert!((5..=12).contains(&windows), "{windows}");
    let repeated = transcribe_file(&server, &job, file.path()).await.unwrap();
    assert_eq!(
        (repeated.text.as_str(), counting.transcribed.load(Ordering::SeqCst)),
        (text.text.as_str(), windows)
    );
    assert!(text.text.starts_with("This is heron number 0. This is heron number 1."), "{}", text.text);

    store_text(&server, &document, Some(&job), text).await;
    let (mut segments, mut cursor) = (Vec::new(), String::new());
    loop {
        let answer = key.get(&format!("{path}?limit=2{cursor}")).await;
        let data = answer.data(200);
        assert_eq!(data["language"], "en");
        segments.extend(data["segments"].as_array().unwrap().iter().cloned());
        let Some(next) = data["nextCursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(segments.len(), windows);
    let mut before = 0.0;
    for (index, segment) in segments.iter().enumerate() {
        let (start, end) =
            (segment["startSeconds"].as_f64().unwrap(), segment["endSeconds"].as_f64().unwrap());
        assert_eq!(
            (segment["index"].as_u64(), segment["text"].as_str()),
            (Some(index as u64), Some(&*format!("This is heron number {index}.")))
        );
        assert!(start >= before && start < end && end <= 20.1, "{before} {start} {end}");
        before = end;
    }
    let chunks = key.get(&format!("/rest/v2/documents/{}/chunks", document.id)).await;
    let chunk = &chunks.data(200)["chunks"][0];
    assert!(chunk["startSeconds"].as_f64().unwrap() < chunk["endSeconds"].as_f64().unwrap());
}

#[actix_web::test]
async fn long_silence_is_skipped_once_and_counts_as_progress() {
    let server = Server::start().await;
    let (_, document, job) = recording_with_job(&server).await;
    // The progress within a silence is stored every 300 seconds: one failure at the first window comes after two such steps.
    let (file, counting) = (wav_file(640, |second| second > 620), Arc::new(CountingTranscriber::default()));
    server.service().speech.set_transcriber(counting.clone());
    let row = async || {
        let own = transcript::Entity::owned_by(job.user_id);
        let own = own.filter(transcript::Column::DocumentId.eq(document.id));
        own.one(server.context().core.db.read()).await.unwrap().unwrap()
    };

    *counting.fails_at.lock().unwrap() = Some(0);
    assert!(transcribe_file(&server, &job, file.path()).await.is_err());
    let passed = row().await;
    assert!(
        (300 * 16_000..=621 * 16_000).contains(&passed.transcribed_samples),
        "{}",
        passed.transcribed_samples
    );
    assert!((0.45..1.0).contains(&passed.progress), "{}", passed.progress);

    *counting.fails_at.lock().unwrap() = None;
    let text = transcribe_file(&server, &job, file.path()).await.unwrap();
    assert!(text.text.starts_with("This is heron number 0."), "{}", text.text);
    assert!(row().await.is_finished);
}

#[actix_web::test]
async fn new_text_between_two_turns_keeps_transcribed_segments() {
    let server = Server::start().await;
    let (_, document, job) = recording_with_job(&server).await;
    let (file, counting) = (wav_recording(10), Arc::new(CountingTranscriber::default()));
    server.service().speech.set_transcriber(counting.clone());
    *counting.fails_at.lock().unwrap() = Some(3);
    assert!(transcribe_file(&server, &job, file.path()).await.is_err());

    store_text(&server, &document, None, Text { text: "Notes of it.".to_owned(), ..Text::default() }).await;
    *counting.fails_at.lock().unwrap() = None;
    let text = transcribe_file(&server, &job, file.path()).await.unwrap();

    let windows = counting.transcribed.load(Ordering::SeqCst);
    for number in 0..windows {
        assert_eq!(text.text.matches(&format!("heron number {number}.")).count(), 1, "{}", text.text);
    }
    assert!(text.text.starts_with("This is heron number 0. "), "{}", text.text);
}

#[actix_web::test]
async fn finished_transcript_outlives_another_text() {
    let server = Server::start().await;
    let (_, document, job) = recording_with_job(&server).await;
    let (file, counting) = (wav_recording(10), Arc::new(CountingTranscriber::default()));
    server.service().speech.set_transcriber(counting.clone());
    let first = transcribe_file(&server, &job, file.path()).await.unwrap();
    let windows = counting.transcribed.load(Ordering::SeqCst);

    store_text(&server, &document, None, Text { text: "Notes of it.".to_owned(), ..Text::default() }).await;
    let repeated = transcribe_file(&server, &job, file.path()).await.unwrap();

    assert_eq!((repeated.text, counting.transcribed.load(Ordering::SeqCst)), (first.text, windows));
}

/// A recording of the shared data and the folder of the speech model; `None` if one is missing. In CI both are required.
#[expect(clippy::print_stderr, reason = "a skipped test reports that it was skipped")]
fn speech_sample() -> Option<(PathBuf, PathBuf)> {
    let named = std::env::var_os("CARREL_MODELS_DIR").map(PathBuf::from);
    let models = named.or_else(|| Some(std::env::home_dir()?.join(".cache/carrel/models")))?;
    let model = models.join("whisper-base");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/speech/jfk.flac");
    if model.join("ggml-model.bin").is_file() && file.is_file() {
        return Some((file, model));
    }
    let on_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty());
    assert!(!on_ci, "the speech model or its recording is missing in CI");
    eprintln!("SKIPPED: whisper-base or shared/data/speech is missing: carrel models pull");
    None
}

#[actix_web::test]
async fn whisper_transcribes_words_language_and_times() {
    let Some((file, model)) = speech_sample() else { return };
    let server = Server::start().await;
    let (key, document, job) = recording_with_job(&server).await;
    server.service().speech.set_transcriber(Arc::new(Whisper::new("whisper-base", &model)));

    let text = transcribe_file(&server, &job, &file).await.unwrap();

    let words = text.text.to_lowercase().replace(',', "");
    assert!(
        words.contains("ask not what your country can do for you ask what you can do for your country"),
        "{words}"
    );
    assert_eq!(text.language.as_deref(), Some("en"));
    let shown = key.get(&format!("/rest/v2/documents/{}/transcript", document.id)).await;
    let segments = shown.data(200)["segments"].as_array().unwrap().clone();
    let end = segments.last().unwrap()["endSeconds"].as_f64().unwrap();
    assert!((9.0..11.1).contains(&end), "{end}");
}

#[actix_web::test]
async fn transcribed_seconds_count_once_in_the_budget() {
    let server = Server::start().await;
    let (key, _, job) = recording_with_job(&server).await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let file = wav_recording(10);

    transcribe_file(&server, &job, file.path()).await.unwrap();
    transcribe_file(&server, &job, file.path()).await.unwrap();

    let month =
        usage_month::Entity::owned_by(job.user_id).all(server.context().core.db.read()).await.unwrap();
    let row = month.iter().find(|row| row.budget_group == values::kind::BudgetGroup::Transcription).unwrap();
    assert_eq!(row.times, 1);
    assert!((100..=200).contains(&row.tokens), "{}", row.tokens);
    let usage = key.get("/rest/v2/usage").await;
    let groups = usage.data(200)["aiBudget"]["groups"].as_array().unwrap().clone();
    assert!(groups[2]["group"] == "transcription" && groups[2]["share"].as_f64().unwrap() > 0.0);
}

/// Covers the fault table (row 34).
#[actix_web::test]
async fn transcription_without_lease_writes_nothing() {
    let server = Server::start().await;
    let (key, document, mut job) = recording_with_job(&server).await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    // The row in the database keeps its own token, as if another worker had claimed the job.
    job.lease_token = Some(Uuid::now_v7());

    let lost = transcribe_file(&server, &job, wav_recording(4).path()).await;

    assert!(matches!(lost, Err(JobError::LeaseLost)), "{lost:?}");
    let shown = key.get(&format!("/rest/v2/documents/{}/transcript", document.id)).await;
    assert_eq!(shown.data(200)["segments"].as_array().unwrap().len(), 0);
}

#[actix_web::test]
async fn recording_waits_for_a_model_and_invalid_audio_fails() {
    let server = Server::start().await;
    let (_, _, job) = recording_with_job(&server).await;

    let waits = sequencer::run_transcription(&extraction(&server), &job).await;
    assert!(matches!(waits, Err(JobError::Blocked { reason: media::MODEL_MISSING_REASON, .. })), "{waits:?}");

    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let mut text = tempfile::NamedTempFile::new().unwrap();
    text.write_all(&b"no sound at all ".repeat(999)).unwrap();
    let refused = transcribe_file(&server, &job, text.path()).await;
    assert!(matches!(refused, Err(JobError::Permanent(_))), "{refused:?}");
}

#[actix_web::test]
async fn job_waiting_for_the_model_is_due_when_it_arrives() {
    let server = Server::start().await;
    let ctx = server.context();
    let (now, later) = (ctx.core.clock.now(), Duration::from_secs(600));
    let (_, _, job) = recording_with_job(&server).await;
    let waits = Deferral { counts_attempt: false, reason: Some(media::MODEL_MISSING_REASON), delay: later };
    assert!(jobs::defer(ctx.core.db.write(), &job, waits, now).await.unwrap());
    let row = async || job::Entity::find_by_id(job.id).one(ctx.core.db.read()).await.unwrap().unwrap();

    jobs::end_wait(ctx.core.db.write(), "something else", now).await.unwrap();
    assert!(row().await.run_at > now);
    jobs::end_wait(ctx.core.db.write(), media::MODEL_MISSING_REASON, now).await.unwrap();

    assert!(row().await.run_at <= now);
}

#[actix_web::test]
async fn text_document_has_no_transcript() {
    let server = Server::start().await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let saved = key.save_text("https://example.org/heron", "The heron stands still.").await;

    let refused =
        key.get(&format!("/rest/v2/documents/{}/transcript", saved["documentId"].as_str().unwrap())).await;

    assert_eq!(refused.error_code(404), "NOT_FOUND");
}

/// The status of an upload.
async fn upload_status(key: &Client, ticket: &Value) -> Value {
    key.get(&uploads::path(ticket)).await.data(200)["status"].clone()
}

#[actix_web::test]
async fn long_recording_yields_to_other_users_and_delays_no_pdf() {
    let server = Server::start().await;
    let transcriber = gated_transcriber();
    server.service().speech.set_transcriber(transcriber.clone());
    let one = server.user(Plan::Pro).await.full_key().await;
    let other = server.user(Plan::Pro).await.full_key().await;
    let bytes = |seconds| std::fs::read(wav_recording(seconds).path()).unwrap();
    let long = upload(&one, "audio/wav", &bytes(300)).await;
    eventually("the first window of the long recording is begun", async || {
        (transcriber.begun.load(Ordering::SeqCst) == 1).then_some(())
    })
    .await;

    let short = upload(&other, "audio/wav", &bytes(2)).await;
    let read = upload(&other, "application/pdf", &pdf_with_text("A paper about herons")).await;
    eventually("the PDF is processed meanwhile", async || {
        (upload_status(&other, &read).await == "ready").then_some(())
    })
    .await;
    assert_eq!(transcriber.begun.load(Ordering::SeqCst), 1);

    // The windows of a turn depend on how long it takes to open a recording, so permits are added one by one until the turn ends.
    eventually("the short recording is transcribed", async || {
        transcriber.permits.add_permits(1);
        (upload_status(&other, &short).await == "ready").then_some(())
    })
    .await;
    assert_eq!(upload_status(&one, &long).await, "processing");
    transcriber.permits.add_permits(1000);
    eventually("the long recording is transcribed", async || {
        (upload_status(&one, &long).await == "ready").then_some(())
    })
    .await;
}

#[actix_web::test]
async fn recording_with_progress_on_each_attempt_is_not_given_up() {
    let server = Server::start().await;
    let counting = Arc::new(CountingTranscriber::default());
    server.service().speech.set_transcriber(counting.clone());
    let key = server.user(Plan::Pro).await.full_key().await;
    *counting.fails_at.lock().unwrap() = Some(1);
    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(30).path()).unwrap()).await;
    let job = || async {
        let transcriptions = job::Entity::find().filter(job::Column::Kind.eq("transcribe"));
        transcriptions.one(server.context().core.db.read()).await.unwrap().unwrap()
    };

    for window in 1..=jobs::MAX_ATTEMPTS as usize + 1 {
        eventually("the attempt failed at this window", async || {
            let row = job().await;
            let transcribed = counting.transcribed.load(Ordering::SeqCst);
            (transcribed == window && row.state == JobState::Queued && row.error.is_some()).then_some(())
        })
        .await;
        // More attempts than MAX_ATTEMPTS follow; each failure after progress counts as the first.
        assert_eq!(job().await.attempts, 1);
        *counting.fails_at.lock().unwrap() = Some(window + 1);
        server.clock.advance(Duration::from_secs(120));
    }
    *counting.fails_at.lock().unwrap() = None;
    server.clock.advance(Duration::from_secs(120));
    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
}

#[actix_web::test]
async fn truncated_recording_reports_the_missing_part() {
    let server = Server::start().await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let key = server.user(Plan::Pro).await.full_key().await;
    let whole = std::fs::read(wav_recording(10).path()).unwrap();
    let ticket = upload(&key, "audio/wav", &whole[..whole.len() / 2]).await;

    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;

    let bookmark = key.get(&uploads::path(&ticket)).await.data(200)["bookmarkId"].clone();
    let shown = key.get(&format!("/rest/v1/bookmarks/{}", bookmark.as_str().unwrap())).await;
    let lacks = shown.data(200)["bookmark"]["lacks"].clone();
    assert_eq!(
        lacks,
        "10 seconds of 20 seconds could not be transcribed: the file is damaged; upload an undamaged copy",
        "{shown:?}"
    );
}

#[actix_web::test]
async fn recording_title_comes_from_its_id3_tag() {
    let server = Server::start().await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let key = server.user(Plan::Pro).await.full_key().await;
    let tag = b"ID3\x03\0\0\0\0\0\x11TIT2\0\0\0\x07\0\0\0Herons";
    let sound = include_bytes!("../../../actors/crates/parse/src/audio/samples/tone.mp3");

    let ticket = upload(&key, "audio/mpeg", &[&tag[..], sound].concat()).await;

    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
    let bookmark = key.get(&uploads::path(&ticket)).await.data(200)["bookmarkId"].clone();
    let shown = key.get(&format!("/rest/v1/bookmarks/{}", bookmark.as_str().unwrap())).await;
    assert_eq!(shown.data(200)["bookmark"]["title"], "Herons");
}

/// Serves a feed with these items and returns its URL.
fn feed_url(site: &Site, items: &str) -> String {
    let body = format!("<rss version=\"2.0\"><channel><title>Talks</title>{items}</channel></rss>");
    let headers = vec![("content-type", "application/rss+xml".to_owned())];
    site.page("/feed", [Reply::Plain { status: 200, headers, body }])
}

#[actix_web::test]
async fn silent_host_delays_no_recording_of_other_users() {
    let (server, site) = (Server::start().await, Site::start().await);
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let one = server.user(Plan::Pro).await.full_key().await;
    let other = server.user(Plan::Pro).await.full_key().await;
    let silent = site.page("/talk.mp3", [Reply::Never]);
    let item = format!("<item><title>Talk</title><enclosure url=\"{silent}\" type=\"audio/mpeg\"/></item>");
    let feed = feed_url(&site, &item);
    one.post("/rest/v1/feeds", json!({ "url": feed })).await.data(201);
    let entry = eventually("the entry is listed", async || {
        let entries = one.get("/rest/v1/entries").await.data(200)["entries"].clone();
        entries.get(0).map(|entry| entry["entryId"].as_str().unwrap().to_owned())
    })
    .await;
    one.post(&format!("/rest/v1/entries/{entry}/transcribe"), json!({})).await.data(202);
    eventually("the file is requested", async || site.was_requested("/talk.mp3").then_some(())).await;

    let short = upload(&other, "audio/wav", &std::fs::read(wav_recording(2).path()).unwrap()).await;

    eventually("the recording of the other user is transcribed", async || {
        (upload_status(&other, &short).await == "ready").then_some(())
    })
    .await;
    let transcriptions = job::Entity::find().filter(job::Column::Kind.eq("transcribe"));
    let transcriptions = transcriptions.filter(job::Column::State.eq(JobState::Running));
    let fetched = transcriptions.all(server.context().core.db.read()).await.unwrap();
    assert_eq!(fetched.len(), 1, "the silent host was given up already");
}

#[actix_web::test]
async fn enclosure_is_transcribed_on_request() {
    let (server, site) = (Server::start().await, Site::start().await);
    let transcriber = gated_transcriber();
    server.service().speech.set_transcriber(transcriber.clone());
    let key = server.user(Plan::Pro).await.full_key().await;
    let sound =
        site.page("/a.wav", [Reply::File("audio/wav", std::fs::read(wav_recording(2).path()).unwrap())]);
    let item = |name: &str, more: &str| {
        format!(
            "<item><title>{name}</title><link>{}</link><description>Notes of it.</description>{more}</item>",
            site.page(name, [Reply::Status(404)])
        )
    };
    // The enclosure has no type, so the type follows from the extension of its URL.
    let (talk, text) = (item("/talk", &format!("<enclosure url=\"{sound}\" type=\"\"/>")), item("/text", ""));
    let feed = feed_url(&site, &format!("{talk}{text}"));
    key.post("/rest/v1/feeds", json!({ "url": feed })).await.data(201);
    let entries = eventually("the entries are listed", async || {
        let entries = key.get("/rest/v1/entries").await.data(200)["entries"].clone();
        entries.as_array().filter(|all| all.len() == 2).cloned()
    })
    .await;
    let named = |name: &str| entries.iter().find(|entry| entry["title"] == name).unwrap().clone();
    let transcribe_path =
        |entry: &Value| format!("/rest/v1/entries/{}/transcribe", entry["entryId"].as_str().unwrap());

    assert_eq!(key.post(&transcribe_path(&named("/text")), json!({})).await.error_code(409), "CONFLICT");
    assert_eq!(site.request_count("/a.wav"), 0);
    let entry = key.post(&transcribe_path(&named("/talk")), json!({})).await.data(202)["entry"].clone();

    let document = entry["documentId"].as_str().unwrap();
    // The document itself is ready with its description, or will be.
    let begun = eventually("the transcription has begun", async || {
        let shown = key.get(&format!("/rest/v2/documents/{document}/transcript")).await;
        (shown.status == 200).then(|| shown.data(200).clone())
    })
    .await;
    assert_eq!((&begun["status"], &begun["segments"]), (&json!("processing"), &json!([])));
    transcriber.permits.add_permits(9);
    let transcript = eventually("the recording is transcribed", async || {
        let shown = key.get(&format!("/rest/v2/documents/{document}/transcript")).await;
        let is_transcribed = |data: &Value| data["status"] == "ready" && data["segments"] != json!([]);
        (shown.status == 200 && is_transcribed(shown.data(200))).then(|| shown.data(200).clone())
    })
    .await;
    assert_eq!(transcript["segments"][0]["text"], "A heron calls.");
    assert_eq!(entry["summary"], "Notes of it.");
    // From then on the transcript is the text of the entry: a second request transcribes nothing, and a save fetches no page.
    key.post(&transcribe_path(&named("/talk")), json!({})).await.data(202);
    let saved = key.save(json!({ "url": named("/talk")["url"] })).await;
    assert_eq!(saved["documentId"], entry["documentId"]);
    key.wait_for(&saved, "ready").await;
    assert_eq!((site.request_count("/a.wav"), site.was_requested("/talk")), (1, false));
    let text = key.get(&format!("/rest/v2/documents/{document}")).await.data(200)["text"].clone();
    assert!(text.as_str().unwrap().contains("A heron calls."), "{text}");
}

fn audio_reply(seconds: u32) -> Reply {
    Reply::File("audio/wav", std::fs::read(wav_recording(seconds).path()).unwrap())
}

/// The text of the saved document. Each transcription by [`CountingTranscriber`] has other words.
async fn read_text(key: &Key, saved: &Value) -> String {
    let document = key.get(&format!("/rest/v2/documents/{}", saved["documentId"].as_str().unwrap())).await;
    document.data(200)["text"].as_str().unwrap().to_owned()
}

async fn refetch_and_wait(key: &Key, saved: &Value) {
    let before = read_text(key, saved).await;
    let refetch = format!("/rest/v1/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap());
    key.post(&refetch, json!({})).await.data(202);
    // The status is "ready" before and after, so the changed text shows that the job has run.
    let now = eventually("the text is replaced by the new transcript", async || {
        Some(read_text(key, saved).await).filter(|now| *now != before)
    })
    .await;
    assert!(now.starts_with("This is heron number "), "{now}");
    assert_eq!(key.wait_for(saved, "ready").await["error"], Value::Null);
}

#[actix_web::test]
async fn page_that_redirects_to_audio_becomes_a_recording() {
    let (server, site) = (Server::start().await, Site::start().await);
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let key = server.user(Plan::Pro).await.full_key().await;
    site.page("/talk.wav", [audio_reply(2)]);
    let redirecting = "<meta http-equiv=refresh content='0; url=/talk.wav'><title>A talk</title>".to_owned();
    let saved = key.save(json!({ "url": site.page("/talk", [Reply::Html(redirecting)]) })).await;

    assert_eq!(key.wait_for(&saved, "ready").await["contentType"], "audio");
    let requests_before = site.request_count("/talk");
    refetch_and_wait(&key, &saved).await;
    assert_eq!(site.request_count("/talk"), requests_before);
}

/// Follows a feed with one episode whose page answers 404; returns the entry and the URL of the page.
async fn followed_episode(key: &Key, site: &Site) -> (Value, String) {
    let (page, file) = (site.page("/talk", [Reply::Status(404)]), site.page("/a.wav", [audio_reply(2)]));
    let item = format!(
        "<item><title>A talk</title><link>{page}</link><enclosure url=\"{file}\" type=\"audio/wav\"/></item>"
    );
    key.post("/rest/v1/feeds", json!({ "url": feed_url(site, &item) })).await.data(201);
    let entry = eventually("the entry is listed", async || {
        key.get("/rest/v1/entries").await.data(200)["entries"].get(0).cloned()
    })
    .await;
    (entry, page)
}

#[actix_web::test]
async fn saved_episode_can_be_transcribed_again_after_unfollow() {
    let (server, site) = (Server::start().await, Site::start().await);
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let key = server.user(Plan::Pro).await.full_key().await;
    let (entry, page) = followed_episode(&key, &site).await;
    let transcribe = format!("/rest/v1/entries/{}/transcribe", entry["entryId"].as_str().unwrap());
    key.post(&transcribe, json!({})).await.data(202);
    eventually("the file is requested", async || site.was_requested("/a.wav").then_some(())).await;
    let saved = key.save(json!({ "url": page })).await;
    // It may be ready with the text of the feed before it is transcribed.
    key.wait_for(&saved, "ready").await;
    eventually("the entry is transcribed", async || {
        read_text(&key, &saved).await.starts_with("This is heron number ").then_some(())
    })
    .await;
    key.delete(&format!("/rest/v1/feeds/{}", entry["feedId"].as_str().unwrap())).await.data(200);

    refetch_and_wait(&key, &saved).await;
    assert!(!site.was_requested("/talk"), "its page replaced the transcript");
}

#[actix_web::test]
async fn feed_update_keeps_a_concurrent_transcript() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let (entry, page) = followed_episode(&key, &site).await;
    await_all_jobs(&server, user.id()).await;
    let file = site.page("/a.wav", [audio_reply(2)]);
    let item = format!(
        "<item><title>A talk</title><link>{page}</link><description>Notes of it.</description><enclosure url=\"{file}\" type=\"audio/wav\"/></item>"
    );
    // The changed feed has a description, and a text of the feed must not replace the transcript.
    feed_url(&site, &item);
    let refresh = format!("/rest/v1/feeds/{}/refresh", entry["feedId"].as_str().unwrap());
    let refresh = key.post(&refresh, json!({}));
    with_concurrent_transcript(&server, user.id(), &entry["documentId"], refresh).await.data(202);

    let path = format!("/rest/v1/entries/{}", entry["entryId"].as_str().unwrap());
    eventually("the update is shown", async || {
        let shown = key.get(&path).await.data(200)["entry"].clone();
        (shown["summary"] == "Notes of it.").then_some(())
    })
    .await;
    await_all_jobs(&server, user.id()).await;
    let document = format!("/rest/v2/documents/{}", entry["documentId"].as_str().unwrap());
    let text = key.get(&document).await.data(200)["text"].clone();
    assert!(!text.as_str().unwrap().contains("Notes of it."), "{text}");
}

/// Stores a transcript in a transaction that stays open while `meanwhile` runs, and commits once `meanwhile` waits for a lock.
async fn with_concurrent_transcript<T>(
    server: &Server,
    user: UserId,
    document: &Value,
    meanwhile: impl Future<Output = T>,
) -> T {
    let ctx = server.context();
    let id = DocumentId(document.as_str().unwrap().parse::<Uuid>().unwrap());
    let txn = ctx.core.db.begin().await.unwrap();
    let row = document::Entity::one_visible_to(user, id).lock_exclusive().one(&txn).await.unwrap().unwrap();
    let transcribed = transcript::Model {
        document_id: id,
        version: row.version,
        user_id: user,
        recording: "a recording".to_owned(),
        model: "counting".to_owned(),
        language: None,
        transcribed_samples: 1,
        refused_samples: 0,
        segments: 0,
        progress: 1.0,
        is_finished: true,
    };
    transcript::Entity::insert(transcribed.into_active_model()).exec_without_returning(&txn).await.unwrap();
    media::supersede_other_texts(&txn, &row).await.unwrap();
    let commit = async {
        await_lock_wait(server).await;
        txn.commit().await.unwrap();
    };
    tokio::join!(meanwhile, commit).0
}

/// Waits until a statement waits for a lock. On SQLite a transaction that waits for the only writer has read nothing yet.
async fn await_lock_wait(server: &Server) {
    let db = server.context().core.db.read();
    if db.get_database_backend() != DatabaseBackend::Postgres {
        return;
    }
    let waiting =
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    eventually("a statement waits for a lock", async || {
        let statement = Statement::from_string(DatabaseBackend::Postgres, waiting);
        db.query_one_raw(statement).await.unwrap().map(drop)
    })
    .await;
}

async fn await_all_jobs(server: &Server, user: UserId) {
    eventually("no job waits or runs", async || {
        let open = job::Entity::owned_by(user)
            .filter(job::Column::State.is_in([JobState::Queued, JobState::Running]));
        open.one(server.context().core.db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
}

#[actix_web::test]
async fn save_during_a_transcript_fetches_no_page() {
    let (server, site) = (Server::start().await, Site::start().await);
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let (entry, page) = followed_episode(&key, &site).await;
    await_all_jobs(&server, user.id()).await;

    let save = key.save(json!({ "url": page }));
    let saved = with_concurrent_transcript(&server, user.id(), &entry["documentId"], save).await;

    assert_eq!(saved["documentId"], entry["documentId"]);
    await_all_jobs(&server, user.id()).await;
    assert!(!site.was_requested("/talk"), "its page was fetched despite the transcript");
}

#[actix_web::test]
async fn refetch_during_a_transcript_fetches_no_page() {
    let (server, site) = (Server::start().await, Site::start().await);
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let (entry, page) = followed_episode(&key, &site).await;
    let saved = key.save(json!({ "url": page })).await;
    await_all_jobs(&server, user.id()).await;
    let requests_before = site.request_count("/talk");

    let path = format!("/rest/v1/bookmarks/{}/refetch", saved["bookmarkId"].as_str().unwrap());
    let refetch = key.post(&path, json!({}));
    let answer = with_concurrent_transcript(&server, user.id(), &entry["documentId"], refetch).await;

    answer.data(202);
    await_all_jobs(&server, user.id()).await;
    assert_eq!((site.request_count("/talk"), site.request_count("/a.wav")), (requests_before, 1));
}

fn gated_transcriber() -> Arc<GatedTranscriber> {
    Arc::new(GatedTranscriber { permits: Arc::new(Semaphore::new(0)), begun: AtomicUsize::new(0) })
}

/// Inserts a recording that another process is transcribing, and returns its job.
async fn begin_on_other_node(server: &Server, user: UserId, key: &Key, n: usize) -> job::Model {
    let saved = key.save_text(&format!("https://e.example/{n}"), "not transcribed yet").await;
    key.wait_for(&saved, "ready").await;
    let id = DocumentId(saved["documentId"].as_str().unwrap().parse::<Uuid>().unwrap());
    let (ctx, now) = (server.context(), server.context().core.clock.now());
    let row = transcript::Model {
        document_id: id,
        version: 2,
        user_id: user,
        recording: "another".to_owned(),
        model: "gated".to_owned(),
        language: None,
        transcribed_samples: 1,
        refused_samples: 0,
        segments: 0,
        progress: 0.1,
        is_finished: false,
    };
    transcript::Entity::insert(row.into_active_model())
        .exec_without_returning(ctx.core.db.write())
        .await
        .unwrap();
    let job = job::Model {
        state: JobState::Running,
        lease_token: Some(Uuid::now_v7()),
        lease_until: Some(now + Duration::from_secs(3600)),
        ..job::Model::queued(user, "transcribe", id.0, (1, 0), now)
    };
    let new = job.clone().into_active_model();
    job::Entity::insert(new).exec_without_returning(ctx.core.db.write()).await.unwrap();
    job
}

#[actix_web::test]
async fn fifth_recording_of_a_user_waits_and_delays_no_other_user() {
    let server = Server::start().await;
    server.service().speech.set_transcriber(Arc::new(CountingTranscriber::default()));
    let (one, other) = (server.user(Plan::Pro).await, server.user(Plan::Pro).await);
    let (key, others) = (one.full_key().await, other.full_key().await);
    let mut begun = Vec::new();
    for n in 0..4 {
        begun.push(begin_on_other_node(&server, one.id(), &key, n).await);
    }
    let bytes = std::fs::read(wav_recording(2).path()).unwrap();

    let fifth = upload(&key, "audio/wav", &bytes).await;
    let of_other = upload(&others, "audio/wav", &bytes).await;

    eventually("the recording of the other user is transcribed", async || {
        (upload_status(&others, &of_other).await == "ready").then_some(())
    })
    .await;
    let shown = eventually("the upload states why it waits", async || {
        let shown = key.get(&uploads::path(&fifth)).await.data(200).clone();
        shown["error"].is_string().then_some(shown)
    })
    .await;
    assert_eq!(
        (&shown["status"], &shown["error"]),
        (&json!("processing"), &json!("waiting until other recordings are transcribed"))
    );
    let db = server.context().core.db.write();
    assert!(jobs::finish(db, &begun[0], server.context().core.clock.now()).await.unwrap());
    server.clock.advance(Duration::from_secs(61));
    eventually("the recording is transcribed", async || {
        (upload_status(&key, &fifth).await == "ready").then_some(())
    })
    .await;
}

#[actix_web::test]
async fn deleted_recording_stops_and_resumes_on_restore() {
    let server = Server::start().await;
    let transcriber = gated_transcriber();
    server.service().speech.set_transcriber(transcriber.clone());
    let user = server.user(Plan::Pro).await;
    let key = user.full_key().await;
    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(60).path()).unwrap()).await;
    eventually("the transcription is begun", async || {
        (transcriber.begun.load(Ordering::SeqCst) == 1).then_some(())
    })
    .await;
    let bookmark = key.get(&uploads::path(&ticket)).await.data(200)["bookmarkId"].clone();
    let bookmark = format!("/rest/v1/bookmarks/{}", bookmark.as_str().unwrap());

    key.delete(&bookmark).await.data(200);
    transcriber.permits.add_permits(1000);
    eventually("no job waits or runs", async || {
        let open = job::Entity::owned_by(user.id())
            .filter(job::Column::State.is_in([JobState::Queued, JobState::Running]));
        open.one(server.context().core.db.read()).await.unwrap().is_none().then_some(())
    })
    .await;
    assert_eq!(transcriber.begun.load(Ordering::SeqCst), 1);

    key.post(&format!("{bookmark}/restore"), json!({})).await.data(200);
    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
}

const TRANSCRIPT_JSON: &str =
    r#"{"language": "english", "segments": [{"start": 0.5, "end": 1.5, "text": " A heron calls."}]}"#;

/// Covers the fault table (row 17).
#[actix_web::test]
async fn busy_transcription_endpoint_is_retried() {
    let endpoint = TranscriptionEndpoint::start([(429, "{}"), (200, "{\"cut"), (200, TRANSCRIPT_JSON)]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let key = server.user(Plan::Pro).await.full_key().await;
    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(2).path()).unwrap()).await;
    let received = async |times: usize| {
        eventually("the endpoint received this many requests", async || {
            (endpoint.forms().len() == times).then_some(())
        })
        .await;
    };

    // Moving the clock during an attempt would end its lease.
    let await_retry = async || {
        eventually("the job waits", async || {
            let transcriptions = job::Entity::find().filter(job::Column::Kind.eq("transcribe"));
            let row = transcriptions.one(server.context().core.db.read()).await.unwrap();
            row.is_some_and(|row| row.state == JobState::Queued).then_some(())
        })
        .await;
    };

    received(1).await;
    await_retry().await;
    // The stub's Retry-After is 1,800 seconds: no request may arrive before. The sleep gives a wrong one the time to arrive.
    server.clock.advance(Duration::from_secs(1700));
    tokio::time::sleep(Duration::from_secs(2)).await;
    received(1).await;
    server.clock.advance(Duration::from_secs(1900));
    received(2).await;
    await_retry().await;
    // After the invalid response the delay is that of a retry, which a day exceeds.
    server.clock.advance(Duration::from_secs(86_400));
    received(3).await;

    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
    let document =
        key.get(&uploads::path(&ticket)).await.data(200)["documentId"].as_str().unwrap().to_owned();
    let transcript = key.get(&format!("/rest/v2/documents/{document}/transcript")).await.data(200).clone();
    assert_eq!(transcript["segments"][0]["text"], "A heron calls.");
    for part in [
        "name=\"model\"\r\n\r\nheron-ear",
        "name=\"response_format\"\r\n\r\nverbose_json",
        "filename=\"window.wav\"",
    ] {
        assert!(endpoint.forms()[2].contains(part), "{part}");
    }
}

#[actix_web::test]
async fn permanent_endpoint_error_fails_with_reason() {
    let endpoint = TranscriptionEndpoint::start([(400, "canary")]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let key = server.user(Plan::Pro).await.full_key().await;

    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(2).path()).unwrap()).await;

    eventually("the upload has failed", async || {
        (upload_status(&key, &ticket).await == "failed").then_some(())
    })
    .await;
    let shown = key.get(&uploads::path(&ticket)).await.data(200).clone();
    assert_eq!(
        shown["error"],
        "the recording could not be transcribed: the transcription service answered with status 400"
    );
    assert_eq!(endpoint.forms().len(), 1);
}

#[actix_web::test]
async fn refused_window_is_reported_missing_and_the_rest_is_kept() {
    let endpoint =
        TranscriptionEndpoint::start([(200, TRANSCRIPT_JSON), (400, "{}"), (200, TRANSCRIPT_JSON)]).await;
    let server = Server::start_with(&endpoint.settings()).await;
    let key = server.user(Plan::Pro).await.full_key().await;

    // More than twenty minutes, so three windows: an endpoint receives windows of ten minutes.
    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(650).path()).unwrap()).await;

    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
    let upload = key.get(&uploads::path(&ticket)).await.data(200).clone();
    let shown = key.get(&format!("/rest/v1/bookmarks/{}", upload["bookmarkId"].as_str().unwrap())).await;
    let lacks = shown.data(200)["bookmark"]["lacks"].clone();
    assert_eq!(
        lacks,
        "10 minutes of 22 minutes were not transcribed: the transcription service refused them"
    );
    let document = upload["documentId"].as_str().unwrap();
    let transcript = key.get(&format!("/rest/v2/documents/{document}/transcript")).await.data(200).clone();
    assert_eq!(transcript["segments"].as_array().unwrap().len(), 2, "{transcript}");
}

/// Covers the fault table (row 1).
#[actix_web::test]
async fn transcription_resumes_after_a_kill() {
    let endpoint =
        TranscriptionEndpoint::start([(200, TRANSCRIPT_JSON), (200, TRANSCRIPT_JSON), (0, "")]).await;
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let running = Program::start_with(&home, "data", &endpoint.settings()).await;
    let key = running.client_with_key(&id, &secret);
    // More than twenty minutes, so three windows: an endpoint receives windows of ten minutes. The third is never answered.
    let ticket = upload(&key, "audio/wav", &std::fs::read(wav_recording(650).path()).unwrap()).await;
    eventually("the third window is requested", async || (endpoint.forms().len() == 3).then_some(())).await;

    let (_, _, metrics) = running.anonymous().download("/metrics").await;
    let metrics = String::from_utf8(metrics).unwrap();
    for line in ["track=\"recordings\",state=\"running\"} 1", "track=\"web\",state=\"waiting\"} 0"] {
        assert!(metrics.contains(&format!("carrel_jobs{{{line}")), "{metrics}");
    }
    assert!(metrics.contains("carrel_jobs_late_seconds{track=\"recordings\"} 0"), "{metrics}");
    running.kill();
    endpoint.set_responses([(200, TRANSCRIPT_JSON)]);
    let running = Program::start_with(&home, "data", &endpoint.settings()).await;
    let key = running.client_with_key(&id, &secret);

    eventually("the recording is transcribed", async || {
        (upload_status(&key, &ticket).await == "ready").then_some(())
    })
    .await;
    let document =
        key.get(&uploads::path(&ticket)).await.data(200)["documentId"].as_str().unwrap().to_owned();
    let transcript = key.get(&format!("/rest/v2/documents/{document}/transcript")).await.data(200).clone();
    let starts: Vec<f64> = transcript["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| segment["startSeconds"].as_f64().unwrap())
        .collect();
    assert_eq!(starts.len(), 3, "{starts:?}");
    assert!(starts.is_sorted(), "{starts:?}");
    assert_eq!(endpoint.forms().len(), 1, "a transcribed window is not transcribed again");
}

#[actix_web::test]
async fn fetched_recording_resumes_after_a_kill_from_its_stored_file() {
    let (endpoint, site) = (
        TranscriptionEndpoint::start([(200, TRANSCRIPT_JSON), (200, TRANSCRIPT_JSON), (0, "")]).await,
        Site::start().await,
    );
    let home = Home::new().await;
    let (id, secret) = program::create_account(&home);
    let settings = [&endpoint.settings()[..], &[("FETCH__ALLOW_PRIVATE", "127.0.0.0/8")]].concat();
    let running = Program::start_with(&home, "data", &settings).await;
    let file = |seconds| Reply::File("audio/wav", std::fs::read(wav_recording(seconds).path()).unwrap());
    let saved = running
        .client_with_key(&id, &secret)
        .save(json!({ "url": site.page("/talk.wav", [file(650)]) }))
        .await;
    eventually("the third window is requested", async || (endpoint.forms().len() == 3).then_some(())).await;

    running.kill();
    // If the file was fetched again, its other length would start the transcription from the beginning.
    site.page("/talk.wav", [file(660)]);
    let requests_before = site.request_count("/talk.wav");
    endpoint.set_responses([(200, TRANSCRIPT_JSON)]);
    let running = Program::start_with(&home, "data", &settings).await;
    let key = running.client_with_key(&id, &secret);

    key.wait_for(&saved, "ready").await;
    assert_eq!((endpoint.forms().len(), site.request_count("/talk.wav")), (1, requests_before));
    let stored_files = || files(&home.folder().join("data").join("files")).len();
    eventually("the stored file is deleted", async || (stored_files() == 0).then_some(())).await;
}
