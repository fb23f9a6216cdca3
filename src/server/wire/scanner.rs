//! Follows the framing of HTTP/1 requests in the bytes of a connection: where each head and each body ends.
//!
//! It decides nothing about a request; actix-http parses it, and refuses what is malformed. Where actix-http accepts a
//! request, both agree on its length, because the rules here are those of its decoder (RFC 9112, sections 2.2, 6 and 7.1).
//! Its parser takes a bare LF for the end of a line. Proxies differ in that, so a head could be read as two requests; here
//! each bare LF of a head is overwritten with NUL, which no head may contain, and the parser responds with 400. So is the first byte
//! over [`MAX_HEAD_BYTES`]: the parser keeps its buffer until the next request.

/// The longest head. The longest query that a route accepts has 72 KiB: a URL of 8,192 characters of three bytes, percent-encoded.
pub const MAX_HEAD_BYTES: usize = 96 << 10;
/// The names of the headers that determine the framing.
const TRANSFER_ENCODING: &[u8] = b"transfer-encoding";
const CONTENT_LENGTH: &[u8] = b"content-length";
const UPGRADE: &[u8] = b"upgrade";
/// Length of the longest header name that is compared.
const MAX_NAME_BYTES: usize = TRANSFER_ENCODING.len();
/// The value of `Upgrade` for which the connection stops being HTTP.
const WEBSOCKET: &[u8] = b"websocket";
/// A request line that begins with this has no body either: a tunnel follows.
const CONNECT: &[u8] = b"CONNECT ";

/// Where the next byte of the connection belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Between two requests: the next byte begins a head.
    Boundary,
    /// Within a head that has not ended yet.
    Head,
    /// Within a body, or between its chunks.
    Body,
    /// Behind a head after which the connection is no longer followed.
    Opaque,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanResult {
    /// Bytes of the request at hand; the rest belongs to the next one.
    pub consumed: usize,
    /// The length of the head that ended within them, if one did.
    pub head_bytes: Option<usize>,
}

/// The scanner of one connection.
#[derive(Debug, Default)]
pub struct RequestScanner {
    framing: Framing,
}

impl RequestScanner {
    /// Follows these bytes up to the end of the request at hand, and overwrites the byte that makes its head invalid.
    pub fn scan(&mut self, bytes: &mut [u8]) -> ScanResult {
        let mut scanned = ScanResult::default();
        while let Some(rest) = bytes.get_mut(scanned.consumed..) {
            if rest.is_empty() {
                break;
            }
            let (length, step) = self.framing.step(rest);
            scanned.consumed += length;
            match step {
                ScanStep::Incomplete => {}
                ScanStep::HeadComplete { head_bytes, framing: Framing::Length(0) } => {
                    scanned.head_bytes = Some(head_bytes);
                    self.framing = Framing::default();
                    break;
                }
                ScanStep::HeadComplete { head_bytes, framing } => {
                    scanned.head_bytes = Some(head_bytes);
                    self.framing = framing;
                }
                ScanStep::RequestComplete => {
                    self.framing = Framing::default();
                    break;
                }
                ScanStep::NotHttp => self.framing = Framing::Opaque,
            }
        }
        scanned
    }

    /// Where the next byte belongs.
    pub fn position(&self) -> Position {
        match &self.framing {
            Framing::Head(head) if head.bytes == 0 => Position::Boundary,
            Framing::Head(_) => Position::Head,
            Framing::Length(_) | Framing::Chunked(..) => Position::Body,
            Framing::Opaque => Position::Opaque,
        }
    }
}

/// The result of one step of the scan.
enum ScanStep {
    /// Neither the head nor the request ends here.
    Incomplete,
    /// The head ends here: its length, and how its body is framed.
    HeadComplete { head_bytes: usize, framing: Framing },
    /// The body, and with it the request, ends here.
    RequestComplete,
    /// This is not a request, or no longer HTTP.
    NotHttp,
}

#[derive(Debug)]
enum Framing {
    Head(Head),
    /// A body of which this many bytes are left.
    Length(u64),
    Chunked(Chunk, u64),
    Opaque,
}

