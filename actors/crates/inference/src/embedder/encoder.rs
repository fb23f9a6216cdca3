//! The encoder: token numbers in, one vector of unit length out for each text.

use rten_simd::SimdOp;
use rten_vecmath::SumSquare;

use super::{
    EmbedError,
    config::Config,
    layer::{Layer, LayerScratch},
    norm::Norm,
    precision::Precision,
    table::Table,
    tokenizer,
    weights::{Weights, WeightsError},
};

pub(super) struct Encoder {
    width: usize,
    token_table: Table,
    /// One row for each position. The embedding of the first token type is already added, because every text is a single segment.
    position_rows: Vec<f32>,
    embedding_norm: Norm,
    layers: Vec<Layer>,
}

impl Encoder {
    pub(super) fn read(
        weights: &mut Weights,
        config: &Config,
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let width = config.width;
        let layers = (0..config.layers).map(|number| Layer::read(weights, number, config, precision));
        Ok(Self {
            width,
            layers: layers.collect::<Result<_, _>>()?,
            token_table: Table::read(
                weights,
                "embeddings.word_embeddings.weight",
                [config.vocab_size, width],
                precision,
            )?,
            position_rows: read_position_rows(weights, config)?,
            embedding_norm: Norm::read(weights, "embeddings.LayerNorm", width, config.epsilon)?,
        })
    }

    /// Returns the width of a vector.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the vectors of texts, in order. The rows of all texts are concatenated without padding.
    pub(super) fn run(
        &self,
        scratch: &mut LayerScratch,
        texts: &[&[u32]],
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let mut rows = vec![0.0; lengths.iter().sum::<usize>() * self.width];
        let mut remaining = rows.as_mut_slice();
        for text in texts {
            let (text_rows, rest) = remaining.split_at_mut(text.len() * self.width);
            self.write_embeddings(text, text_rows)?;
            remaining = rest;
        }
        self.embedding_norm.apply(&mut rows);
        for layer in &self.layers {
            layer.run(scratch, &lengths, &mut rows)?;
        }

        let mut remaining = rows.as_slice();
        let mut vectors = Vec::with_capacity(texts.len());
        for length in lengths {
            let (text_rows, rest) = remaining.split_at(length * self.width);
            vectors.push(self.pool(text_rows));
            remaining = rest;
        }
        Ok(vectors)
    }

    fn write_embeddings(&self, text: &[u32], rows: &mut [f32]) -> Result<(), EmbedError> {
        let positions = self.position_rows.chunks_exact(self.width);
        for ((token, row), position) in text.iter().zip(rows.chunks_exact_mut(self.width)).zip(positions) {
            row.copy_from_slice(position);
            if !self.token_table.add_row(*token as usize, row) {
                return Err(EmbedError::UnknownToken(*token));
            }
        }
        Ok(())
    }

    /// Returns the mean of the rows of a text, normalised to unit length.
    fn pool(&self, rows: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for row in rows.chunks_exact(self.width) {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
        // The sum has the direction of the mean, and only the direction matters.
        let length = SumSquare::new(&sum).dispatch().sqrt();
        for value in &mut sum {
            *value /= length;
        }
        sum
    }
}

fn read_position_rows(weights: &mut Weights, config: &Config) -> Result<Vec<f32>, WeightsError> {
    let width = config.width;
    let token_types =
        weights.tensor("embeddings.token_type_embeddings.weight", &[config.token_types, width])?;
    let mut rows = weights.tensor("embeddings.position_embeddings.weight", &[config.positions, width])?;
    // The tokenizer returns no more tokens, so the rows of later positions are never read.
    rows.truncate(tokenizer::MAX_TOKENS * width);
    rows.shrink_to_fit();
    for row in rows.chunks_exact_mut(width) {
        for (value, token_type) in row.iter_mut().zip(&token_types) {
            *value += token_type;
        }
    }
    Ok(rows)
}
