//! Shared by the linear maps: the kernels, their scratch memory, and the epilogue of a product.

use rten_gemm::GemmExecutor;

use super::quantize::Scale;

/// Rows that are processed by a layer together. Intermediate results then stay in the cache, and it is the row block of the kernels.
pub(super) const ROW_BLOCK: usize = 64;

/// The way in which a product is written to the output (the epilogue of the matrix multiplication).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Epilogue {
    /// The product overwrites the output.
    Overwrite,
    /// The GELU activation of the product overwrites the output.
    Gelu,
    /// The product is added to the output.
    Accumulate,
}

/// Number of passes in which the rows of an input are multiplied by an 8-bit map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuantPasses {
    /// One pass over the rounded rows: for passages, of which there are many.
    Single,
    /// A second pass over the rounding residual: for queries, which are short and are embedded one at a time.
    ResidualCorrected,
}

/// The fastest kernels for this processor, and their scratch memory. One for each worker.
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
        // The residual of the rows follows their bytes, so that one product multiplies both and reads the weights once.
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
