//! Reads a completion as it comes: server-sent events, or one JSON object from endpoints that do not stream.

use serde::Deserialize;
use serde_json::Number;

/// Most of an answer that is kept, in bytes.
const MOST_TEXT: usize = 32 * 1024;
/// Most of a model's name, in bytes.
const MOST_NAME: usize = 200;
/// The line that ends a stream.
const DONE: &[u8] = b"[DONE]";

/// A whole answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// What the model says; never blank.
    pub text: String,
    /// What it calls itself.
    pub model: Option<String>,
    /// `usage.total_tokens`, if the endpoint sent it: any number, not yet checked.
    pub tokens: Option<Number>,
}

/// What has come so far.
pub(super) struct Reading {
    /// One object, or events.
    whole: bool,
    /// Bytes that are not read yet.
    rest: Vec<u8>,
    so_far: Completion,
    /// The model has said that it is at its end.
    finished: bool,
}

#[derive(Deserialize)]
struct Piece {
    model: Option<String>,
    #[serde(default)]
    choices: Vec<Choice>,
    usage: Option<Usage>,
    error: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    index: u32,
    /// Of a stream.
    delta: Option<Said>,
    /// Of a whole answer.
    message: Option<Said>,
    finish_reason: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Said {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: Option<Number>,
}

impl Reading {
    /// Of one object, or of events.
    pub fn of(whole: bool) -> Self {
        Self { whole, rest: Vec::new(), so_far: Completion::default(), finished: false }
    }

    /// Takes the next bytes. Whether nothing more is to come.
    pub fn take(&mut self, bytes: &[u8]) -> Result<bool, &'static str> {
        self.rest.extend_from_slice(bytes);
        if self.whole {
            return Ok(false);
        }
        let Some(last) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(false) };
        let rest = self.rest.split_off(last + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        for line in lines.split(|byte| *byte == b'\n') {
            if self.line(line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What it came to.
    pub fn end(mut self) -> Result<Completion, &'static str> {
        let rest = std::mem::take(&mut self.rest);
        if self.whole {
            self.piece(&rest)?;
        } else if !rest.is_empty() {
            self.line(&rest)?;
        }
        if !self.finished {
            return Err("it broke off");
        }
        self.so_far.text = without_thoughts(&self.so_far.text).to_owned();
        if self.so_far.text.is_empty() { Err("it is empty") } else { Ok(self.so_far) }
    }

    /// One line of the stream (HTML, 9.2.6); fields but `data` say nothing here.
    fn line(&mut self, line: &[u8]) -> Result<bool, &'static str> {
        let Some(data) = line.strip_prefix(b"data:") else { return Ok(false) };
        let data = data.trim_ascii();
        if data == DONE {
            self.finished = true;
            return Ok(true);
        }
        if !data.is_empty() {
            self.piece(data)?;
        }
        Ok(false)
    }

    fn piece(&mut self, json: &[u8]) -> Result<(), &'static str> {
        let piece: Piece = serde_json::from_slice(json).map_err(|_| "it is not the JSON of a completion")?;
        if piece.error.is_some() {
            return Err("it is an error");
        }
        let name = piece.model.filter(|name| !name.trim().is_empty() && name.len() <= MOST_NAME);
        self.so_far.model = self.so_far.model.take().or(name);
        self.so_far.tokens = piece.usage.and_then(|usage| usage.total_tokens).or(self.so_far.tokens.take());
        for choice in piece.choices.into_iter().filter(|choice| choice.index == 0) {
            self.finished |= choice.finish_reason.is_some();
            let said = choice.delta.or(choice.message).and_then(|said| said.content).unwrap_or_default();
            if self.so_far.text.len() + said.len() <= MOST_TEXT {
                self.so_far.text.push_str(&said);
            }
        }
        Ok(())
    }
}

/// What a model says behind what it thinks aloud.
fn without_thoughts(text: &str) -> &str {
    let text = text.trim();
    let thoughts = text.strip_prefix("<think>").and_then(|thoughts| thoughts.split_once("</think>"));
    thoughts.map_or(text, |(_, said)| said.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = ": comment\r\n\
        data: {\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\r\n\r\n\
        data: {\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Zebras — \"}}]}\n\n\
        data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes [1].\"},\"finish_reason\":null}]}\n\n\
        data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"total_tokens\":42}}\n\n\
        data: [DONE]\n\n";

    fn read(whole: bool, bytes: &[u8], step: usize) -> Result<Completion, &'static str> {
        let mut reading = Reading::of(whole);
        for piece in bytes.chunks(step) {
            if reading.take(piece)? {
                break;
            }
        }
        reading.end()
    }

    #[test]
    fn a_stream_is_read_however_it_is_cut() {
        let wanted = Completion {
            text: "Zebras — yes [1].".into(),
            model: Some("m-1".into()),
            tokens: Some(42.into()),
        };
        for step in [1, 2, 3, 7, 64, 10_000] {
            assert_eq!(read(false, STREAM.as_bytes(), step).unwrap(), wanted, "{step}");
        }
    }

    #[test]
    fn one_object_is_read_too() {
        let body = br#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"<think>hm</think>\nYes."},"finish_reason":"stop"}],"usage":{"total_tokens":7}}"#;

        let wanted = Completion { text: "Yes.".into(), model: Some("m".into()), tokens: Some(7.into()) };
        assert_eq!(read(true, body, 5).unwrap(), wanted);
    }

    #[test]
    fn what_is_no_whole_answer_is_told_as_such() {
        let broken = STREAM.split("data: {\"choices\":[{\"index\":0,\"delta\":{},").next().unwrap();
        assert_eq!(read(false, broken.as_bytes(), 9), Err("it broke off"));
        assert_eq!(read(false, b"", 1), Err("it broke off"));
        assert_eq!(read(false, b"data: {\"error\":{\"message\":\"x\"}}\n", 9), Err("it is an error"));
        assert_eq!(read(false, b"data: [DONE]\n", 9), Err("it is empty"));
        assert_eq!(read(false, b"data: <html>\n", 9), Err("it is not the JSON of a completion"));
        assert_eq!(read(true, b"<html>", 9), Err("it is not the JSON of a completion"));
    }

    #[test]
    fn an_answer_without_an_end_is_cut() {
        let word = "word ".repeat(1000);
        let line = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{word}\"}}}}]}}\n");

        let read = read(false, format!("{}data: [DONE]\n", line.repeat(100)).as_bytes(), 4096).unwrap();

        assert!((20_000..=MOST_TEXT).contains(&read.text.len()));
    }
}
