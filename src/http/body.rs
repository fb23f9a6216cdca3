//! Reads a request's body: bounded in size, in time and in memory.
//!
//! A body holds at most 256 KiB of memory while it arrives; what is longer goes to a scratch file. Memory and scratch space
//! are budgets with shares ([`super::budget`]), so stalled senders take nothing from others. A long body that has arrived
//! completely is read into memory once the budget allows it. The values that are parsed from a body live until its request is
//! answered, so its share of the memory is held until then.
//!
//! A body counts by the bytes that have arrived, and only from [`FREE_BYTES`] on; it reserves no more space on the disk than is
//! written next. So senders without an account cannot keep others from signing in or from getting tokens, from any number of
//! addresses. They use up connections, whose number is bounded in `server::wire`.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut, Data, Payload};
use actix_web::{HttpMessage, HttpRequest};
use actors::context::OperationContext;
use disk::{Scratch, ScratchFile};
use errors::{Error, StorageFailure};
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::budget::{Budget, BudgetHold, Sender, Shares};
use super::min_body_rate::MinBodyRate;

/// Memory of one arriving body; a longer one goes to a scratch file.
const MAX_BUFFERED_BYTES: usize = 256 << 10;
/// Memory of an arriving body that does not count: about as much as its connection takes in any case. Forms of sign-in, requests for
/// tokens and registrations of clients are shorter.
const FREE_BYTES: usize = 4 << 10;
/// Memory of all arriving bodies. An account may have a quarter of it, and so may all senders without an account together, of which
/// one network address may have an eighth.
const MEMORY_SHARES: Shares =
    Shares { total: 64 << 20, reserve: 16 << 20, account: 16 << 20, network: 2 << 20, anonymous: 16 << 20 };
/// Scratch space of all arriving bodies; increased if `server.max_body_bytes` is larger than a share. While another account holds
/// the longest body, there is still room for a second one of that length.
const FILE_SHARES: Shares =
    Shares { total: 2 << 30, reserve: 0, account: 256 << 20, network: 64 << 20, anonymous: 256 << 20 };
/// Memory of all complete bodies that are read back from a scratch file; increased if `server.max_body_bytes` is larger
/// than a share. While two accounts hold the longest body each, a third one still has half a share. The longest body that
/// needs no account has 5 MiB (`http::push`).
const COMPLETE_SHARES: Shares =
    Shares { total: 96 << 20, reserve: 0, account: 32 << 20, network: 8 << 20, anonymous: 32 << 20 };
/// Longest wait for that memory. Most operations take milliseconds, so a longer wait means overload.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// A body that arrives more slowly than this uses up its grace time.
const MIN_BYTES_PER_SECOND: u32 = 64 << 10;

/// Why a body was not read.
#[derive(Debug)]
pub enum BodyError {
    /// It is longer than the endpoint accepts.
    TooLarge {
        /// The bytes that are accepted.
        limit: u64,
    },
    /// It arrived more slowly than [`super::min_body_rate`] allows.
    TooSlow,
    /// It ended before all of it had arrived.
    Incomplete,
    /// It has another type or coding than the endpoint reads; what it must be.
    UnsupportedType(&'static str),
    /// The server could not take it: the share of the sender is used up, or there is no scratch space.
    Internal(Error),
}

impl From<Error> for BodyError {
    fn from(error: Error) -> Self {
        Self::Internal(error)
    }
}

impl From<BodyError> for Error {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { limit } => Self::TooLarge { what: "the body", limit },
            BodyError::TooSlow => Self::BodyTimeout,
            BodyError::Incomplete => Self::invalid("body", "ended before all of it had arrived"),
            BodyError::UnsupportedType(why) => Self::UnsupportedType(why),
            BodyError::Internal(error) => error,
        }
    }
}

/// The limits of bodies, for all workers together.
#[derive(Clone, Debug)]
pub struct BodyLimits {
    max_bytes: usize,
    min_rate: MinBodyRate,
    memory: Arc<Budget>,
    files: Arc<Budget>,
    complete: Arc<Budget>,
}

