//! Reads a CTranslate2 model: a file of named arrays in half precision.

use std::collections::HashMap;

use super::convert_error::ConvertError;

/// Type number of half precision.
const HALF_PRECISION: u8 = 4;

/// An array: its shape and its values, two bytes each, little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    /// Sizes of the dimensions, of which the first `rank` count: one for a vector, two for a matrix, three for a convolution.
    pub shape: [usize; 3],
    /// Number of dimensions that count, at most 3.
    pub rank: usize,
    /// The values in row-major order.
    pub halves: &'a [u8],
}

impl<'a> Variable<'a> {
    /// Returns the sizes of the dimensions.
    pub fn sizes(&self) -> &[usize] {
        self.shape.get(..self.rank).unwrap_or_default()
    }

    /// Returns one of three equal parts along the first dimension.
    pub fn third(&self, index: usize) -> Result<Variable<'a>, ConvertError> {
        self.part(index, 3)
    }

    /// Returns the first or the second half along the first dimension.
    pub fn half(&self, index: usize) -> Result<Variable<'a>, ConvertError> {
        self.part(index, 2)
    }

    fn part(&self, index: usize, count: usize) -> Result<Variable<'a>, ConvertError> {
        let ([first, second, third], length) = (self.shape, self.halves.len() / count);
        let halves = self.halves.get(index * length..(index + 1) * length);
        match halves.filter(|_| first % count == 0) {
            Some(halves) => Ok(Variable { shape: [first / count, second, third], rank: self.rank, halves }),
            None => Err(ConvertError::Format("a projection")),
        }
    }
}

/// All variables of a model file, by name.
pub struct Variables<'a>(HashMap<&'a str, Variable<'a>>);

impl<'a> Variables<'a> {
    /// Returns the variable with this name.
    pub fn get(&self, name: &str) -> Result<Variable<'a>, ConvertError> {
        self.0.get(name).copied().ok_or(ConvertError::Format("a layer"))
    }

    /// Returns the number of layers of the encoder or the decoder.
    pub fn layers(&self, side: &str) -> usize {
        (0..)
            .take_while(|layer| {
                self.0.contains_key(format!("{side}/layer_{layer}/ffn/linear_0/weight").as_str())
            })
            .count()
    }
}

/// Parses a model file of CTranslate2 without copying its values.
pub fn read_variables(bytes: &[u8]) -> Result<Variables<'_>, ConvertError> {
    let mut reader = ByteReader(bytes);
    let (_version, _kind, _revision) = (reader.number()?, reader.read_text()?, reader.number()?);
    let count = reader.number()?;
    let mut variables = HashMap::new();
    for _ in 0..count {
        let name = reader.read_text()?;
        let variable = reader.variable()?;
        variables.insert(name, variable);
    }
    Ok(Variables(variables))
}

struct ByteReader<'a>(&'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ConvertError> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or(ConvertError::Format("its length"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<usize, ConvertError> {
        let bytes = self.take(4)?.try_into().map_err(|_| ConvertError::Format("a number"))?;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| ConvertError::Format("a number"))
    }

    fn byte(&mut self) -> Result<u8, ConvertError> {
        self.take(1)?.first().copied().ok_or(ConvertError::Format("a number"))
    }

    fn read_text(&mut self) -> Result<&'a str, ConvertError> {
        let length = usize::from(self.byte()?) + 256 * usize::from(self.byte()?);
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| ConvertError::Format("a name"))?;
        // The length includes the terminating zero.
        Ok(text.trim_end_matches('\0'))
    }

    fn variable(&mut self) -> Result<Variable<'a>, ConvertError> {
        let rank = usize::from(self.byte()?);
        let mut shape = [1; 3];
        for dimension in 0..rank {
            *shape.get_mut(dimension).ok_or(ConvertError::Format("a shape"))? = self.number()?;
        }
        let kind = self.byte()?;
        let length = self.number()?;
        let halves = self.take(length)?;
        let expected_length = shape.iter().try_fold(2, |product: usize, size| product.checked_mul(*size));
        // Counters and flags have other types and are not used.
        if kind == HALF_PRECISION && expected_length != Some(length) {
            return Err(ConvertError::Format("a shape"));
        }
        // An array without halves makes the conversion fail only if it is needed.
        Ok(Variable { shape, rank, halves: if kind == HALF_PRECISION { halves } else { &[] } })
    }
}
