//! A linear map in 32-bit floats: what the faster one is measured against.

use rten_gemm::{BiasVector, GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::SimdUnaryOp;
use rten_tensor::Matrix;
use rten_vecmath::Gelu;

use super::{
    EmbedError,
    linear::{Bench, Then},
};

pub(super) struct Exact {
    packed: PackedBMatrix<f32>,
    bias: Vec<f32>,
}

impl Exact {
    /// `matrix` holds a row of `inputs` numbers for each output.
    pub(super) fn new(matrix: &[f32], inputs: usize, bias: Vec<f32>) -> Self {
        let turned = Matrix::from_data([bias.len(), inputs], matrix).transposed();
        Self { packed: GemmExecutor::<f32>::new().prepack_b(turned), bias }
    }

    pub(super) fn run(
        &self,
        bench: &mut Bench,
        x: &[f32],
        out: &mut [f32],
        then: Then,
    ) -> Result<(), EmbedError> {
        let rows = out.len() / self.bias.len();
        let x = Matrix::try_from_data([rows, self.packed.rows()], x)?;
        let beta = if then == Then::Add { 1.0 } else { 0.0 };
        bench.floats.gemm(
            out,
            GemmInputA::Unpacked(x),
            GemmInputB::Packed(&self.packed),
            GemmOptions { beta, bias: Some(BiasVector::Row(&self.bias)), ..GemmOptions::default() },
        )?;
        if then == Then::Gelu {
            Gelu {}.map_mut(out);
        }
        Ok(())
    }
}
