//! Transcribes through an OpenAI-compatible HTTP endpoint (`ai.transcription.*`), which takes windows as WAV files and returns
//! timed segments.
//!
//! The endpoint is a configured service, so it may be on this machine. Redirects are not followed, because requests carry the
//! key. Responses are bounded in bytes, and none of their text is logged.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use reqwest::Client;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue};
use serde::Deserialize;
use web::{WallClock, retry_after, service_client};
use zeroize::Zeroizing;

use super::{SAMPLE_RATE_HZ, Segment, TranscribeError, Transcriber, Transcription, clean_segment};

/// Ten minutes: 19 MB, below the 25 MB that such endpoints accept.
const MAX_WINDOW_SAMPLES: usize = 600 * SAMPLE_RATE_HZ as usize;
/// Timeout of a request, from the first byte sent to the last received.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(600);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum length of a response. Ten minutes of speech have about ten thousand characters.
const MAX_RESPONSE_BYTES: usize = 8 << 20;
/// Separates the fields of a form. Samples are not expected to contain it.
const FORM_BOUNDARY: &str = "carrel-4b1c0f5e7d2a49a8-window";

/// The endpoint and how to authenticate.
#[derive(Clone)]
pub struct EndpointSettings {
    /// Base URL (`ai.transcription.url`), to which `/audio/transcriptions` is appended.
    pub url: String,
    /// Name of the model that each request asks for (`ai.transcription.model`).
    pub model: String,
    /// `ai.transcription.key`, sent as a bearer token.
    pub key: Option<Zeroizing<String>>,
}

/// Why the client of an endpoint could not be created.
#[derive(Debug, thiserror::Error)]
pub enum EndpointSetupError {
    /// The HTTP client cannot be created.
    #[error("could not create the HTTP client of the transcription service")]
    Client(#[from] reqwest::Error),
    /// The key is not valid in a header.
    #[error("the setting ai.transcription.key has characters that an HTTP header must not have")]
    Key(#[from] InvalidHeaderValue),
}

/// Transcribes audio through an OpenAI-compatible HTTP endpoint.
pub struct Endpoint {
    client: Client,
    url: String,
    model: String,
    headers: HeaderMap,
    clock: WallClock,
}

impl Endpoint {
    /// Creates the client; nothing is sent yet. The clock is read when a response asks to be retried at a date.
    ///
    /// # Errors
    /// [`EndpointSetupError`] when the client cannot be created, or the key is not valid in a header.
    pub fn new(settings: EndpointSettings, clock: WallClock) -> Result<Self, EndpointSetupError> {
        let mut headers = HeaderMap::new();
        headers.insert(
            CONTENT_TYPE,
            HeaderValue::from_str(&format!("multipart/form-data; boundary={FORM_BOUNDARY}"))?,
        );
        if let Some(key) = &settings.key {
            let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.as_str()))?;
            // Debug output of the headers does not show a sensitive value.
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        Ok(Self {
            client: service_client().connect_timeout(CONNECT_TIMEOUT).timeout(REQUEST_TIMEOUT).build()?,
            url: format!("{}/audio/transcriptions", settings.url.trim_end_matches('/')),
            model: settings.model,
            headers,
            clock,
        })
    }
}

impl Transcriber for Endpoint {
    fn model(&self) -> &str {
        &self.model
    }

    fn max_window_samples(&self) -> usize {
        MAX_WINDOW_SAMPLES
    }

    fn is_budgeted(&self) -> bool {
        true
    }

    fn transcribe(
        &self,
        window: Vec<i16>,
        language: Option<String>,
    ) -> BoxFuture<'static, Result<Transcription, TranscribeError>> {
        let body = form(&self.model, language.as_deref(), &window);
        let clock = self.clock.clone();
        let request = self.client.post(&self.url).headers(self.headers.clone()).body(body);
        #[expect(clippy::cast_precision_loss, reason = "a window is short")]
        let seconds = window.len() as f64 / f64::from(SAMPLE_RATE_HZ);
        async move {
            let response = request.send().await.map_err(|_| TranscribeError::Unreachable)?;
            let status = response.status().as_u16();
            if status != 200 {
                return Err(TranscribeError::Refused {
                    status,
                    retry_after: retry_after(response.headers(), clock()),
                });
            }
            let body = read_body(response).await;
            let body = body.and_then(|bytes| serde_json::from_slice::<VerboseResponse>(&bytes).ok());
            body.map(|body| body.transcription(seconds, language)).ok_or(TranscribeError::Unreachable)
        }
        .boxed()
    }

    fn unload(&self) {}
}

/// Reads the whole body; `None` if it is too long or incomplete.
async fn read_body(mut response: reqwest::Response) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        // The length is counted while the body is read: a Content-Length may be missing or wrong.
        if bytes.len() > MAX_RESPONSE_BYTES {
            return None;
        }
    }
    Some(bytes)
}

