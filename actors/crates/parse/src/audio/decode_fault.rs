//! Shared by all decoders: the maximum sample rate, and why a packet is not decoded.

/// The highest rate of audio, in samples a second: the filter for a higher one would be huge.
pub const MAX_SAMPLE_RATE: u32 = 384_000;

/// Why a packet could not be decoded.
pub enum DecodeFault {
    /// This packet is damaged; the next one may be whole.
    Packet,
    /// No later packet of the track can be decoded either.
    Track,
}
