//! `config.json` of a BERT encoder: the sizes that cannot be read from the weights alone.

use std::{fs::File, io, path::Path};

use serde::Deserialize;

/// The sizes of an encoder. Unknown fields are allowed, because the format belongs to the Transformers library.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Config {
    /// Width of the vector of a token, and of the output.
    #[serde(rename = "hidden_size")]
    pub width: usize,
    /// Width of the hidden layer of a feed-forward block.
    #[serde(rename = "intermediate_size")]
    pub inner: usize,
    #[serde(rename = "num_hidden_layers")]
    pub layers: usize,
    #[serde(rename = "num_attention_heads")]
    pub heads: usize,
    /// Rows of the token embedding table.
    #[serde(rename = "vocab_size")]
    pub vocab_size: usize,
    /// Rows of the position embedding table.
    #[serde(rename = "max_position_embeddings")]
    pub positions: usize,
    /// Rows of the token type embedding table, of which the first one is used.
    #[serde(rename = "type_vocab_size", default = "default_token_types")]
    pub token_types: usize,
    /// Added to the variance, so that it is never zero.
    #[serde(rename = "layer_norm_eps")]
    pub epsilon: f32,
    hidden_act: String,
    model_type: String,
}

/// Returns the number of token types of a model whose configuration does not say it: BERT has two.
fn default_token_types() -> usize {
    2
}

/// Why a `config.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("could not read config.json of the embedding model")]
    Read(#[from] io::Error),
    /// The file is not valid JSON, or a field is missing.
    #[error("config.json of the embedding model is not valid")]
    Parse(#[from] serde_json::Error),
    /// This encoder cannot run the model. Names the unsupported property.
    #[error("the embedding model is not supported: its {0}")]
    Unsupported(&'static str),
}

impl Config {
    /// Reads `config.json` and checks that this encoder can run the model.
    pub(super) fn read(file: &Path) -> Result<Self, ConfigError> {
        let config: Self = serde_json::from_reader(io::BufReader::new(File::open(file)?))?;
        config.check().map_err(ConfigError::Unsupported)?;
        Ok(config)
    }

    /// Returns the width of one attention head.
    pub(super) fn head_width(&self) -> usize {
        self.width / self.heads
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.model_type != "bert" {
            return Err("type is not bert");
        }
        // `gelu_new` and its like approximate GELU in other ways than the kernel does.
        if self.hidden_act != "gelu" {
            return Err("activation is not gelu");
        }
        if self.heads == 0 || self.width == 0 || !self.width.is_multiple_of(self.heads) {
            return Err("width is not a multiple of its heads");
        }
        if self.token_types == 0 {
            return Err("token types are missing");
        }
        if self.positions < super::tokenizer::MAX_TOKENS {
            return Err("positions are fewer than the tokens of a passage");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(activation: &str, heads: usize) -> Config {
        serde_json::from_value(serde_json::json!({
            "hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": heads,
            "vocab_size": 30522, "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
            "hidden_act": activation, "model_type": "bert", "architectures": ["BertModel"],
        }))
        .unwrap()
    }

    #[test]
    fn minilm_is_accepted() {
        assert_eq!(config("gelu", 12).check(), Ok(()));
        assert_eq!(config("gelu", 12).head_width(), 32);
    }

    #[test]
    fn multilingual_e5_is_accepted() {
        let config: Config = serde_json::from_value(serde_json::json!({
            "architectures": ["BertModel"], "attention_probs_dropout_prob": 0.1, "hidden_act": "gelu",
            "hidden_size": 384, "initializer_range": 0.02, "intermediate_size": 1536, "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512, "model_type": "bert", "num_attention_heads": 12, "num_hidden_layers": 12,
            "pad_token_id": 0, "position_embedding_type": "absolute", "tokenizer_class": "XLMRobertaTokenizer",
            "type_vocab_size": 2, "vocab_size": 250_037,
        }))
        .unwrap();

        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.token_types, 2);
    }

    #[test]
    fn unsupported_models_are_rejected() {
        assert!(config("relu", 12).check().is_err());
        assert!(config("gelu", 7).check().is_err());
        assert!(config("gelu", 0).check().is_err());
    }
}
