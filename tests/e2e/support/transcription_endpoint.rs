//! An OpenAI-compatible transcription endpoint on the loopback interface.

use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

pub struct TranscriptionEndpoint {
    url: String,
    state: Arc<Mutex<EndpointState>>,
}

struct EndpointState {
    answers: Vec<(u16, &'static str)>,
    forms: Vec<String>,
}

impl TranscriptionEndpoint {
    /// Starts an endpoint that sends these responses (status and body) in order, and then repeats the last one. A status of 0
    /// means that no response is sent.
    pub async fn start<const N: usize>(answers: [(u16, &'static str); N]) -> Self {
        let state = Arc::new(Mutex::new(EndpointState { answers: answers.into(), forms: Vec::new() }));
        let served = web::Data::from(state.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(served.clone())
                .app_data(web::PayloadConfig::new(32 << 20))
                .route("/v1/audio/transcriptions", web::post().to(respond))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { url, state }
    }

    /// The settings of a server that transcribes through this endpoint.
    pub fn settings(&self) -> [(&str, &str); 3] {
        [
            ("AI__TRANSCRIPTION__URL", &self.url),
            ("AI__TRANSCRIPTION__MODEL", "heron-ear"),
            ("AI__TRANSCRIPTION__KEY", "sk-heron"),
        ]
    }

    /// Replaces the responses and forgets the received forms.
    pub fn set_responses<const N: usize>(&self, answers: [(u16, &'static str); N]) {
        let mut state = self.state.lock().unwrap();
        state.answers = answers.into();
        state.forms.clear();
    }

    /// The received forms, without the parts that are not UTF-8.
    pub fn forms(&self) -> Vec<String> {
        self.state.lock().unwrap().forms.clone()
    }
}

async fn respond(
    request: HttpRequest,
    body: web::Bytes,
    state: web::Data<Mutex<EndpointState>>,
) -> HttpResponse {
    assert_eq!(request.headers().get("authorization").unwrap(), "Bearer sk-heron");
    let text: String = body.utf8_chunks().map(|part| part.valid()).collect();
    let (status, body_text) = {
        let mut state = state.lock().unwrap();
        state.forms.push(text);
        *state.answers.get(state.forms.len() - 1).or(state.answers.last()).unwrap()
    };
    if status == 0 {
        return std::future::pending().await;
    }
    let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap());
    if status == 429 {
        response.insert_header(("retry-after", "1800"));
    }
    response.content_type("application/json").body(body_text)
}
