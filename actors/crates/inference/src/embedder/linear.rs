//! A linear map `x W + b` in the precision that the model was opened with.

use super::{
    EmbedError,
    exact::Exact,
    gemm::{Epilogue, GemmContext},
    int8::Int8,
    precision::Precision,
    weights::{Weights, WeightsError},
};

pub(super) enum Linear {
    Exact(Exact),
    Int8(Int8),
}

impl Linear {
    /// Reads maps with the same input and concatenates their outputs into one map.
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

    /// Applies the map to the rows of `x` and writes the rows of `out`.
    pub(super) fn run(
        &self,
        context: &mut GemmContext,
        x: &[f32],
        out: &mut [f32],
        epilogue: Epilogue,
    ) -> Result<(), EmbedError> {
        match self {
            Self::Exact(map) => map.run(context, x, out, epilogue),
            Self::Int8(map) => map.run(context, x, out, epilogue),
        }
    }
}
