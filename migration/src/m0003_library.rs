//! The library: bookmarks with their tags and highlights, collections, and notes.

use crate::sql_migration::SqlMigration;

/// Creates the tables of bookmarks, tags, highlights, collections and notes.
pub fn migration() -> SqlMigration {
    SqlMigration::new(
        "m0003_library",
        &[BOOKMARK, BOOKMARK_TAG, HIGHLIGHT, COLLECTION, COLLECTION_BOOKMARK, NOTE],
    )
}

/// A user has one bookmark of a URL, deleted ones not counted. `bookmark_document` serves the foreign key and, because it includes the
/// owner, the queries of a user: without statistics SQLite prefers an index that begins with the owner to one on the document alone,
/// and reads all bookmarks of the user. `bookmark_user` serves those that name many ids, which would be read in the same way.
///
/// The other indexes serve the list of bookmarks: each order alone, with flags, and with a content type (and flags). They contain all
/// columns that find a page, so that only the rows of the page are read. Those in the order of change and of titles also have the time of
/// saving, by which such lists are filtered: a row of the index is tested in a fifth of the time that a bookmark takes. `title` and `content_type` are those of the
/// document: `m0014_title_search` keeps them equal. `title_key` is short enough for a row of an index of PostgreSQL, 2,704 bytes at most.
/// `flags` adds up 4 for a favourite, 2 for an archived bookmark and 1 for an unread one.
const BOOKMARK: &str = r#"
CREATE TABLE bookmark (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    content_type TEXT NOT NULL,
    url TEXT NOT NULL,
    normalized_url TEXT NOT NULL,
    title TEXT NOT NULL,
    title_key TEXT NOT NULL GENERATED ALWAYS AS (substr(title, 1, 600)) STORED,
    flags INTEGER NOT NULL GENERATED ALWAYS AS (
        CASE WHEN favorite THEN 4 ELSE 0 END + CASE WHEN archived THEN 2 ELSE 0 END + CASE WHEN progress < 1 THEN 1 ELSE 0 END
    ) STORED,
    favorite BOOLEAN NOT NULL,
    archived BOOLEAN NOT NULL,
    progress DOUBLE PRECISION NOT NULL,
    saved_at BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    deleted_at BIGINT
);
CREATE UNIQUE INDEX bookmark_normalized_url ON bookmark (user_id, normalized_url) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_saved ON bookmark (user_id, saved_at, id) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_updated ON bookmark (user_id, updated_at, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_title ON bookmark (user_id, title_key, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_flags_saved ON bookmark (user_id, flags, saved_at, id) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_flags_updated ON bookmark (user_id, flags, updated_at, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_flags_title ON bookmark (user_id, flags, title_key, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_type_saved ON bookmark (user_id, content_type, flags, saved_at, id) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_type_updated ON bookmark (user_id, content_type, flags, updated_at, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_type_title ON bookmark (user_id, content_type, flags, title_key, id, saved_at) WHERE deleted_at IS NULL;
CREATE INDEX bookmark_deleted ON bookmark (deleted_at, id) WHERE deleted_at IS NOT NULL;
CREATE INDEX bookmark_user ON bookmark (user_id, id);
CREATE INDEX bookmark_document ON bookmark (document_id, user_id);
CREATE INDEX bookmark_user_deleted ON bookmark (user_id, deleted_at, id) WHERE deleted_at IS NOT NULL
"#;

/// The primary key includes the owner: without statistics SQLite prefers an index on `(user_id, name)` to a key of the bookmark and the
/// name for a query that names the bookmark and its owner, and reads all tags of the user.
///
/// `saved_at`, `flags` and `title_key` are those of the bookmark, so that an index has the bookmarks of a tag with equal flags in the order
/// of a list; `m0014_title_search` keeps them equal. A list merges one range for each value of the flags, also if it has no filter by
/// flags. Of two indexes that serve a statement equally well SQLite takes the one that was created last, here the smaller one. There is no
/// copy of `updated_at`: it changes with almost every change of a bookmark.
const BOOKMARK_TAG: &str = "
CREATE TABLE bookmark_tag (
    bookmark_id UUID NOT NULL REFERENCES bookmark (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    user_id UUID NOT NULL,
    saved_at BIGINT NOT NULL,
    flags INTEGER NOT NULL,
    title_key TEXT NOT NULL,
    PRIMARY KEY (bookmark_id, user_id, name)
);
CREATE INDEX bookmark_tag_title ON bookmark_tag (user_id, name, flags, title_key, bookmark_id);
CREATE INDEX bookmark_tag_saved ON bookmark_tag (user_id, name, flags, saved_at, bookmark_id)
";

/// `highlight_user` lists all highlights of a user, for exports.
const HIGHLIGHT: &str = r#"
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
CREATE INDEX highlight_user_bookmark ON highlight (user_id, bookmark_id, start_offset, id);
CREATE INDEX highlight_user ON highlight (user_id, id)
"#;

const COLLECTION: &str = r#"
CREATE TABLE collection (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    description TEXT,
    parent_id UUID REFERENCES collection (id) ON DELETE SET NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX collection_name ON collection (user_id, name, id);
CREATE INDEX collection_user ON collection (user_id, id);
CREATE INDEX collection_parent ON collection (parent_id);
CREATE INDEX collection_top_level ON collection (user_id, LOWER(name), id) WHERE parent_id IS NULL
"#;

/// `saved_at`, `flags` and `title_key` are those of the bookmark, as in `bookmark_tag`. Their indexes begin with the collection, which has
/// one owner: an index that begins with the owner would be preferred to the other one for the collections of a bookmark.
const COLLECTION_BOOKMARK: &str = "
CREATE TABLE collection_bookmark (
    collection_id UUID NOT NULL REFERENCES collection (id) ON DELETE CASCADE,
    bookmark_id UUID NOT NULL REFERENCES bookmark (id) ON DELETE CASCADE,
    user_id UUID NOT NULL,
    added_at BIGINT NOT NULL,
    saved_at BIGINT NOT NULL,
    flags INTEGER NOT NULL,
    title_key TEXT NOT NULL,
    PRIMARY KEY (collection_id, bookmark_id)
);
CREATE INDEX collection_bookmark_bookmark ON collection_bookmark (bookmark_id, user_id);
CREATE INDEX collection_bookmark_title ON collection_bookmark (collection_id, user_id, flags, title_key, bookmark_id);
CREATE INDEX collection_bookmark_saved ON collection_bookmark (collection_id, user_id, flags, saved_at, bookmark_id)
";

/// A bookmark has one note. `note_document` and `note_project` include the owner, as `bookmark_document` does. `note_project_pinned`
/// has the order in which a context takes the notes of a project. `note_project_created` finds the note that an import brings again.
const NOTE: &str = r#"
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
CREATE INDEX note_user ON note (user_id, id);
CREATE INDEX note_document ON note (document_id, user_id);
CREATE INDEX note_project ON note (project_id, user_id, id) WHERE project_id IS NOT NULL;
CREATE INDEX note_project_pinned ON note (project_id, user_id, pinned, id) WHERE project_id IS NOT NULL;
CREATE INDEX note_project_created ON note (project_id, user_id, created_at) WHERE project_id IS NOT NULL;
CREATE INDEX note_user_bookmark ON note (user_id, bookmark_id)
"#;
