//! A web site on the loopback interface.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

/// A response of the site.
#[derive(Clone)]
pub enum Reply {
    /// An HTML page with status 200.
    Html(String),
    /// A file of this media type.
    File(&'static str, Vec<u8>),
    /// A status without a page.
    Status(u16),
    /// Any response; a request with its `ETag` in `If-None-Match` gets 304.
    Plain { status: u16, headers: Vec<(&'static str, String)>, body: String },
    /// A page after a delay.
    Slow(std::time::Duration, String),
    /// No response; the connection stays open until the client closes it.
    Never,
}

/// A running web site that counts the requests for each path.
pub struct Site {
    base: String,
    pages: Arc<Mutex<HashMap<String, Page>>>,
}

#[derive(Default)]
struct Page {
    /// The number of requests before these replies were set.
    from: usize,
    replies: Vec<Reply>,
    hits: usize,
    /// The number of requests that were answered with 304.
    unchanged: usize,
}

impl Page {
    fn serve(&mut self, replies: Vec<Reply>) {
        (self.from, self.replies) = (self.hits, replies);
    }
}

impl Site {
    /// Starts a site without pages.
    pub async fn start() -> Self {
        let pages: Arc<Mutex<HashMap<String, Page>>> = Arc::default();
        let served = web::Data::from(pages.clone());
        let server =
            HttpServer::new(move || App::new().app_data(served.clone()).default_service(web::to(respond)));
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, pages }
    }

    /// Serves these replies at a path in order, and then repeats the last one. Returns the URL.
    pub fn page<const N: usize>(&self, path: &str, replies: [Reply; N]) -> String {
        self.pages.lock().unwrap().entry(path.to_owned()).or_default().serve(replies.into());
        format!("{}{path}", self.base)
    }

    /// The number of requests that were answered with 304.
    pub fn not_modified_count(&self, path: &str) -> usize {
        self.pages.lock().unwrap()[path].unchanged
    }

    /// Returns whether the path was requested.
    pub fn was_requested(&self, path: &str) -> bool {
        self.pages.lock().unwrap().get(path).is_some_and(|page| page.hits > 0)
    }

    /// The number of requests for the path.
    pub fn request_count(&self, path: &str) -> usize {
        self.pages.lock().unwrap()[path].hits
    }
}

async fn respond(request: HttpRequest, pages: web::Data<Mutex<HashMap<String, Page>>>) -> HttpResponse {
    let reply = {
        let mut pages = pages.lock().unwrap();
        let page = pages.entry(request.path().to_owned()).or_default();
        let reply = page.replies.get(page.hits - page.from).or(page.replies.last()).cloned();
        page.hits += 1;
        if let Some(Reply::Plain { headers, .. }) = &reply {
            let named = request.headers().get("if-none-match").and_then(|value| value.to_str().ok());
            if named.is_some()
                && headers.iter().any(|(name, value)| *name == "etag" && Some(&**value) == named)
            {
                page.unchanged += 1;
                return HttpResponse::NotModified().finish();
            }
        }
        reply
    };
    match reply.unwrap_or(Reply::Status(404)) {
        Reply::Html(html) => HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html),
        Reply::File(kind, bytes) => HttpResponse::Ok().content_type(kind).body(bytes),
        Reply::Status(status) => HttpResponse::new(StatusCode::from_u16(status).unwrap()),
        Reply::Plain { status, headers, body } => {
            let mut response = HttpResponse::build(StatusCode::from_u16(status).unwrap());
            for header in headers {
                response.insert_header(header);
            }
            response.body(body)
        }
        Reply::Slow(after, html) => {
            actix_web::rt::time::sleep(after).await;
            HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html)
        }
        Reply::Never => std::future::pending().await,
    }
}

/// A page with this title and subject that is long enough to be extracted as an article.
pub fn article(title: &str, subject: &str) -> Reply {
    let sentence =
        format!("<p>Whoever has seen {subject} in the morning remembers it for a long time after.</p>");
    let prose = sentence.repeat(8);
    Reply::Html(format!(
        "<html><head><title>{title}</title></head><body><article><h1>{title}</h1>{prose}</article></body></html>"
    ))
}
