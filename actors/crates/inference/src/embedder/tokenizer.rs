//! Converts text to token ids with the `tokenizer.json` of the model.

use std::{fs::File, io::BufReader, path::Path};

use serde::Deserialize;
use tokenizers::{Tokenizer, models::ModelWrapper};

use super::query_weight::WordPieceCounts;

/// Maximum number of tokens that the model reads of a text, with the two special tokens. all-MiniLM was trained with 256, but retrieval
/// is better with passages of up to this many: measured, about half a point of nDCG@10.
pub(super) const MAX_TOKENS: usize = 512;

/// Number of tokens that the model adds to each text: one before it and one after it.
pub(super) const SPECIAL_TOKENS: usize = 2;

/// The error type of the `tokenizers` crate.
pub(super) type TokenizerError = Box<dyn std::error::Error + Send + Sync>;

/// The tokenizer of a model, without the padding and truncation that its file configures.
pub(super) struct ModelTokenizer {
    tokenizer: Tokenizer,
    /// The token of everything that the vocabulary does not have; `None` if there is none.
    unknown_id: Option<u32>,
    /// Whether it splits words into pieces (WordPiece). Otherwise it splits texts, also of languages without spaces (Unigram).
    has_word_pieces: bool,
}

/// The parts of `tokenizer.json` that the library reads and does not give out.
#[derive(Deserialize)]
struct TokenizerFile {
    model: UnigramSettings,
}

#[derive(Deserialize)]
struct UnigramSettings {
    unk_id: Option<u32>,
}

impl ModelTokenizer {
    pub(super) fn open(file: &Path) -> Result<Self, TokenizerError> {
        let mut tokenizer = Tokenizer::from_file(file)?;
        // The file of all-MiniLM configures exactly 128 tokens. That would truncate passages and pad short texts.
        tokenizer.with_padding(None);
        tokenizer.with_truncation(None)?;
        let (unknown_id, has_word_pieces) = match tokenizer.get_model() {
            ModelWrapper::WordPiece(model) => (tokenizer.token_to_id(&model.unk_token), true),
            ModelWrapper::Unigram(_) => {
                let settings: TokenizerFile = serde_json::from_reader(BufReader::new(File::open(file)?))?;
                (settings.model.unk_id, false)
            }
            ModelWrapper::BPE(_) | ModelWrapper::WordLevel(_) => {
                return Err("the tokenizer is neither WordPiece nor Unigram".into());
            }
        };
        Ok(Self { tokenizer, unknown_id, has_word_pieces })
    }

    /// Returns whether the tokenizer splits words into pieces, so that their number shows how well the model knows the words.
    pub(super) fn has_word_pieces(&self) -> bool {
        self.has_word_pieces
    }

    /// Returns the number of different tokens.
    pub(super) fn vocabulary_size(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Returns the tokens of a text with the two special tokens, at most [`MAX_TOKENS`]. A text that is too long is truncated, but
    /// keeps the closing token.
    pub(super) fn encode(&self, text: &str) -> Result<Vec<u32>, TokenizerError> {
        // `encode_fast` computes no offsets into the text, which nothing reads.
        Ok(truncated(self.tokenizer.encode_fast(text, true)?.get_ids().to_vec()))
    }

    /// Returns the tokens of a text as [`Self::encode`] does, and the number of its word pieces as [`Self::count_word_pieces`] does,
    /// with one pass over the text.
    pub(super) fn encode_counted(&self, text: &str) -> Result<(Vec<u32>, WordPieceCounts), TokenizerError> {
        let encoding = self.tokenizer.encode_fast(text, true)?;
        // The mask is 1 for the two tokens that do not come from the text.
        let tokens = encoding.get_ids().iter().zip(encoding.get_special_tokens_mask());
        let mut counts = WordPieceCounts::default();
        for (id, _) in tokens.filter(|(_, added)| **added == 0) {
            counts.all += 1;
            counts.unknown += usize::from(self.is_unknown(*id));
        }
        Ok((truncated(encoding.get_ids().to_vec()), counts))
    }

    /// Counts the word pieces of a text. A text on which the tokenizer fails counts as one unknown piece.
    pub(super) fn count_word_pieces(&self, text: &str) -> WordPieceCounts {
        let Ok(tokens) = self.tokenizer.encode_fast(text, false) else {
            return WordPieceCounts { all: 1, unknown: 1 };
        };
        let unknown = tokens.get_ids().iter().filter(|id| self.is_unknown(**id)).count();
        WordPieceCounts { all: tokens.len(), unknown }
    }

    fn is_unknown(&self, id: u32) -> bool {
        self.unknown_id == Some(id)
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
