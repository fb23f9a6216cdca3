//! Codes and tokens say their state by its name, as connections do.

use crate::statement::Step;

/// A state in place of the time of use.
pub const STEP: Step = Step { name: "m0016_oauth_states", up: UP };

const UP: &str = "
ALTER TABLE oauth_code ADD COLUMN state TEXT NOT NULL DEFAULT 'issued';
UPDATE oauth_code SET state = CASE WHEN branch IS NULL THEN 'spent' ELSE 'redeemed' END WHERE used_at IS NOT NULL;
ALTER TABLE oauth_code DROP COLUMN used_at;
ALTER TABLE oauth_token ADD COLUMN state TEXT NOT NULL DEFAULT 'issued';
UPDATE oauth_token SET state = 'spent' WHERE used_at IS NOT NULL;
ALTER TABLE oauth_token DROP COLUMN used_at
";
