//! An OpenAI-compatible embedding endpoint on the loopback interface, in whose vectors related words are near.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use inference::embedder::EmbeddingSettings;
use serde_json::{Value, json};

/// Length of its vectors.
const DIMENSIONS: usize = 256;
/// The model of its settings.
const MODEL: &str = "heron/eye";
const PASSAGE_PREFIX: &str = "passage: ";
/// Words of one meaning.
const SYNONYMS: [&[&str]; 2] = [&["heron", "egret", "wader"], &["bread", "loaf", "dough"]];

/// What the endpoint answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingReply {
    /// Vectors of all texts.
    Vectors,
    /// Vectors of this length, each of one number and zeros.
    VectorsOfLength(usize),
    /// Status 400 if one of the texts contains this word; otherwise vectors.
    VectorsWithout(&'static str),
    /// Vectors of this model; status 500 for another one.
    VectorsOfModel(&'static str),
    /// Status 500 for this model if one of the texts contains this word; otherwise vectors.
    FailureOfModel(&'static str, &'static str),
    /// Nothing, until the reply is another one, if one of the texts contains this word; otherwise vectors.
    SilenceOn(&'static str),
    /// This status and body.
    Refusal(u16, &'static str),
    /// Nothing.
    Silence,
}

pub struct EmbeddingEndpoint {
    url: String,
    state: Arc<Mutex<EmbeddingState>>,
}

struct EmbeddingState {
    reply: EmbeddingReply,
    requests: Vec<Value>,
}

impl EmbeddingEndpoint {
    /// Starts an endpoint that answers with this reply.
    pub async fn start(reply: EmbeddingReply) -> Self {
        let state = Arc::new(Mutex::new(EmbeddingState { reply, requests: Vec::new() }));
        let served = web::Data::from(state.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(served.clone())
                .app_data(web::PayloadConfig::new(8 << 20))
                .route("/v1/embeddings", web::post().to(respond))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { url, state }
    }

    /// The settings of a server that embeds through this endpoint.
    pub fn settings(&self) -> [(&str, &str); 5] {
        [
            ("AI__EMBEDDING__URL", &self.url),
            ("AI__EMBEDDING__MODEL", MODEL),
            ("AI__EMBEDDING__KEY", "sk-heron"),
            ("AI__EMBEDDING__QUERY_PREFIX", "query: "),
            ("AI__EMBEDDING__PASSAGE_PREFIX", PASSAGE_PREFIX),
        ]
    }

    /// The name of the vectors of a server with [`Self::settings`].
    pub fn vector_name(&self) -> String {
        self.vector_name_of(MODEL)
    }

    /// The name of the vectors of a server with [`Self::settings_of`] this model.
    pub fn vector_name_of(&self, model: &str) -> String {
        let settings = EmbeddingSettings {
            url: self.url.clone(),
            identity: None,
            model: model.to_owned(),
            key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: PASSAGE_PREFIX.to_owned(),
        };
        settings.vector_name(DIMENSIONS)
    }

    /// The settings of a server that embeds with this model, whose vectors have a length that is known without a request.
    pub fn settings_of<'a>(&'a self, model: &'a str) -> Vec<(&'a str, &'a str)> {
        let other = self.settings().into_iter().filter(|(name, _)| *name != "AI__EMBEDDING__MODEL");
        other.chain([("AI__EMBEDDING__MODEL", model), ("AI__EMBEDDING__DIMENSIONS", "256")]).collect()
    }

    /// Replaces what it answers, and forgets the received requests.
    pub fn set_reply(&self, reply: EmbeddingReply) {
        let mut state = self.state.lock().unwrap();
        state.reply = reply;
        state.requests.clear();
    }

    /// The bodies of the received requests.
    pub fn requests(&self) -> Vec<Value> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The texts of the received requests.
    pub fn texts(&self) -> Vec<String> {
        self.requests().iter().flat_map(texts_of).collect()
    }
}

fn texts_of(request: &Value) -> Vec<String> {
    request["input"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

async fn respond(
    request: HttpRequest,
    body: web::Json<Value>,
    state: web::Data<Mutex<EmbeddingState>>,
) -> HttpResponse {
    assert_eq!(request.headers().get("authorization").unwrap(), "Bearer sk-heron");
    let body = body.into_inner();
    let texts = texts_of(&body);
    let model = body["model"].as_str().unwrap().to_owned();
    state.lock().unwrap().requests.push(body);
    let reply = await_reply(&state, &texts).await;
    let vectors: Vec<Vec<f32>> = match reply {
        EmbeddingReply::VectorsWithout(word) if texts.iter().any(|text| text.contains(word)) => {
            return HttpResponse::BadRequest().json(json!({ "error": { "message": "flagged" } }));
        }
        EmbeddingReply::VectorsOfModel(served) if served != model => return fail(),
        EmbeddingReply::FailureOfModel(failing, word)
            if failing == model && texts.iter().any(|text| text.contains(word)) =>
        {
            return fail();
        }
        EmbeddingReply::Vectors
        | EmbeddingReply::VectorsWithout(_)
        | EmbeddingReply::VectorsOfModel(_)
        | EmbeddingReply::FailureOfModel(..)
        | EmbeddingReply::SilenceOn(_) => texts.iter().map(|text| vector(&model, text)).collect(),
        EmbeddingReply::VectorsOfLength(length) => {
            texts.iter().map(|_| (0..length).map(|at| if at == 0 { 1.0 } else { 0.0 }).collect()).collect()
        }
        EmbeddingReply::Silence => return std::future::pending().await,
        EmbeddingReply::Refusal(status, text) => {
            let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap());
            return response.content_type("application/json").body(text);
        }
    };
    let data = vectors.into_iter().enumerate().rev();
    let data: Vec<Value> =
        data.map(|(index, vector)| json!({ "index": index, "embedding": vector })).collect();
    HttpResponse::Ok().json(json!({ "data": data, "usage": { "total_tokens": 7 * texts.len() } }))
}

/// Returns the reply to these texts, once there is one.
async fn await_reply(state: &Mutex<EmbeddingState>, texts: &[String]) -> EmbeddingReply {
    loop {
        let reply = state.lock().unwrap().reply;
        let EmbeddingReply::SilenceOn(word) = reply else { return reply };
        if !texts.iter().any(|text| text.contains(word)) {
            return reply;
        }
        actix_web::rt::time::sleep(Duration::from_millis(20)).await;
    }
}

fn fail() -> HttpResponse {
    HttpResponse::InternalServerError().json(json!({ "error": { "message": "no such model" } }))
}

/// Returns the vector of a text: texts have different directions, and words with the same meaning draw them together. Models whose names have
/// different lengths give different directions.
fn vector(model: &str, text: &str) -> Vec<f32> {
    let text = text.trim_start_matches("query: ").trim_start_matches("passage: ").to_lowercase();
    let has_meaning = |group: &&&[&str]| group.iter().any(|word| text.contains(word));
    let mut vector: Vec<f32> = direction(&text).map(|value| 0.5 * value).collect();
    for group in SYNONYMS.iter().filter(has_meaning) {
        vector.iter_mut().zip(direction(group[0])).for_each(|(sum, value)| *sum += value);
    }
    vector.rotate_left(model.len());
    vector
}

/// Returns a direction that the letters select. Different ones are almost orthogonal.
fn direction(letters: &str) -> impl Iterator<Item = f32> {
    (0..DIMENSIONS).map(move |at| {
        let mut hasher = DefaultHasher::new();
        (letters, at).hash(&mut hasher);
        if hasher.finish().is_multiple_of(2) { 1.0 } else { -1.0 }
    })
}
