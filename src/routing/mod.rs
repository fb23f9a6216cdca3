//! Tables of routes. A row ([`Route`]) names a method, a pattern and an operation. A surface ([`RouteSurface`]) decides who may
//! call it and in what form it responds, so the same rows serve REST with an API key and the web app with a session. This module
//! knows no surface.

mod builder;
mod route;
mod route_meter;
mod route_name;
mod surface;

pub use route::{DescribedRoute, PendingResponse, ReplyStatus, RequestType, Route, undescribed};
pub use route_meter::RouteMeter;
pub use surface::{RouteSurface, mount, refuse};
