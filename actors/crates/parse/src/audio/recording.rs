//! A recording: its container, the audio track that is decoded, and its timeline at 16,000 samples a second.
//!
//! Positions are those of the file: if the track begins later than the video, or packets are missing or damaged, silence of that
//! length takes their place.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use symphonia::core::codecs::CodecParameters;
use symphonia::core::codecs::audio::well_known::CODEC_ID_ALAC;
use symphonia::core::codecs::audio::{AudioCodecParameters, CODEC_ID_NULL_AUDIO};
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::well_known::{FORMAT_ID_ADTS, FORMAT_ID_MP3};
use symphonia::core::formats::{FormatOptions, FormatReader, Track, TrackType};
use symphonia::core::io::{MediaSource, MediaSourceStream};
use symphonia::core::meta::{MetadataOptions, StandardTag};
use symphonia::core::packet::Packet;
use symphonia::core::units::TimeBase;

use super::codec::Codec;
use super::decode_fault::DecodeFault;
use super::quicktime::MovieAtom;
use super::resample::Resampler;
use super::{AudioError, AudioMetadata, MAX_NAME_CHARS, SAMPLE_RATE};

/// A shorter gap between packets is rounding, not missing audio.
const MIN_GAP_SECONDS: f64 = 0.1;
/// A longer gap is a clock that was reset.
const MAX_GAP_SECONDS: f64 = 600.0;
/// Bytes of a packet of an MPEG transport stream.
const TS_PACKET_BYTES: usize = 188;
/// The lowest rate of audio, in samples a second. A file that states a lower one would be decoded for days.
const MIN_SAMPLE_RATE: u32 = 4_000;
/// Faults in a row after which the rest counts as lost.
const MAX_CONSECUTIVE_FAULTS: u32 = 2_000;

/// A recording that is being decoded.
pub struct Recording {
    format: Box<dyn FormatReader>,
    file: File,
    track: u32,
    base: Option<TimeBase>,
    codec: Codec,
    length: Option<TrackLength>,
    /// The latest start of a packet of another track, by the file's clock.
    until: f64,
    /// The time bases of all tracks, by the ids of the tracks.
    bases: Vec<(u32, TimeBase)>,
    bytes_read: Arc<AtomicU64>,
    bytes: u64,
    resampler: Option<(u32, Resampler)>,
    mono: Vec<f32>,
    /// Seconds of the timeline that were decoded.
    position: f64,
    /// Seconds that the file's clock is ahead of the timeline.
    ahead: f64,
    faults: u32,
    /// Seconds that silence replaced behind a fault.
    lost_seconds: f64,
    /// Whether there was a fault since the last packet that was decoded.
    faulty: bool,
    ended: bool,
    is_aborted: bool,
}

impl Recording {
    /// Finds the container, and the track to decode: the default one, else the first that can be decoded.
    ///
    /// # Errors
    /// The [`AudioError`] that says why no track of the file can be decoded.
    pub fn open(file: File) -> Result<Self, AudioError> {
        // Before the probe, which would find frames of MPEG audio in such a file and decode noise.
        if is_unsupported(&file) {
            return Err(AudioError::UnknownContainer);
        }
        let bytes = file.metadata().map_or(0, |found| found.len());
        let read = Arc::new(AtomicU64::new(0));
        let duplicate = file.try_clone().map_err(|_| AudioError::Damaged)?;
        let probed = probe(file, bytes, &read, true).or_else(|error| match duplicate.try_clone() {
            // Containers have an index at either end. A truncated file has at most one, so it is read sequentially.
            Ok(cut) if has_known_signature(&duplicate) => probe(cut, bytes, &read, false),
            Ok(_) | Err(_) => Err(error),
        });
        let format = probed.map_err(|error| match error {
            // A file with the signature of a supported container is damaged, whatever the probe calls it.
            Error::Unsupported(_) if !has_known_signature(&duplicate) => AudioError::UnknownContainer,
            Error::Unsupported(_) | Error::IoError(_) | Error::DecodeError(_) | Error::LimitError(_) | _ => {
                AudioError::Damaged
            }
        })?;
        let (track, base, codec, length) = select_track(&*format, &duplicate)?;
        let bases = format.tracks().iter().filter_map(|track| Some((track.id, track.time_base?))).collect();
        Ok(Self {
            format,
            file: duplicate,
            track,
            base,
            codec,
            length,
            until: 0.0,
            bases,
            bytes_read: read,
            bytes,
            resampler: None,
            mono: Vec::new(),
            position: 0.0,
            ahead: 0.0,
            faults: 0,
            lost_seconds: 0.0,
            faulty: false,
            ended: false,
            is_aborted: false,
        })
    }

