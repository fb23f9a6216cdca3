//! AAC of all profiles (ISO/IEC 14496-3): symphonia's decoder knows low complexity in one or two channels.

use rusty_aac::{AacDecoder, AudioSpecificConfig};
use symphonia::core::codecs::audio::AudioCodecParameters;
use symphonia::core::packet::Packet;

use super::decode_fault::{DecodeFault, MAX_SAMPLE_RATE};
use super::downmix::Downmixer;

/// The profile of streams that do not tell theirs: low complexity.
const LOW_COMPLEXITY: u8 = 2;

/// A decoder of AAC, with the mixer to one channel.
pub struct Aac {
    decoder: AacDecoder,
    mixer: Downmixer,
}

impl Aac {
    /// Reads the configuration of the track; without one, rate and channels come from the stream.
    pub fn new(params: &AudioCodecParameters) -> Option<Self> {
        // Files state a configuration; a bare stream (ADTS) has only what the container's reader
        // found in its first frame.
        let decoder = match params.extra_data.as_deref() {
            Some(config) => AacDecoder::with_config_bytes(config).ok()?,
            None => AacDecoder::with_config(AudioSpecificConfig {
                object_type: LOW_COMPLEXITY,
                sample_rate: params.sample_rate?,
                channels: channel_configuration(params.channels.as_ref()?.count())?,
            }),
        };
        Some(Self { decoder, mixer: Downmixer::default() })
    }

    /// Decodes a packet and appends its samples to `mono`. Returns their rate in samples a second.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, DecodeFault> {
        let decoded = self.decoder.decode(&packet.data, None).map_err(|_| DecodeFault::Packet)?;
        // A configuration that states such a rate holds for the whole track, so later packets need not be tried.
        if !(1..=MAX_SAMPLE_RATE).contains(&decoded.sample_rate) || decoded.channels == 0 {
            return Err(DecodeFault::Track);
        }
        self.mixer.downmix(&decoded.samples, usize::from(decoded.channels), mono);
        Ok(decoded.sample_rate)
    }
}

/// ISO/IEC 14496-3, table 1.19: up to six channels a number is its own configuration, and eight are the seventh.
fn channel_configuration(channels: usize) -> Option<u16> {
    match channels {
        1..=6 => u16::try_from(channels).ok(),
        8 => Some(7),
        _ => None,
    }
}
