//! Sign-in pages of applications that wait for a person.

use crate::statement::Step;

/// What a sign-in goes on with is kept here, not in its page.
pub const STEP: Step = Step { name: "m0014_sign_in", up: UP };

const UP: &str = "
CREATE TABLE oauth_sign_in (
    hash BYTES PRIMARY KEY,
    query TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE INDEX oauth_sign_in_expires ON oauth_sign_in (expires_at)
";
