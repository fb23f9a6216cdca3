//! The documents of a user of which the index lacks a change: what was just saved, tagged, retitled or highlighted. A search reads them
//! from the database, so it finds a change as soon as it is acknowledged, whatever the jobs are doing.
//!
//! Those with the newest changes count, within bounds. What lies beyond them, such as most of a large import, is found once it is indexed.
//! Usually there are none, and a search finds that out by one direct read.

mod analyzed;
mod documents;
mod load;
mod metadata_shares;

pub use documents::{UnindexedDocuments, term_weight};
pub use load::UnindexedReader;
pub use metadata_shares::metadata_shares;
