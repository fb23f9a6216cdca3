//! Converts sums of 8-bit products to floats: one pass, in the widest vectors of the processor.

use rten_simd::{
    Isa, SimdOp,
    ops::{BitOps, FloatOps, NumOps, ToFloat},
};

use super::quantize::Scale;

/// Dequantizes one row: `out = (sums - zero * weights) * factor * columns + bias`. With `add`, the result is added to `out`.
pub(super) struct Dequantize<'a> {
    pub sums: &'a [i32],
    /// Scale of the row, with `zero` and `factor`.
    pub scale: Scale,
    /// Sum of the weights of each column: what a zero point of one adds to a sum.
    pub weights: &'a [f32],
    /// Factor of each column, from the quantization of the weights.
    pub columns: &'a [f32],
    pub bias: &'a [f32],
    pub add: bool,
    pub out: &'a mut [f32],
}

impl SimdOp for Dequantize<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (floats, ints) = (isa.f32(), isa.i32());
        let step = floats.len();
        let (zero, factor) = (f32::from(self.scale.zero), self.scale.factor);
        let (zeros, row_factors) = (floats.splat(zero), floats.splat(factor));
        let whole = self.out.len() - self.out.len() % step;
        let (out, out_rest) = self.out.split_at_mut(whole);

        let rows = self.sums.chunks_exact(step).zip(self.weights.chunks_exact(step));
        let rows = rows.zip(self.columns.chunks_exact(step)).zip(self.bias.chunks_exact(step));
        for ((((sums, weights), columns), bias), out) in rows.zip(out.chunks_exact_mut(step)) {
            let sums = ints.to_float(ints.load(sums));
            let sums = floats.mul_sub_from(zeros, floats.load(weights), sums);
            let factors = floats.mul(row_factors, floats.load(columns));
            let mut base = floats.load(bias);
            if self.add {
                base = floats.add(base, floats.load(out));
            }
            floats.store(floats.mul_add(sums, factors, base), out);
        }

        // The rest of the row, in the same order of operations as the vectors above.
        let rest = self.sums.iter().zip(self.weights).zip(self.columns).zip(self.bias).skip(whole);
        for ((((sum, weights), column), bias), out) in rest.zip(out_rest) {
            let sum = zero.mul_add(-weights, *sum as f32);
            let base = if self.add { *bias + *out } else { *bias };
            *out = sum.mul_add(factor * column, base);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    #[derive(Debug, Clone)]
    struct ColumnInput {
        sum: i32,
        weights: i16,
        factor: f32,
        bias: f32,
        before: f32,
    }

    fn column() -> impl Strategy<Value = ColumnInput> {
        (-1_000_000i32..1_000_000, any::<i16>(), 0.001f32..0.1, -3f32..3.0, -3f32..3.0).prop_map(
            |(sum, weights, factor, bias, before)| ColumnInput { sum, weights, factor, bias, before },
        )
    }

    proptest! {
        #[test]
        fn row_of_any_width_is_dequantized(
            row in vec(column(), 0..100),
            zero: u8,
            factor in 0.001f32..0.1,
            add: bool,
        ) {
            let all = |pick: fn(&ColumnInput) -> f32| row.iter().map(pick).collect::<Vec<f32>>();
            let sums: Vec<i32> = row.iter().map(|column| column.sum).collect();
            let mut out = all(|column| column.before);

            Dequantize {
                sums: &sums,
                scale: Scale { factor, zero },
                weights: &all(|column| f32::from(column.weights)),
                columns: &all(|column| column.factor),
                bias: &all(|column| column.bias),
                add,
                out: &mut out,
            }
            .dispatch();

            for (out, column) in out.iter().zip(&row) {
                let sum = i64::from(column.sum) - i64::from(zero) * i64::from(column.weights);
                let product = sum as f64 * f64::from(factor) * f64::from(column.factor);
                let base = f64::from(column.bias) + if add { f64::from(column.before) } else { 0.0 };
                prop_assert!((f64::from(*out) - product - base).abs() <= 1e-5 * product.abs().max(1.0));
            }
        }
    }
}
