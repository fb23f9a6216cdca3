//! Bare actix-web handlers that respond with the bytes of a file: the baselines of documents.py, uploads.py and assistants.py.
//!
//! `bare FILE PORT` discards the body of every request and checks nothing.
//! `bare FILE PORT --checked [--text] DATABASE KEY DOCUMENT` does what no server with keys and limits can leave out: it hashes the key
//! of the request, looks it up in a moka cache, takes a call from a governor bucket, and reads the one row of the document with its
//! bookmark, tags, highlights and note. The row is read on the worker's thread, by a prepared statement on a connection that only this
//! worker uses. The connection has the settings of Carrel's direct connections: it only reads, caches 512 KiB of pages, and maps nothing of
//! the file into memory. With `--text` the statement reads the text of the document too.
//! `bare FILE PORT --pool [--text] DATABASE KEY DOCUMENT` does the same, but reads the row through a pool of sqlx.
//!
//! Each listens on 127.0.0.1 with two workers. DATABASE is the SQLite file of a server, which may run meanwhile.

use std::error::Error;
use std::hint::black_box;
use std::iter::Peekable;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_web::http::header::AUTHORIZATION;
use actix_web::web::{self, Bytes, Data, Payload};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use futures_util::StreamExt;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use moka::sync::Cache;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, params};
use sha2::{Digest, Sha256};
use sqlx::Row as _;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use uuid::Uuid;

const WORKERS: usize = 2;
const POOL_CONNECTIONS: u32 = 8;
const USAGE: &str = "usage: bare FILE PORT [(--checked|--pool) [--text] DATABASE KEY DOCUMENT]";

/// The statement, with more columns at its end.
macro_rules! select_document {
    ($more:literal) => {
        concat!(
            "SELECT d.title, d.url, d.author, d.site_name, d.published_at, d.missing_reason, d.language, \
             d.content_type, d.total_chars, d.word_count, d.version, d.created_at, b.saved_at, \
             (SELECT json_group_array(name) FROM bookmark_tag WHERE bookmark_id = b.id AND user_id = ?1), \
             (SELECT json_group_array(json_array(text, note)) FROM highlight \
              WHERE bookmark_id = b.id AND user_id = ?1), \
             (SELECT body FROM note WHERE bookmark_id = b.id AND user_id = ?1)",
            $more,
            " FROM document d LEFT JOIN bookmark b ON b.id = d.bookmark_id AND b.user_id = d.user_id \
             WHERE d.id = ?2 AND d.user_id = ?1 AND d.hidden_at IS NULL"
        )
    };
}

const WITHOUT_TEXT: &str = select_document!("");
const WITH_TEXT: &str = select_document!(
    ", (SELECT group_concat(text, '') FROM (SELECT text FROM chunk \
     WHERE document_id = d.id AND version = d.version ORDER BY start_offset))"
);

/// The owner of a key, and the limit of its calls.
struct Caller {
    user: Vec<u8>,
    bucket: DefaultDirectRateLimiter,
}

/// What the checked handlers share.
struct Checks {
    callers: Cache<[u8; 32], Arc<Caller>>,
    document: Vec<u8>,
    sql: &'static str,
}

impl Checks {
    fn new(connection: &Connection, arguments: &Arguments) -> Result<Self, Box<dyn Error>> {
        let hash = hash(&arguments.key);
        let select = "SELECT user_id FROM api_key WHERE secret_hash = ?1";
        let user = connection.query_row(select, params![hash.as_slice()], |row| row.get(0))?;
        // As many calls an hour as a bucket can have, so that it refuses none.
        let bucket = RateLimiter::direct(Quota::per_hour(NonZeroU32::MAX));
        let callers = Cache::builder().max_capacity(10_000).time_to_idle(Duration::from_secs(600)).build();
        callers.insert(hash, Arc::new(Caller { user, bucket }));
        let sql = if arguments.with_text { WITH_TEXT } else { WITHOUT_TEXT };
        Ok(Self { callers, document: arguments.document.as_bytes().to_vec(), sql })
    }

    /// Returns the caller of a request, from whose limit the call is taken; `None` if the key is unknown or has no calls left.
    fn admit(&self, request: &HttpRequest) -> Option<Arc<Caller>> {
        let header = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
        let caller = self.callers.get(&hash(header.strip_prefix("Bearer ")?))?;
        caller.bucket.check().is_ok().then_some(caller)
    }
}

fn hash(key: &str) -> [u8; 32] {
    Sha256::digest(key.as_bytes()).into()
}

async fn respond(bytes: Data<Bytes>, payload: Payload) -> HttpResponse {
    discard(payload).await;
    success(&bytes)
}

