//! The page of a recording.

use std::ops::Range;

use actix_web::HttpResponse;
use actors::operations::reading::ReadPageResponse;
use actors::operations::recording::{
    LocateSpeech, LocateSpeechRanges, ReadSpeech, ReadSpeechResponse, SpeechPart,
};
use askama::Template;
use errors::Error;
use values::id::DocumentId;
use values::kind::{ContentType, DocumentStatus};

use super::row::{RowMarks, TranscriptRow};
use crate::parts;
use crate::web::filters;
use crate::web::page::request::PageRequest;
use crate::web::page::shell::ToastView;
use crate::web::places::whole_seconds;
use crate::web::reader::article::target_of;
use crate::web::reader::find_words::{FindView, find};
use crate::web::reader::page_view::ReaderView;
use crate::web::reader::reader_page::ReaderPage;
use crate::web::reader::side_notes::{ColorChoice, SideNote, color_choices};

/// Rows of a part.
const PART_ROWS: usize = 400;
/// Highlights whose times are drawn in the player and shown beside them.
const MAX_TIMED_HIGHLIGHTS: usize = 200;
/// The width of the drawing of the player, in its own units.
const SCRUB_WIDTH: f64 = 1000.0;

/// The page of a recording.
#[derive(Template)]
#[template(path = "reader/media/media.html", blocks = ["transcript", "notes", "spine", "actions"])]
struct MediaPage {
    toast: Option<ToastView>,
    view: ReaderView,
    is_video: bool,
    is_upload: bool,
    rows: Vec<TranscriptRow>,
    /// Whether the transcript is being made.
    is_moving: bool,
    /// Why it could not be made; empty if it was.
    fault: String,
    /// How much is transcribed, in words; empty before it was begun.
    progress: String,
    /// Length in whole seconds; 0 if it is not known.
    duration: i64,
    /// Where the player begins, in whole seconds.
    start_at: i64,
    ticks: Vec<ScrubTick>,
    times: Vec<NoteTime>,
    /// The first rows of the parts before and behind this one.
    previous: Option<usize>,
    next: Option<usize>,
    find: FindView,
    target: Option<Range<usize>>,
    colors: Vec<ColorChoice>,
}

parts!(MediaPage {
    "transcript" => as_transcript,
    "notes" => as_notes,
    "spine" => as_spine,
    "actions" => as_actions,
});

/// A highlight in the player.
struct ScrubTick {
    x: i64,
    color: &'static str,
}

/// When the words of a highlight are spoken.
struct NoteTime {
    id: String,
    seconds: i64,
}

/// Shows the part of the recording that the address names, or the one where the user stopped.
///
/// # Errors
/// Those of the operations.
pub async fn show(request: &PageRequest, page: ReaderPage) -> Result<HttpResponse, Error> {
    let ReaderPage { document, view } = page;
    let id = document.document_id;
    let target = target_of(&request.query, document.total_chars);
    let named = request.query.get("t").and_then(|seconds| seconds.parse::<u32>().ok());
    let part = part_of(request, &document, target.as_ref(), named);
    let speech = request.run(ReadSpeech { document: id, part, limit: PART_ROWS }).await?;
    // The player and the found places are in no part: the transcript alone is asked for again and again while it is made.
    let is_whole = request.wants_whole::<MediaPage>();
    let start_at = match named {
        Some(seconds) => i64::from(seconds),
        None if is_whole => stopped_at(request, &document, target.as_ref()).await?,
        None => 0,
    };
    let needs_times = request.wants::<MediaPage>("notes");
    let times = if needs_times { note_times(request, id, &view.notes).await? } else { Vec::new() };
    let ticks = ticks(&times, &view.notes, speech.duration_seconds);
    let marks = RowMarks { notes: &view.notes, target: target.clone(), seconds: named.map(i64::from) };
    let find = if is_whole { find(request, id).await? } else { FindView::default() };
    let media = MediaPage {
        toast: request.toast(),
        is_video: document.content_type == ContentType::Video,
        is_upload: document.url.is_none(),
        is_moving: speech.status == DocumentStatus::Processing,
        fault: fault(&document, &speech),
        progress: speech.progress.map(|part| request.locale().percent(part)).unwrap_or_default(),
        duration: whole_seconds(speech.duration_seconds.unwrap_or_default()),
        start_at,
        ticks,
        times,
        previous: (speech.from > 0).then(|| speech.from.saturating_sub(PART_ROWS)),
        next: speech.next_from,
        rows: TranscriptRow::list(speech.segments, &marks),
        find,
        target,
        colors: color_choices("yellow"),
        view,
    };
    request.show(&media)
}

