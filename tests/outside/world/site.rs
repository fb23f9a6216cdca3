//! A site of the web, on the loopback, whose pages are saved.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use actix_web::http::StatusCode;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};

/// What an address answers.
#[derive(Clone)]
pub enum Reply {
    /// A page.
    Html(String),
    /// A status without a page.
    Status(u16),
    /// Nothing, for ever.
    Never,
}

/// See the file's head.
pub struct Site {
    base: String,
    pages: Arc<Mutex<HashMap<String, Page>>>,
}

#[derive(Default)]
struct Page {
    replies: Vec<Reply>,
    hits: usize,
}

impl Site {
    /// One without pages.
    pub async fn start() -> Self {
        let pages: Arc<Mutex<HashMap<String, Page>>> = Arc::default();
        let served = web::Data::from(pages.clone());
        let server =
            HttpServer::new(move || App::new().app_data(served.clone()).default_service(web::to(answer)));
        let server = server.workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", server.addrs()[0]);
        actix_web::rt::spawn(server.run());
        Self { base, pages }
    }

    /// The address of a page that answers so, one reply after the other; the last one stays.
    pub fn page<const N: usize>(&self, path: &str, replies: [Reply; N]) -> String {
        let page = Page { replies: replies.into(), hits: 0 };
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        format!("{}{path}", self.base)
    }

    /// How often the page was asked for.
    pub fn hits(&self, path: &str) -> usize {
        self.pages.lock().unwrap()[path].hits
    }
}

async fn answer(request: HttpRequest, pages: web::Data<Mutex<HashMap<String, Page>>>) -> HttpResponse {
    let reply = {
        let mut pages = pages.lock().unwrap();
        let page = pages.entry(request.path().to_owned()).or_default();
        page.hits += 1;
        page.replies.get(page.hits - 1).or(page.replies.last()).cloned()
    };
    match reply.unwrap_or(Reply::Status(404)) {
        Reply::Html(html) => HttpResponse::Ok().content_type("text/html; charset=utf-8").body(html),
        Reply::Status(status) => HttpResponse::new(StatusCode::from_u16(status).unwrap()),
        Reply::Never => std::future::pending().await,
    }
}

/// A page with this title about this subject, long enough to be an article.
pub fn article(title: &str, subject: &str) -> Reply {
    let sentence =
        format!("<p>Whoever has seen {subject} in the morning remembers it for a long time after.</p>");
    let prose = sentence.repeat(8);
    Reply::Html(format!(
        "<html><head><title>{title}</title></head><body><article><h1>{title}</h1>{prose}</article></body></html>"
    ))
}
