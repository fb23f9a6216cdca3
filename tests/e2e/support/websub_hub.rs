//! A WebSub hub on the loopback interface that records the requests that it receives.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpResponse, HttpServer, web};

/// The form fields of a request to the hub.
pub type HubRequest = HashMap<String, String>;

pub struct Hub {
    /// The URL of the server.
    pub base: String,
    state: Arc<Mutex<HubState>>,
}

struct HubState {
    status: u16,
    requests: Vec<HubRequest>,
}

impl Hub {
    /// Starts a hub that accepts every subscription.
    pub async fn start() -> Self {
        let state = Arc::new(Mutex::new(HubState { status: 202, requests: Vec::new() }));
        let served = web::Data::from(state.clone());
        let server = HttpServer::new(move || {
            App::new().app_data(served.clone()).default_service(web::post().to(record))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, state }
    }

    /// Sets the status of the following responses.
    pub fn set_status(&self, status: u16) {
        self.state.lock().unwrap().status = status;
    }

    pub fn requests(&self) -> Vec<HubRequest> {
        self.state.lock().unwrap().requests.clone()
    }
}

async fn record(form: web::Form<HubRequest>, state: web::Data<Mutex<HubState>>) -> HttpResponse {
    let mut state = state.lock().unwrap();
    state.requests.push(form.into_inner());
    HttpResponse::new(StatusCode::from_u16(state.status).unwrap())
}
