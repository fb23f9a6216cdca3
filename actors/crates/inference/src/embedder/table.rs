//! The token embedding table: half of the weights of the model, of which a text uses few rows.

use super::{
    precision::Precision,
    weights::{Weights, WeightsError},
};

/// A row of numbers for each token.
pub(super) enum Table {
    Exact {
        columns: usize,
        rows: Vec<f32>,
    },
    /// Values in -127..=127, with a factor for each row by which they are dequantized.
    Int8 {
        columns: usize,
        rows: Vec<i8>,
        factors: Vec<f32>,
    },
}

impl Table {
    pub(super) fn read(
        weights: &mut Weights,
        name: &str,
        shape: [usize; 2],
        precision: Precision,
    ) -> Result<Self, WeightsError> {
        let [count, columns] = shape;
        match precision {
            Precision::Exact => Ok(Self::Exact { columns, rows: weights.tensor(name, &shape)? }),
            Precision::Int8 => {
                let (mut rows, mut factors) =
                    (Vec::with_capacity(count * columns), Vec::with_capacity(count));
                // Row by row: the exact table would take four times the memory of this one while it is converted.
                weights.rows(name, shape, |row| {
                    let factor = row.iter().fold(0f32, |largest, value| largest.max(value.abs())) / 127.0;
                    let inverse = if factor > 0.0 { factor.recip() } else { 0.0 };
                    rows.extend(row.iter().map(|value| (value * inverse).round() as i8));
                    factors.push(factor);
                })?;
                Ok(Self::Int8 { columns, rows, factors })
            }
        }
    }

    /// Adds row `number` to `out`; returns false if there is no such row.
    #[must_use]
    pub(super) fn add_row(&self, number: usize, out: &mut [f32]) -> bool {
        match self {
            Self::Exact { columns, rows } => {
                let Some(row) = rows.chunks_exact(*columns).nth(number) else { return false };
                out.iter_mut().zip(row).for_each(|(out, value)| *out += value);
            }
            Self::Int8 { columns, rows, factors } => {
                let row = rows.chunks_exact(*columns).nth(number);
                let (Some(row), Some(factor)) = (row, factors.get(number)) else { return false };
                out.iter_mut().zip(row).for_each(|(out, byte)| *out += f32::from(*byte) * factor);
            }
        }
        true
    }
}
