//! The embedding models of the engine: the one by whose vectors passages are searched and, during a change of models, the next one, whose
//! vectors are added beside.

use std::sync::Arc;

use inference::embedder::Embedder;

/// The names of the models whose vectors the index has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames {
    /// The model by whose vectors passages are searched; `None` if there has never been one.
    pub searched: Option<String>,
    /// The model by whose vectors they are searched once all of them have such vectors.
    pub next: Option<String>,
}

impl ModelNames {
    /// Returns whether a model has one of the roles.
    pub fn contains(&self, model: &str) -> bool {
        [&self.searched, &self.next].into_iter().flatten().any(|name| name == model)
    }
}

/// The models that are loaded, by the roles that they have.
#[derive(Default)]
pub(super) struct ModelSet {
    names: ModelNames,
    loaded: Vec<Arc<dyn Embedder>>,
}

impl ModelSet {
    /// Sets the roles. A loaded model without a role is dropped.
    pub fn set_names(&mut self, names: ModelNames) {
        self.names = names;
        let Self { names, loaded } = self;
        loaded.retain(|embedder| names.contains(embedder.model()));
    }

    /// Adds a loaded model in the role of its name. The first model of all is the one that is searched. One without a role, because the
    /// models were changed while it was loaded, is dropped.
    pub fn add(&mut self, embedder: Arc<dyn Embedder>) {
        self.loaded.retain(|loaded| loaded.model() != embedder.model());
        self.names.searched.get_or_insert_with(|| embedder.model().to_owned());
        if self.names.contains(embedder.model()) {
            self.loaded.push(embedder);
        }
    }

    /// Returns the names of the models, loaded or not.
    pub fn names(&self) -> &ModelNames {
        &self.names
    }

    /// Returns the model by whose vectors passages are searched, if it is loaded.
    pub fn searched(&self) -> Option<Arc<dyn Embedder>> {
        self.find(self.names.searched.as_deref())
    }

    /// Returns the next model, if there is one and it is loaded.
    pub fn next(&self) -> Option<Arc<dyn Embedder>> {
        self.find(self.names.next.as_deref())
    }

    fn find(&self, name: Option<&str>) -> Option<Arc<dyn Embedder>> {
        let name = name?;
        self.loaded.iter().find(|embedder| embedder.model() == name).cloned()
    }
}

#[cfg(test)]
mod tests {
    use inference::embedder::{Calibration, EmbedError, Embeddings, QueryWeight};

    use super::*;

    struct NamedEmbedder(&'static str);

    impl Embedder for NamedEmbedder {
        fn model(&self) -> &str {
            self.0
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn embed(&self, _: &[&str]) -> Result<Embeddings, EmbedError> {
            Ok(Embeddings::default())
        }

        fn embed_query(&self, _: &str) -> Result<Vec<f32>, EmbedError> {
            Ok(vec![1.0])
        }

        fn query_weight(&self, _: &str) -> QueryWeight {
            QueryWeight::FULL
        }

        fn knows_each_word(&self, _: &str) -> Option<bool> {
            None
        }

        fn calibration(&self) -> Calibration {
            Calibration::STANDARD
        }
    }

    fn names(searched: &str, next: Option<&str>) -> ModelNames {
        ModelNames { searched: Some(searched.to_owned()), next: next.map(str::to_owned) }
    }

    fn roles(models: &ModelSet) -> [Option<String>; 2] {
        [models.searched(), models.next()]
            .map(|embedder| embedder.map(|embedder| embedder.model().to_owned()))
    }

    #[test]
    fn loaded_models_take_the_roles_of_their_names() {
        let mut models = ModelSet::default();
        models.set_names(names("a", Some("b")));

        for name in ["b", "c", "a"] {
            models.add(Arc::new(NamedEmbedder(name)));
        }
        assert_eq!(roles(&models), [Some("a".to_owned()), Some("b".to_owned())]);

        models.set_names(names("b", None));
        assert_eq!(roles(&models), [Some("b".to_owned()), None]);
        // It was dropped with its role.
        models.set_names(names("a", None));
        assert_eq!(roles(&models), [None, None]);
    }

    #[test]
    fn first_model_of_all_is_searched() {
        let mut models = ModelSet::default();

        models.add(Arc::new(NamedEmbedder("a")));
        models.add(Arc::new(NamedEmbedder("b")));

        assert_eq!(roles(&models), [Some("a".to_owned()), None]);
    }
}
