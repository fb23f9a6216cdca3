//! Writes a Whisper model in the format of whisper.cpp: sizes, mel filters, vocabulary, then named arrays.

use std::io::{self, Write};

use super::convert_error::ConvertError;
use super::ctranslate2::{Variable, Variables};
use super::mel;

/// The first bytes of the file: "ggml" in ASCII, as a number.
const MAGIC: i32 = 0x6767_6d6c;
/// Type number of half precision.
const HALF_PRECISION: i32 = 1;
/// Positions of the encoder: 30 seconds, 50 per second.
const AUDIO_POSITIONS: usize = 1_500;
/// Width of an attention head in every Whisper model.
const HEAD_WIDTH: usize = 64;

/// The format in which an array is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ArrayFormat {
    /// Half precision, for matrices of weights.
    Half,
    /// Single precision, for biases, norms and positions.
    Single,
    /// Single precision in a column, for the bias of a convolution.
    Column,
}

/// Writes the whole model: the header with `words` as its vocabulary, then all arrays.
pub fn write(from: &Variables<'_>, words: &[Vec<u8>], out: &mut impl Write) -> Result<(), ConvertError> {
    let mut to = Writer { from, out };
    to.header(words)?;
    to.encoder()?;
    to.decoder()
}

struct Writer<'a, 'b, W> {
    from: &'a Variables<'b>,
    out: &'a mut W,
}

impl<W: Write> Writer<'_, '_, W> {
    fn header(&mut self, words: &[Vec<u8>]) -> Result<(), ConvertError> {
        let [width, mels, _] = self.from.get("encoder/conv1/weight")?.shape;
        let [vocabulary, ..] = self.from.get("decoder/embeddings/weight")?.shape;
        let [text_positions, ..] = self.from.get("decoder/position_encodings/encodings")?.shape;
        let (encoder_layers, decoder_layers) = (self.from.layers("encoder"), self.from.layers("decoder"));
        let heads = width / HEAD_WIDTH;
        self.number(MAGIC)?;
        // In the order in which whisper.cpp reads its hyperparameters.
        for size in [
            vocabulary,
            AUDIO_POSITIONS,
            width,
            heads,
            encoder_layers,
            text_positions,
            width,
            heads,
            decoder_layers,
            mels,
        ] {
            self.size(size)?;
        }
        self.number(HALF_PRECISION)?;
        let filters = mel::filters(mels);
        self.size(mels)?;
        self.size(filters.len() / mels.max(1))?;
        for weight in filters {
            self.out.write_all(&weight.to_le_bytes())?;
        }
        self.size(words.len())?;
        for word in words {
            self.size(word.len())?;
            self.out.write_all(word)?;
        }
        Ok(())
    }

    fn encoder(&mut self) -> Result<(), ConvertError> {
        self.array("encoder.conv1.weight", "encoder/conv1/weight", ArrayFormat::Half)?;
        self.array("encoder.conv1.bias", "encoder/conv1/bias", ArrayFormat::Column)?;
        self.array("encoder.conv2.weight", "encoder/conv2/weight", ArrayFormat::Half)?;
        self.array("encoder.conv2.bias", "encoder/conv2/bias", ArrayFormat::Column)?;
        self.array(
            "encoder.positional_embedding",
            "encoder/position_encodings/encodings",
            ArrayFormat::Single,
        )?;
        self.norm("encoder.ln_post", "encoder/layer_norm")?;
        for layer in 0..self.from.layers("encoder") {
            let (to, from) = (format!("encoder.blocks.{layer}"), format!("encoder/layer_{layer}"));
            self.attention(&to, &from)?;
            self.feed_forward(&to, &from)?;
        }
        Ok(())
    }

    fn decoder(&mut self) -> Result<(), ConvertError> {
        self.array(
            "decoder.positional_embedding",
            "decoder/position_encodings/encodings",
            ArrayFormat::Single,
        )?;
        self.array("decoder.token_embedding.weight", "decoder/embeddings/weight", ArrayFormat::Half)?;
        self.norm("decoder.ln", "decoder/layer_norm")?;
        for layer in 0..self.from.layers("decoder") {
            let (to, from) = (format!("decoder.blocks.{layer}"), format!("decoder/layer_{layer}"));
            self.attention(&to, &from)?;
            self.cross_attention(&to, &from)?;
            self.feed_forward(&to, &from)?;
        }
        Ok(())
    }

    fn norm(&mut self, to: &str, from: &str) -> Result<(), ConvertError> {
        self.array(&format!("{to}.weight"), &format!("{from}/gamma"), ArrayFormat::Single)?;
        self.array(&format!("{to}.bias"), &format!("{from}/beta"), ArrayFormat::Single)
    }

