//! Compression of responses by gzip or Brotli, as the client accepts it (RFC 9110, section 12.5.3).
//!
//! A body is compressed as a whole before it is handed to the connection. So the bytes that the connection counts as unsent
//! (`server::wire`) are those that stand in memory, the slot of the account is held until they exist (`http::response_slots`), the
//! length is known, and HEAD has the headers of GET. The middleware of actix-web makes a stream of each body instead, whose
//! memory is not counted before it is sent.
//!
//! | What | Bound |
//! |---|---|
//! | bodies that are compressed | text of 1 KiB or more, whole in memory; no streams, such as the archive of an export |
//! | bodies that are compressed on the worker's own thread | up to 16 KiB; longer ones on blocking threads, in [`Lane::Foreground`] |
//! | window of an encoder, which determines its memory | 1 MiB; about 3 MiB of memory |
//!
//! A response with an `ETag` or a `Content-Range` is left as it is, because both refer to its uncompressed bytes.
//!
//! # Secrets
//!
//! The length of a compressed response tells whether a guess in it repeats a secret in it (BREACH,
//! CVE-2013-3587). To use that, an attacker must see the lengths of encrypted responses, and must make the client of another user
//! ask again and again, with that user's credentials and with varied guesses.
//!
//! | Requests with | Compressed | Because |
//! |---|---|---|
//! | an API key or an access token | yes | No browser sends these headers by itself, so another site cannot cause such requests. A secret in a response, such as the signature of an upload's URL, is made for that response, so no second request can be compared with it. |
//! | a cookie | when `Sec-Fetch-Site` is `same-origin` | A link of another site opens a page of `/app/api` with the session's cookie (`SameSite=Lax`); the response has the path and the words of a search together with the user's library. Browsers send this header over https and to localhost; over http an observer can read the response anyway. |
//! | any credential, below `/oauth` | no | The consent page has parameters of its URL together with the ticket of its form, and other responses have tokens and client secrets together with what the client sent. These responses are short. |
//! | nothing | yes | There is no secret in the response. |

use std::io::{self, Write};
use std::sync::OnceLock;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    AcceptEncoding, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, COOKIE, ContentEncoding,
    ETAG, Encoding, HeaderMap, HeaderValue, Preference, Quality, VARY,
};
use actix_web::middleware::Next;
use actix_web::web::{Bytes, Data};
use actix_web::{Error, HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder};
use actors::context::OperationContext;
use brotli::CompressorWriter;
use concurrency::Lane;
use flate2::Compression;
use flate2::write::GzEncoder;
use tracing::warn;

/// A shorter body is sent as it is: it fits into one packet anyway.
const MIN_BYTES: u64 = 1 << 10;
/// Bodies up to this length are compressed on the worker's own thread.
const MAX_INLINE_BYTES: usize = 16 << 10;
/// The window of Brotli, as the logarithm of its bytes.
const BROTLI_WINDOW_BITS: (u32, u32) = (16, 20);
/// The size of the output buffer of the Brotli encoder.
const BROTLI_BUFFER_BYTES: usize = 8 << 10;

/// How much time is spent on a shorter body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// For bodies that a worker compresses itself while other requests wait for it. A page of a document takes longer to compress than to
    /// read: with the lowest levels a tenth more bytes are sent, in less than half of the time.
    Low,
    /// For bodies that are compressed on other threads, or once for all clients. Still higher levels take twice the time for a few percent.
    Medium,
}

impl Effort {
    /// The level of gzip, of 0 to 9.
    fn gzip_level(self) -> Compression {
        Compression::new(match self {
            Self::Low => 1,
            Self::Medium => 5,
        })
    }

    /// The quality of Brotli, of 0 to 11; from 5 on the encoder needs megabytes more.
    fn brotli_quality(self) -> u32 {
        match self {
            Self::Low => 1,
            Self::Medium => 4,
        }
    }
}

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// `br` (RFC 7932), which is preferred if the client accepts both equally.
    Brotli,
    /// `gzip` (RFC 1952), which most clients support.
    Gzip,
}

