//! From the packets of one track to samples of one channel: symphonia's decoders, and two for what they lack.

use symphonia::core::codecs::audio::well_known::{CODEC_ID_AAC, CODEC_ID_OPUS};
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use super::aac::Aac;
use super::mix::Mixer;
use super::opus::Opus;

/// No recording has a higher rate, and a filter for one would be huge.
pub const FASTEST: u32 = 384_000;

/// A decoder of one track.
pub enum Codec {
    /// One of symphonia's.
    Usual(Box<dyn AudioDecoder>, Mixer),
    /// Opus.
    Opus(Box<Opus>),
    /// AAC.
    Aac(Box<Aac>),
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
        match params.codec {
            CODEC_ID_OPUS => return Opus::new(params, base).map(|opus| Self::Opus(Box::new(opus))),
            CODEC_ID_AAC => return Aac::new(params).map(|aac| Self::Aac(Box::new(aac))),
            _ => {}
        }
        let made =
            symphonia::default::get_codecs().make_audio_decoder(params, &AudioDecoderOptions::default());
        made.ok().map(|decoder| Self::Usual(decoder, Mixer::default()))
    }

    /// Decodes a packet into `mono`, which is emptied before; the rate of its samples.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, Fault> {
        mono.clear();
        match self {
            Self::Usual(decoder, mixer) => usual(&mut **decoder, mixer, packet, mono),
            Self::Opus(opus) => opus.decode(packet, mono),
            Self::Aac(aac) => aac.decode(packet, mono),
        }
    }
}

fn usual(
    decoder: &mut dyn AudioDecoder,
    mixer: &mut Mixer,
    packet: &Packet,
    mono: &mut Vec<f32>,
) -> Result<u32, Fault> {
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
    mixer.mix(&interleaved, channels, mono);
    Ok(rate)
}
