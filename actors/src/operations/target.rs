//! The ids and names in a request's path. A malformed one is answered like an unknown one (contract.md, section 1).

use std::str::FromStr;

use errors::Error;

/// The variable parts of a path, in order, percent-decoded.
#[derive(Clone, Debug, Default)]
pub struct Target(pub Vec<String>);

impl Target {
    /// The id at this place.
    pub fn id<I: FromStr>(&self, place: usize) -> Result<I, Error> {
        self.0.get(place).and_then(|text| text.parse().ok()).ok_or(Error::not_found())
    }

    /// The name at this place. What no name can be, such as one with the character NUL, is nobody's.
    pub fn text(&self, place: usize) -> Result<String, Error> {
        self.0
            .get(place)
            .filter(|text| !text.is_empty() && !text.contains('\0'))
            .cloned()
            .ok_or(Error::not_found())
    }
}
