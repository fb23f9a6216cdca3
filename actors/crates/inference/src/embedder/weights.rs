//! Reads one tensor after the other out of a safetensors file, so that the file is never in memory as a whole.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use safetensors::{Dtype, tensor::Metadata};

/// A header is a few kilobytes; more is no model of ours.
const HEADER_MOST: u64 = 4 * 1024 * 1024;

/// Bytes read at once: a few hundred rows of a table.
const STEP: usize = 512 * 1024;

/// Why weights cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file cannot be read, or ends too early.
    #[error("could not read the weights file")]
    Read(#[from] io::Error),
    /// The beginning is not that of a safetensors file.
    #[error("the header of the weights file is not valid")]
    Header(#[from] serde_json::Error),
    /// Header and file disagree about the length.
    #[error("the weights file has {found} bytes, and its header declares {told}")]
    Length {
        /// Bytes by the header.
        told: u64,
        /// Bytes in the file.
        found: u64,
    },
    /// A tensor is not there.
    #[error("the weights file has no tensor `{0}`")]
    Missing(String),
    /// A tensor is not of 32-bit floats in the shape that is needed.
    #[error("the tensor `{0}` has another shape or type than expected")]
    Shape(String),
}

/// An open safetensors file.
pub(super) struct Weights {
    file: File,
    /// Where the tensors begin.
    start: u64,
    tensors: Metadata,
    bytes: Vec<u8>,
}

impl Weights {
    pub(super) fn open(path: &Path) -> Result<Self, WeightsError> {
        let mut file = File::open(path)?;
        let found = file.metadata()?.len();
        let mut length = [0; 8];
        file.read_exact(&mut length)?;
        let header = u64::from_le_bytes(length);
        if header > HEADER_MOST.min(found) {
            return Err(WeightsError::Length { told: header, found });
        }
        let tensors: Metadata = serde_json::from_reader((&mut file).take(header))?;
        let start = 8 + header;
        let told = start + tensors.data_len() as u64;
        if told != found {
            return Err(WeightsError::Length { told, found });
        }
        Ok(Self { file, start, tensors, bytes: Vec::new() })
    }

    /// A whole tensor of the given shape.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let mut all = Vec::with_capacity(shape.iter().product());
        self.read(name, shape, |part| all.extend(part))?;
        Ok(all)
    }

    /// The rows of a matrix, one after the other.
    pub(super) fn rows(
        &mut self,
        name: &str,
        shape: [usize; 2],
        mut each: impl FnMut(&[f32]),
    ) -> Result<(), WeightsError> {
        let [_, columns] = shape;
        let mut row = Vec::with_capacity(columns);
        self.read(name, &shape, |part| {
            for value in part {
                row.push(value);
                if row.len() == columns {
                    each(&row);
                    row.clear();
                }
            }
        })
    }

    fn read(
        &mut self,
        name: &str,
        shape: &[usize],
        mut each: impl FnMut(&mut dyn Iterator<Item = f32>),
    ) -> Result<(), WeightsError> {
        let tensor = self.tensors.info(name).ok_or_else(|| WeightsError::Missing(name.to_owned()))?;
        if tensor.shape != shape || tensor.dtype != Dtype::F32 {
            return Err(WeightsError::Shape(name.to_owned()));
        }
        let (from, to) = tensor.data_offsets;
        self.file.seek(SeekFrom::Start(self.start + from as u64))?;
        let mut left = to - from;
        while left > 0 {
            self.bytes.resize(left.min(STEP), 0);
            self.file.read_exact(&mut self.bytes)?;
            let (floats, _) = self.bytes.as_chunks::<4>();
            each(&mut floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            left -= self.bytes.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    /// A file with the tensor `t` of two rows and three columns, and `also` behind it.
    fn file(name: &str, also: &[u8]) -> PathBuf {
        let header = br#"{"t":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#;
        let numbers = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes).concat();
        let length = (header.len() as u64).to_le_bytes();
        let path = std::env::temp_dir().join(format!("carrel-weights-{}-{name}", std::process::id()));
        fs::write(&path, [&length, header.as_slice(), &numbers, also].concat()).unwrap();
        path
    }

    #[test]
    fn a_tensor_is_read_whole_or_by_rows() {
        let mut weights = Weights::open(&file("whole", &[])).unwrap();
        let mut rows = Vec::new();

        weights.rows("t", [2, 3], |row| rows.push(row.to_vec())).unwrap();

        assert_eq!(weights.tensor("t", &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(rows, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    }

    #[test]
    fn another_shape_or_name_is_refused() {
        let mut weights = Weights::open(&file("shape", &[])).unwrap();

        assert!(matches!(weights.tensor("t", &[3, 2]), Err(WeightsError::Shape(_))));
        assert!(matches!(weights.tensor("u", &[2, 3]), Err(WeightsError::Missing(_))));
    }

    #[test]
    fn a_file_of_another_length_than_it_tells_is_refused() {
        assert!(matches!(Weights::open(&file("longer", &[0])), Err(WeightsError::Length { .. })));

        let shorter = file("shorter", &[]);
        let bytes = fs::read(&shorter).unwrap();
        for length in 0..bytes.len() {
            fs::write(&shorter, &bytes[..length]).unwrap();
            assert!(Weights::open(&shorter).is_err());
        }
    }
}
