//! The web app: its routes and pages.

mod assistant_connection;
mod route_conditions;
mod sessions;
mod start_page;
