//! The ids in a request's path. A malformed one is answered like an unknown one (contract.md, section 1).

use std::str::FromStr;

use crate::error::Error;

/// The variable parts of a path, in order, percent-decoded.
#[derive(Clone, Debug, Default)]
pub struct Target(pub Vec<String>);

impl Target {
    /// The id at this place.
    pub fn id<I: FromStr>(&self, place: usize) -> Result<I, Error> {
        self.0.get(place).and_then(|text| text.parse().ok()).ok_or(Error::NotFound)
    }
}
