//! Opus (RFC 6716), which symphonia does not decode.

use ropus::OpusMSDecoder;
use symphonia::core::codecs::audio::AudioCodecParameters;
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use super::decode_fault::DecodeFault;
use super::downmix::Downmixer;

/// Opus always decodes to this rate.
const OPUS_SAMPLE_RATE: u32 = 48_000;
/// Samples of one channel in the longest Opus packet, 120 ms.
const MAX_PACKET_FRAMES: usize = 5_760;

/// A decoder of Opus in any number of channels.
pub struct Opus {
    decoder: OpusMSDecoder,
    channels: usize,
    base: Option<TimeBase>,
    pcm: Vec<i16>,
    mixer: Downmixer,
}

impl Opus {
    /// Reads the identification header (RFC 7845, section 5.1); without one it is mono or stereo.
    pub fn new(params: &AudioCodecParameters, base: Option<TimeBase>) -> Option<Self> {
        let header = params.extra_data.as_deref().unwrap_or_default();
        // Some containers keep the magic of the header, others do not.
        let header = header.strip_prefix(b"OpusHead").unwrap_or(header);
        let stated = params.channels.as_ref().map_or(2, |channels| channels.count());
        let channels = header.get(1).map_or(stated, |count| usize::from(*count));
        let (streams, coupled, mapping) = match (header.get(10), header.get(11..)) {
            (Some(1..), Some([streams, coupled, mapping @ ..])) => {
                (i32::from(*streams), i32::from(*coupled), mapping.get(..channels)?.to_vec())
            }
            // Mapping family 0 has no table: it is mono or stereo (RFC 7845, section 5.1.1).
            (_, _) if channels <= 2 => (1, i32::from(channels == 2), (0..2).collect()),
            (_, _) => return None,
        };
        let count = i32::try_from(channels).ok()?;
        let decoder =
            OpusMSDecoder::new(OPUS_SAMPLE_RATE.cast_signed(), count, streams, coupled, &mapping).ok()?;
        Some(Self {
            decoder,
            channels,
            base,
            pcm: vec![0; MAX_PACKET_FRAMES * channels],
            mixer: Downmixer::default(),
        })
    }

    /// Decodes a packet and appends its samples to `mono`. Returns their rate, which is always 48,000 a second.
    pub fn decode(&mut self, packet: &Packet, mono: &mut Vec<f32>) -> Result<u32, DecodeFault> {
        let length = i32::try_from(packet.data.len()).map_err(|_| DecodeFault::Packet)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "a small constant")]
        let max_frames = MAX_PACKET_FRAMES as i32;
        let decoded = self.decoder.decode(Some(&packet.data), length, &mut self.pcm, max_frames, false);
        let frames =
            decoded.ok().and_then(|frames| usize::try_from(frames).ok()).ok_or(DecodeFault::Packet)?;
        // The encoder's delay and padding are not part of the recording (RFC 7845, section 4).
        let from = self.frames(packet.trim_start.get()).min(frames);
        let to = frames.saturating_sub(self.frames(packet.trim_end.get())).max(from);
        let kept = self.pcm.get(from * self.channels..to * self.channels).unwrap_or_default();
        let interleaved: Vec<f32> = kept.iter().map(|sample| f32::from(*sample) / 32_768.0).collect();
        self.mixer.downmix(&interleaved, self.channels, mono);
        Ok(OPUS_SAMPLE_RATE)
    }

    /// Converts a time in the track's own unit to frames at the rate of Opus.
    fn frames(&self, ticks: u64) -> usize {
        let unit = self.base.map_or((1, u64::from(OPUS_SAMPLE_RATE)), |base| {
            (u64::from(base.numer.get()), u64::from(base.denom.get()))
        });
        let frames =
            u128::from(ticks) * u128::from(unit.0) * u128::from(OPUS_SAMPLE_RATE) / u128::from(unit.1);
        usize::try_from(frames).unwrap_or(usize::MAX)
    }
}
