//! The response of an OpenAI-compatible service to a request for embeddings.

use serde::Deserialize;

use super::{Embeddings, endpoint_fault::EndpointFault};

/// Maximum length of a vector. Longer than those of any known model.
pub(super) const MAX_DIMENSIONS: usize = 8_192;
/// The largest plausible `usage.total_tokens` of a request: several times what its texts may have.
const MAX_TOTAL_TOKENS: u64 = 1_000_000;

/// The body of a response. Unknown fields are allowed, because services add some.
#[derive(Deserialize)]
pub(super) struct EmbeddingsResponse {
    data: Vec<ResponseVector>,
    #[serde(default)]
    usage: Option<ResponseUsage>,
}

#[derive(Deserialize)]
struct ResponseVector {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct ResponseUsage {
    #[serde(default)]
    total_tokens: Option<u64>,
}

impl EmbeddingsResponse {
    /// Parses a body.
    pub(super) fn parse(body: &[u8]) -> Result<Self, EndpointFault> {
        // The error of the parser may quote the body.
        serde_json::from_slice(body)
            .map_err(|_| EndpointFault::InvalidResponse("it is not a list of embeddings"))
    }

    /// Returns the vectors of `texts` texts in their order, normalised to length 1. `expected` is the length that they must have, or `None`
    /// if any is accepted. `estimate` is the number of tokens if the response does not tell it.
    pub(super) fn into_embeddings(
        mut self,
        texts: usize,
        expected: Option<usize>,
        estimate: usize,
    ) -> Result<Embeddings, EndpointFault> {
        if self.data.len() != texts {
            return Err(EndpointFault::InvalidResponse("it has another number of embeddings than texts"));
        }
        // Services may finish the texts in any order. Without an index they are in the order of the texts.
        self.data.sort_by_key(|vector| vector.index);
        let has_wrong_index =
            self.data.iter().enumerate().any(|(at, vector)| vector.index.is_some_and(|index| index != at));
        if has_wrong_index {
            return Err(EndpointFault::InvalidResponse(
                "the indices of its embeddings are not those of the texts",
            ));
        }
        let reported = self.usage.and_then(|usage| usage.total_tokens);
        // An impossible number would distort the usage of a user.
        let reported = reported.filter(|tokens| *tokens <= MAX_TOTAL_TOKENS);
        let tokens = reported.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(estimate);
        let expected = expected.or_else(|| Some(self.data.first()?.embedding.len()));
        let vectors = self.data.into_iter().map(|vector| normalized(vector.embedding, expected));
        Ok(Embeddings { vectors: vectors.collect::<Result<_, _>>()?, tokens })
    }
}

fn normalized(mut vector: Vec<f32>, expected: Option<usize>) -> Result<Vec<f32>, EndpointFault> {
    let found = vector.len();
    if let Some(expected) = expected
        && found != expected
    {
        return Err(EndpointFault::Dimensions { expected, found });
    }
    if found == 0 || found > MAX_DIMENSIONS {
        return Err(EndpointFault::InvalidResponse("a vector is empty or too long"));
    }
    // In 64 bits, in which no sum of squares overflows.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() || length == 0.0 {
        return Err(EndpointFault::InvalidResponse("a vector has no direction"));
    }
    for value in &mut vector {
        *value = (f64::from(*value) / length) as f32;
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, texts: usize, expected: Option<usize>) -> Result<Embeddings, EndpointFault> {
        EmbeddingsResponse::parse(body.as_bytes())?.into_embeddings(texts, expected, 5)
    }

    #[test]
    fn vectors_are_ordered_by_their_index_and_normalized() {
        let body = r#"{"object": "list", "data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}],
            "usage": {"prompt_tokens": 9, "total_tokens": 9}}"#;

        let embeddings = read(body, 2, Some(2)).unwrap();

        assert_eq!(embeddings.vectors, [[0.6, 0.8], [0.0, 1.0]]);
        assert_eq!(embeddings.tokens, 9);
    }

    #[test]
    fn vectors_without_index_are_in_the_order_of_the_texts() {
        let body = r#"{"data": [{"embedding": [1, 0]}, {"embedding": [0, 1]}]}"#;

        let embeddings = read(body, 2, None).unwrap();

        assert_eq!((embeddings.vectors, embeddings.tokens), (vec![vec![1.0, 0.0], vec![0.0, 1.0]], 5));
    }

    #[test]
    fn malformed_responses_are_refused() {
        for body in [
            "",
            "[]",
            r#"{"data": []}"#,
            r#"{"error": {"message": "canary"}}"#,
            r#"{"data": [{"embedding": "AAAA"}]}"#,
            r#"{"data": [{"embedding": []}]}"#,
            r#"{"data": [{"embedding": [0, 0]}]}"#,
            r#"{"data": [{"embedding": [1e60, 1]}]}"#,
            r#"{"data": [{"embedding": [null, 1]}]}"#,
            r#"{"data": [{"index": 1, "embedding": [1, 0]}]}"#,
            r#"{"data": [{"embedding": [1, 0]}, {"embedding": [1, 0]}]}"#,
        ] {
            let refused = read(body, 1, None).unwrap_err();
            assert!(matches!(refused, EndpointFault::InvalidResponse(_)), "{body}: {refused}");
            assert!(!refused.to_string().contains("canary"));
        }
    }

    #[test]
    fn wrong_length_is_refused_with_both_lengths() {
        let mixed = r#"{"data": [{"embedding": [1, 0]}, {"embedding": [1, 0, 0]}]}"#;

        assert_eq!(read(mixed, 2, None), Err(EndpointFault::Dimensions { expected: 2, found: 3 }));
        let short = r#"{"data": [{"embedding": [1, 0]}]}"#;
        assert_eq!(read(short, 1, Some(384)), Err(EndpointFault::Dimensions { expected: 384, found: 2 }));
    }

    #[test]
    fn impossible_number_of_tokens_is_replaced_by_the_estimate() {
        let body = r#"{"data": [{"embedding": [1, 0]}], "usage": {"total_tokens": 99999999999}}"#;

        assert_eq!(read(body, 1, None).unwrap().tokens, 5);
    }
}
