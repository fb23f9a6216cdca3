//! The browser of a request, in words, for the list of sessions.

use actix_web::HttpRequest;
use actix_web::http::header::USER_AGENT;
use text::one_line;

/// The longest name that is stored. A client chooses the name of a program that is no known browser.
const MAX_DEVICE_CHARS: usize = 60;

/// Browsers by a part of their User-Agent. Most of them also name Chrome or Safari, so the first that matches counts.
const BROWSERS: [(&str, &str); 8] = [
    ("Edg/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
];

/// Systems by a part of the User-Agent. Android also names Linux, and iPhones Mac OS X, so the first that matches counts.
const SYSTEMS: [(&str, &str); 7] = [
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
];

/// Returns the browser and the system of a request, such as `Firefox on Linux`, or the first product of another client; `None` if the
/// request does not name one.
pub fn device(request: &HttpRequest) -> Option<String> {
    describe(request.headers().get(USER_AGENT)?.to_str().ok()?)
}

fn describe(user_agent: &str) -> Option<String> {
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => Some(format!("{browser} on {system}")),
        (Some(browser), None) => Some(browser.to_owned()),
        (None, _) => {
            let product = one_line(user_agent.split_whitespace().next()?);
            let shown: String = product.chars().take(MAX_DEVICE_CHARS).collect();
            (!shown.is_empty()).then_some(shown)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browser_and_system_are_named() {
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
        let edge = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 \
                    Safari/537.36 Edg/142.0.0.0";
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) \
                      Version/18.0 Mobile/15E148 Safari/604.1";

        assert_eq!(describe(firefox).as_deref(), Some("Firefox on Linux"));
        assert_eq!(describe(edge).as_deref(), Some("Edge on Windows"));
        assert_eq!(describe(safari).as_deref(), Some("Safari on iPhone"));
    }

    #[test]
    fn other_client_is_named_by_its_product() {
        assert_eq!(describe("curl/8.5.0").as_deref(), Some("curl/8.5.0"));
        assert_eq!(describe(&"x".repeat(100)).unwrap().len(), MAX_DEVICE_CHARS);
        assert_eq!(describe(" "), None);
    }
}
