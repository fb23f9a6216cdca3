//! Row types: the tables of the database as `sea-orm` entities. The types of their columns are in crate `values`.
//!
//! A table that belongs to users has finders (`owned_by`, `one_of`, `visible_to`) and changes (`update_owned`, `delete_owned`) that
//! start from the owner; `owned.rs` declares them once and lists their names. The name of a finder says so if it does not start from
//! the owner (`of_every_user`), or if it finds rows that the user does not see (`with_deleted`, `with_hidden`).

mod owned;

pub mod account_count;
pub mod account_setting;
pub mod activity;
pub mod activity_day;
pub mod ai_day;
pub mod answer_claim;
pub mod api_key;
pub mod ask_question;
pub mod ask_thread;
pub mod bookmark;
pub mod bookmark_tag;
pub mod chunk;
pub mod collection;
pub mod collection_bookmark;
pub mod collection_count;
pub mod decision;
pub mod document;
pub mod entry;
pub mod entry_mark;
pub mod export;
pub mod feed;
pub mod feed_content;
pub mod feed_count;
pub mod feed_mute;
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
pub mod password_reset;
pub mod picture_size;
pub mod project;
pub mod project_count;
pub mod project_item;
pub mod reading_position;
pub mod rendition;
pub mod saved_search;
pub mod service_state;
pub mod session;
pub mod source;
pub mod stored_file;
pub mod tag_count;
pub mod transcript;
pub mod transcript_segment;
pub mod undo;
pub mod undo_step;
pub mod upload;
pub mod usage_day;
pub mod usage_month;
pub mod user;
pub mod web_state;
