//! The embedding models of an index.

use std::sync::{Arc, PoisonError, RwLock};

use super::index_error::IndexError;
use super::passage::Embedding;

/// An embedding model whose vectors are stored and searched.
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
        vector_name(&self.name)
    }
}

/// Returns the name of the vectors of a model in a point.
pub(super) fn vector_name(model: &str) -> String {
    format!("dense_{model}")
}

/// The embedding models whose vectors an index stores: one, or two while the vectors of another model are added beside those that are
/// searched. Clones share them, so that an index that is opened again has the same.
#[derive(Debug, Clone, Default)]
pub struct VectorModels(Arc<RwLock<Vec<VectorModel>>>);

impl VectorModels {
    /// Returns these models.
    #[must_use]
    pub fn new(models: impl IntoIterator<Item = VectorModel>) -> Self {
        Self(Arc::new(RwLock::new(models.into_iter().collect())))
    }

    /// Returns all of them.
    pub(super) fn list(&self) -> Vec<VectorModel> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds a model, or replaces the one with its name: its vectors are accepted from now on.
    pub(super) fn add(&self, model: VectorModel) {
        let mut models = self.0.write().unwrap_or_else(PoisonError::into_inner);
        models.retain(|known| known.name != model.name);
        models.push(model);
    }

    /// Removes a model, so that its vectors are refused from now on.
    pub(super) fn remove(&self, name: &str) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).retain(|model| model.name != name);
    }

    /// Checks that embeddings are of these models, and have their dimensions.
    ///
    /// # Errors
    /// For the first embedding that is refused: [`IndexError::UnknownModel`] when it is of another model, [`IndexError::Dimension`] when it has
    /// other dimensions.
    pub(super) fn check<'a>(
        &self,
        embeddings: impl Iterator<Item = &'a Embedding>,
    ) -> Result<(), IndexError> {
        let models = self.0.read().unwrap_or_else(PoisonError::into_inner);
        for Embedding { model: name, vector } in embeddings {
            let Some(model) = models.iter().find(|model| model.name == *name) else {
                return Err(IndexError::UnknownModel(name.clone()));
            };
            if vector.len() != model.dimensions {
                return Err(IndexError::Dimension { expected: model.dimensions, actual: vector.len() });
            }
        }
        Ok(())
    }
}
