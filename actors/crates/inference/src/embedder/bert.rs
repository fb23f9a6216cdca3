//! all-MiniLM-L6-v2, multilingual-e5-small and similar models: small BERT encoders with mean pooling, run in this process.

use std::{
    borrow::Cow,
    path::Path,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::available_parallelism,
};

use rayon::ThreadPoolBuildError;

use super::{
    EmbedError, Embedder, Embeddings,
    calibration::Calibration,
    config::{Config, ConfigError},
    encoder::Encoder,
    gemm::QuantPasses,
    groups::group_by_length,
    layer::LayerScratch,
    measurement,
    precision::Precision,
    profile::EmbeddingProfile,
    query_weight::{QueryWeight, WordPieceCounts},
    tokenizer::{ModelTokenizer, SPECIAL_TOKENS},
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
    /// The vectors have another width than the profile of the model says.
    #[error("the vectors of the embedding model have {found} numbers instead of {expected}")]
    Dimensions {
        /// Width according to the profile of the model.
        expected: usize,
        /// Width according to its configuration.
        found: usize,
    },
    /// The similarities of the model could not be measured.
    #[error("could not measure the similarities of the embedding model")]
    Measurement(#[from] EmbedError),
    /// The threads cannot be started.
    #[error("could not start the threads of the embedding model")]
    Threads(#[from] ThreadPoolBuildError),
    /// The path of the folder has no last component, which would be the name of the model.
    #[error("the folder of the embedding model has no name")]
    Nameless,
}

/// A BERT encoder with mean pooling, with its tokenizer and its threads, ready to embed.
pub struct BertEmbedder {
    name: String,
    tokenizer: ModelTokenizer,
    encoder: Encoder,
    pools: WorkerPools,
    /// Prepended to each query.
    query_prefix: String,
    /// Prepended to each passage.
    passage_prefix: String,
    calibration: Calibration,
}

impl BertEmbedder {
    /// Opens the model in `folder`: `model.safetensors`, `tokenizer.json` and `config.json`. The name of the folder is the name of the
    /// model. If the profile has no calibration, it is measured, which takes about a second.
    ///
    /// # Errors
    /// [`OpenError`] when a file is missing, invalid, or belongs to a model that cannot be run.
    pub fn open(folder: &Path, profile: &EmbeddingProfile) -> Result<Self, OpenError> {
        Self::open_with(folder, profile, Options::default())
    }

    /// Opens a model as [`BertEmbedder::open`] does, with the given options.
    ///
    /// # Errors
    /// [`OpenError`] for the same reasons as in [`BertEmbedder::open`].
    pub fn open_with(folder: &Path, profile: &EmbeddingProfile, options: Options) -> Result<Self, OpenError> {
        let name = folder.file_name().ok_or(OpenError::Nameless)?.to_string_lossy().into_owned();
        let config = Config::read(&folder.join("config.json"))?;
        if config.width != profile.dimensions {
            return Err(OpenError::Dimensions { expected: profile.dimensions, found: config.width });
        }
        let tokenizer = ModelTokenizer::open(&folder.join("tokenizer.json")).map_err(OpenError::Tokenizer)?;
        let tokens = tokenizer.vocabulary_size();
        // Otherwise a token without a row would be found only when a text contains it.
        if tokens > config.vocab_size {
            return Err(OpenError::Vocabulary { tokens, rows: config.vocab_size });
        }
        let mut weights = Weights::open(&folder.join("model.safetensors"))?;
        let encoder = Encoder::read(&mut weights, &config, options.precision)?;
        let mut model = Self {
            name,
            tokenizer,
            encoder,
            pools: WorkerPools::new(options.threads)?,
            query_prefix: profile.query_prefix.clone(),
            passage_prefix: profile.passage_prefix.clone(),
            calibration: Calibration::STANDARD,
        };
        model.calibration = match profile.calibration {
            Some(known) => known,
            None => measurement::measure(
                |queries| model.embed_queries(queries),
                |passages| Ok(model.embed(passages)?.vectors),
            )?,
        };
        Ok(model)
    }

    /// Counts the word pieces of a query, without its prefix.
    pub(super) fn count_word_pieces(&self, query: &str) -> WordPieceCounts {
        self.tokenizer.count_word_pieces(query)
    }

    /// Returns the weight of a query that has these word pieces, without its prefix.
    fn weigh(&self, query: &str, pieces: WordPieceCounts) -> QueryWeight {
        if self.tokenizer.has_word_pieces() {
            QueryWeight::for_word_pieces(query, pieces)
        } else {
            QueryWeight::for_known_share(pieces)
        }
    }

    /// Returns the vector of the tokens of a query, or of a passage that is compared with one at once.
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

impl Embedder for BertEmbedder {
    fn model(&self) -> &str {
        &self.name
    }

    fn dimensions(&self) -> usize {
        self.encoder.width()
    }

    fn embed(&self, texts: &[&str]) -> Result<Embeddings, EmbedError> {
        let texts: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| self.tokenizer.encode(&with_prefix(&self.passage_prefix, text)))
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
        Ok(Embeddings {
            vectors: finished.into_iter().map(|(_, vector)| vector).collect(),
            tokens: lengths.iter().map(|length| length.saturating_sub(SPECIAL_TOKENS)).sum(),
        })
    }

    fn embed_query(&self, query: &str) -> Result<Vec<f32>, EmbedError> {
        let tokens = self.tokenizer.encode(&with_prefix(&self.query_prefix, query));
        self.embed_tokens(&tokens.map_err(EmbedError::Tokenizer)?)
    }

    fn embed_query_with_passages(
        &self,
        query: &str,
        passages: &[&str],
    ) -> Result<(Vec<f32>, Vec<Vec<f32>>), EmbedError> {
        let embed_passage = |passage: &&str| {
            let tokens = self.tokenizer.encode(&with_prefix(&self.passage_prefix, passage));
            self.embed_tokens(&tokens.map_err(EmbedError::Tokenizer)?)
        };
        Ok((self.embed_query(query)?, passages.iter().map(embed_passage).collect::<Result<_, _>>()?))
    }

    fn query_weight(&self, query: &str) -> QueryWeight {
        self.weigh(query, self.count_word_pieces(query))
    }

    fn embed_weighted_query(&self, query: &str) -> (QueryWeight, Option<Result<Vec<f32>, EmbedError>>) {
        // With a prefix, the pieces of the query cannot be told from those of the prefix.
        if !self.query_prefix.is_empty() {
            let weight = self.query_weight(query);
            return (weight, weight.is_positive().then(|| self.embed_query(query)));
        }
        match self.tokenizer.encode_counted(query) {
            Ok((tokens, pieces)) => {
                let weight = self.weigh(query, pieces);
                (weight, weight.is_positive().then(|| self.embed_tokens(&tokens)))
            }
            Err(cause) => {
                let weight = self.query_weight(query);
                (weight, weight.is_positive().then(|| Err(EmbedError::Tokenizer(cause))))
            }
        }
    }

    fn knows_each_word(&self, query: &str) -> Option<bool> {
        Some(self.count_word_pieces(query).has_each_word(query))
    }

    fn calibration(&self) -> Calibration {
        self.calibration
    }
}

fn with_prefix<'a>(prefix: &str, text: &'a str) -> Cow<'a, str> {
    if prefix.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{prefix}{text}")) }
}
