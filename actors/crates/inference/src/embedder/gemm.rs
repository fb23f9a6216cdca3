//! What the linear maps share: the kernels, their scratch memory, and what is done with a product.

use rten_gemm::GemmExecutor;

use super::quantize::Scale;

/// Rows that go through a layer together. What lies between two products then stays in the cache, and it is the block of rows that
/// the kernels work on.
pub(super) const ROW_BLOCK: usize = 64;

/// What is done with a product (the epilogue of the matrix multiplication).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epilogue {
    /// It overwrites the output.
    Overwrite,
    /// It overwrites the output, after the GELU activation.
    Gelu,
    /// It is added to the output.
    Accumulate,
}

/// How often the rows of an input are multiplied by an 8-bit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuantPasses {
    /// Once, rounded: for passages, of which there are many.
    Single,
    /// A second time for the residual that rounding lost: for queries, which are short and come one at a time.
    ResidualCorrected,
}

/// The kernels that this processor runs best, and their scratch memory. One for each worker.
pub(super) struct GemmContext {
    pub floats: GemmExecutor<f32>,
    pub bytes: GemmExecutor<u8, i8, i32>,
    pub quantized: QuantizedRows,
    pub passes: QuantPasses,
}

impl GemmContext {
    pub(super) fn new(passes: QuantPasses) -> Self {
        Self {
            floats: GemmExecutor::new(),
            bytes: GemmExecutor::new(),
            quantized: QuantizedRows::default(),
            passes,
        }
    }
}

/// Rows of an input in bytes, and their products. With [`QuantPasses::ResidualCorrected`] the residual of the rows follows them.
#[derive(Default)]
pub(super) struct QuantizedRows {
    pub bytes: Vec<u8>,
    pub scales: Vec<Scale>,
    pub sums: Vec<i32>,
    rest: Vec<f32>,
    pub no_bias: Vec<f32>,
}

impl QuantizedRows {
    /// Quantizes the rows of `x`, each `width` wide, to bytes from 0 to `largest`.
    pub(super) fn quantize(&mut self, x: &[f32], width: usize, passes: QuantPasses, largest: u8) {
        self.scales.clear();
        self.scales.extend(x.chunks_exact(width).map(|row| Scale::for_row(row, largest)));
        let bytes = match passes {
            QuantPasses::Single => x.len(),
            QuantPasses::ResidualCorrected => 2 * x.len(),
        };
        self.bytes.resize(bytes, 0);
        let (bytes, rest_bytes) = self.bytes.split_at_mut(x.len());
        let rows = x.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(&self.scales);
        for ((row, bytes), scale) in rows {
            scale.round(row, bytes);
        }
        if passes == QuantPasses::Single {
            return;
        }

        self.rest.clear();
        self.rest.extend_from_slice(x);
        let rows = self.rest.chunks_exact_mut(width).zip(bytes.chunks_exact(width));
        let finer: Vec<Scale> = self.scales.iter().map(|scale| scale.of_residual(largest)).collect();
        for (((row, bytes), scale), (rest_bytes, finer)) in
            rows.zip(&self.scales).zip(rest_bytes.chunks_exact_mut(width).zip(&finer))
        {
            scale.subtract_rounded(bytes, row);
            finer.round(row, rest_bytes);
        }
        self.scales.extend(finer);
    }
}
