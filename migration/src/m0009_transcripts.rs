//! Timed transcripts of sound and film.

use crate::statement::Step;

/// Timed transcripts of sound and film.
pub const STEP: Step = Step { name: "m0009_transcripts", up: UP };

const UP: &str = r#"
CREATE TABLE transcript (
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    recording TEXT NOT NULL,
    model TEXT NOT NULL,
    language TEXT,
    heard_samples BIGINT NOT NULL,
    segments INTEGER NOT NULL,
    progress DOUBLE PRECISION NOT NULL,
    finished BOOLEAN NOT NULL,
    PRIMARY KEY (document_id, version)
);
CREATE INDEX transcript_user ON transcript (user_id);
CREATE TABLE transcript_segment (
    document_id UUID NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    start_seconds DOUBLE PRECISION NOT NULL,
    end_seconds DOUBLE PRECISION NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (document_id, version, ordinal),
    FOREIGN KEY (document_id, version) REFERENCES transcript (document_id, version) ON DELETE CASCADE
);
CREATE INDEX transcript_segment_user ON transcript_segment (user_id)
"#;
