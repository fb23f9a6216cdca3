//! Reads a completion while it arrives: server-sent events, or one JSON object from endpoints that do not stream.

use serde::Deserialize;
use serde_json::Number;

/// Bytes of an answer that are kept. The rest is dropped.
const MAX_TEXT_BYTES: usize = 32 * 1024;
/// Longer model names are ignored.
const MAX_MODEL_NAME_BYTES: usize = 200;
/// The data of the event that ends a stream.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Completion {
    /// The text without reasoning; never blank once the response has ended.
    pub text: String,
    /// The name of the model, if the endpoint sent it.
    pub model: Option<String>,
    /// `usage.total_tokens`, if the endpoint sent it: any number, not yet checked.
    pub tokens: Option<Number>,
}

/// Parses a response piece by piece.
pub(super) struct CompletionReader {
    /// Whether the response is one JSON object. Otherwise it is a stream of events.
    is_one_object: bool,
    /// Bytes that are not parsed yet.
    rest: Vec<u8>,
    completion: Completion,
    /// Whether the model has finished.
    is_finished: bool,
}

#[derive(Deserialize)]
struct CompletionChunk {
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
    /// A part of the text, in an event of a stream.
    delta: Option<MessageContent>,
    /// The whole text, in a response of one object.
    message: Option<MessageContent>,
    finish_reason: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct MessageContent {
    content: Option<String>,
}

#[derive(Deserialize)]
struct Usage {
    total_tokens: Option<Number>,
}

impl CompletionReader {
    /// Creates a reader of one JSON object, or of a stream of events.
    pub fn new(is_one_object: bool) -> Self {
        Self { is_one_object, rest: Vec::new(), completion: Completion::default(), is_finished: false }
    }

    /// Parses the next bytes. Returns whether the response has ended.
    pub fn push(&mut self, bytes: &[u8]) -> Result<bool, &'static str> {
        self.rest.extend_from_slice(bytes);
        if self.is_one_object {
            return Ok(false);
        }
        // Only complete lines are parsed: a chunk of the body may end within a line, or within a character.
        let Some(last) = self.rest.iter().rposition(|byte| *byte == b'\n') else { return Ok(false) };
        let rest = self.rest.split_off(last + 1);
        let lines = std::mem::replace(&mut self.rest, rest);
        for line in lines.split(|byte| *byte == b'\n') {
            if self.parse_line(line)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the completion after the last bytes.
    pub fn finish(mut self) -> Result<Completion, &'static str> {
        let rest = std::mem::take(&mut self.rest);
        if self.is_one_object {
            self.parse_chunk(&rest)?;
        } else if !rest.is_empty() {
            self.parse_line(&rest)?;
        }
        if !self.is_finished {
            return Err("it broke off");
        }
        self.completion.text = strip_thinking(&self.completion.text).to_owned();
        if self.completion.text.is_empty() { Err("it is empty") } else { Ok(self.completion) }
    }

    /// Parses one line of the stream (HTML, section 9.2.6). Fields other than `data` are ignored.
    fn parse_line(&mut self, line: &[u8]) -> Result<bool, &'static str> {
        // Other lines of an event stream are comments, by which some servers keep the connection open, and names of events.
        let Some(data) = line.strip_prefix(b"data:") else { return Ok(false) };
        let data = data.trim_ascii();
        if data == DONE {
            self.is_finished = true;
            return Ok(true);
        }
        if !data.is_empty() {
            self.parse_chunk(data)?;
        }
        Ok(false)
    }

    fn parse_chunk(&mut self, json: &[u8]) -> Result<(), &'static str> {
        let chunk: CompletionChunk =
            serde_json::from_slice(json).map_err(|_| "it is not the JSON of a completion")?;
        if chunk.error.is_some() {
            return Err("it is an error");
        }
        let name = chunk.model.filter(|name| !name.trim().is_empty() && name.len() <= MAX_MODEL_NAME_BYTES);
        self.completion.model = self.completion.model.take().or(name);
        self.completion.tokens =
            chunk.usage.and_then(|usage| usage.total_tokens).or(self.completion.tokens.take());
        // Further choices are alternatives to the first one. Their texts must not be mixed into it.
        for choice in chunk.choices.into_iter().filter(|choice| choice.index == 0) {
            self.is_finished |= choice.finish_reason.is_some();
            let content = choice.delta.or(choice.message).and_then(|message| message.content);
            let content = content.unwrap_or_default();
            // A text beyond the bound is not an error: the usage, by which the answer is charged, is still to be read.
            if self.completion.text.len() + content.len() <= MAX_TEXT_BYTES {
                self.completion.text.push_str(&content);
            }
        }
        Ok(())
    }
}

/// Removes the reasoning that some models write before their answer.
fn strip_thinking(text: &str) -> &str {
    let text = text.trim();
    let thoughts = text.strip_prefix("<think>").and_then(|thoughts| thoughts.split_once("</think>"));
    thoughts.map_or(text, |(_, answer)| answer.trim())
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

    fn read(is_one_object: bool, bytes: &[u8], step: usize) -> Result<Completion, &'static str> {
        let mut reader = CompletionReader::new(is_one_object);
        for piece in bytes.chunks(step) {
            if reader.push(piece)? {
                break;
            }
        }
        reader.finish()
    }

    #[test]
    fn stream_is_parsed_in_pieces_of_any_size() {
        let expected = Completion {
            text: "Zebras — yes [1].".into(),
            model: Some("m-1".into()),
            tokens: Some(42.into()),
        };
        for step in [1, 2, 3, 7, 64, 10_000] {
            assert_eq!(read(false, STREAM.as_bytes(), step).unwrap(), expected, "{step}");
        }
    }

    #[test]
    fn response_of_one_object_is_parsed() {
        let body = br#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"<think>hm</think>\nYes."},"finish_reason":"stop"}],"usage":{"total_tokens":7}}"#;

        let expected = Completion { text: "Yes.".into(), model: Some("m".into()), tokens: Some(7.into()) };
        assert_eq!(read(true, body, 5).unwrap(), expected);
    }

    #[test]
    fn incomplete_answer_is_an_error() {
        let broken = STREAM.split("data: {\"choices\":[{\"index\":0,\"delta\":{},").next().unwrap();
        assert_eq!(read(false, broken.as_bytes(), 9), Err("it broke off"));
        assert_eq!(read(false, b"", 1), Err("it broke off"));
        assert_eq!(read(false, b"data: {\"error\":{\"message\":\"x\"}}\n", 9), Err("it is an error"));
        assert_eq!(read(false, b"data: [DONE]\n", 9), Err("it is empty"));
        assert_eq!(read(false, b"data: <html>\n", 9), Err("it is not the JSON of a completion"));
        assert_eq!(read(true, b"<html>", 9), Err("it is not the JSON of a completion"));
    }

    #[test]
    fn endless_answer_is_cut() {
        let word = "word ".repeat(1000);
        let line = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{word}\"}}}}]}}\n");

        let read = read(false, format!("{}data: [DONE]\n", line.repeat(100)).as_bytes(), 4096).unwrap();

        assert!((20_000..=MAX_TEXT_BYTES).contains(&read.text.len()));
    }
}