impl Default for Framing {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

impl Framing {
    /// Scans at least one of these bytes, which are not empty, and returns how many.
    fn step(&mut self, bytes: &mut [u8]) -> (usize, ScanStep) {
        match self {
            Self::Head(head) => head.step(bytes),
            Self::Length(left) => {
                let consumed = consume(left, bytes.len());
                (consumed, if *left == 0 { ScanStep::RequestComplete } else { ScanStep::Incomplete })
            }
            Self::Chunked(chunk @ Chunk::Data, left) => {
                let consumed = consume(left, bytes.len());
                if *left == 0 {
                    *chunk = Chunk::DataCr;
                }
                (consumed, ScanStep::Incomplete)
            }
            Self::Chunked(chunk, size) => {
                (1, bytes.first().map_or(ScanStep::Incomplete, |byte| chunk.step(*byte, size)))
            }
            Self::Opaque => (bytes.len(), ScanStep::Incomplete),
        }
    }
}

/// Lowers `left` by the available bytes, at most to zero, and returns by how much.
fn consume(left: &mut u64, available: usize) -> usize {
    let consumed = usize::try_from(*left).unwrap_or(usize::MAX).min(available);
    *left = left.saturating_sub(u64::try_from(consumed).unwrap_or(u64::MAX));
    consumed
}

/// A head of which a part has been seen.
#[derive(Debug, Default)]
struct Head {
    /// How much of it has been seen.
    bytes: usize,
    /// Its request line has been seen.
    in_headers: bool,
    after_cr: bool,
    line: HeaderLine,
    length: u64,
    chunked: bool,
    connects: bool,
    upgrades: bool,
}

impl Head {
    /// Scans the text at the beginning of these bytes, or else the byte of a line break there.
    fn step(&mut self, bytes: &mut [u8]) -> (usize, ScanStep) {
        let room = MAX_HEAD_BYTES.saturating_sub(self.bytes);
        let text = bytes.iter().take(room).take_while(|byte| !matches!(byte, b'\r' | b'\n')).count();
        match bytes.split_at_mut(text) {
            ([], rest) => (1, rest.first_mut().map_or(ScanStep::Incomplete, |byte| self.step_byte(byte))),
            (text, _) => {
                self.bytes += text.len();
                self.after_cr = false;
                self.line.push(text);
                (text.len(), ScanStep::Incomplete)
            }
        }
    }

    /// Scans the byte of a line break, or the first one over the longest head.
    fn step_byte(&mut self, byte: &mut u8) -> ScanStep {
        self.bytes += 1;
        let after_cr = std::mem::replace(&mut self.after_cr, *byte == b'\r');
        if self.bytes > MAX_HEAD_BYTES || (*byte == b'\n' && !after_cr) {
            *byte = b'\0';
            return ScanStep::NotHttp;
        }
        if *byte == b'\n' { self.end_line() } else { ScanStep::Incomplete }
    }

    fn end_line(&mut self) -> ScanStep {
        let line = std::mem::take(&mut self.line);
        if !self.in_headers {
            // Empty lines before a request are passed over (RFC 9112, section 2.2).
            self.in_headers = !line.is_empty;
            self.connects = line.name.starts_with(CONNECT);
        } else if line.is_empty {
            return ScanStep::HeadComplete { head_bytes: self.bytes, framing: self.framing() };
        } else if line.name().eq_ignore_ascii_case(TRANSFER_ENCODING) {
            self.chunked = true;
        } else if line.name().eq_ignore_ascii_case(CONTENT_LENGTH) {
            // The parser refuses a second length that differs, so the last one is as good as the first.
            self.length = line.number;
        } else if line.name().eq_ignore_ascii_case(UPGRADE) {
            self.upgrades |= line.is_websocket();
        }
        ScanStep::Incomplete
    }

