//! The captions of a recording as WebVTT (W3C).

use std::fmt::Write;

use values::id::DocumentId;

use super::find_recording;
use crate::auth::caller::Caller;
use crate::context::OperationContext;
use crate::operations::transcript::current_transcript;
use crate::recordings::TimedTranscript;
use errors::Error;

/// Returns the captions of a recording: a cue for each segment of its transcript that exists so far.
///
/// # Errors
/// [`Error::NotFound`] when the caller has no such recording, or it has no transcript yet.
pub async fn captions(
    ctx: &OperationContext,
    caller: &Caller,
    document: DocumentId,
) -> Result<String, Error> {
    let document = find_recording(ctx, caller, document).await?;
    let current = current_transcript(&ctx.core, &document).await?.ok_or(Error::not_found())?;
    let transcript = ctx.recordings.read(&document, current.version).await?;
    Ok(to_vtt(&transcript))
}

fn to_vtt(transcript: &TimedTranscript) -> String {
    let mut vtt = "WEBVTT\n".to_owned();
    for (index, segment) in transcript.segments.iter().enumerate() {
        let (start, end) = (timestamp(segment.start), timestamp(segment.end));
        // Writing to a string never fails.
        let _ = write!(vtt, "\n{}\n{start} --> {end}\n{}\n", index + 1, cue_text(&segment.text));
    }
    vtt
}

/// Returns a time as WebVTT writes it: `01:02:03.456`.
fn timestamp(seconds: f64) -> String {
    let millis = (seconds.max(0.0) * 1000.0).round() as u64;
    let (seconds, millis) = (millis / 1000, millis % 1000);
    format!("{:02}:{:02}:{:02}.{millis:03}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Escapes the characters with a meaning in cues. An empty line would end the cue, so the text has one line.
fn cue_text(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_hours_and_milliseconds() {
        assert_eq!(timestamp(0.0), "00:00:00.000");
        assert_eq!(timestamp(3723.4567), "01:02:03.457");
        assert_eq!(timestamp(360_000.0), "100:00:00.000");
        assert_eq!(timestamp(-1.0), "00:00:00.000");
    }

    #[test]
    fn cue_text_cannot_end_its_cue() {
        assert_eq!(cue_text("a <b>\n\n00:01 --> 00:02 & more"), "a &lt;b&gt; 00:01 --&gt; 00:02 &amp; more");
    }
}