    /// Returns its length, if the file states it.
    pub fn duration_seconds(&self) -> Option<f64> {
        self.length.map(|length| length.seconds)
    }

    /// Returns what its file says about it, and the number of its audio tracks.
    pub fn metadata(&mut self) -> AudioMetadata {
        let tracks = self.format.tracks().iter();
        let tracks = tracks.filter(|track| matches!(track.codec_params, Some(CodecParameters::Audio(_))));
        let mut about = AudioMetadata { tracks: tracks.count(), ..AudioMetadata::default() };
        let mut revisions = self.format.metadata();
        loop {
            let tags = revisions.current().into_iter().flat_map(|revision| &revision.media.tags);
            for tag in tags.filter_map(|tag| tag.std.as_ref()) {
                if let StandardTag::TrackTitle(title) | StandardTag::MovieTitle(title) = tag {
                    about.title = about.title.or_else(|| clean_name(title));
                } else if let StandardTag::Artist(artist) = tag {
                    about.author = about.author.or_else(|| clean_name(artist));
                }
            }
            if revisions.pop().is_none() {
                return about;
            }
        }
    }

    /// Ends decoding here, after a failure of the decoder. Returns whether anything was decoded before.
    pub fn abort(&mut self) -> bool {
        (self.ended, self.is_aborted) = (true, true);
        self.position > 0.0
    }

    /// Returns whether decoding ended before the end of the recording.
    pub fn is_aborted(&self) -> bool {
        self.is_aborted
    }

    /// Returns the part of the file that has been read, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown, not counted with")]
    pub fn progress(&self) -> f64 {
        (self.bytes_read.load(Ordering::Relaxed) as f64 / self.bytes.max(1) as f64).min(1.0)
    }

    /// Returns the seconds that could not be decoded, as far as is known: those behind faults, and at the end those that are
    /// missing of the length that the file states. A video may be longer than its audio: if the length is the video's, what its
    /// other tracks have is not missing.
    pub fn lost_seconds(&self) -> f64 {
        // For MPEG streams without a container the length is an estimate.
        let is_estimate = matches!(self.format.format_info().format, FORMAT_ID_MP3 | FORMAT_ID_ADTS);
        let available = |length: &TrackLength| {
            if length.is_of_file { self.position.max(self.until) } else { self.position }
        };
        let stated = self.length.filter(|_| self.ended && !is_estimate);
        let missing = stated.map_or(0.0, |length| length.seconds - available(&length));
        self.lost_seconds + missing.max(0.0)
    }

    /// Decodes until `samples` holds `most` samples or more, or the recording ends.
    ///
    /// # Errors
    /// [`AudioError::Damaged`], if nothing more can be decoded and nothing was before.
    pub fn decode(&mut self, samples: &mut Vec<f32>, most: usize) -> Result<(), AudioError> {
        while samples.len() < most && !self.ended {
            match self.format.next_packet() {
                Ok(Some(packet)) if packet.track_id == self.track => self.decode_packet(&packet, samples)?,
                // Packets of other tracks are not decoded, but they show how long the file is.
                Ok(Some(packet)) => self.note_position(&packet),
                Ok(None) => self.end(samples),
                // One stream after the other in one file.
                Err(Error::ResetRequired) => self.restart(samples)?,
                Err(Error::DecodeError(_)) if self.faults < MAX_CONSECUTIVE_FAULTS => self.record_fault(),
                // Truncated, or damaged beyond repair: what was decoded counts.
                Err(_) if self.position > 0.0 => self.end(samples),
                Err(_) => return Err(AudioError::Damaged),
            }
        }
        Ok(())
    }

