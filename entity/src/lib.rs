//! # The nouns
//!
//! What a key, a plan, a scope, a document *is*: rows and value types. This crate knows the database library,
//! serde and uuid, and nothing else of Carrel.
//!
//! Each row file holds the model and its **owner-scoped finders** (`owned_by`, `readable_by`, `one_of`): there is
//! no other public way to an owned table, so a query that would show one user another's rows is visibly wrong.
//! Ids are types of their own ([`id`]), moments and days too ([`time`]); the small enums that are columns stand in
//! [`kind`], plans and their numbers in [`plan`], permissions in [`scope`].

pub mod id;
pub mod kind;
pub mod plan;
pub mod scope;
pub mod time;

pub mod activity;
pub mod ai_day;
pub mod answer_claim;
pub mod api_key;
pub mod bookmark;
pub mod bookmark_tag;
pub mod chunk;
pub mod collection;
pub mod collection_bookmark;
pub mod decision;
pub mod document;
pub mod entry;
pub mod export;
pub mod feed;
pub mod feed_copy;
pub mod feed_push;
pub mod feed_source;
pub mod highlight;
pub mod idempotency;
pub mod import;
pub mod import_row;
pub mod job;
pub mod library_usage;
pub mod note;
pub mod notice;
pub mod oauth_client;
pub mod oauth_code;
pub mod oauth_consent;
pub mod oauth_grant;
pub mod oauth_sign_in;
pub mod oauth_token;
pub mod project;
pub mod project_item;
pub mod rendition;
pub mod service_state;
pub mod session;
pub mod source;
pub mod stored_file;
pub mod transcript;
pub mod transcript_segment;
pub mod upload;
pub mod usage_day;
pub mod usage_month;
pub mod user;