impl Coding {
    /// Returns the coding that the client of this request prefers; `None` if it accepts none, or prefers the plain body.
    pub fn accepted_by(request: &HttpRequest) -> Option<Self> {
        let accepted = request.get_header::<AcceptEncoding>()?;
        let own = |coding| listed_quality(&accepted, &Preference::Specific(Encoding::Known(coding)));
        let quality = |coding| own(coding).or_else(|| listed_quality(&accepted, &Preference::Any));
        let brotli = quality(ContentEncoding::Brotli).unwrap_or(Quality::ZERO);
        let gzip = quality(ContentEncoding::Gzip).unwrap_or(Quality::ZERO);
        // Brotli wins a tie: it compresses JSON better, in about the same time.
        let (coding, best) = if brotli >= gzip { (Self::Brotli, brotli) } else { (Self::Gzip, gzip) };
        // A client that does not mention the plain body accepts it, but does not prefer it to a coding that it mentions.
        let plain = own(ContentEncoding::Identity).unwrap_or(Quality::ZERO);
        (best > Quality::ZERO && best >= plain).then_some(coding)
    }

    /// Returns its name in `Content-Encoding`.
    fn name(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        })
    }

    /// Compresses a body. Its capacity is its length: spare capacity would occupy memory while a slow client reads it.
    fn encode(self, body: &[u8], effort: Effort) -> io::Result<Vec<u8>> {
        let encoded = Vec::with_capacity(body.len() / 4);
        let mut encoded = match self {
            Self::Brotli => {
                let window = window_bits(body.len());
                let quality = effort.brotli_quality();
                let mut encoder = CompressorWriter::new(encoded, BROTLI_BUFFER_BYTES, quality, window);
                encoder.write_all(body)?;
                encoder.into_inner()
            }
            Self::Gzip => {
                let mut encoder = GzEncoder::new(encoded, effort.gzip_level());
                encoder.write_all(body)?;
                encoder.finish()?
            }
        };
        encoded.shrink_to_fit();
        Ok(encoded)
    }
}

fn listed_quality(accepted: &AcceptEncoding, name: &Preference<Encoding>) -> Option<Quality> {
    accepted.iter().find(|listed| listed.item == *name).map(|listed| listed.quality)
}

/// A window that covers a body of this length, within [`BROTLI_WINDOW_BITS`].
fn window_bits(length: usize) -> u32 {
    let (least, most) = BROTLI_WINDOW_BITS;
    (usize::BITS - length.leading_zeros()).clamp(least, most)
}

/// Compresses the response to a request.
pub async fn compress(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let response = next.call(request).await?.map_into_boxed_body();
    // A stream has no known size and is returned here: compressing it would need memory that nothing counts.
    if !is_compressible(response.response()) {
        return Ok(response);
    }
    let (request, response) = response.into_parts();
    let (mut head, body) = response.into_parts();
    let body = match body.try_into_bytes() {
        Ok(body) => body,
        Err(stream) => return Ok(ServiceResponse::new(request, head.set_body(stream))),
    };
    vary_by_coding(head.headers_mut());
    let body = match Coding::accepted_by(&request).filter(|_| may_show_length(&request)) {
        None => body,
        Some(coding) => match encoded(&request, coding, body.clone()).await {
            Some(encoded) => {
                // A length that the handler set is that of the plain body.
                head.headers_mut().remove(CONTENT_LENGTH);
                head.headers_mut().insert(CONTENT_ENCODING, coding.name());
                encoded
            }
            None => body,
        },
    };
    Ok(ServiceResponse::new(request, head.set_body(BoxBody::new(body))))
}

/// Returns whether a response may be compressed, for a client that accepts it.
fn is_compressible(response: &HttpResponse<BoxBody>) -> bool {
    let headers = response.headers();
    let is_long = matches!(response.body().size(), BodySize::Sized(length) if length >= MIN_BYTES);
    is_long
        && is_text(headers)
        && response.status() != StatusCode::PARTIAL_CONTENT
        // An ETag names the bytes of the plain body, and a range counts them.
        && ![CONTENT_ENCODING, CONTENT_RANGE, ETAG].iter().any(|name| headers.contains_key(name))
}

