//! The settings of an endpoint that embeds, and the name that they give its vectors.

use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// Maximum length of the name of a model as a part of the name of its vectors.
const MAX_NAME_CHARS: usize = 128;
/// Hexadecimal digits by which the names of vectors with equal models differ.
const HASH_DIGITS: usize = 8;

/// The settings of an endpoint.
#[derive(Clone)]
pub struct EmbeddingSettings {
    /// Base URL (`ai.embedding.url`), to which `/embeddings` is appended.
    pub url: String,
    /// What tells the service from others (`ai.embedding.identity`): its vectors stay the same when the URL changes. `None` if the URL does.
    pub identity: Option<String>,
    /// Name of the model that each request asks for (`ai.embedding.model`).
    pub model: String,
    /// `ai.embedding.key`, sent as a bearer token.
    pub key: Option<Zeroizing<String>>,
    /// Length of vectors that each request asks for (`ai.embedding.dimensions`); `None` takes them as they come.
    pub dimensions: Option<usize>,
    /// Prepended to each query (`ai.embedding.query_prefix`).
    pub query_prefix: String,
    /// Prepended to each passage (`ai.embedding.passage_prefix`).
    pub passage_prefix: String,
}

impl EmbeddingSettings {
    /// Returns the name of the vectors of passages with this length, of letters, digits, `-` and `.`. It differs for everything on which such
    /// vectors depend: the service, the model, the prefix of passages and the length.
    #[must_use]
    pub fn vector_name(&self, dimensions: usize) -> String {
        let to_allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
        let model: String = self.model.chars().take(MAX_NAME_CHARS).map(to_allowed).collect();
        let mut hash = Sha256::new();
        let service = self.identity.as_ref().unwrap_or(&self.url);
        for part in [service.trim_end_matches('/'), &self.model, &self.passage_prefix] {
            // With its length, so that no two lists of parts have the same bytes.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let hash = base16ct::lower::encode_string(&hash.finalize());
        let hash: String = hash.chars().take(HASH_DIGITS).collect();
        format!("{model}-{dimensions}-{hash}")
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn settings(model: &str) -> EmbeddingSettings {
        EmbeddingSettings {
            url: "https://embed.example/v1".to_owned(),
            identity: None,
            model: model.to_owned(),
            key: None,
            dimensions: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
        }
    }

    #[test]
    fn name_of_vectors_has_allowed_characters_only() {
        let name = settings("intfloat/multilingual_e5:large v1.5").vector_name(1_024);

        let hash = name.strip_prefix("intfloat-multilingual-e5-large-v1.5-1024-").unwrap();
        assert!(hash.len() == HASH_DIGITS && hash.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    }

    #[test]
    fn name_of_vectors_depends_on_all_that_changes_them() {
        let one = settings("a/b");
        let others = [
            settings("a-b"),
            EmbeddingSettings { url: "https://other.example/v1".to_owned(), ..one.clone() },
            EmbeddingSettings { passage_prefix: "passage: ".to_owned(), ..one.clone() },
        ];

        let names: HashSet<String> =
            others.iter().chain([&one]).map(|settings| settings.vector_name(256)).collect();

        assert_eq!(names.len(), 4, "{names:?}");
        assert_ne!(one.vector_name(256), one.vector_name(255));
    }

    #[test]
    fn name_of_vectors_stays_when_a_service_with_an_identity_moves() {
        let one = settings("a/b");
        let moved = EmbeddingSettings {
            url: "http://10.0.0.7/v1".to_owned(),
            identity: Some(one.url.clone()),
            ..one.clone()
        };

        assert_eq!(moved.vector_name(256), one.vector_name(256));
        let other = EmbeddingSettings { identity: Some("other".to_owned()), ..one.clone() };
        assert_ne!(other.vector_name(256), one.vector_name(256));
    }

    #[test]
    fn name_of_vectors_stays_when_queries_change() {
        let one = settings("a/b");
        let same = EmbeddingSettings {
            url: "https://embed.example/v1/".to_owned(),
            key: Some("sk-heron".to_owned().into()),
            query_prefix: "query: ".to_owned(),
            ..one.clone()
        };

        assert_eq!(same.vector_name(256), one.vector_name(256));
    }
}
