//! Layer normalisation: every row is normalised to mean zero and variance one, then scaled and shifted by learned parameters.

use rten_simd::SimdOp;
use rten_vecmath::{Normalize, NormalizeOptions, Sum, SumSquareSub};

use super::weights::{Weights, WeightsError};

pub(super) struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
    epsilon: f32,
}

impl Norm {
    pub(super) fn read(
        weights: &mut Weights,
        name: &str,
        width: usize,
        epsilon: f32,
    ) -> Result<Self, WeightsError> {
        let scale = weights.tensor(&format!("{name}.weight"), &[width])?;
        let shift = weights.tensor(&format!("{name}.bias"), &[width])?;
        Ok(Self { scale, shift, epsilon })
    }

    /// Normalises each row of `rows` in place.
    pub(super) fn apply(&self, rows: &mut [f32]) {
        let width = self.scale.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = Sum::new(row).dispatch() / width as f32;
            let variance = SumSquareSub::new(row, mean).dispatch() / width as f32;
            let options = NormalizeOptions {
                pre_scale_bias: mean,
                scale: (variance + self.epsilon).sqrt().recip(),
                element_scale: Some(&self.scale),
                element_bias: Some(&self.shift),
                ..NormalizeOptions::default()
            };
            Normalize::new_mut(row, options).dispatch();
        }
    }
}
