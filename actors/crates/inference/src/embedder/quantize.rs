//! Quantizes rows of floats to bytes: one pass for the range, one for the bytes, in the widest vectors of the processor.

use rten_simd::{
    Isa, SimdOp,
    ops::{BitOps, FloatOps, NarrowSaturate, NumOps},
};
use rten_vecmath::MinMax;

/// The quantization of a row: `number = (byte - zero) * factor`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub factor: f32,
    pub zero: u8,
}

impl Scale {
    /// Returns the scale that maps the range of a row, extended to zero, to the bytes from 0 to `largest`.
    pub(super) fn for_row(row: &[f32], largest: u8) -> Self {
        let (low, high) = MinMax::new(row).dispatch();
        // With zero in the range, the zero point fits into a byte, and zero itself is exact.
        let (low, high) = (low.min(0.0), high.max(0.0));
        let factor = (high - low) / f32::from(largest);
        if factor > 0.0 {
            Self { factor, zero: (-low / factor).round() as u8 }
        } else {
            Self { factor: 1.0, zero: 0 }
        }
    }

    /// Returns the scale for the residual of rounding with this scale, which is at most half a step in each direction.
    pub(super) fn of_residual(self, largest: u8) -> Self {
        // `largest` is odd, so `largest / 2` of the finer steps are exactly half a step of this scale.
        Self { factor: self.factor / f32::from(largest - 1), zero: largest / 2 }
    }

    /// Quantizes the numbers of `row` into `bytes`.
    pub(super) fn round(self, row: &[f32], bytes: &mut [u8]) {
        RowQuantizer { row, bytes, scale: self }.dispatch();
    }

    /// Subtracts the quantized values from `row`, so that it contains the rounding residual.
    pub(super) fn subtract_rounded(self, bytes: &[u8], row: &mut [f32]) {
        for (number, byte) in row.iter_mut().zip(bytes) {
            *number -= (f32::from(*byte) - f32::from(self.zero)) * self.factor;
        }
    }
}

struct RowQuantizer<'a> {
    row: &'a [f32],
    bytes: &'a mut [u8],
    scale: Scale,
}

impl SimdOp for RowQuantizer<'_> {
    type Output = ();

    #[inline(always)]
    fn eval<I: Isa>(self, isa: I) {
        let (floats, ints, shorts, bytes) = (isa.f32(), isa.i32(), isa.i16(), isa.u8());
        let (inverse, zero) = (self.scale.factor.recip(), i32::from(self.scale.zero));
        let (inverses, zeros) = (floats.splat(inverse), ints.splat(zero));
        // Four vectors of floats become one vector of bytes.
        let step = bytes.len();
        let whole = self.bytes.len() - self.bytes.len() % step;
        let (out, out_rest) = self.bytes.split_at_mut(whole);
        for (row, out) in self.row.chunks_exact(step).zip(out.chunks_exact_mut(step)) {
            let [a, b, c, d] = floats.load_many::<4>(row);
            let a = ints.add(floats.to_int_round(floats.mul(a, inverses)), zeros);
            let b = ints.add(floats.to_int_round(floats.mul(b, inverses)), zeros);
            let c = ints.add(floats.to_int_round(floats.mul(c, inverses)), zeros);
            let d = ints.add(floats.to_int_round(floats.mul(d, inverses)), zeros);
            let low = ints.narrow_saturate(a, b);
            let high = ints.narrow_saturate(c, d);
            bytes.store(shorts.narrow_saturate(low, high), out);
        }
        // Rounds ties to even, like the vectors above: the byte of a number does not depend on its position in the row.
        for (number, out) in self.row.iter().skip(whole).zip(out_rest) {
            *out = ((number * inverse).round_ties_even() as i32 + zero).clamp(0, 255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*, sample::select};

    use super::*;

    proptest! {
        #[test]
        fn rounding_error_is_at_most_half_a_step(
            row in vec(-40f32..40.0, 0..300),
            largest in select(vec![127u8, 255]),
        ) {
            let scale = Scale::for_row(&row, largest);
            let mut bytes = vec![0; row.len()];

            scale.round(&row, &mut bytes);
            let mut rest = row.clone();
            scale.subtract_rounded(&bytes, &mut rest);

            for rest in &rest {
                prop_assert!(rest.abs() <= scale.factor * 0.501);
            }

            let finer = scale.of_residual(largest);
            finer.round(&rest.clone(), &mut bytes);
            finer.subtract_rounded(&bytes, &mut rest);
            for rest in &rest {
                prop_assert!(rest.abs() <= scale.factor * 0.6 / f32::from(largest));
            }
        }
    }

    #[test]
    fn zero_is_quantized_exactly() {
        for row in [vec![0.0; 70], vec![], [vec![0.0; 65], vec![-3.0, 7.5]].concat()] {
            let scale = Scale::for_row(&row, 255);
            let mut bytes = vec![9; row.len()];

            scale.round(&row, &mut bytes);

            for (number, byte) in row.iter().zip(&bytes) {
                assert!(*number != 0.0 || *byte == scale.zero);
            }
        }
    }
}
