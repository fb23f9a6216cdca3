//! Reading: whether highlights still stand on their words, where a user stopped reading, and the sizes of pictures.

use crate::sql_migration::SqlMigration;

/// Adds the state of highlights, and creates the tables of reading positions and sizes of pictures.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0019_reading", &[HIGHLIGHT_ANCHORS, READING_POSITION, PICTURE_SIZE])
}

/// A highlight that begins and ends at 0 was imported, and its words were not found in the text, if there is one.
const HIGHLIGHT_ANCHORS: &str = "
ALTER TABLE highlight ADD COLUMN anchor_state TEXT NOT NULL DEFAULT 'exact';
UPDATE highlight SET anchor_state = 'lost' WHERE end_offset = 0 AND bookmark_id IN (
    SELECT bookmark.id FROM bookmark JOIN document ON document.id = bookmark.document_id WHERE document.version > 0
);
CREATE INDEX highlight_lost ON highlight (user_id, id) WHERE anchor_state = 'lost'
";

/// `reading_position_user` lists what a user read last.
const READING_POSITION: &str = r#"
CREATE TABLE reading_position (
    document_id UUID PRIMARY KEY REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    version INTEGER NOT NULL,
    char_offset INTEGER NOT NULL,
    seconds INTEGER,
    progress DOUBLE PRECISION NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX reading_position_user ON reading_position (user_id, updated_at, document_id)
"#;

const PICTURE_SIZE: &str = "
CREATE TABLE picture_size (
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    url_hash BYTES NOT NULL,
    user_id UUID NOT NULL,
    width INTEGER NOT NULL,
    height INTEGER NOT NULL,
    PRIMARY KEY (document_id, url_hash)
) WITHOUT ROWID
";
