//! Converts text to token ids with the `tokenizer.json` of the model.

use std::path::Path;

use tokenizers::Tokenizer;

use super::WordPieceCounts;

/// Maximum number of tokens that the model reads of a text, with the two special tokens. all-MiniLM was trained with 256, but retrieval
/// is better with passages of up to this many: measured, about half a point of nDCG@10.
pub(super) const MAX_TOKENS: usize = 512;

/// Maximum number of tokens of a passage that the local model reads, as
/// [`Embedder::count_tokens`](super::Embedder::count_tokens) counts them. Longer passages are truncated.
pub const PASSAGE_TOKENS: usize = MAX_TOKENS - 2;

/// The token of the BERT vocabulary for unknown words.
const UNKNOWN_TOKEN: &str = "[UNK]";

/// The error type of the `tokenizers` crate.
pub(super) type TokenizerError = Box<dyn std::error::Error + Send + Sync>;

/// The tokenizer of a model, without the padding and truncation that its file configures.
pub(super) struct WordPieceTokenizer(Tokenizer);

impl WordPieceTokenizer {
    pub(super) fn open(file: &Path) -> Result<Self, TokenizerError> {
        let mut tokenizer = Tokenizer::from_file(file)?;
        // The file configures exactly 128 tokens. That would truncate passages and pad short texts.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None)?;
        Ok(Self(tokenizer))
    }

    /// Returns the number of different tokens.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.0.get_vocab_size(true)
    }

    /// Returns the tokens of a text with the two special tokens, at most [`MAX_TOKENS`]. A text that is too long is truncated, but
    /// keeps the closing token.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        // `encode_fast` computes no offsets into the text, which nothing reads.
        Ok(truncated(self.0.encode_fast(text, true)?.get_ids().to_vec()))
    }

    /// Returns the tokens of a text as [`Self::encode`] does, and the number of its word pieces as [`Self::count_word_pieces`] does,
    /// with one pass over the text.
    pub(super) fn encode_counted(&self, text: &str) -> Result<(Vec<u32>, WordPieceCounts), TokenizerError> {
        let encoding = self.0.encode_fast(text, true)?;
        let unknown_id = self.0.token_to_id(UNKNOWN_TOKEN);
        // The mask is 1 for the two tokens that do not come from the text.
        let tokens = encoding.get_ids().iter().zip(encoding.get_special_tokens_mask());
        let mut counts = WordPieceCounts::default();
        for (id, _) in tokens.filter(|(_, added)| **added == 0) {
            counts.all += 1;
            counts.unknown += usize::from(Some(*id) == unknown_id);
        }
        Ok((truncated(encoding.get_ids().to_vec()), counts))
    }

    /// Counts the word pieces of a text. A text on which the tokenizer fails counts as one unknown piece.
    pub(super) fn count_word_pieces(&self, text: &str) -> WordPieceCounts {
        let Ok(tokens) = self.0.encode_fast(text, false) else {
            return WordPieceCounts { all: 1, unknown: 1 };
        };
        let unknown_id = self.0.token_to_id(UNKNOWN_TOKEN);
        let unknown = tokens.get_ids().iter().filter(|id| Some(**id) == unknown_id).count();
        WordPieceCounts { all: tokens.len(), unknown }
    }

    /// Returns the number of tokens of a whole text, without the two special tokens.
    pub(super) fn count(&self, text: &str) -> usize {
        // If the tokenizer fails, the number of bytes is an upper bound: a token covers at least one byte.
        self.0.encode_fast(text, false).map_or(text.len(), |tokens| tokens.len())
    }
}

/// Shortens tokens to what the model reads. The last one, which closes the text, is kept.
fn truncated(mut tokens: Vec<u32>) -> Vec<u32> {
    if let Some(last) = tokens.last().copied()
        && tokens.len() > MAX_TOKENS
    {
        tokens.truncate(MAX_TOKENS - 1);
        tokens.push(last);
    }
    tokens
}
