//! The metrics of one route.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use actix_web::{HttpMessage, HttpRequest};
use metrics::{Counter, Histogram};

/// The metrics of a route as one worker thread serves it. Their handles are looked up by their labels once, and the pattern is
/// composed once. Clones share them.
#[derive(Clone, Default)]
pub struct RouteMeter(Rc<RouteMetrics>);

#[derive(Default)]
struct RouteMetrics {
    pattern: OnceCell<String>,
    seconds: OnceCell<Histogram>,
    /// By method and status, of which a route has a few.
    requests: RefCell<HashMap<(&'static str, u16), Counter>>,
}

impl RouteMeter {
    /// Attaches this meter to a request that its route serves, for [`Self::of`].
    pub fn attach_to(&self, request: &HttpRequest) {
        request.extensions_mut().insert(self.clone());
    }

    /// Returns the meter that is attached to a request, or a new one.
    pub fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    /// Returns the pattern of the whole path of a request that this route serves; `unknown` if no route does.
    pub fn pattern(&self, request: &HttpRequest) -> &str {
        self.0.pattern.get_or_init(|| request.match_pattern().unwrap_or_else(|| "unknown".to_owned()))
    }

    /// Counts a request that this route has served.
    pub fn record(&self, request: &HttpRequest, method: &'static str, status: u16, seconds: f64) {
        let pattern = self.pattern(request);
        let new_counter = || {
            let (route, status) = (pattern.to_owned(), status.to_string());
            metrics::counter!("carrel_requests_total", "method" => method, "route" => route, "status" => status)
        };
        self.0.requests.borrow_mut().entry((method, status)).or_insert_with(new_counter).increment(1);
        let new_histogram = || metrics::histogram!("carrel_request_seconds", "route" => pattern.to_owned());
        self.0.seconds.get_or_init(new_histogram).record(seconds);
    }
}
