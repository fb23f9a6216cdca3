//! What the passage index is to hold, so that an index that lost some of it is noticed and filled again.

use crate::statement::Step;

/// How many passages of a document the index holds, when it was last told of it, and whether it lost it. The indexes serve
/// the sum of all passages and the list of what was lost.
pub const STEP: Step = Step { name: "m0032_index_repair", up: UP };

const UP: &str = "
ALTER TABLE document ADD COLUMN indexed_passages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE document ADD COLUMN indexed_at BIGINT;
ALTER TABLE document ADD COLUMN index_lost_at BIGINT;
UPDATE document SET indexed_at = updated_at, indexed_passages = (
    SELECT COUNT(*) FROM chunk
    WHERE chunk.document_id = document.id AND chunk.version = document.indexed_version
) WHERE indexed_version > 0;
CREATE INDEX document_passages ON document (indexed_passages) WHERE indexed_passages > 0;
CREATE INDEX document_lost ON document (user_id, id) WHERE index_lost_at IS NOT NULL
";