    fn decode_packet(&mut self, packet: &Packet, samples: &mut Vec<f32>) -> Result<(), AudioError> {
        let rate = match self.codec.decode(packet, &mut self.mono) {
            Ok(rate) if rate < MIN_SAMPLE_RATE => return Err(AudioError::Damaged),
            Ok(rate) => rate,
            Err(DecodeFault::Packet) if self.faults < MAX_CONSECUTIVE_FAULTS => {
                self.record_fault();
                return Ok(());
            }
            Err(DecodeFault::Packet | DecodeFault::Track) if self.position > 0.0 => {
                self.end(samples);
                return Ok(());
            }
            Err(DecodeFault::Packet | DecodeFault::Track) => return Err(AudioError::Damaged),
        };
        // Only faults in a row count: a long recording may have many damaged packets and still be of use.
        self.faults = 0;
        self.fill_gap(packet, samples);
        // The rate may change within a track, so it is taken from each packet.
        if self.resampler.as_ref().is_none_or(|(from, _)| *from != rate) {
            self.flush(samples);
            self.resampler = Some((rate, Resampler::new(rate, SAMPLE_RATE)));
        }
        if let Some((_, resampler)) = &mut self.resampler {
            resampler.push(&self.mono, samples);
        }
        #[expect(clippy::cast_precision_loss, reason = "a packet is short")]
        let length = self.mono.len() as f64 / f64::from(rate);
        self.position += length;
        Ok(())
    }

    /// Notes the position of a packet of another track.
    fn note_position(&mut self, packet: &Packet) {
        if let Some((_, base)) = self.bases.iter().find(|(track, _)| *track == packet.track_id) {
            self.until = self.until.max(seconds(packet.pts.get(), *base));
        }
    }

    /// Adds silence where the file's clock is ahead of what was decoded.
    fn fill_gap(&mut self, packet: &Packet, samples: &mut Vec<f32>) {
        let Some(base) = self.base else { return };
        let at = seconds(packet.pts.get(), base) - self.ahead;
        let gap = at - self.position;
        // In a recording that was joined from parts the clock may jump; silence of that length would be wrong.
        if gap.abs() > MAX_GAP_SECONDS {
            self.ahead += gap;
        } else if gap > MIN_GAP_SECONDS {
            self.flush(samples);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the jump")]
            let silence = (gap * f64::from(SAMPLE_RATE)).round() as usize;
            samples.resize(samples.len() + silence, 0.0);
            self.position += gap;
            // A gap without a fault before it is a pause in the track, not a loss.
            self.lost_seconds += if self.faulty { gap } else { 0.0 };
        }
        self.faulty = false;
    }

    fn record_fault(&mut self) {
        self.faults += 1;
        self.faulty = true;
    }

    fn flush(&mut self, samples: &mut Vec<f32>) {
        if let Some((_, mut resampler)) = self.resampler.take() {
            resampler.finish(samples);
        }
    }

    fn end(&mut self, samples: &mut Vec<f32>) {
        self.flush(samples);
        self.ended = true;
    }

    fn restart(&mut self, samples: &mut Vec<f32>) -> Result<(), AudioError> {
        self.flush(samples);
        (self.track, self.base, self.codec, _) = select_track(&*self.format, &self.file)?;
        // The clock of the next stream starts at zero, while the timeline continues.
        self.ahead = -self.position;
        Ok(())
    }
}

/// Finds the container of a file, from its beginning.
fn probe(
    mut file: File,
    bytes: u64,
    read: &Arc<AtomicU64>,
    seekable: bool,
) -> Result<Box<dyn FormatReader>, Error> {
    file.seek(SeekFrom::Start(0))?;
    let counted = CountingFile { file, bytes, at: 0, read: read.clone(), seekable };
    let stream = MediaSourceStream::new(Box::new(counted), Default::default());
    let (format, about) = (FormatOptions::default(), MetadataOptions::default());
    symphonia::default::get_probe().probe(&Hint::new(), stream, format, about)
}

/// Returns whether a file is a container that is not supported. In its packets, bytes would be mistaken for frames of MPEG audio.
fn is_unsupported(mut file: &File) -> bool {
    let mut head = [0; 2 * TS_PACKET_BYTES + 1];
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read(&mut head));
    let stream = [0, TS_PACKET_BYTES, 2 * TS_PACKET_BYTES].iter().all(|at| head.get(*at) == Some(&0x47));
    // Flash, MPEG's program stream, the Advanced Systems Format.
    let signatures: [&[u8]; 4] =
        [b"FLV\x01", b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"];
    read.is_ok() && (stream || signatures.iter().any(|mark| head.starts_with(mark)))
}

