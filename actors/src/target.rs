//! The ids and names in a request's path. A malformed id is answered like an unknown one (contract.md, section 1).

use std::str::FromStr;

use errors::Error;

/// The variable parts of a path, in order, percent-decoded.
#[derive(Clone, Debug, Default)]
pub struct Target(pub Vec<String>);

impl Target {
    /// Parses the id at this index.
    ///
    /// # Errors
    /// [`Error::NotFound`] when it is malformed.
    pub fn id<I: FromStr>(&self, index: usize) -> Result<I, Error> {
        self.0.get(index).and_then(|text| text.parse().ok()).ok_or(Error::not_found())
    }

    /// Returns the name at this index.
    ///
    /// # Errors
    /// [`Error::NotFound`] for an empty text or one with the character NUL, because nothing has such a name.
    pub fn text(&self, index: usize) -> Result<String, Error> {
        self.0
            .get(index)
            .filter(|text| !text.is_empty() && !text.contains('\0'))
            .cloned()
            .ok_or(Error::not_found())
    }
}
