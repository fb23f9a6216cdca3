//! The REST API: its routes, the library that they serve, and the records of requests.

mod activity_retention;
mod api_keys;
mod ask;
mod ask_outcomes;
mod caching;
mod compression;
mod document_pages;
mod document_rendition;
mod examples;
mod first_use_notice;
mod idempotency;
mod jobs;
mod methods;
mod notes;
mod notice_emails;
mod project_context;
mod project_items;
pub mod projects;
mod route_conditions;
mod search_scores;
mod v1;
