//! An OpenAI-compatible endpoint that transcribes, on the loopback.

use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

/// See the file's head.
pub struct TranscriptionEndpoint {
    url: String,
    inside: Arc<Mutex<Inside>>,
}

struct Inside {
    answers: Vec<(u16, &'static str)>,
    forms: Vec<String>,
}

impl TranscriptionEndpoint {
    /// One that answers so, with status and body, one after the other; the last one stays. A status of 0 is no answer.
    pub async fn start<const N: usize>(answers: [(u16, &'static str); N]) -> Self {
        let inside = Arc::new(Mutex::new(Inside { answers: answers.into(), forms: Vec::new() }));
        let served = web::Data::from(inside.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(served.clone())
                .app_data(web::PayloadConfig::new(32 << 20))
                .route("/v1/audio/transcriptions", web::post().to(answer))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { url, inside }
    }

    /// What a service is started with that has this in place of a model.
    pub fn settings(&self) -> [(&str, &str); 3] {
        [
            ("AI__TRANSCRIPTION__URL", &self.url),
            ("AI__TRANSCRIPTION__MODEL", "heron-ear"),
            ("AI__TRANSCRIPTION__KEY", "sk-heron"),
        ]
    }

    /// From now on it answers so.
    pub fn set_responses<const N: usize>(&self, answers: [(u16, &'static str); N]) {
        let mut inside = self.inside.lock().unwrap();
        inside.answers = answers.into();
        inside.forms.clear();
    }

    /// The forms that came, with whatever was no text left out.
    pub fn forms(&self) -> Vec<String> {
        self.inside.lock().unwrap().forms.clone()
    }
}

async fn answer(request: HttpRequest, body: web::Bytes, inside: web::Data<Mutex<Inside>>) -> HttpResponse {
    assert_eq!(request.headers().get("authorization").unwrap(), "Bearer sk-heron");
    let text: String = body.utf8_chunks().map(|part| part.valid()).collect();
    let (status, said) = {
        let mut inside = inside.lock().unwrap();
        inside.forms.push(text);
        *inside.answers.get(inside.forms.len() - 1).or(inside.answers.last()).unwrap()
    };
    if status == 0 {
        return std::future::pending().await;
    }
    let mut answer = HttpResponse::build(StatusCode::from_u16(status).unwrap());
    if status == 429 {
        answer.insert_header(("retry-after", "1800"));
    }
    answer.content_type("application/json").body(said)
}
