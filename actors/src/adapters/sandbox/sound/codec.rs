//! From the packets of one track to samples of one channel: symphonia's decoders, and Opus, which it lacks.

use ropus::OpusMSDecoder;
use symphonia::core::codecs::audio::well_known::{CODEC_ID_AAC, CODEC_ID_OPUS};
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

/// Opus always decodes to this rate.
const OPUS_RATE: u32 = 48_000;
/// Samples of the longest Opus packet, 120 ms.
const OPUS_MOST: usize = 5_760;
/// No recording has a higher rate, and a filter for one would be huge.
const FASTEST: u32 = 384_000;

/// A decoder of one track.
pub enum Codec {
    /// One of symphonia's.
    Usual(Box<dyn AudioDecoder>),
    /// Opus.
    Opus(Box<Opus>),
}

/// A decoder of Opus.
pub struct Opus {
    decoder: OpusMSDecoder,
    channels: usize,
    base: Option<TimeBase>,
    pcm: Vec<i16>,
}

/// A packet could not be decoded.
pub enum Fault {
    /// This packet alone.
    Packet,
    /// And no later one will be.
    Track,
}

impl Codec {
    /// A decoder for a track with these parameters, where there is one.
    pub fn of(params: &AudioCodecParameters, base: Option<TimeBase>) -> Option<Self> {
        if params.codec == CODEC_ID_OPUS {
            return Opus::new(params, base).map(|opus| Self::Opus(Box::new(opus)));
        }
        let core = params.extra_data.as_deref().and_then(core_of).filter(|_| params.codec == CODEC_ID_AAC);
        let mut params = params.clone();
        params.extra_data = core.map(Into::into).or(params.extra_data);
        let made =
            symphonia::default::get_codecs().make_audio_decoder(&params, &AudioDecoderOptions::default());
        made.ok().map(Self::Usual)
    }

    /// Decodes a packet into `mono`, which is emptied before; the rate of its samples.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, Fault> {
        mono.clear();
        match self {
            Self::Usual(decoder) => usual(&mut **decoder, packet, mono),
            Self::Opus(opus) => opus.decode(packet, mono),
        }
    }
}

/// The configuration of the core of HE-AAC (ISO/IEC 14496-3, 1.6.2.1): it has the lower half of the sound, in which speech is.
fn core_of(config: &[u8]) -> Option<[u8; 2]> {
    const LOW_COMPLEXITY: u8 = 2;
    let [first, second, ..] = config else { return None };
    let (kind, rate) = (first >> 3, (first & 7) << 1 | second >> 7);
    // Rates that are written out are those of nobody.
    (matches!(kind, 5 | 29) && rate != 15).then_some([LOW_COMPLEXITY << 3 | rate >> 1, second & 0xf8])
}

fn usual(decoder: &mut dyn AudioDecoder, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, Fault> {
    let decoded = match decoder.decode(packet) {
        Ok(decoded) => decoded,
        Err(Error::DecodeError(_) | Error::IoError(_) | Error::ResetRequired) => return Err(Fault::Packet),
        Err(_) => return Err(Fault::Track),
    };
    let (rate, channels) = (decoded.spec().rate(), decoded.spec().channels().count());
    if !(1..=FASTEST).contains(&rate) || channels == 0 {
        return Err(Fault::Track);
    }
    let mut interleaved: Vec<f32> = Vec::new();
    decoded.copy_to_vec_interleaved(&mut interleaved);
    mix(&interleaved, channels, mono);
    Ok(rate)
}

/// The mean of all channels: whoever speaks is heard, on whichever side.
fn mix(interleaved: &[f32], channels: usize, mono: &mut Vec<f32>) {
    #[expect(clippy::cast_precision_loss, reason = "a few channels")]
    let share = 1.0 / channels as f32;
    mono.extend(interleaved.chunks_exact(channels).map(|frame| {
        let mean = frame.iter().sum::<f32>() * share;
        if mean.is_finite() { mean.clamp(-1.0, 1.0) } else { 0.0 }
    }));
}

impl Opus {
    /// Reads the identification header (RFC 7845, section 5.1); without one it is mono or stereo.
    fn new(params: &AudioCodecParameters, base: Option<TimeBase>) -> Option<Self> {
        let header = params.extra_data.as_deref().unwrap_or_default();
        let header = header.strip_prefix(b"OpusHead").unwrap_or(header);
        let told = params.channels.as_ref().map_or(2, |channels| channels.count());
        let channels = header.get(1).map_or(told, |count| usize::from(*count));
        let (streams, coupled, mapping) = match (header.get(10), header.get(11..)) {
            (Some(1..), Some([streams, coupled, mapping @ ..])) => {
                (i32::from(*streams), i32::from(*coupled), mapping.get(..channels)?.to_vec())
            }
            (_, _) if channels <= 2 => (1, i32::from(channels == 2), (0..2).collect()),
            (_, _) => return None,
        };
        let count = i32::try_from(channels).ok()?;
        let decoder = OpusMSDecoder::new(OPUS_RATE.cast_signed(), count, streams, coupled, &mapping).ok()?;
        Some(Self { decoder, channels, base, pcm: vec![0; OPUS_MOST * channels] })
    }

    fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, Fault> {
        let length = i32::try_from(packet.data.len()).map_err(|_| Fault::Packet)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a small constant")]
        let most = OPUS_MOST as i32;
        let decoded = self.decoder.decode(Some(&packet.data), length, &mut self.pcm, most, false);
        let frames = decoded.ok().and_then(|frames| usize::try_from(frames).ok()).ok_or(Fault::Packet)?;
        let from = self.frames(packet.trim_start.get()).min(frames);
        let to = frames.saturating_sub(self.frames(packet.trim_end.get())).max(from);
        let kept = self.pcm.get(from * self.channels..to * self.channels).unwrap_or_default();
        let interleaved: Vec<f32> = kept.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        mix(&interleaved, self.channels, mono);
        Ok(OPUS_RATE)
    }

    /// Frames of a time in the track's own unit.
    fn frames(&self, ticks: u64) -> usize {
        let unit = self.base.map_or((1, u64::from(OPUS_RATE)), |base| {
            (u64::from(base.numer.get()), u64::from(base.denom.get()))
        });
        let frames = u128::from(ticks) * u128::from(unit.0) * u128::from(OPUS_RATE) / u128::from(unit.1);
        usize::try_from(frames).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::core_of;

    #[test]
    fn of_high_efficiency_the_core_is_read() {
        // Kind 5 or 29, 24 kHz (6), two channels or one, then the doubled rate and the core's kind.
        assert_eq!(core_of(&[0x2b, 0x11, 0x88, 0x00]), Some([0x13, 0x10]));
        assert_eq!(core_of(&[0xeb, 0x09, 0x88, 0x00]), Some([0x13, 0x08]));
        // Low complexity as it is: 44.1 kHz, two channels.
        assert_eq!((core_of(&[0x12, 0x10]), core_of(&[0x2f, 0x80]), core_of(&[])), (None, None, None));
    }
}
