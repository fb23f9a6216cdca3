//! Text to token numbers, by the model's own `tokenizer.json`.

use std::path::Path;

use tokenizers::Tokenizer;

use super::Pieces;

/// Tokens that the model reads of a text, the two that frame it included. all-MiniLM was trained on 256, and finds
/// better with passages of up to this many: measured, about half a point of nDCG@10.
pub(super) const MAX_TOKENS: usize = 512;

/// What BERT's vocabulary has for all that it lacks.
const UNKNOWN: &str = "[UNK]";

/// What the `tokenizers` crate answers when something is wrong.
pub(super) type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// The tokenizer of a model, without the padding and the cutting that its file asks for.
pub(super) struct Tokens(Tokenizer);

impl Tokens {
    pub(super) fn open(file: &Path) -> Result<Self, Refusal> {
        let mut tokenizer = Tokenizer::from_file(file)?;
        // The file says "exactly 128": that would cut passages in half and drown short ones in padding.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None)?;
        Ok(Self(tokenizer))
    }

    /// How many different tokens there are.
    pub(super) fn kinds(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// The tokens of a text with the two that frame it, [`MAX_TOKENS`] at most: what is too long loses its end,
    /// but not the closing token.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, Refusal> {
        let mut tokens = self.0.encode_fast(text, true)?.get_ids().to_vec();
        if let Some(last) = tokens.last().copied()
            && tokens.len() > MAX_TOKENS
        {
            tokens.truncate(MAX_TOKENS - 1);
            tokens.push(last);
        }
        Ok(tokens)
    }

    /// The word pieces of a text; one that the tokenizer refuses is unknown as a whole.
    pub(super) fn pieces(&self, text: &str) -> Pieces {
        let Ok(read) = self.0.encode_fast(text, false) else { return Pieces { all: 1, unknown: 1 } };
        let unknown = self.0.token_to_id(UNKNOWN);
        Pieces { all: read.len(), unknown: read.get_ids().iter().filter(|id| Some(**id) == unknown).count() }
    }

    /// Tokens of a whole text, without the two that frame it.
    pub(super) fn count(&self, text: &str) -> usize {
        // A token covers at least a byte, so this never makes a passage too long.
        self.0.encode_fast(text, false).map_or(text.len(), |tokens| tokens.len())
    }
}