    /// Returns the framing of the body, decided in the order in which actix-http looks at it.
    fn framing(&self) -> Framing {
        if self.chunked {
            // The parser refuses any other coding, and a length in addition to it.
            Framing::Chunked(Chunk::Size, 0)
        } else if self.upgrades || (self.connects && self.length == 0) {
            Framing::Opaque
        } else {
            Framing::Length(self.length)
        }
    }
}

/// The parts of one line of a head that determine its framing.
#[derive(Debug)]
struct HeaderLine {
    is_empty: bool,
    in_value: bool,
    /// The bytes before the colon, up to the longest name that is compared.
    name: [u8; MAX_NAME_BYTES],
    name_length: usize,
    /// The digits of the value, as a number.
    number: u64,
    /// How much of [`WEBSOCKET`] the value has matched; `None` if it differs.
    matched: Option<usize>,
}

impl Default for HeaderLine {
    fn default() -> Self {
        Self {
            is_empty: true,
            in_value: false,
            name: [0; MAX_NAME_BYTES],
            name_length: 0,
            number: 0,
            matched: Some(0),
        }
    }
}

impl HeaderLine {
    fn push(&mut self, text: &[u8]) {
        self.is_empty = false;
        let mut value = Some(text);
        if !self.in_value {
            let mut parts = text.splitn(2, |byte| *byte == b':');
            self.push_name(parts.next().unwrap_or_default());
            value = parts.next();
            self.in_value = value.is_some();
        }
        // Only the values of `content-length` and `upgrade` are needed. That of another name of the same length changes nothing.
        if [CONTENT_LENGTH.len(), UPGRADE.len()].contains(&self.name_length) {
            for byte in value.unwrap_or_default() {
                self.push_value(*byte);
            }
        }
    }

    fn push_name(&mut self, name: &[u8]) {
        for (slot, byte) in self.name.iter_mut().skip(self.name_length).zip(name) {
            *slot = *byte;
        }
        self.name_length += name.len();
    }

    fn push_value(&mut self, byte: u8) {
        // The parser refuses a length with other characters, so they need no attention here.
        if byte.is_ascii_digit() {
            self.number = self.number.saturating_mul(10).saturating_add(u64::from(byte - b'0'));
        }
        let is_space = matches!(byte, b' ' | b'\t');
        self.matched = match self.matched {
            Some(0) if is_space => Some(0),
            Some(all) if is_space && all == WEBSOCKET.len() => Some(all),
            Some(some) if WEBSOCKET.get(some).is_some_and(|next| next.eq_ignore_ascii_case(&byte)) => {
                Some(some + 1)
            }
            Some(_) | None => None,
        };
    }

    /// Returns the name; an empty one if it is longer than any that is compared.
    fn name(&self) -> &[u8] {
        self.name.get(..self.name_length).unwrap_or_default()
    }

    fn is_websocket(&self) -> bool {
        self.matched == Some(WEBSOCKET.len())
    }
}

/// The position within a chunked body, by the states of actix-http's decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Size,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    EndCr,
    EndLf,
    Trailer,
    TrailerLf,
}

