//! A linear map in 8-bit integers: less than half of the time and a quarter of the memory of [`super::exact`];
//! whole models come to a cosine of about 0.999 to the exact ones, and of 0.997 on processors without dot products of four
//! bytes (VNNI), where queries, which go in twice, keep theirs.
//!
//! Each column of the weights has its own factor, symmetric around nought; each row of the input has a factor and
//! a zero point that are found as it comes. Where it matters more than time, a row goes in twice: its bytes, and
//! the bytes of what rounding lost.

use rten_gemm::{GemmExecutor, GemmInputA, GemmInputB, GemmOptions, PackedBMatrix};
use rten_simd::{SimdOp, SimdUnaryOp};
use rten_tensor::Matrix;
use rten_vecmath::{Gelu, MinMax};

use super::{
    EmbedError,
    linear::{Bench, Care, Then},
    quantise::Scale,
    turn_back::TurnBack,
};

pub(super) struct Int8 {
    packed: PackedBMatrix<i8>,
    /// Factor of each column.
    factors: Vec<f32>,
    /// Sum of each column's weights, in bytes.
    weights: Vec<f32>,
    bias: Vec<f32>,
}

/// Rows of an input in bytes, and their products. With [`Care::Twice`] what rounding lost of the rows follows them.
#[derive(Default)]
pub(super) struct Quantised {
    bytes: Vec<u8>,
    scales: Vec<Scale>,
    sums: Vec<i32>,
    rest: Vec<f32>,
    no_bias: Vec<f32>,
}

impl Int8 {
    /// `matrix` holds a row of `inputs` numbers for each output.
    pub(super) fn new(matrix: &[f32], inputs: usize, bias: Vec<f32>) -> Self {
        let gemm = GemmExecutor::<u8, i8, i32>::new();
        let mut bytes = Vec::with_capacity(matrix.len());
        let (mut factors, mut weights) = (Vec::with_capacity(bias.len()), Vec::with_capacity(bias.len()));
        for row in matrix.chunks_exact(inputs) {
            let (low, high) = MinMax::new(row).dispatch();
            let factor = high.max(-low) / 127.0;
            let inverse = if factor > 0.0 { factor.recip() } else { 0.0 };
            let mut sum = 0f32;
            bytes.extend(row.iter().map(|weight| {
                let weight = (weight * inverse).round();
                sum += weight;
                weight as i8
            }));
            factors.push(factor);
            weights.push(sum);
        }
        let turned = Matrix::from_data([bias.len(), inputs], bytes.as_slice());
        Self { packed: gemm.prepack_b(turned.transposed()), factors, weights, bias }
    }

    pub(super) fn run(
        &self,
        bench: &mut Bench,
        x: &[f32],
        out: &mut [f32],
        then: Then,
    ) -> Result<(), EmbedError> {
        let (inputs, outputs) = (self.packed.rows(), self.bias.len());
        let room = &mut bench.quantised;
        // Without dot products of four bytes the kernels add two products in 16 bits, which seven bits in the input cannot
        // overflow: in the weights they would cost more of the meaning, and nothing could make up for it.
        let largest = if bench.bytes.may_saturate() { 127 } else { 255 };
        room.take(x, inputs, bench.care, largest);
        room.sums.resize(room.scales.len() * outputs, 0);
        let x = Matrix::try_from_data([room.scales.len(), inputs], room.bytes.as_slice())?;
        bench.bytes.gemm(
            &mut room.sums,
            GemmInputA::Unpacked(x),
            GemmInputB::Packed(&self.packed),
            // No zero points here: rten-gemm 0.27 gives each tile of rows those of the first.
            GemmOptions::default(),
        )?;

        let (sums, rest) = room.sums.split_at(out.len());
        let (scales, rest_scales) = room.scales.split_at(out.len() / outputs);
        self.turn_back(sums, scales, &self.bias, then == Then::Add, out);
        if bench.care == Care::Twice {
            room.no_bias.resize(outputs, 0.0);
            self.turn_back(rest, rest_scales, &room.no_bias, true, out);
        }
        if then == Then::Gelu {
            Gelu {}.map_mut(out);
        }
        Ok(())
    }

    fn turn_back(&self, sums: &[i32], scales: &[Scale], bias: &[f32], add: bool, out: &mut [f32]) {
        let outputs = self.bias.len();
        for ((sums, scale), out) in sums.chunks_exact(outputs).zip(scales).zip(out.chunks_exact_mut(outputs))
        {
            let (weights, columns) = (&self.weights, &self.factors);
            TurnBack { sums, scale: *scale, weights, columns, bias, add, out }.dispatch();
        }
    }
}

impl Quantised {
    /// Takes the rows of `x`, each `width` wide, into bytes from 0 to `largest`.
    fn take(&mut self, x: &[f32], width: usize, care: Care, largest: u8) {
        self.scales.clear();
        self.scales.extend(x.chunks_exact(width).map(|row| Scale::of(row, largest)));
        let bytes = match care {
            Care::Once => x.len(),
            Care::Twice => 2 * x.len(),
        };
        self.bytes.resize(bytes, 0);
        let (bytes, rest_bytes) = self.bytes.split_at_mut(x.len());
        let rows = x.chunks_exact(width).zip(bytes.chunks_exact_mut(width)).zip(&self.scales);
        for ((row, bytes), scale) in rows {
            scale.round(row, bytes);
        }
        if care == Care::Once {
            return;
        }

        self.rest.clear();
        self.rest.extend_from_slice(x);
        let rows = self.rest.chunks_exact_mut(width).zip(bytes.chunks_exact(width));
        let finer: Vec<Scale> = self.scales.iter().map(|scale| scale.of_rest(largest)).collect();
        for (((row, bytes), scale), (rest_bytes, finer)) in
            rows.zip(&self.scales).zip(rest_bytes.chunks_exact_mut(width).zip(&finer))
        {
            scale.take_off(bytes, row);
            finer.round(row, rest_bytes);
        }
        self.scales.extend(finer);
    }
}
