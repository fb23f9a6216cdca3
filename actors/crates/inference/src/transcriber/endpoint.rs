//! An OpenAI-compatible endpoint (`ai.transcription.*`): windows go there as WAV, timed segments come back.
//!
//! It is a configured service, so it may be on this machine; redirects are not followed, because the key goes along.
//! What it answers is bounded in bytes, and none of it is logged.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Client;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue};
use serde::Deserialize;
use web::{retry_after, service_client};
use zeroize::Zeroizing;

use super::{Heard, SAMPLE_RATE_HZ, Said, TranscribeError, Transcriber, cleaned};

/// Ten minutes: 19 MB, below the 25 MB that such endpoints take.
const LONGEST: usize = 600 * SAMPLE_RATE_HZ as usize;
/// From the first byte to the last.
const DEADLINE: Duration = Duration::from_secs(600);
const CONNECT: Duration = Duration::from_secs(5);
/// Most bytes of an answer: ten minutes of speech have some ten thousand characters.
const MOST_BYTES: usize = 8 << 20;
/// Parts the fields of a form. Samples spell it out by no chance.
const BOUNDARY: &str = "carrel-4b1c0f5e7d2a49a8-window";

/// Which endpoint.
#[derive(Clone)]
pub struct EndpointSettings {
    /// `ai.transcription.url`: `/audio/transcriptions` is added.
    pub url: String,
    /// `ai.transcription.model`.
    pub model: String,
    /// `ai.transcription.key`: sent as a bearer.
    pub key: Option<Zeroizing<String>>,
}

/// Why it cannot be asked at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The client cannot be made.
    #[error("make the client of the transcription service")]
    Client(#[from] reqwest::Error),
    /// The key cannot stand in a header.
    #[error("send ai.transcription.key in a header")]
    Key(#[from] InvalidHeaderValue),
}

/// See the file's head.
pub struct Endpoint {
    client: Client,
    address: String,
    model: String,
    headers: HeaderMap,
}

impl Endpoint {
    /// Asks nothing yet.
    ///
    /// # Errors
    /// As [`SetupError`] says.
    pub fn new(settings: EndpointSettings) -> Result<Self, SetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_str(&format!("multipart/form-data; boundary={BOUNDARY}"))?,
        );
        if let Some(key) = &settings.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))?;
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self {
            client: service_client().connect_timeout(CONNECT).timeout(DEADLINE).build()?,
            address: format!("{}/audio/transcriptions", settings.url.trim_end_matches('/')),
            model: settings.model,
            headers,
        })
    }
}

impl Transcriber for Endpoint {
    fn model(&self) -> &str {
        &self.model
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn pauses(&self) -> bool {
        true
    }

    fn hear(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Heard, TranscribeError>> {
        let body = form(&self.model, language.as_deref(), &window);
        let request = self.client.post(&self.address).headers(self.headers.clone()).body(body);
        #[expect(clippy::cast_precision_loss, reason = "a window is short")]
        let length = window.len() as f64 / f64::from(SAMPLE_RATE_HZ);
        async move {
            let answer = request.send().await.map_err(|_| TranscribeError::Unreachable)?;
            let status = answer.status().as_u16();
            if status != 200 {
                return Err(TranscribeError::Refused { status, after: retry_after(answer.headers()) });
            }
            let told = read(answer).await.and_then(|bytes| serde_json::from_slice::<Told>(&bytes).ok());
            told.map(|told| told.heard(length, language)).ok_or(TranscribeError::Unreachable)
        }
        .boxed()
    }

    fn rest(&self) {}
}

async fn read(mut answer: reqwest::Response) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(some) = answer.chunk().await.ok()? {
        bytes.extend_from_slice(&some);
        if bytes.len() > MOST_BYTES {
            return None;
        }
    }
    Some(bytes)
}

/// The fields of the request (RFC 7578).
fn form(model: &str, language: Option<&str>, window: &[i16]) -> Vec<u8> {
    let mut body = Vec::with_capacity(window.len() * 2 + 2_048);
    let fields = [("model", Some(model)), ("response_format", Some("verbose_json")), ("language", language)];
    for (name, value) in fields {
        let Some(value) = value else { continue };
        body.extend_from_slice(
            format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
                .as_bytes(),
        );
    }
    body.extend_from_slice(
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"window.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\n"
        )
        .as_bytes(),
    );
    wav(window, &mut body);
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    body
}

