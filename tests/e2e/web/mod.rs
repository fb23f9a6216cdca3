//! The web app: its routes and pages.

mod assistant_connection;
mod route_conditions;
mod start_page;
