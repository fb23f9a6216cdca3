//! `config.json` of a BERT encoder: the sizes that the weights alone do not tell.

use std::{fs::File, io, path::Path};

use serde::Deserialize;

/// The sizes of an encoder. Read from a foreign format, so unknown names are allowed.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Config {
    /// Width of a token's vector, and of the answer.
    #[serde(rename = "hidden_size")]
    pub width: usize,
    /// Width between the two halves of a feed-forward part.
    #[serde(rename = "intermediate_size")]
    pub inner: usize,
    #[serde(rename = "num_hidden_layers")]
    pub layers: usize,
    #[serde(rename = "num_attention_heads")]
    pub heads: usize,
    /// Rows of the table of tokens.
    #[serde(rename = "vocab_size")]
    pub words: usize,
    /// Rows of the table of positions.
    #[serde(rename = "max_position_embeddings")]
    pub places: usize,
    /// What keeps a variance of nought from being divided by.
    #[serde(rename = "layer_norm_eps")]
    pub epsilon: f32,
    hidden_act: String,
    model_type: String,
}

/// Why a `config.json` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("could not read config.json of the embedding model")]
    Read(#[from] io::Error),
    /// The file does not say what it must.
    #[error("config.json of the embedding model is not valid")]
    Parse(#[from] serde_json::Error),
    /// The model is of a shape that this encoder does not run.
    #[error("the embedding model is not supported: its {0}")]
    Unfit(&'static str),
}

impl Config {
    /// Reads `config.json` and makes sure that this encoder can run the model.
    pub(super) fn read(file: &Path) -> Result<Self, ConfigError> {
        let config: Self = serde_json::from_reader(io::BufReader::new(File::open(file)?))?;
        config.check().map_err(ConfigError::Unfit)?;
        Ok(config)
    }

    /// Width of one head of attention.
    pub(super) fn head(&self) -> usize {
        self.width / self.heads
    }

    fn check(&self) -> Result<(), &'static str> {
        if self.model_type != "bert" {
            return Err("type is not bert");
        }
        if self.hidden_act != "gelu" {
            return Err("activation is not gelu");
        }
        if self.heads == 0 || self.width == 0 || !self.width.is_multiple_of(self.heads) {
            return Err("width is not a multiple of its heads");
        }
        if self.places < super::tokens::MAX_TOKENS {
            return Err("positions are fewer than the tokens of a passage");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(act: &str, heads: usize) -> Config {
        serde_json::from_value(serde_json::json!({
            "hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 6, "num_attention_heads": heads,
            "vocab_size": 30522, "max_position_embeddings": 512, "layer_norm_eps": 1e-12,
            "hidden_act": act, "model_type": "bert", "architectures": ["BertModel"],
        }))
        .unwrap()
    }

    #[test]
    fn a_minilm_is_accepted() {
        assert_eq!(config("gelu", 12).check(), Ok(()));
        assert_eq!(config("gelu", 12).head(), 32);
    }

    #[test]
    fn what_the_encoder_cannot_run_is_refused() {
        assert!(config("relu", 12).check().is_err());
        assert!(config("gelu", 7).check().is_err());
        assert!(config("gelu", 0).check().is_err());
    }
}
