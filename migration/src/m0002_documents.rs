//! Documents: passages, sources, renditions, and transcripts of recordings.

use crate::sql_migration::SqlMigration;

/// Creates the tables of documents and of what belongs to them.
pub fn migration() -> SqlMigration {
    SqlMigration::new(
        "m0002_documents",
        &[DOCUMENT, SOURCE, CHUNK, RENDITION, TRANSCRIPT, TRANSCRIPT_SEGMENT],
    )
}

/// The ids of the bookmark, entry, feed and project to which a document belongs are not foreign keys: bookmarks, entries and
/// notes refer to their document. The indexes on them include the owner, as `bookmark_document` does, and the id, in whose order documents
/// are locked. `document_indexed_points` serves the sum of the indexed passages, `document_lost_by_index` the list of documents that
/// the passage index lost, `document_embedding_model` the documents whose vectors are of a model, and the texts whose vectors are not,
/// `document_metadata_model` the same of documents without a text whose metadata has vectors,
/// `document_failed` the list of documents without a text, or whose newer text failed: those for which no job waits or runs, and the
/// others, which triggers of `m0013_counters` mark in `has_pending_job`.
/// `document_unindexed` has the documents of which the passage index lacks something, the newest changes of each user last.
/// `document_unindexed_metadata` has those of them whose metadata is to be indexed without a job. A document leaves it for as long as a job
/// waits or runs that indexes its metadata and that a user waits for (`awaits_index_job`, which the triggers of `job` clear), and once the
/// index has the metadata, although it may lack a text whose job was given up. So what its readers cost does not depend on such documents.
const DOCUMENT: &str = r#"
CREATE TABLE document (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    content_type TEXT NOT NULL,
    bookmark_id UUID,
    entry_id UUID,
    feed_id UUID,
    project_id UUID,
    url TEXT,
    title TEXT NOT NULL,
    has_user_title BOOLEAN NOT NULL,
    author TEXT,
    site_name TEXT,
    description TEXT,
    image_url TEXT,
    published_at TEXT,
    canonical_url TEXT,
    recording_url TEXT,
    missing_reason TEXT,
    language TEXT,
    total_chars INTEGER NOT NULL,
    word_count INTEGER,
    version INTEGER NOT NULL,
    indexed_version INTEGER NOT NULL,
    embedding_model TEXT,
    turn_model TEXT,
    has_postponed_vectors BOOLEAN NOT NULL DEFAULT FALSE,
    indexed_points INTEGER NOT NULL DEFAULT 0,
    has_metadata_point BOOLEAN NOT NULL DEFAULT FALSE,
    unindexed_since BIGINT,
    awaits_index_job BOOLEAN NOT NULL DEFAULT FALSE,
    indexed_at BIGINT,
    index_lost_at BIGINT,
    status TEXT NOT NULL,
    error TEXT,
    has_pending_job BOOLEAN NOT NULL DEFAULT FALSE,
    hidden_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX document_user ON document (user_id, id);
CREATE INDEX document_bookmark ON document (bookmark_id, user_id, id);
CREATE INDEX document_project ON document (project_id, user_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX document_feed ON document (feed_id, user_id, id) WHERE feed_id IS NOT NULL;
CREATE INDEX document_indexed_points ON document (indexed_points) WHERE indexed_points > 0;
CREATE INDEX document_unindexed ON document (user_id, unindexed_since, id) WHERE unindexed_since IS NOT NULL AND hidden_at IS NULL;
CREATE INDEX document_unindexed_metadata ON document (user_id, unindexed_since, id)
    WHERE unindexed_since IS NOT NULL AND hidden_at IS NULL AND NOT awaits_index_job
    AND (version <= indexed_version OR indexed_at IS NULL OR indexed_at <= unindexed_since);
CREATE INDEX document_embedding_model ON document (embedding_model) WHERE embedding_model IS NOT NULL OR version > 0;
CREATE INDEX document_metadata_model ON document (version, embedding_model) WHERE version = 0 AND status = 'failed' AND hidden_at IS NULL;
CREATE INDEX document_lost_by_index ON document (user_id, id) WHERE index_lost_at IS NOT NULL;
CREATE INDEX document_failed ON document (user_id, has_pending_job, updated_at, id)
    WHERE hidden_at IS NULL AND (status = 'failed' OR error IS NOT NULL)
"#;

const SOURCE: &str = "
CREATE TABLE source (
    document_id UUID PRIMARY KEY REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    format TEXT NOT NULL,
    body TEXT NOT NULL,
    html TEXT,
    outline TEXT
)
";

const CHUNK: &str = "
CREATE TABLE chunk (
    id UUID PRIMARY KEY,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    page INTEGER,
    start_seconds DOUBLE PRECISION,
    end_seconds DOUBLE PRECISION,
    text TEXT NOT NULL
);
CREATE UNIQUE INDEX chunk_ordinal ON chunk (document_id, version, ordinal);
CREATE INDEX chunk_offset ON chunk (document_id, version, start_offset)
";

/// `rendition_user` includes the document, for queries that name many documents of their owner. So do `transcript_user` and
/// `transcript_segment_user`.
const RENDITION: &str = r#"
CREATE TABLE rendition (
    document_id UUID PRIMARY KEY REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    html TEXT,
    outline TEXT NOT NULL
);
CREATE INDEX rendition_user ON rendition (user_id, document_id)
"#;

/// `transcript_unfinished` finds the recordings of a user that are being transcribed.
const TRANSCRIPT: &str = r#"
CREATE TABLE transcript (
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    recording TEXT NOT NULL,
    model TEXT NOT NULL,
    language TEXT,
    transcribed_samples BIGINT NOT NULL,
    refused_samples BIGINT NOT NULL DEFAULT 0,
    segments INTEGER NOT NULL,
    progress DOUBLE PRECISION NOT NULL,
    is_finished BOOLEAN NOT NULL,
    PRIMARY KEY (document_id, version)
);
CREATE INDEX transcript_user ON transcript (user_id, document_id);
CREATE INDEX transcript_unfinished ON transcript (user_id, document_id) WHERE NOT is_finished
"#;

const TRANSCRIPT_SEGMENT: &str = r#"
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
CREATE INDEX transcript_segment_user ON transcript_segment (user_id, document_id)
"#;