impl BodyLimits {
    /// Limits for JSON bodies of at most `max_bytes` bytes (`server.max_body_bytes`), each of which may take `grace` in addition to
    /// its length at the minimum rate (`server.body_grace_seconds`).
    pub fn new(max_bytes: usize, grace: Duration) -> Self {
        let file_shares = Shares {
            total: FILE_SHARES.total.max(3 * max_bytes),
            account: FILE_SHARES.account.max(max_bytes),
            ..FILE_SHARES
        };
        let complete_shares = Shares {
            total: COMPLETE_SHARES.total.max(3 * max_bytes),
            account: COMPLETE_SHARES.account.max(max_bytes),
            ..COMPLETE_SHARES
        };
        Self {
            max_bytes,
            min_rate: MinBodyRate { grace, min_bytes_per_second: MIN_BYTES_PER_SECOND },
            memory: Budget::new(MEMORY_SHARES),
            files: Budget::new(file_shares),
            complete: Budget::new(complete_shares),
        }
    }
}

/// A complete body and its share of the memory.
#[derive(Debug)]
struct CompleteBody {
    bytes: Bytes,
    memory: BudgetHold,
}

/// Holds the memory share of a body until its request is dropped, which is after its operation has ended.
struct RequestMemory {
    _hold: BudgetHold,
}

/// Reads the whole body of at most `max_bytes` bytes. The request holds its share of the memory from then on.
///
/// # Errors
/// [`BodyError::TooLarge`], before any bytes are read if the request declares a length; [`BodyError::TooSlow`];
/// [`BodyError::Incomplete`]; [`BodyError::Internal`] with [`Error::Busy`] when the sender's share is used up, and with
/// [`Error::StorageFull`] when there is no scratch space.
pub async fn read_body(
    request: &HttpRequest,
    mut payload: Payload,
    sender: Sender,
    max_bytes: usize,
) -> Result<Bytes, BodyError> {
    // Before a byte is read: a client that announces too much must not send it first.
    if declared_length(request).is_some_and(|length| length > max_bytes as u64) {
        return Err(too_large(max_bytes));
    }
    let (Some(limits), Some(ctx)) =
        (request.app_data::<Data<BodyLimits>>(), request.app_data::<Data<OperationContext>>())
    else {
        return Err(Error::internal("the limits of bodies are missing").into());
    };
    let began = Instant::now();
    // The client is not charged for the time of slow writes: it cannot send meanwhile.
    let mut write_time = Duration::ZERO;
    let mut incoming = IncomingBody::new(limits, &ctx.uploads.scratch, sender, declared_length(request));
    loop {
        let deadline = began + limits.min_rate.allowed(incoming.length as u64).saturating_add(write_time);
        let next = timeout_at(deadline, payload.next()).await.map_err(|_| BodyError::TooSlow)?;
        let Some(chunk) = next else { return Ok(incoming.hand_over(request).await?) };
        let chunk = chunk.map_err(|_| BodyError::Incomplete)?;
        // Also without a declared length, which a chunked body does not have.
        if incoming.length + chunk.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        let write_began = Instant::now();
        incoming.push(&chunk).await?;
        write_time = write_time.saturating_add(write_began.elapsed());
    }
}

fn too_large(max_bytes: usize) -> BodyError {
    BodyError::TooLarge { limit: max_bytes as u64 }
}

/// Returns the length that the request declares for its body; `None` if the body is sent in chunks.
pub fn declared_length(request: &HttpRequest) -> Option<u64> {
    request.headers().get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body of which a part has arrived.
struct IncomingBody<'a> {
    limits: &'a BodyLimits,
    scratch: &'a Scratch,
    sender: Sender,
    declared_length: Option<u64>,
    length: usize,
    /// The bytes that are not in the file yet.
    buffered: BytesMut,
    memory: BudgetHold,
    file: Option<SpillFile>,
    space: BudgetHold,
}

