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
    tokens,
    weights::{Weights, WeightsError},
};

pub(super) struct Encoder {
    width: usize,
    words: Table,
    /// One row for each position; what every text of a single part has in common is added already.
    places: Vec<f32>,
    first: Norm,
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
            words: Table::read(
                weights,
                "embeddings.word_embeddings.weight",
                [config.words, width],
                precision,
            )?,
            places: places(weights, config)?,
            first: Norm::read(weights, "embeddings.LayerNorm", width, config.epsilon)?,
        })
    }

    /// Width of a vector.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// The vectors of texts, in order. Texts go through together, one after the other, without padding.
    pub(super) fn run(&self, scratch: &mut LayerScratch, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let lengths: Vec<usize> = texts.iter().map(|text| text.len()).collect();
        let mut rows = vec![0.0; lengths.iter().sum::<usize>() * self.width];
        let mut left = rows.as_mut_slice();
        for text in texts {
            let (place, rest) = left.split_at_mut(text.len() * self.width);
            self.look_up(text, place)?;
            left = rest;
        }
        self.first.apply(&mut rows);
        for layer in &self.layers {
            layer.run(scratch, &lengths, &mut rows)?;
        }

        let mut left = rows.as_slice();
        let mut vectors = Vec::with_capacity(texts.len());
        for length in lengths {
            let (text, rest) = left.split_at(length * self.width);
            vectors.push(self.pool(text));
            left = rest;
        }
        Ok(vectors)
    }

    fn look_up(&self, text: &[u32], rows: &mut [f32]) -> Result<(), EmbedError> {
        let places = self.places.chunks_exact(self.width);
        for ((token, row), place) in text.iter().zip(rows.chunks_exact_mut(self.width)).zip(places) {
            row.copy_from_slice(place);
            if !self.words.add_row(*token as usize, row) {
                return Err(EmbedError::UnknownToken(*token));
            }
        }
        Ok(())
    }

    /// The mean of a text's rows, brought to length one.
    fn pool(&self, rows: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; self.width];
        for row in rows.chunks_exact(self.width) {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
        // The sum points where the mean points; only the direction is wanted.
        let length = SumSquare::new(&sum).dispatch().sqrt();
        for value in &mut sum {
            *value /= length;
        }
        sum
    }
}

fn places(weights: &mut Weights, config: &Config) -> Result<Vec<f32>, WeightsError> {
    let width = config.width;
    let part = weights.tensor("embeddings.token_type_embeddings.weight", &[2, width])?;
    let mut places = weights.tensor("embeddings.position_embeddings.weight", &[config.places, width])?;
    places.truncate(tokens::MAX_TOKENS * width);
    places.shrink_to_fit();
    for place in places.chunks_exact_mut(width) {
        for (place, part) in place.iter_mut().zip(&part) {
            *place += part;
        }
    }
    Ok(places)
}
