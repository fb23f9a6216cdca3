//! Embeddings of passages, as the index stores them.

use std::time::Duration;

use inference::embedder::{EmbedError, Embedder, Embeddings};
use search::index::Embedding;
use tracing::warn;

/// The result of embedding passages.
#[derive(Clone, Debug, PartialEq)]
pub enum EmbedOutcome {
    /// There is no model, so they get no vectors until one is loaded.
    WithoutModel,
    /// They have vectors, except those that the service refuses.
    Embedded(Vectors),
    /// The service that embeds cannot be used now, or AI is paused and the service costs money.
    Unavailable {
        /// Time after which another attempt may succeed.
        retry_after: Duration,
    },
}

/// Embeddings, and the model that computed them; during a change of models those of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    /// The name of the model, which names its vectors in the index: of two models the later one.
    pub model: String,
    /// The embeddings of each text, in order, one of each model; none of a text that the service of the model refuses.
    pub vectors: Vec<Vec<Embedding>>,
    /// Tokens that the models read.
    pub tokens: usize,
}

impl Vectors {
    /// Computes the embeddings of passages. Those that a service refuses get none: they would be refused again.
    ///
    /// # Errors
    /// [`EmbedError`] when the model fails, or the service cannot be used.
    pub fn compute(embedder: &dyn Embedder, texts: &[String]) -> Result<Self, EmbedError> {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = Vec::with_capacity(texts.len());
        let mut computed = Self { model: embedder.model().to_owned(), vectors, tokens: 0 };
        computed.add(embedder, &texts)?;
        let passages = computed.vectors.iter().filter(|vectors| vectors.is_empty()).count();
        if passages > 0 {
            warn!(passages, "the embedding endpoint refuses passages; search finds them by their words only");
        }
        Ok(computed)
    }

    /// Returns these embeddings with those of a later model of the same texts.
    #[must_use]
    pub fn with(mut self, later: Self) -> Self {
        for (vectors, later) in self.vectors.iter_mut().zip(later.vectors) {
            vectors.extend(later);
        }
        Self { model: later.model, vectors: self.vectors, tokens: self.tokens.saturating_add(later.tokens) }
    }

    /// Adds the embeddings of texts. If they are refused, each half is sent alone, down to the texts that are the cause.
    fn add(&mut self, embedder: &dyn Embedder, texts: &[&str]) -> Result<(), EmbedError> {
        match embedder.embed(texts) {
            Ok(Embeddings { vectors, tokens }) => {
                let model = &self.model;
                let to_embedding = |vector| vec![Embedding { model: model.clone(), vector }];
                self.vectors.extend(vectors.into_iter().map(to_embedding));
                self.tokens = self.tokens.saturating_add(tokens);
                Ok(())
            }
            Err(EmbedError::TextRefused { .. }) if texts.len() > 1 => {
                let (first, second) = texts.split_at(texts.len() / 2);
                self.add(embedder, first)?;
                self.add(embedder, second)
            }
            Err(EmbedError::TextRefused { .. }) => {
                self.vectors.extend(texts.iter().map(|_| Vec::new()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use inference::embedder::{Calibration, EndpointFault, QueryWeight};

    use super::*;

    /// Refuses requests with a text that contains "canary", and cannot be used once a text contains "storm".
    #[derive(Default)]
    struct PickyEmbedder {
        /// Number of texts of each request.
        requests: Mutex<Vec<usize>>,
    }

    impl Embedder for PickyEmbedder {
        fn model(&self) -> &str {
            "picky"
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
            self.requests.lock().unwrap().push(texts.len());
            let contains = |word: &str| texts.iter().any(|text| text.contains(word));
            let fault = EndpointFault::Refused(400);
            if contains("canary") {
                return Err(EmbedError::TextRefused { fault });
            }
            if contains("storm") {
                return Err(EmbedError::Unavailable { fault, retry_after: Duration::ZERO });
            }
            Ok(Embeddings { vectors: vec![vec![1.0]; texts.len()], tokens: texts.len() })
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

    fn texts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn only_refused_texts_have_no_vector() {
        let embedder = PickyEmbedder::default();
        let texts = texts(&["ant", "bee", "canary", "dodo", "a canary"]);

        let computed = Vectors::compute(&embedder, &texts).unwrap();

        let one = vec![Embedding { model: "picky".to_owned(), vector: vec![1.0] }];
        assert_eq!(computed.vectors, [one.clone(), one.clone(), vec![], one, vec![]]);
        assert_eq!((computed.model.as_str(), computed.tokens), ("picky", 3));
        assert_eq!(*embedder.requests.lock().unwrap(), [5, 2, 3, 1, 2, 1, 1]);
    }

    #[test]
    fn vectors_of_two_models_are_those_of_the_same_texts() {
        let embedding = |model: &str| Embedding { model: model.to_owned(), vector: vec![1.0] };
        let of_model = |model: &str, vectors| Vectors { model: model.to_owned(), vectors, tokens: 3 };
        let former = of_model("a", vec![vec![embedding("a")], vec![]]);
        let latest = of_model("b", vec![vec![embedding("b")], vec![embedding("b")]]);

        let both = former.with(latest);

        assert_eq!(both.vectors, [vec![embedding("a"), embedding("b")], vec![embedding("b")]]);
        assert_eq!((both.model.as_str(), both.tokens), ("b", 6));
    }

    #[test]
    fn service_that_cannot_be_used_gives_no_vectors() {
        let computed = Vectors::compute(&PickyEmbedder::default(), &texts(&["canary", "storm"]));

        assert!(matches!(computed, Err(EmbedError::Unavailable { .. })), "{computed:?}");
    }
}
