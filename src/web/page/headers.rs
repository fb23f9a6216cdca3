//! The headers that keep pages within their origin, out of frames and out of shared caches.

use actix_web::HttpResponse;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderName, HeaderValue, REFERRER_POLICY, VARY,
};

/// Which copies of a page a browser may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageCaching {
    /// A copy that is asked about before it is shown, so that going back is fast.
    Revalidated,
    /// None: settings, keys, and pages that show a secret.
    NotStored,
}

/// The parts of a page that a script asks for.
pub const CARREL_PART: HeaderName = HeaderName::from_static("carrel-part");
/// The address of the page that an answer to a script is about.
pub const CARREL_LOCATION: HeaderName = HeaderName::from_static("carrel-location");

/// Not `no-referrer`: browsers would send `Origin: null` with the forms of the pages, and forms of other sites could not be told from
/// them over plain http, where `Sec-Fetch-Site` is missing. No other origin gets a referrer.
const REFERRERS: &str = "same-origin";
const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), clipboard-write=(self)";

/// Returns the policy of the pages. `store` is the origin of a bucket that uploads are sent to and recordings come from.
pub fn content_policy(store: Option<&str>) -> HeaderValue {
    let store = store.map(|origin| format!(" {origin}")).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'{store}; \
         connect-src 'self'{store}; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types carrel"
    );
    // An origin that is no header value is left out rather than the policy.
    HeaderValue::from_str(&policy).unwrap_or_else(|_| content_policy(None))
}

/// Adds the headers of a page. Those that the handler set stay.
pub fn protect(response: &mut HttpResponse, policy: &HeaderValue, caching: PageCaching) {
    let caching = match caching {
        PageCaching::Revalidated => "private, no-cache",
        PageCaching::NotStored => "private, no-store",
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy.clone()),
        (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
        (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
        (REFERRER_POLICY, HeaderValue::from_static(REFERRERS)),
        (HeaderName::from_static("permissions-policy"), HeaderValue::from_static(PERMISSIONS)),
        (CACHE_CONTROL, HeaderValue::from_static(caching)),
        (VARY, HeaderValue::from_static("Carrel-Part, Cookie, Accept-Language")),
    ] {
        if !headers.contains_key(&name) {
            headers.insert(name, value);
        }
    }
}
