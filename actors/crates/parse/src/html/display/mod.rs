//! Prepares the stored HTML of a text for a page of the web app.
//!
//! 1. [`split_parts`] divides a long text into parts of about [`MAX_PART_CHARS`] characters. It trusts nothing: whatever it cuts is
//!    sanitised afterwards.
//! 2. [`decorate()`] sanitises one part again, gives the blocks ids of our own (`o` and their offset), leads pictures through the server and
//!    draws marks: highlights, and the words that a link names.
//!
//! A text without HTML gets some by [`text_to_html`], with the same offsets.

mod decorate;
mod from_text;
mod parts;
mod tokens;

pub use decorate::{Decoration, DisplayMark, PictureView, decorate};
pub use from_text::text_to_html;
pub use parts::{HtmlPart, MAX_PART_CHARS, split_parts};
pub use tokens::picture_sources;