/// One channel of 16 bits.
fn wav(window: &[i16], out: &mut Vec<u8>) {
    let bytes = u32::try_from(window.len() * 2).unwrap_or(u32::MAX);
    out.extend_from_slice(b"RIFF");
    out.extend_from_slice(&bytes.saturating_add(36).to_le_bytes());
    out.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    out.extend_from_slice(&SAMPLE_RATE_HZ.to_le_bytes());
    out.extend_from_slice(&(2 * SAMPLE_RATE_HZ).to_le_bytes());
    out.extend_from_slice(b"\x02\0\x10\0data");
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend(window.iter().flat_map(|sample| sample.to_le_bytes()));
}

/// What the endpoint tells (verbose_json).
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    text: String,
    segments: Option<Vec<Segment>>,
}

#[derive(Deserialize)]
struct Segment {
    start: f64,
    end: f64,
    text: String,
}

impl Told {
    fn heard(self, length: f64, asked: Option<String>) -> Heard {
        // An endpoint that knows no times has said it all within the window.
        let whole = || vec![Segment { start: 0.0, end: length, text: self.text }];
        let segments = self.segments.unwrap_or_else(whole).into_iter().filter_map(|segment| {
            let at = |seconds: f64| if seconds.is_finite() { seconds.clamp(0.0, length) } else { 0.0 };
            let text = cleaned(&segment.text)?;
            Some(Said { start: at(segment.start), end: at(segment.end), text })
        });
        let segments: Vec<Said> = segments.collect();
        let told = self.language.as_deref().and_then(code);
        let certain = !segments.is_empty() && told.is_some();
        Heard { segments, language: asked.or(told), certain }
    }
}

/// The code of a language that is told by its code or its English name.
fn code(told: &str) -> Option<String> {
    let told = told.trim().to_lowercase();
    // Names with other characters would not come back from the library's table of C strings.
    let plain = told.chars().all(|letter| letter.is_ascii_lowercase() || letter == ' ');
    let known =
        Some(told).filter(|told| plain && !told.is_empty()).and_then(|told| whisper_rs::get_lang_id(&told));
    known.and_then(whisper_rs::get_lang_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_within_the_window_and_languages_become_codes() {
        let told = r#"{"language": "english", "text": "a b", "segments": [
            {"id": 0, "start": 0.5, "end": 2.0, "text": " a"}, {"id": 1, "start": 2.0, "end": 99.0, "text": " b"},
            {"id": 2, "start": 3.0, "end": 3.0, "text": " [music]"}]}"#;
        let told: Told = serde_json::from_str(told).unwrap();

        let heard = told.heard(3.0, None);

        assert_eq!(heard.language.as_deref(), Some("en"));
        assert!(heard.certain);
        let times: Vec<_> =
            heard.segments.iter().map(|said| (said.start, said.end, said.text.as_str())).collect();
        assert_eq!(times, [(0.5, 2.0, "a"), (2.0, 3.0, "b")]);
    }

    #[test]
    fn an_answer_without_times_is_said_within_the_window() {
        let told: Told = serde_json::from_str(r#"{"text": "all of it"}"#).unwrap();

        let heard = told.heard(4.0, Some("de".to_owned()));

        assert_eq!(heard.segments, [Said { start: 0.0, end: 4.0, text: "all of it".to_owned() }]);
        assert_eq!(heard.language.as_deref(), Some("de"));
    }

    #[test]
    fn a_window_is_a_form_with_a_wav_file() {
        let body = form("whisper-1", Some("en"), &[1, -2]);

        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("name=\"model\"\r\n\r\nwhisper-1\r\n") && text.ends_with("-window--\r\n"));
        let wav = body.windows(4).position(|four| four == b"RIFF").unwrap();
        assert_eq!(&body[wav + 40..wav + 48], &[4, 0, 0, 0, 1, 0, 254, 255]);
    }
}