/// The file of a long body; removed when this is dropped.
struct SpillFile {
    scratch_file: ScratchFile,
    file: std::fs::File,
    scratch: Scratch,
}

impl<'a> IncomingBody<'a> {
    fn new(
        limits: &'a BodyLimits,
        scratch: &'a Scratch,
        sender: Sender,
        declared_length: Option<u64>,
    ) -> Self {
        Self {
            limits,
            scratch,
            sender,
            declared_length,
            length: 0,
            buffered: BytesMut::new(),
            memory: limits.memory.hold(sender),
            file: None,
            space: limits.files.hold(sender),
        }
    }

    async fn push(&mut self, chunk: &[u8]) -> Result<(), Error> {
        if self.buffered.len() + chunk.len() > MAX_BUFFERED_BYTES {
            self.spill().await?;
        }
        let length = self.buffered.len() + chunk.len();
        if length > FREE_BYTES {
            self.memory.grow_to(length)?;
        }
        self.buffered.extend_from_slice(chunk);
        self.length += chunk.len();
        Ok(())
    }

    /// Moves what is buffered to the scratch file.
    async fn spill(&mut self) -> Result<(), Error> {
        self.space.grow_to(self.length)?;
        let (scratch, file, declared_length) = (self.scratch.clone(), self.file.take(), self.declared_length);
        // The buffer itself is moved: an asynchronous file would copy it into another one of the same size.
        let mut buffered = std::mem::take(&mut self.buffered);
        let written = tokio::task::spawn_blocking(move || {
            let mut spilled = match file {
                Some(spilled) => spilled,
                None => SpillFile::create(&scratch, declared_length)?,
            };
            spilled.write(&buffered)?;
            buffered.clear();
            Ok::<_, io::Error>((spilled, buffered))
        });
        let (spilled, buffered) = written.await.map_err(Error::internal)?.map_err(scratch_error)?;
        (self.file, self.buffered) = (Some(spilled), buffered);
        Ok(())
    }

    /// Returns the bytes; the request holds their memory share from now on.
    async fn hand_over(self, request: &HttpRequest) -> Result<Bytes, Error> {
        let CompleteBody { bytes, memory } = self.finish().await?;
        // The parsed values live until the request is answered, so the share must outlive this function.
        request.extensions_mut().insert(RequestMemory { _hold: memory });
        Ok(bytes)
    }

    async fn finish(mut self) -> Result<CompleteBody, Error> {
        // The rest goes to the file too, so that the bytes are read back in one piece.
        if self.file.is_some() {
            self.spill().await?;
        }
        let Some(spilled) = self.file.take() else {
            return Ok(CompleteBody { bytes: self.buffered.freeze(), memory: self.memory });
        };
        // Given back before the wait: a body that waits for its memory must not hold what arriving bodies need.
        self.buffered = BytesMut::new();
        self.memory.release();
        let mut memory = self.limits.complete.hold(self.sender);
        memory.grow_within(self.length, MAX_WAIT).await?;
        let bytes = tokio::fs::read(spilled.scratch_file.path()).await.map_err(scratch_error)?;
        Ok(CompleteBody { bytes: bytes.into(), memory })
    }
}

impl SpillFile {
    /// Creates the file of a body that declares this length.
    fn create(scratch: &Scratch, declared_length: Option<u64>) -> io::Result<Self> {
        // Refuses a body that does not fit, and keeps no space reserved for it: a few bodies that declare much and stall would keep
        // the space from all others, while the shares of their senders count only what has arrived.
        drop(scratch.reserve(declared_length)?);
        let (scratch_file, file) = scratch.file()?;
        Ok(Self { scratch_file, file, scratch: scratch.clone() })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        let mut reservation = self.scratch.reserve(Some(length))?;
        self.file.write_all(bytes)?;
        reservation.record_written(length);
        Ok(())
    }
}

