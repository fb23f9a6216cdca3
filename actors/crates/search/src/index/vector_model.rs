//! The embedding model of an index.

use super::index_error::IndexError;

/// The embedding model whose vectors are stored and searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorModel {
    /// Its name, of letters, digits, `-` and `.`. Each name has a separate vector in a point.
    pub name: String,
    /// Number of floats in each of its vectors.
    pub dimensions: usize,
}

impl VectorModel {
    /// Returns the name of its vectors in a point.
    pub(super) fn vector_name(&self) -> String {
        format!("dense_{}", self.name)
    }

    /// Checks that vectors have the dimensions of the model of an index. Without a model there can be none.
    ///
    /// # Errors
    /// [`IndexError::Dimension`] for the first vector that has others.
    pub(super) fn check_dimensions<'a>(
        model: Option<&Self>,
        mut vectors: impl Iterator<Item = &'a Vec<f32>>,
    ) -> Result<(), IndexError> {
        let expected = model.map_or(0, |model| model.dimensions);
        match vectors.find(|vector| vector.len() != expected) {
            Some(vector) => Err(IndexError::Dimension { expected, actual: vector.len() }),
            None => Ok(()),
        }
    }
}
