//! An OpenAI-compatible endpoint, on the loopback, that says what a test wants it to say.

use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

/// One answer of the endpoint.
#[derive(Clone)]
pub enum ChatReply {
    /// This text, streamed, for so many tokens.
    Text(&'static str, u64),
    /// This text, streamed, with this as its `total_tokens`.
    TextWithUsage(&'static str, Value),
    /// A status, with this `Retry-After`.
    Status(u16, &'static str),
    /// A stream that ends in the middle.
    Truncated,
}

/// See the file's head.
pub struct ChatEndpoint {
    url: String,
    inside: Arc<Mutex<Inside>>,
}

#[derive(Default)]
struct Inside {
    turns: Vec<ChatReply>,
    prompts: Vec<Value>,
}

impl ChatEndpoint {
    /// One that answers so, one turn after the other; the last one stays.
    pub async fn start<const N: usize>(turns: [ChatReply; N]) -> Self {
        let inside = Arc::new(Mutex::new(Inside { turns: turns.into(), prompts: Vec::new() }));
        let served = web::Data::from(inside.clone());
        let route = || web::post().to(answer);
        let server = HttpServer::new(move || {
            App::new().app_data(served.clone()).route("/v1/chat/completions", route())
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { url, inside }
    }

    /// What a service is started with that asks this endpoint.
    pub fn settings(&self) -> [(&str, &str); 3] {
        [("AI__CHAT__URL", &self.url), ("AI__CHAT__MODEL", "heron-1"), ("AI__CHAT__KEY", "sk-heron")]
    }

    /// What it was asked, each time.
    pub fn prompts(&self) -> Vec<Value> {
        self.inside.lock().unwrap().prompts.clone()
    }
}

async fn answer(
    request: HttpRequest,
    body: web::Json<Value>,
    inside: web::Data<Mutex<Inside>>,
) -> HttpResponse {
    assert_eq!(request.headers().get("authorization").unwrap(), "Bearer sk-heron");
    let turn = {
        let mut inside = inside.lock().unwrap();
        inside.prompts.push(body.into_inner());
        inside.turns.get(inside.prompts.len() - 1).or(inside.turns.last()).cloned()
    };
    let event = |delta: Value, finish: Value, usage: Value| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
        format!("data: {}\n\n", json!({ "model": "heron-1", "choices": [choice], "usage": usage }))
    };
    let stream = |text: String| HttpResponse::Ok().content_type("text/event-stream").body(text);
    let whole = |text: &str, tokens: Value| {
        let said = event(json!({ "content": text }), Value::Null, Value::Null);
        let end = event(json!({}), "stop".into(), json!({ "total_tokens": tokens }));
        stream(format!("{said}{end}data: [DONE]\n\n"))
    };
    match turn.unwrap() {
        ChatReply::Text(text, tokens) => whole(text, tokens.into()),
        ChatReply::TextWithUsage(text, tokens) => whole(text, tokens),
        ChatReply::Status(status, after) => {
            let status = StatusCode::from_u16(status).unwrap();
            HttpResponse::build(status).insert_header(("Retry-After", after)).finish()
        }
        ChatReply::Truncated => stream(event(json!({ "content": "It di" }), Value::Null, Value::Null)),
    }
}
