//! Tables of routes. A row ([`Route`]) names a method, a pattern and an operation. A surface ([`RouteSurface`]) decides who may
//! call it and in what form it answers, so the same rows serve REST with an API key and the web app with a session. This module
//! knows no surface.

mod route;
mod row_macro;
mod surface;

pub use route::{PendingResponse, ReadOperation, RequestType, Route};
pub(crate) use row_macro::route;
pub use surface::{RouteSurface, mount, refuse};
