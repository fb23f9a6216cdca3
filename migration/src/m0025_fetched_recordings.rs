//! A recording that was fetched stays in the store until it was heard.

use crate::statement::Step;

/// What such a file belongs to.
pub const STEP: Step = Step { name: "m0025_fetched_recordings", up: UP };

const UP: &str = "
ALTER TABLE stored_file ADD COLUMN document_id UUID REFERENCES document (id) ON DELETE SET NULL;
CREATE INDEX stored_file_document ON stored_file (document_id) WHERE document_id IS NOT NULL
";
