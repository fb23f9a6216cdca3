//! What the home page and the pages of feeds keep: visits, onboarding, muted words, marks that can be undone, and since when a feed
//! fails.

use crate::sql_migration::SqlMigration;

/// Creates the tables of the home page and of the pages of feeds, and adds the columns of the health of feeds and of the actions of
/// notices.
pub fn migration() -> SqlMigration {
    SqlMigration::new(
        "m0022_home_and_feeds",
        &[WEB_STATE, FEED_MUTE, ENTRY_MARK, FEED_SOURCE, NOTICE, CONTINUED_BOOKMARKS],
    )
}

/// The project is no foreign key: a project that was deleted is not found, which the reader of the row treats as none.
const WEB_STATE: &str = r#"
CREATE TABLE web_state (
    user_id UUID PRIMARY KEY REFERENCES "user" (id) ON DELETE CASCADE,
    seen_at BIGINT NOT NULL,
    last_visit_at BIGINT,
    onboarding_ended_at BIGINT,
    sample_project_id UUID
)
"#;

/// `feed_mute_feed` serves the foreign key.
const FEED_MUTE: &str = r#"
CREATE TABLE feed_mute (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    feed_id UUID REFERENCES feed (id) ON DELETE CASCADE,
    words TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX feed_mute_user ON feed_mute (user_id, id);
CREATE INDEX feed_mute_feed ON feed_mute (feed_id)
"#;

const ENTRY_MARK: &str = r#"
CREATE TABLE entry_mark (
    id UUID PRIMARY KEY,
    user_id UUID NOT NULL REFERENCES "user" (id) ON DELETE CASCADE,
    entry_ids BYTES NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX entry_mark_user ON entry_mark (user_id, id)
"#;

const FEED_SOURCE: &str = "
ALTER TABLE feed_source ADD COLUMN tried_at BIGINT;
ALTER TABLE feed_source ADD COLUMN failing_since BIGINT
";

const NOTICE: &str = "ALTER TABLE notice ADD COLUMN subject_id UUID";

/// The bookmarks that were begun and neither finished nor archived, in the order of their last change: those that the home page
/// continues.
const CONTINUED_BOOKMARKS: &str = "
CREATE INDEX bookmark_continued ON bookmark (user_id, updated_at, id)
    WHERE deleted_at IS NULL AND NOT archived AND progress > 0 AND progress < 1
";
