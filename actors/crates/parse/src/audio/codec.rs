//! Decodes the packets of a track to samples of one channel: symphonia's decoders, and two for what they lack.

use symphonia::core::codecs::audio::well_known::{CODEC_ID_AAC, CODEC_ID_OPUS};
use symphonia::core::codecs::audio::{AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use super::aac::Aac;
use super::decode_fault::{DecodeFault, MAX_SAMPLE_RATE};
use super::downmix::Downmixer;
use super::opus::Opus;

/// A decoder of one track.
pub enum Codec {
    /// One of symphonia's, with the mixer to one channel.
    Symphonia(Box<dyn AudioDecoder>, Downmixer),
    /// Opus, which symphonia does not decode.
    Opus(Box<Opus>),
    /// AAC, of which symphonia decodes only one profile in one or two channels.
    Aac(Box<Aac>),
}

impl Codec {
    /// Returns a decoder for a track with these parameters; `None` if its codec is not supported.
    pub fn for_track(params: &AudioCodecParameters, base: Option<TimeBase>) -> Option<Self> {
        // Before symphonia's own decoders: it has one for AAC, which refuses surround and high efficiency.
        match params.codec {
            CODEC_ID_OPUS => return Opus::new(params, base).map(|opus| Self::Opus(Box::new(opus))),
            CODEC_ID_AAC => return Aac::new(params).map(|aac| Self::Aac(Box::new(aac))),
            _ => {}
        }
        let made =
            symphonia::default::get_codecs().make_audio_decoder(params, &AudioDecoderOptions::default());
        made.ok().map(|decoder| Self::Symphonia(decoder, Downmixer::default()))
    }

    /// Decodes a packet into `mono`, which is cleared first. Returns the rate of the samples.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, DecodeFault> {
        mono.clear();
        match self {
            Self::Symphonia(decoder, mixer) => decode_symphonia(&mut **decoder, mixer, packet, mono),
            Self::Opus(opus) => opus.decode(packet, mono),
            Self::Aac(aac) => aac.decode(packet, mono),
        }
    }
}

fn decode_symphonia(
    decoder: &mut dyn AudioDecoder,
    mixer: &mut Downmixer,
    packet: &Packet,
    mono: &mut Vec<f32>,
) -> Result<u32, DecodeFault> {
    let decoded = match decoder.decode(packet) {
        Ok(decoded) => decoded,
        // A damaged packet costs only itself: the next one may be whole.
        Err(Error::DecodeError(_) | Error::IoError(_) | Error::ResetRequired) => {
            return Err(DecodeFault::Packet);
        }
        Err(_) => return Err(DecodeFault::Track),
    };
    let (rate, channels) = (decoded.spec().rate(), decoded.spec().channels().count());
    if !(1..=MAX_SAMPLE_RATE).contains(&rate) || channels == 0 {
        return Err(DecodeFault::Track);
    }
    let mut interleaved: Vec<f32> = Vec::new();
    decoded.copy_to_vec_interleaved(&mut interleaved);
    mixer.downmix(&interleaved, channels, mono);
    Ok(rate)
}
