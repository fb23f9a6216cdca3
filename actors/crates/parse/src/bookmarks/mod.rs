//! Files of other programs, read row by row: what was saved elsewhere, and exports of this server.
//!
//! [`ImportSource::open`] detects the format of a file by its bytes, and reads its rows one after the other. Each format is a file
//! of its own. Only formats that cannot be read otherwise are held whole in memory.

mod annotation;
mod browser;
mod carrel;
mod folder_tree;
mod format;
mod import_error;
mod karakeep;
mod lenient;
mod line_reader;
mod linkwarden;
mod netscape;
mod objects;
mod omnivore;
mod onetab;
mod row;
mod source;
mod tables;
mod time_formats;
mod zip_reader;

pub use annotation::Annotation;
pub use format::{Format, UnknownFormat};
pub use import_error::ImportError;
pub use row::{BookmarkDraft, MAX_CONTENT_BYTES, Note, Row, RowContent, SkippedRow};
pub use source::ImportSource;
pub use zip_reader::{EntryReader, ZipReader};
