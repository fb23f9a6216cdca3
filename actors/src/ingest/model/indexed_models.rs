//! The record of the models whose vectors are in the index, in one row of the database.
//!
//! Passages are searched by the vectors of one model. After a change of the settings the vectors of the next model are added beside them, by
//! jobs of the backlog. Once all passages have them, the next model becomes the one that is searched, and the vectors of the former one are
//! deleted. Each step is one change of the row, made before the index is changed or after its change is durable, so a process that ends in
//! between leaves nothing behind that the next one does not continue.

use errors::Error;
use inference::embedder::MeasuredModel;
use search::index::{VectorModel, VectorModels};
use serde::{Deserialize, Serialize};

use crate::retrieval::ModelNames;

/// A model whose vectors are in the index, or are to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexedModel {
    /// Name of the model, by which the index knows its vectors.
    pub name: String,
    /// Length of its vectors.
    pub dimensions: usize,
    /// The endpoint that embeds; `None` for a local model.
    pub endpoint: Option<IndexedEndpoint>,
}

/// What is needed to ask an endpoint whose settings were replaced, except its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexedEndpoint {
    /// Base URL of the API, without credentials.
    pub url: String,
    /// What tells the service from others; `None` if its URL does.
    pub identity: Option<String>,
    /// Model that is requested.
    pub model: String,
    /// Length of the vectors that is requested; `None` takes them as they come.
    pub dimensions: Option<usize>,
    /// Prepended to each query.
    pub query_prefix: String,
    /// Prepended to each passage.
    pub passage_prefix: String,
    /// What was measured of its vectors; `None` if it has not answered yet.
    pub measured: Option<MeasuredModel>,
}

impl IndexedEndpoint {
    /// Returns what tells the service from others: its identity, or its URL.
    #[must_use]
    pub fn service(&self) -> &str {
        self.identity.as_ref().unwrap_or(&self.url).trim_end_matches('/')
    }

    /// Returns whether the vectors of passages and of queries are those of another endpoint, as far as their lengths are the same.
    fn answers_like(&self, other: &Self) -> bool {
        self.service() == other.service()
            && self.model == other.model
            && self.query_prefix == other.query_prefix
            && self.passage_prefix == other.passage_prefix
    }
}

/// The models whose vectors are in the index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexedModels {
    /// The model by whose vectors passages are searched.
    pub searched: IndexedModel,
    /// The model of the settings, if it is another one: its vectors are being added.
    pub next: Option<IndexedModel>,
    /// Names of models whose vectors are to be deleted.
    pub retired: Vec<String>,
    /// The one of these whose vectors are being deleted. It must not become the next model before that has ended: a server that uses it would
    /// lose its vectors.
    pub deleting: Option<String>,
}

impl IndexedModels {
    /// Returns the names of the models, by their roles.
    #[must_use]
    pub fn names(&self) -> ModelNames {
        ModelNames {
            searched: Some(self.searched.name.clone()),
            next: self.next.as_ref().map(|next| next.name.clone()),
        }
    }

    /// Returns the models with which the index is opened.
    #[must_use]
    pub fn vector_models(&self) -> VectorModels {
        let models = [Some(&self.searched), self.next.as_ref()].into_iter().flatten();
        VectorModels::new(
            models.map(|model| VectorModel { name: model.name.clone(), dimensions: model.dimensions }),
        )
    }

    /// Returns the record after the first start.
    pub(super) fn first(wanted: IndexedModel) -> Self {
        Self { searched: wanted, next: None, retired: Vec::new(), deleting: None }
    }

    /// Returns the record after a start with this model in the settings.
    pub(super) fn with_configured(mut self, wanted: IndexedModel) -> Self {
        let former_next = self.next.take().map(|next| next.name);
        self.retired.extend(former_next.filter(|name| *name != wanted.name));
        // Vectors of it that are there already count as its own.
        self.retired.retain(|name| *name != wanted.name);
        self.deleting = self.deleting.filter(|name| *name != wanted.name);
        if self.searched.name == wanted.name {
            self.searched = wanted;
        } else {
            self.next = Some(wanted);
        }
        self
    }

    /// Returns the record once all passages have the vectors of the next model; `None` without a next one.
    #[must_use]
    pub(crate) fn switched(&self) -> Option<Self> {
        let next = self.next.clone()?;
        let mut retired = self.retired.clone();
        retired.push(self.searched.name.clone());
        Some(Self { searched: next, next: None, retired, deleting: self.deleting.clone() })
    }

    /// Returns the record while the vectors of this retired model are being deleted.
    #[must_use]
    pub(crate) fn with_deletion_of(&self, name: &str) -> Self {
        Self { deleting: Some(name.to_owned()), ..self.clone() }
    }

    /// Returns the record once the index has no vectors of this model any more.
    #[must_use]
    pub(crate) fn without_retired(&self, name: &str) -> Self {
        let mut left = self.clone();
        left.retired.retain(|retired| retired != name);
        left.deleting = left.deleting.filter(|deleting| deleting != name);
        left
    }

