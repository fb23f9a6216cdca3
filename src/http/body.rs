//! Reads a request's body: never more than may be, never for longer than it should take.

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut, Data, Payload};
use actors::error::Error;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A body that takes longer is given up: a slow sender holds no place for ever.
const DEADLINE: Duration = Duration::from_secs(60);

/// Bodies that are arriving hold no more than this together, and room for one of the longest at least.
const ARRIVING: usize = 256 << 20;
/// Room is taken in pieces of so many bytes.
const PIECE: usize = 64 << 10;

/// How much body may come: the longest one (`server.max_body_bytes`), and the room for all that arrive at the same time.
#[derive(Clone, Debug)]
pub struct MaxBody {
    most: usize,
    room: Arc<Semaphore>,
}

impl MaxBody {
    /// With this many bytes at most in one body.
    pub fn of(most: usize) -> Self {
        Self { most, room: Arc::new(Semaphore::new(ARRIVING.max(most).div_ceil(PIECE) + 1)) }
    }
}

/// Room for the pieces of one body; it is free again when this is dropped.
struct Room<'a> {
    all: Option<&'a Semaphore>,
    taken: Vec<SemaphorePermit<'a>>,
}

impl Room<'_> {
    /// Takes what a body of this length needs more.
    fn grow(&mut self, length: usize) -> Result<(), Error> {
        let Some(all) = self.all else { return Ok(()) };
        while self.taken.len() * PIECE < length {
            self.taken.push(all.try_acquire().map_err(|_| Error::Busy(Duration::from_secs(1)))?);
        }
        Ok(())
    }
}

/// The whole body of at most `most` bytes.
///
/// # Errors
/// [`Error::TooLarge`], from the declared length already where there is one; [`Error::Busy`] where too much arrives at once.
pub async fn read(request: &HttpRequest, mut payload: Payload, most: usize) -> Result<Bytes, Error> {
    let declared =
        request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > most as u64) {
        return Err(Error::TooLarge);
    }
    let all = request.app_data::<Data<MaxBody>>();
    let mut room = Room { all: all.map(|all| &*all.room), taken: Vec::new() };
    let gather = async {
        let mut body = BytesMut::new();
        while let Some(some) = payload.next().await {
            let some = some.map_err(|_| Error::invalid("body", "did not arrive whole"))?;
            if body.len() + some.len() > most {
                return Err(Error::TooLarge);
            }
            room.grow(body.len() + some.len())?;
            body.extend_from_slice(&some);
        }
        Ok(body.freeze())
    };
    let read = tokio::time::timeout(DEADLINE, gather).await;
    read.unwrap_or_else(|_| Err(Error::invalid("body", "did not arrive in time")))
}

/// The longest JSON body that this server takes.
pub fn most(request: &HttpRequest) -> usize {
    request.app_data::<Data<MaxBody>>().map_or(0, |bodies| bodies.most)
}

/// Whether the body is said to be JSON, and nothing else around it; a charset beside it does not matter, JSON is UTF-8.
///
/// # Errors
/// [`Error::UnsupportedType`] where it is not.
pub fn must_be_json(request: &HttpRequest) -> Result<(), Error> {
    let said = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = said.split(';').next().unwrap_or_default().trim();
    let coding = request.headers().get(CONTENT_ENCODING);
    if !essence.eq_ignore_ascii_case("application/json") {
        Err(Error::UnsupportedType("the body must be JSON"))
    } else if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Err(Error::UnsupportedType("the body must come without a Content-Encoding"))
    } else {
        Ok(())
    }
}