/// Returns whether the type is one that compression shortens. Images, recordings and archives are already compressed.
fn is_text(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_named =
        matches!(essence.as_str(), "application/json" | "application/javascript" | "application/xml");
    is_named || essence.starts_with("text/") || essence.ends_with("+json") || essence.ends_with("+xml")
}

/// Returns whether the compressed length reveals no secret to an attacker; the table in the module documentation explains why.
fn may_show_length(request: &HttpRequest) -> bool {
    let is_oauth = request.path().starts_with("/oauth/");
    let has_cookie = request.headers().contains_key(COOKIE);
    let is_same_origin =
        request.headers().get("Sec-Fetch-Site").is_some_and(|site| site.as_bytes() == b"same-origin");
    !is_oauth && (!has_cookie || is_same_origin)
}

/// The compressed body; `None` if it is not shorter, or cannot be made.
async fn encoded(request: &HttpRequest, coding: Coding, body: Bytes) -> Option<Bytes> {
    let length = body.len();
    let encoded = if length <= MAX_INLINE_BYTES {
        coding.encode(&body, Effort::Low)
    } else {
        let ctx = request.app_data::<Data<OperationContext>>()?;
        let encoded =
            ctx.core.workers.run(Lane::Foreground, move || coding.encode(&body, Effort::Medium)).await;
        encoded.map_err(io::Error::other).flatten()
    };
    match encoded {
        Ok(encoded) => (encoded.len() < length).then(|| encoded.into()),
        Err(cause) => {
            warn!(%cause, "could not compress a response; it is sent uncompressed");
            None
        }
    }
}

/// Adds `Accept-Encoding` to the `Vary` header, as one header with the names that it has.
fn vary_by_coding(headers: &mut HeaderMap) {
    let named: Vec<&str> = headers.get_all(VARY).filter_map(|value| value.to_str().ok()).collect();
    let named = [named, vec!["Accept-Encoding"]].concat().join(", ");
    if let Ok(named) = HeaderValue::from_str(&named) {
        headers.insert(VARY, named);
    }
}

/// A document that is the same for all clients and holds no secret. It is compressed once for each coding.
#[derive(Debug)]
pub struct SharedDocument {
    plain: Bytes,
    brotli: OnceLock<Option<Bytes>>,
    gzip: OnceLock<Option<Bytes>>,
}

impl SharedDocument {
    /// A document of these bytes.
    pub fn new(plain: impl Into<Bytes>) -> Self {
        Self { plain: plain.into(), brotli: OnceLock::new(), gzip: OnceLock::new() }
    }

    /// Finishes a response with the document, compressed as the client accepts it.
    pub fn respond(&self, request: &HttpRequest, mut response: HttpResponseBuilder) -> HttpResponse {
        let coding = Coding::accepted_by(request);
        let Some((coding, encoded)) = coding.and_then(|coding| Some((coding, self.encoded(coding)?))) else {
            return response.body(self.plain.clone());
        };
        response.insert_header((CONTENT_ENCODING, coding.name())).insert_header((VARY, "Accept-Encoding"));
        response.body(encoded)
    }

    fn encoded(&self, coding: Coding) -> Option<Bytes> {
        let encoded = match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        };
        encoded.get_or_init(|| coding.encode(&self.plain, Effort::Medium).ok().map(Bytes::from)).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use actix_web::http::header::ACCEPT_ENCODING;
    use actix_web::test::TestRequest;
    use flate2::read::GzDecoder;

    use super::*;

    fn accepted(header: &str) -> Option<Coding> {
        let request = TestRequest::default().insert_header((ACCEPT_ENCODING, header));
        Coding::accepted_by(&request.to_http_request())
    }

