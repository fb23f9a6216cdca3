//! The embedding model of an index.

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
}