/// Returns the body of the request (multipart/form-data, RFC 7578).
fn form(model: &str, language: Option<&str>, window: &[i16]) -> Vec<u8> {
    let mut body = Vec::with_capacity(window.len() * 2 + 2_048);
    let fields = [("model", Some(model)), ("response_format", Some("verbose_json")), ("language", language)];
    for (name, value) in fields {
        let Some(value) = value else { continue };
        let field = format!(
            "--{FORM_BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        );
        body.extend_from_slice(field.as_bytes());
    }
    body.extend_from_slice(
        format!(
            "--{FORM_BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"window.wav\"\r\n\
             Content-Type: audio/wav\r\n\r\n"
        )
        .as_bytes(),
    );
    write_wav(window, &mut body);
    body.extend_from_slice(format!("\r\n--{FORM_BOUNDARY}--\r\n").as_bytes());
    body
}

/// Appends the window as a WAV file with one channel of 16 bits.
fn write_wav(window: &[i16], out: &mut Vec<u8>) {
    let bytes = u32::try_from(window.len() * 2).unwrap_or(u32::MAX);
    out.extend_from_slice(b"RIFF");
    // 36 bytes of the header follow this length.
    out.extend_from_slice(&bytes.saturating_add(36).to_le_bytes());
    // A format chunk of 16 bytes: PCM, one channel.
    out.extend_from_slice(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    out.extend_from_slice(&SAMPLE_RATE_HZ.to_le_bytes());
    out.extend_from_slice(&(2 * SAMPLE_RATE_HZ).to_le_bytes());
    out.extend_from_slice(b"\x02\0\x10\0data");
    out.extend_from_slice(&bytes.to_le_bytes());
    out.extend(window.iter().flat_map(|sample| sample.to_le_bytes()));
}

/// The body of a response (`verbose_json`).
#[derive(Deserialize)]
struct VerboseResponse {
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    text: String,
    segments: Option<Vec<ResponseSegment>>,
}

#[derive(Deserialize)]
struct ResponseSegment {
    start: f64,
    end: f64,
    text: String,
}

impl VerboseResponse {
    /// `seconds` is the length of the window, `requested` the language that was requested.
    fn transcription(self, seconds: f64, requested: Option<String>) -> Transcription {
        // Some endpoints return no times: the text is somewhere within the window.
        let whole_window = || vec![ResponseSegment { start: 0.0, end: seconds, text: self.text }];
        let segments = self.segments.unwrap_or_else(whole_window).into_iter().filter_map(|segment| {
            let clamp = |time: f64| if time.is_finite() { time.clamp(0.0, seconds) } else { 0.0 };
            let text = clean_segment(&segment.text)?;
            Some(Segment { start: clamp(segment.start), end: clamp(segment.end), text })
        });
        let segments: Vec<Segment> = segments.collect();
        let detected = self.language.as_deref().and_then(language_code);
        let is_language_certain = !segments.is_empty() && detected.is_some();
        Transcription { segments, language: requested.or(detected), is_language_certain }
    }
}

/// Returns the code of a language (ISO 639-1) from its code or its English name.
fn language_code(language: &str) -> Option<String> {
    let language = language.trim().to_lowercase();
    // Names with other characters cannot be passed to the library, which looks them up as C strings.
    let is_plain = language.chars().all(|letter| letter.is_ascii_lowercase() || letter == ' ');
    let known = Some(language).filter(|language| is_plain && !language.is_empty());
    let id = known.and_then(|language| whisper_rs::get_lang_id(&language));
    id.and_then(whisper_rs::get_lang_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_clamped_and_languages_become_codes() {
        let body = r#"{"language": "english", "text": "a b", "segments": [
            {"id": 0, "start": 0.5, "end": 2.0, "text": " a"}, {"id": 1, "start": 2.0, "end": 99.0, "text": " b"},
            {"id": 2, "start": 3.0, "end": 3.0, "text": " [music]"}]}"#;
        let response: VerboseResponse = serde_json::from_str(body).unwrap();

        let transcription = response.transcription(3.0, None);

        assert_eq!(transcription.language.as_deref(), Some("en"));
        assert!(transcription.is_language_certain);
        let times: Vec<_> = transcription
            .segments
            .iter()
            .map(|segment| (segment.start, segment.end, segment.text.as_str()))
            .collect();
        assert_eq!(times, [(0.5, 2.0, "a"), (2.0, 3.0, "b")]);
    }

    #[test]
    fn response_without_times_spans_the_window() {
        let response: VerboseResponse = serde_json::from_str(r#"{"text": "all of it"}"#).unwrap();

        let transcription = response.transcription(4.0, Some("de".to_owned()));

        assert_eq!(transcription.segments, [Segment { start: 0.0, end: 4.0, text: "all of it".to_owned() }]);
        assert_eq!(transcription.language.as_deref(), Some("de"));
    }

    #[test]
    fn request_body_is_a_form_with_a_wav_file() {
        let body = form("whisper-1", Some("en"), &[1, -2]);

        let text = String::from_utf8_lossy(&body);
        assert!(text.contains("name=\"model\"\r\n\r\nwhisper-1\r\n") && text.ends_with("-window--\r\n"));
        let start = body.windows(4).position(|four| four == b"RIFF").unwrap();
        assert_eq!(&body[start + 40..start + 48], &[4, 0, 0, 0, 1, 0, 254, 255]);
    }
}