/// Returns whether a file that could not be opened begins like a supported one: the rest is missing, or damaged.
fn has_known_signature(mut file: &File) -> bool {
    let mut head = [0; 12];
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read(&mut head));
    let begins = |at: usize, sign: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(sign));
    let wave = begins(0, b"RIFF") && begins(8, b"WAVE");
    let signatures: [(usize, &[u8]); 4] =
        [(4, b"ftyp"), (0, b"\x1a\x45\xdf\xa3"), (0, b"OggS"), (0, b"fLaC")];
    read.is_ok() && (wave || signatures.into_iter().any(|(at, sign)| begins(at, sign)))
}

/// The length of a recording, as its file states it.
#[derive(Clone, Copy)]
struct TrackLength {
    seconds: f64,
    /// The length is that of the whole file, not of the track.
    is_of_file: bool,
}

type SelectedTrack = (u32, Option<TimeBase>, Codec, Option<TrackLength>);

fn select_track(format: &dyn FormatReader, file: &File) -> Result<SelectedTrack, AudioError> {
    let (mut found, mut movie) = (AudioError::NoAudioTrack, None);
    // The default track comes twice, which costs one more try if it cannot be decoded.
    let usual = format.default_track(TrackType::Audio);
    for track in usual.into_iter().chain(format.tracks()) {
        let Some(CodecParameters::Audio(params)) = &track.codec_params else { continue };
        // The atoms are read only for such a track, and once for all of them.
        let unnamed = params.codec == CODEC_ID_NULL_AUDIO;
        let movie = if unnamed { movie.get_or_insert_with(|| MovieAtom::read(file)).as_ref() } else { None };
        let known = movie.and_then(|movie| alac_params(params, movie, track.id));
        match Codec::for_track(known.as_ref().unwrap_or(params), track.time_base) {
            Some(codec) => return Ok((track.id, track.time_base, codec, length(format, track))),
            None => found = AudioError::UnknownCodec,
        }
    }
    Err(found)
}

/// Returns a name as one line; `None` if it is blank.
fn clean_name(tag: &str) -> Option<String> {
    let name = text::cut(&text::one_line(tag), MAX_NAME_CHARS);
    Some(name).filter(|name| !name.trim().is_empty())
}

/// Returns the parameters of an ALAC track whose codec the container's reader did not recognise.
fn alac_params(params: &AudioCodecParameters, movie: &MovieAtom, track: u32) -> Option<AudioCodecParameters> {
    let config = movie.alac(track)?;
    Some(AudioCodecParameters { codec: CODEC_ID_ALAC, extra_data: Some(config.into()), ..params.clone() })
}

fn length(format: &dyn FormatReader, track: &Track) -> Option<TrackLength> {
    let of = |duration: Option<symphonia::core::units::Duration>, base: Option<TimeBase>| {
        Some(seconds(i64::try_from(duration?.get()).ok()?, base?))
    };
    let about = format.media_info();
    let own = of(track.duration, track.time_base).map(|seconds| TrackLength { seconds, is_of_file: false });
    let all = || of(about.duration, about.time_base).map(|seconds| TrackLength { seconds, is_of_file: true });
    own.or_else(all).filter(|stated| stated.seconds.is_finite() && stated.seconds > 0.0)
}

#[expect(clippy::cast_precision_loss, reason = "times of recordings are small")]
fn seconds(ticks: i64, base: TimeBase) -> f64 {
    ticks as f64 * f64::from(base.numer.get()) / f64::from(base.denom.get())
}

/// A file that counts the bytes that were read, and may hide that it can be searched.
struct CountingFile {
    file: File,
    bytes: u64,
    at: u64,
    read: Arc<AtomicU64>,
    /// A truncated file is read as a stream, because its index at the end is missing.
    seekable: bool,
}

impl Read for CountingFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.at += count as u64;
        // Relaxed: the share is only shown.
        self.read.store(self.at, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for CountingFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // Progress follows the position rather than the sum of all reads, because an index is read more than once.
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

impl MediaSource for CountingFile {
    fn is_seekable(&self) -> bool {
        self.seekable
    }

    fn byte_len(&self) -> Option<u64> {
        self.seekable.then_some(self.bytes)
    }
}
