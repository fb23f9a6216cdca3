//! Feeds: the URLs that are fetched for all followers, and each follower's own feeds and entries.

use crate::sql_migration::SqlMigration;

/// Creates the tables of feed sources with their WebSub subscriptions, followed feeds and entries.
pub fn migration() -> SqlMigration {
    SqlMigration::new("m0007_feeds", &[FEED_SOURCE, FEED_CONTENT, FEED_PUSH, FEED, ENTRY])
}

const FEED_SOURCE: &str = "
CREATE TABLE feed_source (
    id UUID PRIMARY KEY,
    url TEXT NOT NULL UNIQUE,
    title TEXT,
    site_url TEXT,
    etag TEXT,
    last_modified TEXT,
    fetched_at BIGINT,
    next_fetch_at BIGINT,
    wait_until BIGINT,
    interval_seconds BIGINT NOT NULL,
    failures INTEGER NOT NULL,
    error TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX feed_source_due ON feed_source (next_fetch_at) WHERE next_fetch_at IS NOT NULL
";

const FEED_CONTENT: &str = "
CREATE TABLE feed_content (
    source_id UUID PRIMARY KEY REFERENCES feed_source (id) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    body TEXT NOT NULL
)
";

const FEED_PUSH: &str = "
CREATE TABLE feed_push (
    source_id UUID PRIMARY KEY REFERENCES feed_source (id) ON DELETE CASCADE,
    hub TEXT NOT NULL,
    topic TEXT NOT NULL,
    state TEXT NOT NULL,
    ends_at BIGINT,
    renew_at BIGINT NOT NULL
);
CREATE INDEX feed_push_due ON feed_push (renew_at)
";

/// A user follows a source once. A source with followers cannot be deleted.
const FEED: &str = r#"
CREATE TABLE feed (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    source_id UUID NOT NULL REFERENCES feed_source (id),
    url TEXT NOT NULL,
    title TEXT,
    folder TEXT,
    full_text BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX feed_user ON feed (user_id, id);
CREATE UNIQUE INDEX feed_follower ON feed (source_id, user_id)
"#;

/// A feed has each entry once; `entry_key` serves the foreign key of the feed too. It includes the owner, and so do the other indexes
/// by which a delivery finds entries: without statistics SQLite prefers an index on the feed and its owner, and reads the whole feed.
/// A delivery finds entries whose ids the feed changed by `entry_normalized_url`, and the few without a page by `entry_feed_content`.
/// `entry_document` ends with the id, because the entries of a document are read in the order of their ids, which `entry_user_id` has too.
///
/// Lists are in the order of `sorted_at`. `entry_user_marks` and `entry_feed_marks` have this order for each combination of marks.
/// `entry_user_moved` has the few entries whose publication time differs from it, which lists by publication time need besides.
///
/// The order of the statements matters: without statistics SQLite holds several indexes for equally good, such as for a range of times
/// with two ends, and which of them it uses then depends on the order of their creation. If `entry_user` were created before
/// `entry_user_feed`, or after `entry_user_moved`, it would be used in place of them.
const ENTRY: &str = r#"
CREATE TABLE entry (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    feed_id UUID NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    document_id UUID NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    key_hash BYTES NOT NULL,
    content_hash BYTES NOT NULL,
    url TEXT NOT NULL,
    normalized_url TEXT NOT NULL,
    title TEXT NOT NULL,
    author TEXT,
    summary TEXT,
    has_full_text BOOLEAN NOT NULL,
    enclosure_url TEXT,
    enclosure_type TEXT,
    enclosure_bytes BIGINT,
    published_at BIGINT,
    sorted_at BIGINT NOT NULL,
    read BOOLEAN NOT NULL,
    starred BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX entry_key ON entry (feed_id, user_id, key_hash);
CREATE INDEX entry_user_id ON entry (user_id, id);
CREATE INDEX entry_user_feed ON entry (user_id, feed_id, sorted_at, id);
CREATE INDEX entry_user_marks ON entry (user_id, read, starred, sorted_at, id);
CREATE INDEX entry_feed_marks ON entry (user_id, feed_id, read, starred, sorted_at, id);
CREATE INDEX entry_user ON entry (user_id, sorted_at, id);
CREATE INDEX entry_user_moved ON entry (user_id, sorted_at, id) WHERE sorted_at <> COALESCE(published_at, created_at);
CREATE INDEX entry_feed_content ON entry (user_id, feed_id, content_hash) WHERE normalized_url = '';
CREATE INDEX entry_normalized_url ON entry (user_id, normalized_url, id);
CREATE INDEX entry_document ON entry (document_id, user_id, id)
"#;