async fn respond_checked(
    request: HttpRequest,
    checks: Data<Checks>,
    connection: Data<Option<Connection>>,
    bytes: Data<Bytes>,
    payload: Payload,
) -> HttpResponse {
    discard(payload).await;
    let Some(caller) = checks.admit(&request) else { return HttpResponse::Unauthorized().finish() };
    let Some(connection) = connection.get_ref() else { return HttpResponse::InternalServerError().finish() };
    match read_row(connection, &checks, &caller) {
        Ok(row) => {
            black_box(row);
            success(&bytes)
        }
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

async fn respond_from_pool(
    request: HttpRequest,
    checks: Data<Checks>,
    pool: Data<SqlitePool>,
    bytes: Data<Bytes>,
    payload: Payload,
) -> HttpResponse {
    discard(payload).await;
    let Some(caller) = checks.admit(&request) else { return HttpResponse::Unauthorized().finish() };
    match read_row_from_pool(&pool, &checks, &caller).await {
        Ok(row) => {
            black_box(row);
            success(&bytes)
        }
        Err(_) => HttpResponse::InternalServerError().finish(),
    }
}

async fn discard(mut payload: Payload) {
    while let Some(Ok(_)) = payload.next().await {}
}

fn success(bytes: &Bytes) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(bytes.clone())
}

/// Reads the row into owned values, as a server does that writes a response from it.
fn read_row(connection: &Connection, checks: &Checks, caller: &Caller) -> rusqlite::Result<Vec<Value>> {
    let mut statement = connection.prepare_cached(checks.sql)?;
    let columns = statement.column_count();
    statement.query_row(params![caller.user, checks.document], |row| {
        (0..columns).map(|column| row.get(column)).collect()
    })
}

async fn read_row_from_pool(
    pool: &SqlitePool,
    checks: &Checks,
    caller: &Caller,
) -> Result<Vec<Option<String>>, sqlx::Error> {
    let query = sqlx::query(checks.sql).bind(caller.user.clone()).bind(checks.document.clone());
    let row = query.fetch_one(pool).await?;
    // SQLite converts numbers to texts.
    (0..row.len()).map(|column| row.try_get_unchecked(column)).collect()
}

fn open(database: &str) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.execute_batch("PRAGMA mmap_size = 0; PRAGMA cache_size = -512")?;
    Ok(connection)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Baseline {
    Plain,
    Checked,
    Pool,
}

struct Arguments {
    file: String,
    port: u16,
    baseline: Baseline,
    with_text: bool,
    database: String,
    key: String,
    document: Uuid,
}

impl Arguments {
    fn parse(mut words: Peekable<impl Iterator<Item = String>>) -> Result<Self, Box<dyn Error>> {
        let (file, port) = (words.next().ok_or(USAGE)?, words.next().ok_or(USAGE)?.parse()?);
        let baseline = match words.next().as_deref() {
            None => Baseline::Plain,
            Some("--checked") => Baseline::Checked,
            Some("--pool") => Baseline::Pool,
            Some(_) => return Err(USAGE.into()),
        };
        let with_text = words.next_if(|word| word == "--text").is_some();
        let (mut database, mut key, mut document) = (String::new(), String::new(), Uuid::nil());
        if baseline != Baseline::Plain {
            database = words.next().ok_or(USAGE)?;
            key = words.next().ok_or(USAGE)?;
            document = words.next().ok_or(USAGE)?.parse()?;
        }
        Ok(Self { file, port, baseline, with_text, database, key, document })
    }
}

async fn serve_plain(bytes: Data<Bytes>, port: u16) -> Result<(), Box<dyn Error>> {
    let app = move || App::new().app_data(bytes.clone()).default_service(web::to(respond));
    Ok(HttpServer::new(app).workers(WORKERS).bind(("127.0.0.1", port))?.run().await?)
}

async fn serve_checked(bytes: Data<Bytes>, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let checks = Data::new(Checks::new(&open(&arguments.database)?, arguments)?);
    let connections: Result<Vec<Connection>, _> = (0..WORKERS).map(|_| open(&arguments.database)).collect();
    let spare = Arc::new(Mutex::new(connections?));
    let app = move || {
        // Called once by each worker.
        let connection = spare.lock().ok().and_then(|mut spare| spare.pop());
        let app = App::new().app_data(bytes.clone()).app_data(checks.clone());
        app.app_data(Data::new(connection)).default_service(web::to(respond_checked))
    };
    Ok(HttpServer::new(app).workers(WORKERS).bind(("127.0.0.1", arguments.port))?.run().await?)
}

async fn serve_from_pool(bytes: Data<Bytes>, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let checks = Data::new(Checks::new(&open(&arguments.database)?, arguments)?);
    let options = SqliteConnectOptions::new().filename(&arguments.database).read_only(true);
    let pool = SqlitePoolOptions::new().max_connections(POOL_CONNECTIONS).test_before_acquire(false);
    let pool = Data::new(pool.connect_with(options).await?);
    let app = move || {
        let app = App::new().app_data(bytes.clone()).app_data(checks.clone());
        app.app_data(pool.clone()).default_service(web::to(respond_from_pool))
    };
    Ok(HttpServer::new(app).workers(WORKERS).bind(("127.0.0.1", arguments.port))?.run().await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse(std::env::args().skip(1).peekable())?;
    let bytes = Data::new(Bytes::from(std::fs::read(&arguments.file)?));
    actix_web::rt::System::new().block_on(async {
        match arguments.baseline {
            Baseline::Plain => serve_plain(bytes, arguments.port).await,
            Baseline::Checked => serve_checked(bytes, &arguments).await,
            Baseline::Pool => serve_from_pool(bytes, &arguments).await,
        }
    })
}
