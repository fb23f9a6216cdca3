//! Reads the tensors of a safetensors file one by one, so that the file is never in memory as a whole.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use safetensors::{Dtype, tensor::Metadata};

/// Maximum length of the header, which has a few kilobytes in supported models.
const MAX_HEADER_BYTES: u64 = 4 * 1024 * 1024;

/// Bytes per read: a few hundred rows of a table. A multiple of four, so that no float is split between two reads.
const READ_BYTES: usize = 512 * 1024;

/// Why weights cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file cannot be read or is truncated.
    #[error("could not read the weights file")]
    Read(#[from] io::Error),
    /// The header is not a valid safetensors header.
    #[error("the header of the weights file is not valid")]
    Header(#[from] serde_json::Error),
    /// The file length differs from the length in the header.
    #[error("the weights file has {found} bytes, and its header declares {declared}")]
    Length {
        /// Bytes declared by the header.
        declared: u64,
        /// Length of the file in bytes.
        found: u64,
    },
    /// The file has no tensor of this name.
    #[error("the weights file has no tensor `{0}`")]
    Missing(String),
    /// A tensor does not have the expected shape or is not of 32-bit floats.
    #[error("the tensor `{0}` has another shape or type than expected")]
    Shape(String),
}

/// A safetensors file of which the header has been read and checked against the length of the file.
pub(super) struct Weights {
    file: File,
    /// Offset of the first tensor.
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
        // A damaged file may declare any length.
        if header > MAX_HEADER_BYTES.min(found) {
            return Err(WeightsError::Length { declared: header, found });
        }
        let tensors: Metadata = serde_json::from_reader((&mut file).take(header))?;
        let start = 8 + header;
        let declared = start + tensors.data_len() as u64;
        // A download that was cut has a valid header, but not all of its tensors.
        if declared != found {
            return Err(WeightsError::Length { declared, found });
        }
        Ok(Self { file, start, tensors, bytes: Vec::new() })
    }

    /// Reads a whole tensor of the given shape.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let mut all = Vec::with_capacity(shape.iter().product());
        self.read(name, shape, |part| all.extend(part))?;
        Ok(all)
    }

    /// Reads a matrix row by row.
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
        let mut remaining = to - from;
        while remaining > 0 {
            self.bytes.resize(remaining.min(READ_BYTES), 0);
            self.file.read_exact(&mut self.bytes)?;
            let (floats, _) = self.bytes.as_chunks::<4>();
            each(&mut floats.iter().map(|bytes| f32::from_le_bytes(*bytes)));
            remaining -= self.bytes.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::PathBuf};

    use super::*;

    /// Writes a file with the tensor `t` of two rows and three columns, followed by `trailing`.
    fn file(name: &str, trailing: &[u8]) -> PathBuf {
        let header = br#"{"t":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#;
        let numbers = [1f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes).concat();
        let length = (header.len() as u64).to_le_bytes();
        let path = std::env::temp_dir().join(format!("carrel-weights-{}-{name}", std::process::id()));
        fs::write(&path, [&length, header.as_slice(), &numbers, trailing].concat()).unwrap();
        path
    }

    #[test]
    fn tensor_is_read_whole_or_by_rows() {
        let mut weights = Weights::open(&file("whole", &[])).unwrap();
        let mut rows = Vec::new();

        weights.rows("t", [2, 3], |row| rows.push(row.to_vec())).unwrap();

        assert_eq!(weights.tensor("t", &[2, 3]).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(rows, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    }

    #[test]
    fn unexpected_shape_or_name_is_an_error() {
        let mut weights = Weights::open(&file("shape", &[])).unwrap();

        assert!(matches!(weights.tensor("t", &[3, 2]), Err(WeightsError::Shape(_))));
        assert!(matches!(weights.tensor("u", &[2, 3]), Err(WeightsError::Missing(_))));
    }

    #[test]
    fn file_length_must_match_the_header() {
        assert!(matches!(Weights::open(&file("longer", &[0])), Err(WeightsError::Length { .. })));

        let shorter = file("shorter", &[]);
        let bytes = fs::read(&shorter).unwrap();
        for length in 0..bytes.len() {
            fs::write(&shorter, &bytes[..length]).unwrap();
            assert!(Weights::open(&shorter).is_err());
        }
    }
}
