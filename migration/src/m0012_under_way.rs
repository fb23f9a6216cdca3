//! What is under way says so from time to time: bytes of an upload that come, and a request whose answer an
//! Idempotency-Key will stand for. What says nothing any more has died.

use crate::statement::Step;

/// Two columns of signs of life.
pub const STEP: Step = Step { name: "m0012_under_way", up: UP };

const UP: &str = "
ALTER TABLE upload ADD COLUMN receiving_until BIGINT NOT NULL DEFAULT 0;
ALTER TABLE idempotency ADD COLUMN running_at BIGINT NOT NULL DEFAULT 0;
UPDATE idempotency SET running_at = created_at
";