/// Returns the error of a request whose scratch file failed.
fn scratch_error(error: io::Error) -> Error {
    if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
        Error::StorageFull
    } else {
        tracing::error!(%error, "a scratch file could not be written or read");
        StorageFailure::Transient.into()
    }
}

/// Returns the length of the longest JSON body that this server accepts, in bytes.
pub fn max_json_bytes(request: &HttpRequest) -> usize {
    // Without limits every body is refused.
    request.app_data::<Data<BodyLimits>>().map_or(0, |limits| limits.max_bytes)
}

/// Refuses a body that is not declared as JSON, or that has a content coding. A charset in the type is ignored: JSON is UTF-8.
///
/// # Errors
/// [`BodyError::UnsupportedType`] names what the body must be.
pub fn require_json(request: &HttpRequest) -> Result<(), BodyError> {
    let declared = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = declared.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let coding = request.headers().get(CONTENT_ENCODING);
    if !essence.eq_ignore_ascii_case("application/json") {
        Err(BodyError::UnsupportedType("the body must be JSON, sent as Content-Type: application/json"))
    } else if coding.is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        Err(BodyError::UnsupportedType("the body must be sent without a Content-Encoding"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use actix_web::test::TestRequest;
    use disk::{DiskSpace, available_bytes};
    use values::id::UserId;
    use values::time::Timestamp;

    use super::*;

    fn anonymous() -> Sender {
        Sender::anonymous(Some(IpAddr::from([192, 0, 2, 1])))
    }

    #[actix_web::test]
    async fn short_body_stays_in_memory() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(home.path().join("scratch"), DiskSpace::default()).unwrap();
        let limits = BodyLimits::new(1 << 20, Duration::from_secs(1));
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), None);

        incoming.push(b"a heron").await.unwrap();

        assert!(incoming.file.is_none());
        assert_eq!(incoming.finish().await.unwrap().bytes, "a heron");
    }

    #[actix_web::test]
    async fn short_body_arrives_when_the_memory_is_used_up() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(home.path().join("scratch"), DiskSpace::default()).unwrap();
        let limits = BodyLimits::new(1 << 20, Duration::from_secs(1));
        let _held: Vec<BudgetHold> = (0..=u8::MAX).filter_map(|last| fill(&limits, last)).collect();
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), None);

        incoming.push(&[b'x'; FREE_BYTES]).await.unwrap();

        assert!(matches!(incoming.push(b"y").await, Err(Error::Busy(_))));
        assert_eq!(limits.memory.held(), MEMORY_SHARES.anonymous);
    }

    /// Takes the share of an address in the memory, if anonymous senders have as much left.
    fn fill(limits: &BodyLimits, last: u8) -> Option<BudgetHold> {
        let mut hold = limits.memory.hold(Sender::anonymous(Some(IpAddr::from([198, 51, 100, last]))));
        hold.grow_to(MEMORY_SHARES.network).ok().map(|()| hold)
    }

    #[actix_web::test]
    async fn long_body_goes_through_a_file_that_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("scratch");
        let scratch = Scratch::open(folder.clone(), DiskSpace::default()).unwrap();
        let limits = BodyLimits::new(4 << 20, Duration::from_secs(1));
        let sent: Vec<u8> = (0..3 << 20).map(|n: u32| n.to_le_bytes()[0]).collect();
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), None);

        for chunk in sent.chunks(30_000) {
            incoming.push(chunk).await.unwrap();
            assert!(incoming.buffered.len() <= MAX_BUFFERED_BYTES);
        }

        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        assert!(incoming.finish().await.unwrap().bytes == sent);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[actix_web::test]
    async fn long_body_whose_declared_length_does_not_fit_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let scratch = Scratch::open(home.path().join("scratch"), disk).unwrap();
        let limits = BodyLimits::new(1 << 20, Duration::from_secs(1));
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), Some(u64::MAX));
        incoming.push(&vec![b'x'; MAX_BUFFERED_BYTES]).await.unwrap();

        let refused = incoming.push(b"y").await;

        assert!(matches!(refused, Err(Error::StorageFull)));
    }

    #[actix_web::test]
    async fn stalled_body_reserves_no_disk_space() {
        let home = tempfile::tempdir().unwrap();
        let disk = DiskSpace::new(vec![home.path().to_owned()], 1);
        let scratch = Scratch::open(home.path().join("scratch"), disk).unwrap();
        let limits = BodyLimits::new(1 << 20, Duration::from_secs(1));
        // Each has room alone, and both do not have it together.
        let declared_length = Some(available_bytes(home.path()).unwrap() / 3 * 2);
        let mut stalled = IncomingBody::new(&limits, &scratch, anonymous(), declared_length);
        stalled.push(&vec![b'x'; MAX_BUFFERED_BYTES]).await.unwrap();
        stalled.push(b"y").await.unwrap();
        let mut other = IncomingBody::new(&limits, &scratch, anonymous(), declared_length);
        other.push(&vec![b'x'; MAX_BUFFERED_BYTES]).await.unwrap();

        let pushed = other.push(b"y").await;

        assert!(pushed.is_ok(), "{pushed:?}");
        assert!(stalled.file.is_some() && other.file.is_some());
    }

    #[actix_web::test]
    async fn complete_body_holds_memory_of_its_length() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(home.path().join("scratch"), DiskSpace::default()).unwrap();
        let limits = BodyLimits::new(2 << 20, Duration::from_secs(1));
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), None);
        incoming.push(&vec![b'x'; MAX_BUFFERED_BYTES]).await.unwrap();
        incoming.push(b"y").await.unwrap();

        let body = incoming.finish().await.unwrap();

        assert!(body.memory.bytes() > MAX_BUFFERED_BYTES);
        assert_eq!(limits.complete.held(), body.memory.bytes());
        assert_eq!(limits.memory.held(), 0);
        drop(body);
        assert_eq!(limits.complete.held(), 0);
    }

    #[test]
    fn spooled_body_leaves_room_for_the_longest_body_of_another() {
        const MAX_BYTES: usize = 1 << 30;
        let limits = BodyLimits::new(MAX_BYTES, Duration::from_secs(1));
        let hold = || limits.files.hold(Sender::Account(UserId::new(Timestamp::from_millis(0))));
        let (mut first, mut second) = (hold(), hold());
        first.grow_to(MAX_BYTES).unwrap();

        assert!(second.grow_to(MAX_BYTES).is_ok());
    }

    #[test]
    fn complete_bodies_of_two_accounts_leave_room_for_others() {
        const MAX_BYTES: usize = 32 << 20;
        let limits = BodyLimits::new(MAX_BYTES, Duration::from_secs(1));
        let hold = |bytes| {
            let mut hold = limits.complete.hold(Sender::Account(UserId::new(Timestamp::from_millis(0))));
            hold.grow_to(bytes).map(|()| hold)
        };
        let _largest = [hold(MAX_BYTES).unwrap(), hold(MAX_BYTES).unwrap()];

        let _third = hold(MAX_BYTES / 2).unwrap();

        assert!(hold(MAX_BYTES / 4).is_ok());
        let mut anonymous = limits.complete.hold(anonymous());
        assert!(anonymous.grow_to(5 << 20).is_ok());
    }

    #[actix_web::test]
    async fn request_holds_the_memory_of_its_body() {
        let home = tempfile::tempdir().unwrap();
        let scratch = Scratch::open(home.path().join("scratch"), DiskSpace::default()).unwrap();
        let limits = BodyLimits::new(2 << 20, Duration::from_secs(1));
        let request = TestRequest::default().to_http_request();
        let mut incoming = IncomingBody::new(&limits, &scratch, anonymous(), None);
        incoming.push(&[b'x'; FREE_BYTES + 1]).await.unwrap();

        drop(incoming.hand_over(&request).await.unwrap());

        assert!(limits.memory.held() > 0);
        drop(request);
        assert_eq!(limits.memory.held(), 0);
    }
}
