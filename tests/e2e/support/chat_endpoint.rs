//! An OpenAI-compatible chat endpoint on the loopback interface with prepared replies.

use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

/// A reply of the endpoint.
#[derive(Clone)]
pub enum ChatReply {
    /// A streamed text and the number of tokens that it costs.
    Text(&'static str, u64),
    /// A streamed text with this value as `total_tokens`.
    TextWithUsage(&'static str, Value),
    /// A status with this `Retry-After`.
    Status(u16, &'static str),
    /// A stream that ends in the middle.
    Truncated,
}

pub struct ChatEndpoint {
    url: String,
    state: Arc<Mutex<ChatState>>,
}

#[derive(Default)]
struct ChatState {
    replies: Vec<ChatReply>,
    prompts: Vec<Value>,
}

impl ChatEndpoint {
    /// Starts an endpoint that sends these replies in order, and then repeats the last one.
    pub async fn start<const N: usize>(replies: [ChatReply; N]) -> Self {
        let state = Arc::new(Mutex::new(ChatState { replies: replies.into(), prompts: Vec::new() }));
        let served = web::Data::from(state.clone());
        let route = || web::post().to(respond);
        let server = HttpServer::new(move || {
            App::new().app_data(served.clone()).route("/v1/chat/completions", route())
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { url, state }
    }

    /// The settings of a server that uses this endpoint.
    pub fn settings(&self) -> [(&str, &str); 3] {
        [("AI__CHAT__URL", &self.url), ("AI__CHAT__MODEL", "heron-1"), ("AI__CHAT__KEY", "sk-heron")]
    }

    pub fn prompts(&self) -> Vec<Value> {
        self.state.lock().unwrap().prompts.clone()
    }
}

async fn respond(
    request: HttpRequest,
    body: web::Json<Value>,
    state: web::Data<Mutex<ChatState>>,
) -> HttpResponse {
    assert_eq!(request.headers().get("authorization").unwrap(), "Bearer sk-heron");
    let reply = {
        let mut state = state.lock().unwrap();
        state.prompts.push(body.into_inner());
        state.replies.get(state.prompts.len() - 1).or(state.replies.last()).cloned()
    };
    let event = |delta: Value, finish: Value, usage: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "model": "heron-1", "choices": [choice], "usage": usage }))
    };
    let stream = |text: String| HttpResponse::Ok().content_type("text/event-stream").body(text);
    let whole = |text: &str, tokens: Value| {
        let content = event(json!({ "content": text }), Value::Null, Value::Null);
        let end = event(json!({}), "stop".into(), json!({ "total_tokens": tokens }));
        stream(format!("{content}{end}data: [DONE]\n\n"))
    };
    match reply.unwrap() {
        ChatReply::Text(text, tokens) => whole(text, tokens.into()),
        ChatReply::TextWithUsage(text, tokens) => whole(text, tokens),
        ChatReply::Status(status, after) => {
            let status = StatusCode::from_u16(status).unwrap();
            HttpResponse::build(status).insert_header(("Retry-After", after)).finish()
        }
        ChatReply::Truncated => stream(event(json!({ "content": "It di" }), Value::Null, Value::Null)),
    }
}
