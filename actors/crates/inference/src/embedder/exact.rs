//! A linear map in 32-bit floats: the reference for the accuracy of the 8-bit one.

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::SimdUnaryOp;
use rten_tensor::Matrix;
use rten_vecmath::Gelu;

use super::{
    EmbedError,
    gemm::{Epilogue, GemmContext},
};

pub(super) struct Exact {
    packed: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

impl Exact {
    /// `matrix` contains a row of `inputs` numbers for each output.
    pub(super) fn new(matrix: &[f32], inputs: usize, bias: Vec<f32>) -> Self {
        let transposed = Matrix::from_data([bias.len(), inputs], matrix).transposed();
        Self { packed: GemmExecutor::<f32>::new().prepack_b(transposed), bias }
    }

    pub(super) fn run(
        &self,
        context: &mut GemmContext,
        x: &[f32],
        out: &mut [f32],
        epilogue: Epilogue,
    ) -> Result<(), EmbedError> {
        let rows = out.len() / self.bias.len();
        let x = Matrix::try_from_data([rows, self.packed.rows()], x)?;
        let beta = if epilogue == Epilogue::Accumulate { 1.0 } else { 0.0 };
        context.floats.gemm(
            out,
            GemmInputA::Unpacked(x),
            GemmInputB::Packed(&self.packed),
            GemmOptions { beta, bias: Some(BiasVector::Row(&self.bias)), ..GemmOptions::default() },
        )?;
        if epilogue == Epilogue::Gelu {
            Gelu {}.map_mut(out);
        }
        Ok(())
    }
}
