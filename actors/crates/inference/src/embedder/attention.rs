//! Attention within one text, a head at a time, in floats.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions};
use rten_simd::SimdOp;
use rten_tensor::Matrix;
use rten_vecmath::Softmax;

use super::EmbedError;

/// The layout of queries, keys and values in a row: the queries of all heads, then all keys, then all values.
#[derive(Clone, Copy)]
pub(super) struct Heads {
    pub count: usize,
    /// Floats of one head in a query, a key or a value.
    pub width: usize,
}

/// Scratch memory for the attention of one head.
#[derive(Default)]
pub(super) struct AttentionScratch {
    scores: Vec<f32>,
    mixed: Vec<f32>,
}

impl Heads {
    /// Computes scaled dot-product attention over the rows of one text: the values, weighted by the softmax of queries times keys.
    ///
    /// A row of `rows` is three widths long, a row of `out` one.
    pub(super) fn run(
        self,
        gemm: &GemmExecutor<f32>,
        scratch: &mut AttentionScratch,
        rows: &[f32],
        out: &mut [f32],
    ) -> Result<(), EmbedError> {
        let width = self.count * self.width;
        let length = out.len() / width;
        scratch.scores.resize(length * length, 0.0);
        scratch.mixed.resize(length * self.width, 0.0);
        for head in 0..self.count {
            let (query, key, value) = (
                // Views into the rows: the kernels read strided matrices, so no head is copied out.
                self.columns(rows, length, head * self.width)?,
                self.columns(rows, length, width + head * self.width)?,
                self.columns(rows, length, 2 * width + head * self.width)?,
            );
            // The rows are those of one text without padding, so no attention mask is needed.
            gemm.gemm(
                &mut scratch.scores,
                GemmInputA::Unpacked(query),
                GemmInputB::Unpacked(key.transposed()),
                GemmOptions { alpha: (self.width as f32).sqrt().recip(), ..GemmOptions::default() },
            )?;
            for scores in scratch.scores.chunks_exact_mut(length) {
                Softmax::new_mut(scores).dispatch();
            }
            let scores = Matrix::try_from_data([length, length], scratch.scores.as_slice())?;
            gemm.gemm(
                &mut scratch.mixed,
                GemmInputA::Unpacked(scores),
                GemmInputB::Unpacked(value),
                GemmOptions::default(),
            )?;
            let outputs =
                out.chunks_exact_mut(width).filter_map(|row| row.chunks_exact_mut(self.width).nth(head));
            for (output, mixed) in outputs.zip(scratch.mixed.chunks_exact(self.width)) {
                output.copy_from_slice(mixed);
            }
        }
        Ok(())
    }

    /// Returns the columns of one head, from column `from` on, as a view into the rows.
    fn columns(self, rows: &[f32], length: usize, from: usize) -> Result<Matrix<'_>, EmbedError> {
        let rows = rows.get(from..).unwrap_or_default();
        Ok(Matrix::from_slice_with_strides([length, self.width], rows, [3 * self.count * self.width, 1])?)
    }
}