impl Chunk {
    /// Follows one byte that is not data.
    fn step(&mut self, byte: u8, size: &mut u64) -> ScanStep {
        let next = match (*self, byte) {
            (Self::Size, b'\r') | (Self::Extension, b'\r') => Self::SizeLf,
            (Self::Size, b';' | b' ' | b'\t') => Self::Extension,
            (Self::Size, digit) => match char::from(digit).to_digit(16) {
                Some(digit) => {
                    *size = size.saturating_mul(16).saturating_add(u64::from(digit));
                    Self::Size
                }
                None => return ScanStep::NotHttp,
            },
            (Self::Extension, _) => Self::Extension,
            (Self::SizeLf, b'\n') if *size == 0 => Self::EndCr,
            (Self::SizeLf, b'\n') => Self::Data,
            (Self::DataCr, b'\r') => Self::DataLf,
            (Self::DataLf, b'\n') => Self::Size,
            (Self::EndCr, b'\r') => Self::EndLf,
            (Self::EndCr, _) => Self::Trailer,
            (Self::Trailer, b'\r') => Self::TrailerLf,
            (Self::Trailer, _) => Self::Trailer,
            (Self::TrailerLf, b'\n') => Self::EndCr,
            (Self::EndLf, b'\n') => return ScanStep::RequestComplete,
            (Self::SizeLf | Self::DataCr | Self::DataLf | Self::TrailerLf | Self::EndLf | Self::Data, _) => {
                return ScanStep::NotHttp;
            }
        };
        *self = next;
        ScanStep::Incomplete
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

    /// The lengths of the requests in these bytes, and the bytes as the parser sees them.
    fn follow(bytes: &[u8], piece: usize) -> (Vec<usize>, Vec<u8>) {
        let mut scanner = RequestScanner::default();
        let mut seen = bytes.to_vec();
        let (mut lengths, mut began, mut at) = (Vec::new(), 0, 0);
        while at < seen.len() {
            let end = (at + piece).min(seen.len());
            at += scanner.scan(&mut seen[at..end]).consumed;
            if scanner.position() == Position::Boundary {
                lengths.push(at - began);
                began = at;
            }
        }
        (lengths, seen)
    }

    #[test]
    fn pipelined_requests_are_separated() {
        let chunked = "POST /a HTTP/1.1\r\nHost: x\r\ntransfer-ENCODING:chunked\r\n\r\n5;x=1\r\na\nb\n\n\r\n0\r\nT: 1\r\n\r\n";
        let sized = "\r\nPOST /a HTTP/1.1\r\nContent-Length: \t 04 \r\nHost: x\r\n\r\n\n\r\n\n";
        let all = [GET, sized, GET, chunked, GET].concat();

        for piece in [1, 7, all.len()] {
            let (lengths, seen) = follow(all.as_bytes(), piece);

            assert_eq!(lengths, [GET, sized, GET, chunked, GET].map(str::len));
            assert_eq!(seen, all.as_bytes());
        }
    }

    #[test]
    fn bare_lf_of_a_head_becomes_nul() {
        for (head, seen) in [
            ("GET / HTTP/1.1\nHost: x\n\n", "GET / HTTP/1.1\0"),
            ("GET / HTTP/1.1\r\nHost: x\r\n\n", "GET / HTTP/1.1\r\nHost: x\r\n\0"),
            ("\nGET / HTTP/1.1\r\n\r\n", "\0"),
            ("GET / HTTP/1.1\r\nHost: x\nY: z\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\0"),
        ] {
            let (_, bytes) = follow([GET, head].concat().as_bytes(), 5);

            assert!(bytes.starts_with([GET, seen].concat().as_bytes()), "{head:?}");
        }
    }

    #[test]
    fn byte_over_the_longest_head_becomes_nul() {
        let head = |bytes: usize| {
            let start = "GET / HTTP/1.1\r\nHost: x\r\nX: ";
            format!("{start}{}\r\n\r\n", "y".repeat(bytes - start.len() - 4)).into_bytes()
        };

        let (longest, longer) = (head(MAX_HEAD_BYTES), head(MAX_HEAD_BYTES + 1));

        assert_eq!(follow(&longest, 4096), (vec![MAX_HEAD_BYTES], longest));
        let (lengths, seen) = follow(&longer, 4096);
        assert_eq!((lengths.len(), seen[MAX_HEAD_BYTES]), (0, b'\0'));
    }

    #[test]
    fn connection_that_stops_being_http_is_not_followed() {
        for head in [
            "GET / HTTP/1.1\r\nHost: x\r\nUpgrade:  WebSocket \r\n\r\n",
            "CONNECT a.long.name.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
        ] {
            let (lengths, seen) = follow([head, "\n\n"].concat().as_bytes(), 3);

            assert_eq!((lengths, &*seen), (vec![], [head, "\n\n"].concat().as_bytes()));
        }
        for head in [
            "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: web socket\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket x\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nUpgradewebsocketwebsocket: websocket\r\n\r\n",
        ] {
            assert_eq!(follow(head.as_bytes(), 3).0, [head.len()], "{head}");
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_change_what_is_seen(
            bytes in "(GET|POST) /[\r\n]{0,2}( HTTP/1.1\r\n|\n)(Content-Length: [0-9]{1,2}\r\n)?(\r\n|\n)[\r\na-z:0-9]{0,40}",
            piece in 1_usize..50,
        ) {
            prop_assert_eq!(follow(bytes.as_bytes(), piece), follow(bytes.as_bytes(), 1));
        }
    }
}
