//! Hubs that say when a feed has something new (WebSub).

use crate::statement::Step;

/// The hub of a source, and how far the subscription is.
pub const STEP: Step = Step { name: "m0018_feed_push", up: UP };

const UP: &str = "
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
