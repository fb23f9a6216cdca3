//! The library: bookmarks, documents and their passages.

use crate::statement::Step;

/// The library: bookmarks, documents and their passages.
pub const STEP: Step = Step { name: "m0002_library", up: UP };

const UP: &str = r#"
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
    title_given BOOLEAN NOT NULL,
    author TEXT,
    site_name TEXT,
    description TEXT,
    image_url TEXT,
    language TEXT,
    total_chars INTEGER NOT NULL,
    word_count INTEGER,
    version INTEGER NOT NULL,
    indexed_version INTEGER NOT NULL,
    vectors_of TEXT,
    status TEXT NOT NULL,
    error TEXT,
    hidden_at BIGINT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX document_user ON document (user_id, id);
CREATE INDEX document_bookmark ON document (bookmark_id);

CREATE TABLE source (
    document_id UUID PRIMARY KEY REFERENCES document (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    form TEXT NOT NULL,
    body TEXT NOT NULL
);

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
CREATE UNIQUE INDEX chunk_place ON chunk (document_id, version, ordinal);
CREATE INDEX chunk_offset ON chunk (document_id, version, start_offset);

CREATE TABLE bookmark (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    url TEXT NOT NULL,
    normalized_url TEXT NOT NULL,
    favorite BOOLEAN NOT NULL,
    archived BOOLEAN NOT NULL,
    progress DOUBLE PRECISION NOT NULL,
    saved_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE UNIQUE INDEX bookmark_address ON bookmark (user_id, normalized_url) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_saved ON bookmark (user_id, saved_at, id);
CREATE INDEX bookmark_updated ON bookmark (user_id, updated_at, id);
CREATE INDEX bookmark_deleted ON bookmark (deleted_at) WHERE deleted_at IS NOT NULL;

CREATE TABLE bookmark_tag (
    bookmark_id UUID NOT NULL REFERENCES bookmark (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    user_id UUID NOT NULL,
    PRIMARY KEY (bookmark_id, name)
);
CREATE INDEX bookmark_tag_user ON bookmark_tag (user_id, name);

CREATE TABLE highlight (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    bookmark_id UUID NOT NULL REFERENCES bookmark (id) ON DELETE CASCADE,
    text TEXT NOT NULL,
    note TEXT,
    color TEXT,
    start_offset INTEGER NOT NULL,
    end_offset INTEGER NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX highlight_bookmark ON highlight (bookmark_id, start_offset);

CREATE TABLE collection (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT,
    parent_id UUID REFERENCES collection (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX collection_user ON collection (user_id, id);

CREATE TABLE collection_bookmark (
    collection_id UUID NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    bookmark_id UUID NOT NULL REFERENCES bookmark (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    added_at BIGINT NOT NULL,
    PRIMARY KEY (collection_id, bookmark_id)
);
CREATE INDEX collection_bookmark_bookmark ON collection_bookmark (bookmark_id);

CREATE TABLE feed (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    url TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX feed_user ON feed (user_id, id);

CREATE TABLE note (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    bookmark_id UUID UNIQUE REFERENCES bookmark (id) ON DELETE CASCADE,
    project_id UUID,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    pinned BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX note_user ON note (user_id, id)
"#;
