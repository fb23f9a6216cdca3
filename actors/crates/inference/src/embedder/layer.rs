//! One layer of the encoder: attention, then the feed-forward part, each added to what came in and normalised.

use super::{
    EmbedError,
    attention::{Heads, Room},
    config::Config,
    linear::{BLOCK, Bench, Care, Linear, Then},
    minilm::Precision,
    norm::Norm,
    weights::{Weights, WeightsError},
};

pub(super) struct Layer {
    heads: Heads,
    inner: usize,
    /// Queries, keys and values in one product.
    asks: Linear,
    answers: Linear,
    attended: Norm,
    up: Linear,
    down: Linear,
    done: Norm,
}

/// Room for the rows of a group between the parts of a layer.
pub(super) struct Desk {
    bench: Bench,
    room: Room,
    asked: Vec<f32>,
    mixed: Vec<f32>,
    inner: Vec<f32>,
}

impl Desk {
    pub(super) fn new(care: Care) -> Self {
        Self {
            bench: Bench::new(care),
            room: Room::default(),
            asked: Vec::new(),
            mixed: Vec::new(),
            inner: Vec::new(),
        }
    }
}

impl Layer {
    pub(super) fn read(
        weights: &mut Weights,
        number: usize,
        config: &Config,
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let (width, inner) = (config.width, config.inner);
        let named = |part: &str| format!("encoder.layer.{number}.{part}");
        let asked = ["query", "key", "value"].map(|part| named(&format!("attention.self.{part}")));
        let asked = asked.each_ref().map(String::as_str);
        let answers = named("attention.output.dense");
        let (up, down) = (named("intermediate.dense"), named("output.dense"));
        Ok(Self {
            heads: Heads { count: config.heads, width: config.head() },
            inner,
            asks: Linear::read(weights, &asked, [width, width], precision)?,
            answers: Linear::read(weights, &[&answers], [width, width], precision)?,
            attended: Norm::read(weights, &named("attention.output.LayerNorm"), width, config.epsilon)?,
            up: Linear::read(weights, &[&up], [inner, width], precision)?,
            down: Linear::read(weights, &[&down], [width, inner], precision)?,
            done: Norm::read(weights, &named("output.LayerNorm"), width, config.epsilon)?,
        })
    }

    /// Runs texts whose rows stand one after the other in `x`; `lengths` says how many rows each has.
    pub(super) fn run(&self, desk: &mut Desk, lengths: &[usize], x: &mut [f32]) -> Result<(), EmbedError> {
        let width = self.heads.count * self.heads.width;
        let Desk { bench, room, asked, mixed, inner } = desk;
        asked.resize(3 * x.len(), 0.0);
        mixed.resize(x.len(), 0.0);
        for (x, asked) in x.chunks(BLOCK * width).zip(asked.chunks_mut(3 * BLOCK * width)) {
            self.asks.run(bench, x, asked, Then::Store)?;
        }

        let (mut asked, mut places) = (asked.as_slice(), mixed.as_mut_slice());
        for length in lengths {
            let (rows, rest) = asked.split_at(3 * length * width);
            let (place, others) = places.split_at_mut(length * width);
            self.heads.run(&bench.floats, room, rows, place)?;
            (asked, places) = (rest, others);
        }

        for (x, mixed) in x.chunks_mut(BLOCK * width).zip(mixed.chunks(BLOCK * width)) {
            self.answers.run(bench, mixed, x, Then::Add)?;
            self.attended.apply(x);
            inner.resize(x.len() / width * self.inner, 0.0);
            self.up.run(bench, x, inner, Then::Gelu)?;
            self.down.run(bench, inner, x, Then::Add)?;
            self.done.apply(x);
        }
        Ok(())
    }
}
