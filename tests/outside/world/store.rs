//! A store of objects that speaks as much of S3 as the service needs, on the loopback. It believes every signature.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use actix_web::http::Method;
use actix_web::web::{self, Bytes};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};

/// Type and bytes.
type Object = (String, Bytes);
type Objects = Mutex<HashMap<String, Object>>;

/// See the file's head.
pub struct Store {
    pub endpoint: String,
    objects: Arc<Objects>,
}

impl Store {
    /// An empty one.
    pub async fn start() -> Self {
        let objects: Arc<Objects> = Arc::default();
        let served = web::Data::from(objects.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(served.clone())
                .app_data(web::PayloadConfig::new(1 << 20))
                .default_service(web::to(answer))
        });
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { endpoint, objects }
    }

    /// Paths of what is there, in their order.
    pub fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = locked(&self.objects).keys().cloned().collect();
        paths.sort();
        paths
    }
}

fn locked(objects: &Objects) -> MutexGuard<'_, HashMap<String, Object>> {
    objects.lock().unwrap()
}

async fn answer(request: HttpRequest, body: Bytes, objects: web::Data<Objects>) -> HttpResponse {
    let mut objects = locked(&objects);
    let path = request.path().to_owned();
    let header = |name: &str| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    match (request.method(), header("x-amz-copy-source")) {
        (&Method::PUT, Some(from)) => {
            let copied = objects[&format!("/{}", from.trim_start_matches('/'))].clone();
            objects.insert(path, copied);
            HttpResponse::Ok().body("<CopyObjectResult><ETag>\"e\"</ETag></CopyObjectResult>")
        }
        (&Method::PUT, None) => {
            objects.insert(path, (header("content-type").unwrap_or_default(), body));
            HttpResponse::Ok().insert_header(("ETag", "\"e\"")).finish()
        }
        (&Method::DELETE, _) => {
            objects.remove(&path);
            HttpResponse::NoContent().finish()
        }
        (&Method::GET | &Method::HEAD, _) => match objects.get(&path) {
            Some((kind, bytes)) => HttpResponse::Ok()
                .content_type(kind.as_str())
                .insert_header(("ETag", "\"e\""))
                .insert_header(("Last-Modified", "Mon, 06 May 2024 12:00:00 GMT"))
                .body(bytes.clone()),
            None => HttpResponse::NotFound().finish(),
        },
        _ => HttpResponse::MethodNotAllowed().finish(),
    }
}
