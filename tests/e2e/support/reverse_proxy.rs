//! A reverse proxy in front of a server that can answer some paths itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::{StatusCode, header};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

pub struct ReverseProxy {
    /// The URL of the proxy.
    pub base: String,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Default)]
struct ProxyState {
    base: String,
    own: HashMap<String, (u16, String)>,
    strips_credentials: bool,
    /// The path whose responses are dropped.
    dropped_path: Option<String>,
    /// Every received `Authorization` header, also those that are not forwarded.
    credentials: Vec<String>,
}

impl ReverseProxy {
    /// Starts a proxy without an upstream.
    pub async fn start() -> Self {
        let state: Arc<Mutex<ProxyState>> = Arc::default();
        let served = web::Data::from(state.clone());
        let server =
            HttpServer::new(move || App::new().app_data(served.clone()).default_service(web::to(forward)));
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, state }
    }

    /// Forwards further requests to the server at this base URL.
    pub fn forward_to(&self, base: &str) {
        self.state.lock().unwrap().base = base.to_owned();
    }

    /// Answers this path itself, and only this one.
    pub fn override_path(&self, path: &str, status: u16, body: &str) {
        self.state.lock().unwrap().own = HashMap::from([(path.to_owned(), (status, body.to_owned()))]);
    }

    /// Forwards requests to this path and answers 502 in place of the response.
    pub fn drop_responses_of(&self, path: &str) {
        self.state.lock().unwrap().dropped_path = Some(path.to_owned());
    }

    /// Forwards no `Authorization` header, as proxies with their own authentication do.
    pub fn strip_credentials(&self) {
        self.state.lock().unwrap().strips_credentials = true;
    }

    /// Every received `Authorization` header, forwarded or not.
    pub fn credentials(&self) -> Vec<String> {
        self.state.lock().unwrap().credentials.clone()
    }
}

async fn forward(
    request: HttpRequest,
    body: web::Bytes,
    proxy: web::Data<Mutex<ProxyState>>,
) -> HttpResponse {
    let (base, own, strips_credentials, is_dropped) = {
        let mut state = proxy.lock().unwrap();
        let credentials = request.headers().get_all(header::AUTHORIZATION);
        state.credentials.extend(credentials.map(|sent| sent.to_str().unwrap().to_owned()));
        (
            state.base.clone(),
            state.own.get(request.path()).cloned(),
            state.strips_credentials,
            state.dropped_path.as_deref() == Some(request.path()),
        )
    };
    // The client sets the `Host` header of the upstream itself.
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
    let mut forwarded = http.request(method, format!("{base}{}", request.uri())).body(body.to_vec());
    for (name, value) in request.headers().iter().filter(|(name, _)| !dropped(name)) {
        forwarded = forwarded.header(name.as_str(), value.as_bytes());
    }
    let Ok(response) = forwarded.send().await else { return HttpResponse::BadGateway().finish() };
    if is_dropped {
        return HttpResponse::BadGateway().finish();
    }
    let mut answer = HttpResponse::build(StatusCode::from_u16(response.status().as_u16()).unwrap());
    for (name, value) in
        response.headers().iter().filter(|(name, _)| *name != reqwest::header::TRANSFER_ENCODING)
    {
        answer.insert_header((name.as_str(), value.as_bytes()));
    }
    answer.body(response.bytes().await.unwrap())
}