/// Returns the part of the transcript that is shown.
fn part_of(
    request: &PageRequest,
    document: &ReadPageResponse,
    target: Option<&Range<usize>>,
    named: Option<u32>,
) -> SpeechPart {
    if let Some(from) = request.query.get("from").and_then(|from| from.parse().ok()) {
        return SpeechPart::From(from);
    }
    match (named, target.map(|target| target.start).or(stopped_offset(document))) {
        (Some(seconds), _) => SpeechPart::AtSeconds(f64::from(seconds)),
        (None, Some(offset)) => SpeechPart::WithOffset(offset),
        (None, None) => SpeechPart::AtSeconds(f64::from(stopped_seconds(document))),
    }
}

/// Returns the offset at which the user stopped in this version of the text.
fn stopped_offset(document: &ReadPageResponse) -> Option<usize> {
    let position = document.position.as_ref().filter(|position| position.version == document.version)?;
    usize::try_from(position.offset).ok().filter(|offset| *offset > 0)
}

/// Returns the second at which the user stopped; 0 if it was not played. A recording without a transcript has no other position, and the
/// second stays right in another version of the text.
fn stopped_seconds(document: &ReadPageResponse) -> i32 {
    document.position.as_ref().and_then(|position| position.seconds).unwrap_or_default()
}

/// Returns when the words are spoken that the address names, or where the user stopped.
async fn stopped_at(
    request: &PageRequest,
    document: &ReadPageResponse,
    target: Option<&Range<usize>>,
) -> Result<i64, Error> {
    let Some(start) = target.map(|target| target.start).or(stopped_offset(document)) else {
        return Ok(i64::from(stopped_seconds(document)));
    };
    let words = LocateSpeech { document: document.document_id, start, end: start + 1 };
    Ok(whole_seconds(request.run(words).await?.start_seconds.unwrap_or_default()))
}

/// Returns when the words of highlights are spoken, without those that are lost.
async fn note_times(
    request: &PageRequest,
    document: DocumentId,
    notes: &[SideNote],
) -> Result<Vec<NoteTime>, Error> {
    let (ids, ranges): (Vec<String>, Vec<Range<usize>>) =
        notes.iter().filter_map(range_of).take(MAX_TIMED_HIGHLIGHTS).unzip();
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let spoken = request.run(LocateSpeechRanges { document, ranges }).await?;
    let time = |(id, at): (String, Option<f64>)| Some(NoteTime { id, seconds: whole_seconds(at?) });
    Ok(ids.into_iter().zip(spoken.start_seconds).filter_map(time).collect())
}

/// Returns the id of a highlight with its characters; `None` if the text does not have them.
fn range_of(note: &SideNote) -> Option<(String, Range<usize>)> {
    let range = usize::try_from(note.start).ok()?..usize::try_from(note.end).ok()?;
    (!note.is_lost && range.start < range.end).then(|| (note.id.clone(), range))
}

#[expect(clippy::cast_precision_loss, reason = "a recording has fewer seconds than an `f64` counts exactly")]
#[expect(clippy::cast_possible_truncation, reason = "a place on the bar is at most `SCRUB_WIDTH`")]
fn ticks(times: &[NoteTime], notes: &[SideNote], duration: Option<f64>) -> Vec<ScrubTick> {
    let Some(duration) = duration.filter(|duration| *duration > 0.0) else { return Vec::new() };
    let tick = |time: &NoteTime| {
        let note = notes.iter().find(|note| note.id == time.id)?;
        let x = ((time.seconds as f64 / duration).clamp(0.0, 1.0) * SCRUB_WIDTH) as i64;
        Some(ScrubTick { x, color: note.color })
    };
    times.iter().filter_map(tick).collect()
}

fn fault(document: &ReadPageResponse, speech: &ReadSpeechResponse) -> String {
    let reason = document.error.as_deref().filter(|_| speech.status == DocumentStatus::Failed);
    filters::visible_text(reason.unwrap_or_default())
}