    #[test]
    fn client_gets_the_coding_that_it_prefers() {
        for (header, expected) in [
            ("gzip", Some(Coding::Gzip)),
            ("br", Some(Coding::Brotli)),
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("gzip;q=1.0, br;q=0.5", Some(Coding::Gzip)),
            ("GZIP", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("br;q=0, *;q=0.1", Some(Coding::Gzip)),
            ("gzip, *;q=0", Some(Coding::Gzip)),
            ("gzip;q=0", None),
            ("*;q=0", None),
            ("identity", None),
            ("identity;q=0", None),
            ("gzip;q=0.5, identity", None),
            ("gzip;q=0.5, identity;q=0.1", Some(Coding::Gzip)),
            ("deflate, zstd", None),
            ("", None),
        ] {
            assert_eq!(accepted(header), expected, "{header}");
        }
        assert_eq!(Coding::accepted_by(&TestRequest::default().to_http_request()), None);
    }

    #[test]
    fn encoded_body_decodes_to_itself() {
        let efforts = [Effort::Low, Effort::Medium];
        for (length, effort) in [0, 1 << 10, 100_000, 3 << 20]
            .into_iter()
            .flat_map(|length| efforts.map(|effort| (length, effort)))
        {
            let body: Vec<u8> = b"a heron in the reeds ".iter().copied().cycle().take(length).collect();

            let [gzip, brotli] =
                [Coding::Gzip, Coding::Brotli].map(|coding| coding.encode(&body, effort).unwrap());

            let (mut from_gzip, mut from_brotli) = (Vec::new(), Vec::new());
            GzDecoder::new(&gzip[..]).read_to_end(&mut from_gzip).unwrap();
            brotli::Decompressor::new(&brotli[..], 4096).read_to_end(&mut from_brotli).unwrap();
            assert!(from_gzip == body && from_brotli == body, "{length}, {effort:?}");
        }
    }

    #[test]
    fn window_covers_the_body_within_its_bounds() {
        assert_eq!([0, 1 << 10, 1 << 17, 1 << 30].map(window_bits), [16, 16, 18, 20]);
    }

    fn is_shown(path: &str, headers: &[(&'static str, &'static str)]) -> bool {
        let request = headers
            .iter()
            .fold(TestRequest::with_uri(path), |request, header| request.insert_header(*header));
        may_show_length(&request.to_http_request())
    }

    #[test]
    fn length_is_shown_where_no_other_site_can_send_requests() {
        const COOKIE: (&str, &str) = ("Cookie", "carrel_session=x");
        const SAME_ORIGIN: (&str, &str) = ("Sec-Fetch-Site", "same-origin");

        assert!(is_shown("/rest/v2/search?q=x", &[("Authorization", "Bearer pk_x")]));
        assert!(is_shown("/app/api/library/search?q=x", &[COOKIE, SAME_ORIGIN]));
        assert!(is_shown("/docs", &[]));
        assert!(!is_shown("/app/api/library/search?q=x", &[COOKIE]));
        for site in ["cross-site", "same-site", "none"] {
            assert!(!is_shown("/app/api/library/search?q=x", &[COOKIE, ("Sec-Fetch-Site", site)]), "{site}");
        }
        assert!(!is_shown("/oauth/authorize?state=x", &[]));
        assert!(!is_shown("/oauth/authorize?state=x", &[COOKIE, SAME_ORIGIN]));
    }

    #[test]
    fn long_text_is_compressible() {
        let response = |kind: &'static str, length: usize| {
            HttpResponse::Ok().content_type(kind).body("x".repeat(length))
        };

        for kind in ["application/json", "text/html; charset=utf-8", "image/svg+xml", "Text/CSS"] {
            assert!(is_compressible(&response(kind, 1024)), "{kind}");
            assert!(!is_compressible(&response(kind, 1023)), "{kind}");
        }
        for kind in ["application/zip", "audio/mpeg", "image/png", "application/octet-stream"] {
            assert!(!is_compressible(&response(kind, 4096)), "{kind}");
        }
        for header in [("ETag", "\"a\""), ("Content-Range", "bytes 0-1/2"), ("Content-Encoding", "gzip")] {
            let mut response = HttpResponse::Ok();
            response.content_type("text/plain").insert_header(header);
            assert!(!is_compressible(&response.body("x".repeat(4096))), "{header:?}");
        }
    }

    #[test]
    fn accept_encoding_is_added_to_the_vary_header() {
        let mut response = HttpResponse::Ok().insert_header((VARY, "Authorization, X-API-Key")).finish();
        vary_by_coding(response.headers_mut());

        assert_eq!(response.headers().get(VARY).unwrap(), "Authorization, X-API-Key, Accept-Encoding");
    }
}