    /// Writes self-attention. CTranslate2 stores queries, keys and values as one matrix, whisper.cpp as three; keys have no bias.
    fn attention(&mut self, to: &str, from: &str) -> Result<(), ConvertError> {
        self.norm(&format!("{to}.attn_ln"), &format!("{from}/self_attention/layer_norm"))?;
        let weight = self.from.get(&format!("{from}/self_attention/linear_0/weight"))?;
        let bias = self.from.get(&format!("{from}/self_attention/linear_0/bias"))?;
        self.put(&format!("{to}.attn.query.weight"), weight.third(0)?, ArrayFormat::Half)?;
        self.put(&format!("{to}.attn.query.bias"), bias.third(0)?, ArrayFormat::Single)?;
        self.put(&format!("{to}.attn.key.weight"), weight.third(1)?, ArrayFormat::Half)?;
        self.put(&format!("{to}.attn.value.weight"), weight.third(2)?, ArrayFormat::Half)?;
        self.put(&format!("{to}.attn.value.bias"), bias.third(2)?, ArrayFormat::Single)?;
        self.linear(&format!("{to}.attn.out"), &format!("{from}/self_attention/linear_1"))
    }

    fn cross_attention(&mut self, to: &str, from: &str) -> Result<(), ConvertError> {
        self.norm(&format!("{to}.cross_attn_ln"), &format!("{from}/attention/layer_norm"))?;
        self.linear(&format!("{to}.cross_attn.query"), &format!("{from}/attention/linear_0"))?;
        let weight = self.from.get(&format!("{from}/attention/linear_1/weight"))?;
        let bias = self.from.get(&format!("{from}/attention/linear_1/bias"))?;
        self.put(&format!("{to}.cross_attn.key.weight"), weight.half(0)?, ArrayFormat::Half)?;
        self.put(&format!("{to}.cross_attn.value.weight"), weight.half(1)?, ArrayFormat::Half)?;
        self.put(&format!("{to}.cross_attn.value.bias"), bias.half(1)?, ArrayFormat::Single)?;
        self.linear(&format!("{to}.cross_attn.out"), &format!("{from}/attention/linear_2"))
    }

    fn feed_forward(&mut self, to: &str, from: &str) -> Result<(), ConvertError> {
        self.norm(&format!("{to}.mlp_ln"), &format!("{from}/ffn/layer_norm"))?;
        self.linear(&format!("{to}.mlp.0"), &format!("{from}/ffn/linear_0"))?;
        self.linear(&format!("{to}.mlp.2"), &format!("{from}/ffn/linear_1"))
    }

    fn linear(&mut self, to: &str, from: &str) -> Result<(), ConvertError> {
        self.array(&format!("{to}.weight"), &format!("{from}/weight"), ArrayFormat::Half)?;
        self.array(&format!("{to}.bias"), &format!("{from}/bias"), ArrayFormat::Single)
    }

    fn array(&mut self, to: &str, from: &str, format: ArrayFormat) -> Result<(), ConvertError> {
        let variable = self.from.get(from)?;
        self.put(to, variable, format)
    }

    fn put(&mut self, name: &str, variable: Variable<'_>, format: ArrayFormat) -> Result<(), ConvertError> {
        let mut sizes = variable.sizes().to_vec();
        if format == ArrayFormat::Column {
            sizes.push(1);
        }
        if variable.halves.is_empty() {
            return Err(ConvertError::Format("the precision"));
        }
        self.size(sizes.len())?;
        self.size(name.len())?;
        // 0 is the type number of single precision.
        self.number(if format == ArrayFormat::Half { HALF_PRECISION } else { 0 })?;
        // ggml lists the dimension that varies fastest first.
        for size in sizes.into_iter().rev() {
            self.size(size)?;
        }
        self.out.write_all(name.as_bytes())?;
        if format == ArrayFormat::Half {
            self.out.write_all(variable.halves)?;
            return Ok(());
        }
        let (pairs, _) = variable.halves.as_chunks::<2>();
        for pair in pairs {
            self.out.write_all(&single(u16::from_le_bytes(*pair)).to_le_bytes())?;
        }
        Ok(())
    }

    fn size(&mut self, size: usize) -> Result<(), ConvertError> {
        self.number(i32::try_from(size).map_err(|_| ConvertError::Format("a size"))?)
            .map_err(ConvertError::from)
    }

    fn number(&mut self, number: i32) -> io::Result<()> {
        self.out.write_all(&number.to_le_bytes())
    }
}

/// Converts half precision to single precision (IEEE 754), exactly.
fn single(half: u16) -> f32 {
    let sign = if half >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 31), f32::from(half & 1023));
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-24),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1024.0 + fraction) * 2.0_f32.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_converted_exactly() {
        let known = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65_504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ];
        for (half, value) in known {
            assert_eq!(single(half), value);
        }
        assert!(single(0x7e00).is_nan() && single(0xfc00) == f32::NEG_INFINITY);
    }
}