    /// Returns what was measured of an endpoint with these settings; `None` if it is none of the models, or has not answered yet.
    pub(super) fn measurement_of(&self, endpoint: &IndexedEndpoint) -> Option<&MeasuredModel> {
        let models = [Some(&self.searched), self.next.as_ref()].into_iter().flatten();
        let known = models.filter_map(|model| model.endpoint.as_ref());
        known.filter(|known| known.answers_like(endpoint)).find_map(|known| {
            let measured = known.measured.as_ref()?;
            endpoint.dimensions.is_none_or(|set| set == measured.dimensions).then_some(measured)
        })
    }

    /// Adds what was measured of the endpoint of the model that it names. Returns whether the record changed.
    pub(super) fn set_measurement(&mut self, measured: &MeasuredModel) -> bool {
        let models = [Some(&mut self.searched), self.next.as_mut()].into_iter().flatten();
        let mut is_changed = false;
        for model in models.filter(|model| model.name == measured.name) {
            if let Some(endpoint) = &mut model.endpoint
                && endpoint.measured.as_ref() != Some(measured)
            {
                endpoint.measured = Some(measured.clone());
                is_changed = true;
            }
        }
        is_changed
    }

    /// Returns the row of the record.
    pub(crate) fn to_row(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(Error::internal)
    }

    /// Reads a row; `None` if another version of the server wrote it.
    pub(crate) fn from_row(row: &str) -> Option<Self> {
        serde_json::from_str(row).ok()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use inference::embedder::Calibration;

    use super::*;

    pub fn model(name: &str) -> IndexedModel {
        IndexedModel { name: name.to_owned(), dimensions: 4, endpoint: None }
    }

    pub fn record(searched: &str, next: Option<&str>, retired: &[&str]) -> IndexedModels {
        IndexedModels {
            searched: model(searched),
            next: next.map(model),
            retired: retired.iter().map(|name| (*name).to_owned()).collect(),
            deleting: None,
        }
    }

    #[test]
    fn another_model_is_searched_once_it_is_complete() {
        let changed = IndexedModels::first(model("a")).with_configured(model("b"));
        assert_eq!(changed, record("a", Some("b"), &[]));
        // A start in between changes nothing.
        assert_eq!(changed.clone().with_configured(model("b")), changed);

        let switched = changed.switched().unwrap();

        assert_eq!(switched, record("b", None, &["a"]));
        assert_eq!(switched.without_retired("a"), record("b", None, &[]));
        assert_eq!(switched.switched(), None);
    }

    #[test]
    fn change_that_is_given_up_leaves_its_vectors_to_be_deleted() {
        let changed = record("a", Some("b"), &[]);

        assert_eq!(changed.clone().with_configured(model("a")), record("a", None, &["b"]));
        assert_eq!(changed.with_configured(model("c")), record("a", Some("c"), &["b"]));
        // Wanted again before they are deleted.
        assert_eq!(record("a", None, &["b"]).with_configured(model("b")), record("a", Some("b"), &[]));
    }

    #[test]
    fn deletion_ends_with_the_vectors_or_when_model_is_set_again() {
        let deleting = record("b", None, &["a", "c"]).with_deletion_of("a");

        assert_eq!(deleting.without_retired("a"), record("b", None, &["c"]));
        // A deletion that was interrupted.
        assert_eq!(deleting.clone().with_configured(model("a")), record("b", Some("a"), &["c"]));
        let other = deleting.with_configured(model("d"));
        assert_eq!(other.deleting.as_deref(), Some("a"));
    }

    fn endpoint(query_prefix: &str, dimensions: Option<usize>) -> IndexedEndpoint {
        IndexedEndpoint {
            url: "https://embed.example/v1".to_owned(),
            identity: None,
            model: "heron".to_owned(),
            dimensions,
            query_prefix: query_prefix.to_owned(),
            passage_prefix: String::new(),
            measured: None,
        }
    }

    #[test]
    fn measurement_is_kept_for_the_same_settings() {
        let measured =
            MeasuredModel { name: "b".to_owned(), dimensions: 4, calibration: Calibration::STANDARD };
        let mut models = record("a", None, &[]);
        models.next = Some(IndexedModel { endpoint: Some(endpoint("query: ", None)), ..model("b") });
        assert_eq!(models.measurement_of(&endpoint("query: ", None)), None);

        assert!(models.set_measurement(&measured));

        assert!(!models.set_measurement(&measured), "it is known");
        for dimensions in [None, Some(4)] {
            assert_eq!(models.measurement_of(&endpoint("query: ", dimensions)), Some(&measured));
        }
        assert_eq!(models.measurement_of(&endpoint("query: ", Some(3))), None);
        let url = "https://other.example/v1".to_owned();
        let moved = IndexedEndpoint { url, ..endpoint("query: ", None) };
        assert_eq!(models.measurement_of(&moved), None, "another service");
        let identity = Some("https://embed.example/v1/".to_owned());
        assert_eq!(models.measurement_of(&IndexedEndpoint { identity, ..moved }), Some(&measured));
        // The scale depends on the queries too.
        assert_eq!(models.measurement_of(&endpoint("", None)), None);
    }
}
