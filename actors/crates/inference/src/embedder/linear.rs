//! A linear map `x W + b` in the precision that the model was opened with.

use rten_gemm::GemmExecutor;

use super::{
    EmbedError,
    exact::Exact,
    int8::{Int8, Quantised},
    minilm::Precision,
    weights::{Weights, WeightsError},
};

/// Rows that go through a layer together: what lies between two products stays in the cache, and it is the
/// block of rows that the kernels work on.
pub(super) const BLOCK: usize = 64;

/// What becomes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// It replaces what stands in the output.
    Store,
    /// It replaces what stands in the output, after the GELU.
    Gelu,
    /// It is added to what stands in the output.
    Add,
}

/// How often a row goes through an 8-bit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Once, rounded: passages, of which there are many.
    Once,
    /// Once more for what rounding lost: queries, which are short and alone.
    Twice,
}

/// The kernels that this processor runs best, and room to work in. One for each worker.
pub(super) struct Bench {
    pub floats: GemmExecutor<f32>,
    pub bytes: GemmExecutor<u8, i8, i32>,
    pub quantised: Quantised,
    pub care: Care,
}

impl Bench {
    pub(super) fn new(care: Care) -> Self {
        Self {
            floats: GemmExecutor::new(),
            bytes: GemmExecutor::new(),
            quantised: Quantised::default(),
            care,
        }
    }
}

pub(super) enum Linear {
    Exact(Exact),
    Int8(Int8),
}

impl Linear {
    /// Reads maps that share their input and puts them side by side into one.
    pub(super) fn read(
        weights: &mut Weights,
        names: &[&str],
        [outputs, inputs]: [usize; 2],
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let mut matrix = Vec::with_capacity(names.len() * outputs * inputs);
        let mut bias = Vec::with_capacity(names.len() * outputs);
        for name in names {
            matrix.extend(weights.tensor(&format!("{name}.weight"), &[outputs, inputs])?);
            bias.extend(weights.tensor(&format!("{name}.bias"), &[outputs])?);
        }
        Ok(match precision {
            Precision::Exact => Self::Exact(Exact::new(&matrix, inputs, bias)),
            Precision::Int8 => Self::Int8(Int8::new(&matrix, inputs, bias)),
        })
    }

    /// Runs the rows of `x` through the map, into the rows of `out`.
    pub(super) fn run(
        &self,
        bench: &mut Bench,
        x: &[f32],
        out: &mut [f32],
        then: Then,
    ) -> Result<(), EmbedError> {
        match self {
            Self::Exact(map) => map.run(bench, x, out, then),
            Self::Int8(map) => map.run(bench, x, out, then),
        }
    }
}
