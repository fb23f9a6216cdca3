//! How texts are shown, HTML for reading and outlines, and what they lack.

use crate::statement::Step;

/// HTML for reading, outlines, and what a text lacks.
pub const STEP: Step = Step { name: "m0021_renditions", up: UP };

const UP: &str = r#"
CREATE TABLE rendition (
    document_id UUID PRIMARY KEY REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    html TEXT,
    outline TEXT NOT NULL
);
CREATE INDEX rendition_user ON rendition (user_id);
ALTER TABLE document ADD COLUMN lacks TEXT;
ALTER TABLE source ADD COLUMN html TEXT;
ALTER TABLE source ADD COLUMN outline TEXT
"#;
