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
    EmbedError, Embedder, Pieces,
    config::{Config, ConfigError},
    encoder::Encoder,
    groups::groups,
    layer::LayerScratch,
    precision::Precision,
    gemm::QuantPasses,
    tokens::Tokens,
    weights::{Weights, WeightsError},
    worker_pools::WorkerPools,
};

/// How a model is run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How exactly.
    pub precision: Precision,
    /// Threads for batches; queries have one more of their own.
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
    /// `config.json` is missing, or of a model that cannot be run here.
    #[error("could not open the configuration of the embedding model")]
    Config(#[from] ConfigError),
    /// `tokenizer.json` is missing or broken.
    #[error("could not open the tokenizer of the embedding model")]
    Tokenizer(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// `model.safetensors` is missing, broken, or another model's.
    #[error("could not open the weights of the embedding model")]
    Weights(#[from] WeightsError),
    /// Tokenizer and weights are of different models.
    #[error("the tokenizer has {tokens} tokens, and the embedding table has {rows} rows")]
    Vocabulary {
        /// Tokens that the tokenizer knows.
        tokens: usize,
        /// Rows of the model's table.
        rows: usize,
    },
    /// The threads cannot be started.
    #[error("could not start the threads of the embedding model")]
    Threads(#[from] ThreadPoolBuildError),
    /// The folder has no name that could name the model.
    #[error("the folder of the embedding model has no name")]
    Nameless,
}

/// An open model.
pub struct MiniLm {
    name: String,
    tokens: Tokens,
    encoder: Encoder,
    pools: WorkerPools,
}

impl MiniLm {
    /// Opens the model in `folder`: `model.safetensors`, `tokenizer.json` and `config.json`.
    /// The folder's name is the model's.
    ///
    /// # Errors
    /// When a file is missing, broken or of a model that cannot be run here.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        Self::open_with(folder, Options::default())
    }

    /// As [`MiniLm::open`], in a given precision and with a given number of threads.
    ///
    /// # Errors
    /// As [`MiniLm::open`].
    pub fn open_with(folder: &Path, options: Options) -> Result<Self, OpenError> {
        let name = folder.file_name().ok_or(OpenError::Nameless)?.to_string_lossy().into_owned();
        let config = Config::read(&folder.join("config.json"))?;
        let tokens = Tokens::open(&folder.join("tokenizer.json")).map_err(OpenError::Tokenizer)?;
        if tokens.kinds() > config.words {
            return Err(OpenError::Vocabulary { tokens: tokens.kinds(), rows: config.words });
        }
        let mut weights = Weights::open(&folder.join("model.safetensors"))?;
        let encoder = Encoder::read(&mut weights, &config, options.precision)?;
        Ok(Self { name, tokens, encoder, pools: WorkerPools::new(options.threads)? })
    }

    /// Embeds group after group until none is left, or one of the pools has failed.
    fn embed_groups(&self, batch: &Batch<'_>) {
        let mut scratch = LayerScratch::new(QuantPasses::Single);
        while let Some(group) = batch.groups.get(batch.next.fetch_add(1, Ordering::Relaxed)) {
            let texts: Vec<&[u32]> =
                group.iter().filter_map(|number| batch.texts.get(*number)).map(Vec::as_slice).collect();
            let vectors = self.encoder.run(&mut scratch, &texts);
            let mut finished = batch.finished.lock().unwrap_or_else(PoisonError::into_inner);
            match (vectors, finished.as_mut()) {
                (Ok(vectors), Ok(finished)) => finished.extend(group.iter().copied().zip(vectors)),
                (Err(cause), Ok(_)) => *finished = Err(cause),
                (Ok(_) | Err(_), Err(_)) => return,
            }
        }
    }
}

/// Vectors with the numbers of their texts, in the order in which they came.
type NumberedVectors = Vec<(usize, Vec<f32>)>;

/// What the pools share while they work on one batch.
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
            .map(|text| self.tokens.encode(text))
            .collect::<Result<_, _>>()
            .map_err(EmbedError::Tokens)?;
        let lengths: Vec<usize> = texts.iter().map(Vec::len).collect();
        let batch = Batch {
            texts: &texts,
            groups: groups(&lengths, self.pools.count()),
            next: AtomicUsize::new(0),
            finished: Mutex::new(Ok(Vec::with_capacity(texts.len()))),
        };
        self.pools.batch(|| self.embed_groups(&batch));
        let mut finished = batch.finished.into_inner().unwrap_or_else(PoisonError::into_inner)?;
        finished.sort_unstable_by_key(|(number, _)| *number);
        Ok(finished.into_iter().map(|(_, vector)| vector).collect())
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        let text = self.tokens.encode(text).map_err(EmbedError::Tokens)?;
        let mut vectors = self.pools.query(|| self.encoder.run(&mut LayerScratch::new(QuantPasses::ResidualCorrected), &[&text]))?;
        Ok(vectors.pop().unwrap_or_default())
    }

    fn count_tokens(&self, text: &str) -> usize {
        self.tokens.count(text)
    }

    fn pieces(&self, query: &str) -> Pieces {
        self.tokens.pieces(query)
    }
}
