//! What pages say of themselves beside title and author.

use crate::statement::Step;

/// When a page was published, and the address by which it wants to be known.
pub const STEP: Step = Step { name: "m0019_document_facts", up: UP };

const UP: &str = "
ALTER TABLE document ADD COLUMN published_at TEXT;
ALTER TABLE document ADD COLUMN canonical_url TEXT
";
