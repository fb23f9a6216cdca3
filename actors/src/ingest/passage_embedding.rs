//! What is embedded of a passage, and what that costs.

use crate::ai::budget::ModelUse;
use crate::retrieval::Vectors;

/// Returns the use of the models that made these vectors.
pub(super) fn model_use(vectors: &Vectors) -> ModelUse {
    let to_i64 = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    ModelUse { times: to_i64(vectors.vectors.iter().flatten().count()), tokens: to_i64(vectors.tokens) }
}

/// Prepends the title to the text that is embedded: by measurement this gains more than a point of nDCG.
pub(super) fn prepend_title(title: &str, text: &str) -> String {
    if title.is_empty() { text.to_owned() } else { format!("{title}. {text}") }
}
