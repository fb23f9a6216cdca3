//! A hub of feeds (WebSub), on the loopback: it remembers what it is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};

/// What came in one form.
pub type HubRequest = HashMap<String, String>;

/// See the file's head.
pub struct Hub {
    /// Its address.
    pub base: String,
    state: Arc<Mutex<State>>,
}

struct State {
    status: u16,
    requests: Vec<HubRequest>,
}

impl Hub {
    /// One that takes everybody.
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(State { status: 202, requests: Vec::new() }));
        let served = web::Data::from(state.clone());
        let server = HttpServer::new(move || {
            App::new().app_data(served.clone()).default_service(web::post().to(take))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, state }
    }

    /// From now on it answers so.
    pub fn set_status(&self, status: u16) {
        self.state.lock().unwrap().status = status;
    }

    /// What it was asked so far.
    pub fn requests(&self) -> Vec<HubRequest> {
        self.state.lock().unwrap().requests.clone()
    }
}

async fn take(form: web::Form<HubRequest>, state: web::Data<Mutex<State>>) -> HttpResponse {
    let mut state = state.lock().unwrap();
    state.requests.push(form.into_inner());
    HttpResponse::new(StatusCode::from_u16(state.status).unwrap())
}
