//! A proxy in front of a service, as operators put one there, that answers some addresses itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

/// See the file's head.
pub struct ReverseProxy {
    /// Its address.
    pub base: String,
    to: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    base: String,
    own: HashMap<String, (u16, String)>,
    strips_credentials: bool,
    /// Whose answers get lost.
    dropped_path: Option<String>,
    /// Every `Authorization` that came.
    credentials: Vec<String>,
}

impl ReverseProxy {
    /// One that leads nowhere yet.
    pub async fn start() -> Self {
        let to: Arc<Mutex<State>> = Arc::default();
        let served = web::Data::from(to.clone());
        let server =
            HttpServer::new(move || App::new().app_data(served.clone()).default_service(web::to(pass)));
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, to }
    }

    /// Leads to the service at this address.
    pub fn forward_to(&self, base: &str) {
        self.to.lock().unwrap().base = base.to_owned();
    }

    /// Answers this path itself, and no other.
    pub fn override_path(&self, path: &str, status: u16, body: &str) {
        self.to.lock().unwrap().own = HashMap::from([(path.to_owned(), (status, body.to_owned()))]);
    }

    /// Passes requests to this path on, and answers 502 instead of what comes back.
    pub fn drop_responses_of(&self, path: &str) {
        self.to.lock().unwrap().dropped_path = Some(path.to_owned());
    }

    /// Passes no `Authorization` on, as proxies do that have a sign-in of their own.
    pub fn strip_credentials(&self) {
        self.to.lock().unwrap().strips_credentials = true;
    }

    /// Every `Authorization` that came, passed on or not.
    pub fn credentials(&self) -> Vec<String> {
        self.to.lock().unwrap().credentials.clone()
    }
}

async fn pass(request: HttpRequest, body: web::Bytes, to: web::Data<Mutex<State>>) -> HttpResponse {
    let (base, own, strips_credentials, dropped_path) = {
        let mut state = to.lock().unwrap();
        let credentials = request.headers().get_all(header::AUTHORIZATION);
        state.credentials.extend(credentials.map(|sent| sent.to_str().unwrap().to_owned()));
        (
            state.base.clone(),
            state.own.get(request.path()).cloned(),
            state.strips_credentials,
            state.dropped_path.as_deref() == Some(request.path()),
        )
    };
    let dropped = |name: &header::HeaderName| {
        *name == header::HOST || (strips_credentials && *name == header::AUTHORIZATION)
    };
    if let Some((status, body)) = own {
        return HttpResponse::build(StatusCode::from_u16(status).unwrap())
            .content_type("application/json")
            .body(body);
    }
    let http =
        reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let method = reqwest::Method::from_bytes(request.method().as_str().as_bytes()).unwrap();
    let mut asked = http.request(method, format!("{base}{}", request.uri())).body(body.to_vec());
    for (name, value) in request.headers().iter().filter(|(name, _)| !dropped(name)) {
        asked = asked.header(name.as_str(), value.as_bytes());
    }
    let Ok(came) = asked.send().await else { return HttpResponse::BadGateway().finish() };
    if dropped_path {
        return HttpResponse::BadGateway().finish();
    }
    let mut answer = HttpResponse::build(StatusCode::from_u16(came.status().as_u16()).unwrap());
    for (name, value) in came.headers().iter().filter(|(name, _)| *name != reqwest::header::TRANSFER_ENCODING)
    {
        answer.insert_header((name.as_str(), value.as_bytes()));
    }
    answer.body(came.bytes().await.unwrap())
}
