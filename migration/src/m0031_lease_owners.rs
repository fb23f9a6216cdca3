//! Whose process holds the lease of a job, so that the next process of the same data folder ends the leases of a dead one.

use crate::statement::Step;

/// The data folder's id; none on leases of earlier versions, which end by their time.
pub const STEP: Step = Step { name: "m0031_lease_owners", up: UP };

const UP: &str = "
ALTER TABLE job ADD COLUMN lease_owner UUID
";
