//! Reads a CTranslate2 model: named arrays of half precision, one after the other in one file.

use std::collections::HashMap;

use super::ConvertError;

/// The number that stands for half precision.
const HALF: u8 = 4;

/// An array: its shape and its values, two bytes each, little-endian.
#[derive(Clone, Copy, Debug)]
pub struct Variable<'a> {
    /// At most two, of which the first is one for a vector; three for a convolution.
    pub shape: [usize; 3],
    /// How many of `shape` count, from the left.
    pub rank: usize,
    /// The values, rows first.
    pub halves: &'a [u8],
}

impl<'a> Variable<'a> {
    /// The sizes of its dimensions.
    pub fn sizes(&self) -> &[usize] {
        self.shape.get(..self.rank).unwrap_or_default()
    }

    /// One of three equal parts along the first dimension.
    pub fn third(&self, which: usize) -> Result<Variable<'a>, ConvertError> {
        self.part(which, 3)
    }

    /// The first or the second half along the first dimension.
    pub fn half(&self, which: usize) -> Result<Variable<'a>, ConvertError> {
        self.part(which, 2)
    }

    fn part(&self, which: usize, of: usize) -> Result<Variable<'a>, ConvertError> {
        let ([first, second, third], length) = (self.shape, self.halves.len() / of);
        let halves = self.halves.get(which * length..(which + 1) * length);
        match halves.filter(|_| first % of == 0) {
            Some(halves) => Ok(Variable { shape: [first / of, second, third], rank: self.rank, halves }),
            None => Err(ConvertError::Format("a projection")),
        }
    }
}

/// All variables of a model file, by name.
pub struct Variables<'a>(HashMap<&'a str, Variable<'a>>);

impl<'a> Variables<'a> {
    /// The variable of a name.
    pub fn get(&self, name: &str) -> Result<Variable<'a>, ConvertError> {
        self.0.get(name).copied().ok_or(ConvertError::Format("a layer"))
    }

    /// How many layers stand under a name.
    pub fn layers(&self, side: &str) -> usize {
        (0..)
            .take_while(|layer| {
                self.0.contains_key(format!("{side}/layer_{layer}/ffn/linear_0/weight").as_str())
            })
            .count()
    }
}

/// Reads the file.
pub fn read(bytes: &[u8]) -> Result<Variables<'_>, ConvertError> {
    let mut rest = Rest(bytes);
    let (_version, _kind, _revision) = (rest.number()?, rest.text()?, rest.number()?);
    let count = rest.number()?;
    let mut variables = HashMap::new();
    for _ in 0..count {
        let name = rest.text()?;
        let variable = rest.variable()?;
        variables.insert(name, variable);
    }
    Ok(Variables(variables))
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], ConvertError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(ConvertError::Format("its length"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self) -> Result<usize, ConvertError> {
        let bytes = self.take(4)?.try_into().map_err(|_| ConvertError::Format("a number"))?;
        usize::try_from(u32::from_le_bytes(bytes)).map_err(|_| ConvertError::Format("a number"))
    }

    fn byte(&mut self) -> Result<u8, ConvertError> {
        self.take(1)?.first().copied().ok_or(ConvertError::Format("a number"))
    }

    fn text(&mut self) -> Result<&'a str, ConvertError> {
        let length = usize::from(self.byte()?) + 256 * usize::from(self.byte()?);
        let bytes = self.take(length)?;
        let text = std::str::from_utf8(bytes).map_err(|_| ConvertError::Format("a name"))?;
        Ok(text.trim_end_matches('\0'))
    }

    fn variable(&mut self) -> Result<Variable<'a>, ConvertError> {
        let rank = usize::from(self.byte()?);
        let mut shape = [1; 3];
        for place in 0..rank {
            *shape.get_mut(place).ok_or(ConvertError::Format("a shape"))? = self.number()?;
        }
        let kind = self.byte()?;
        let length = self.number()?;
        let halves = self.take(length)?;
        let wanted = shape.iter().try_fold(2, |product: usize, size| product.checked_mul(*size));
        // Counters and flags are of other kinds and are not asked for.
        if kind == HALF && wanted != Some(length) {
            return Err(ConvertError::Format("a shape"));
        }
        Ok(Variable { shape, rank, halves: if kind == HALF { halves } else { &[] } })
    }
}
