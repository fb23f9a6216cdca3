//! all-MiniLM-L6-v2 and similar models: small BERT encoders with mean pooling, run in this process.

use std::{
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::available_parallelism,
};

use rayon::ThreadPoolBuildError;

use super::{
    EmbedError, Embedder, WordPieceCounts,
    config::{Config, ConfigError},
    encoder::Encoder,
    gemm::QuantPasses,
    groups::group_by_length,
    layer::LayerScratch,
    precision::Precision,
    tokenizer::WordPieceTokenizer,
    weights::{Weights, WeightsError},
    worker_pools::WorkerPools,
};

/// Options for running a model.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number format of the weights and of the products with them.
    pub precision: Precision,
    /// Number of threads for batches; queries use one more.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { precision: Precision::default(), threads: available_parallelism().map_or(1, usize::from) }
    }
}

/// Why a model cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// `config.json` is missing, or belongs to a model that cannot be run.
    #[error("could not open the configuration of the embedding model")]
    Config(#[from] ConfigError),
    /// `tokenizer.json` is missing or invalid.
    #[error("could not open the tokenizer of the embedding model")]
    Tokenizer(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// `model.safetensors` is missing, invalid, or belongs to another model.
    #[error("could not open the weights of the embedding model")]
    Weights(#[from] WeightsError),
    /// Tokenizer and weights belong to different models.
    #[error("the tokenizer has {tokens} tokens, and the embedding table has {rows} rows")]
    Vocabulary {
        /// Size of the vocabulary of the tokenizer.
        tokens: usize,
        /// Rows of the embedding table.
        rows: usize,
    },
    /// The threads cannot be started.
    #[error("could not start the threads of the embedding model")]
    Threads(#[from] ThreadPoolBuildError),
    /// The path of the folder has no last component, which would be the name of the model.
    #[error("the folder of the embedding model has no name")]
    Nameless,
}

/// A BERT encoder with mean pooling, with its tokenizer and its threads, ready to embed.
pub struct MiniLm {
    name: String,
    tokenizer: WordPieceTokenizer,
    encoder: Encoder,
    pools: WorkerPools,
}

impl MiniLm {
    /// Opens the model in `folder`: `model.safetensors`, `tokenizer.json` and `config.json`.
    /// The name of the folder is the name of the model.
    ///
    /// # Errors
    /// [`OpenError`] when a file is missing, invalid, or belongs to a model that cannot be run.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_with(folder, Options::default())
    }

    /// Opens a model as [`MiniLm::open`] does, with the given options.
    ///
    /// # Errors
    /// [`OpenError`] for the same reasons as in [`MiniLm::open`].
    pub fn open_with(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let name = folder.file_name().ok_or(OpenError::Nameless)?.to_string_lossy().into_owned();
        let config = Config::read(&folder.join("config.json"))?;
        let tokenizer =
            WordPieceTokenizer::open(&folder.join("tokenizer.json")).map_err(OpenError::Tokenizer)?;
        let tokens = tokenizer.vocabulary_size();
        // Otherwise a token without a row would be found only when a text contains it.
        if tokens > config.vocab_size {
            return Err(OpenError::Vocabulary { tokens, rows: config.vocab_size });
        }
        let mut weights = Weights::open(&folder.join("model.safetensors"))?;
        let encoder = Encoder::read(&mut weights, &config, options.precision)?;
        Ok(Self { name, tokenizer, encoder, pools: WorkerPools::new(options.threads)? })
    }

    /// Returns the vector of the tokens of a query.
    fn embed_tokens(&self, tokens: &[u32]) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = self
            .pools
            .query(|| self.encoder.run(&mut LayerScratch::new(QuantPasses::ResidualCorrected), &[tokens]))?;
        Ok(vectors.pop().unwrap_or_default())
    }

    /// Embeds one group after the other until all are embedded or a pool has failed.
    fn embed_groups(&self, batch: &Batch<'_>) {
        let mut scratch = LayerScratch::new(QuantPasses::Single);
        // Relaxed, because the counter only hands out groups; the mutex orders the results.
        while let Some(group) = batch.groups.get(batch.next.fetch_add(1, Ordering::Relaxed)) {
            let texts: Vec<&[u32]> =
                group.iter().filter_map(|number| batch.texts.get(*number)).map(Vec::as_slice).collect();
            let vectors = self.encoder.run(&mut scratch, &texts);
            let mut finished = batch.finished.lock().unwrap_or_else(PoisonError::into_inner);
            match (vectors, finished.as_mut()) {
                (Ok(vectors), Ok(finished)) => finished.extend(group.iter().copied().zip(vectors)),
                (Err(cause), Ok(_)) => *finished = Err(cause),
                // Another thread has failed, and the whole batch fails with it.
                (Ok(_) | Err(_), Err(_)) => return,
            }
        }
    }
}

/// Vectors with the indices of their texts, in the order in which they were computed.
type NumberedVectors = Vec<(usize, Vec<f32>)>;

/// State shared by the pools while they embed one batch.
struct Batch<'a> {
    texts: &'a [Vec<u32>],
    groups: Vec<Vec<usize>>,
    next: AtomicUsize,
    finished: Mutex<Result<NumberedVectors, EmbedError>>,
}

impl Embedder for MiniLm {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.encoder.width()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| self.tokenizer.encode(text))
            .collect::<Result<_, _>>()
            .map_err(EmbedError::Tokenizer)?;
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        let batch = Batch {
            texts: &texts,
            groups: group_by_length(&lengths, self.pools.count()),
            next: AtomicUsize::new(0),
            finished: Mutex::new(Ok(Vec::with_capacity(texts.len()))),
        };
        self.pools.batch(|| self.embed_groups(&batch));
        let mut finished = batch.finished.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        // The threads finish their groups in any order.
        finished.sort_unstable_by_key(|(number, _)| *number);
        Ok(finished.into_iter().map(|(_, vector)| vector).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.embed_tokens(&self.tokenizer.encode(text).map_err(EmbedError::Tokenizer)?)
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokenizer.count(text)
    }

    fn count_word_pieces(&self, query: &str) -> WordPieceCounts {
        self.tokenizer.count_word_pieces(query)
    }

    fn embed_query_if(
        &self,
        query: &str,
        is_wanted: &dyn Fn(WordPieceCounts) -> bool,
    ) -> (WordPieceCounts, Option<Result<Vec<f32>, EmbedError>>) {
        match self.tokenizer.encode_counted(query) {
            Ok((tokens, pieces)) => (pieces, is_wanted(pieces).then(|| self.embed_tokens(&tokens))),
            Err(cause) => {
                let pieces = self.tokenizer.count_word_pieces(query);
                (pieces, is_wanted(pieces).then(|| Err(EmbedError::Tokenizer(cause))))
            }
        }
    }
}
