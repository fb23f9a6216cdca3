//! Converts a downloaded model to the format in which it is used.

mod convert_error;
mod ctranslate2;
mod ggml;
mod mel;
mod vocabulary;

use std::io;
use std::path::Path;

pub use convert_error::ConvertError;

/// Converts a Whisper model of CTranslate2 (`model.bin` and `vocabulary.txt` in `folder`) to the format of whisper.cpp and writes it to
/// `to`. The same input gives the same bytes.
pub(super) fn whisper(folder: &Path, to: &Path) -> Result<(), ConvertError> {
    let bytes = std::fs::read(folder.join("model.bin"))?;
    let variables = ctranslate2::read_variables(&bytes)?;
    let words = vocabulary::read_words(&std::fs::read_to_string(folder.join("vocabulary.txt"))?)?;
    let mut out = io::BufWriter::with_capacity(1 << 20, std::fs::File::create(to)?);
    ggml::write(&variables, &words, &mut out)?;
    Ok(io::Write::flush(&mut out)?)
}
