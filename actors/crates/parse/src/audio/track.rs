//! One recording: its container, the track that is heard, and its timeline at the rate of speech.
//!
//! Times are those of the file: where the track begins later than the film, or packets are missing or damaged,
//! there is silence of that length.

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

use super::codec::{Codec, Fault};
use super::quicktime::Film;
use super::resample::Resampler;
use super::{About, LONGEST, NoSound, RATE};

/// A shorter gap is how packets are timed, and nothing is missing.
const GAP: f64 = 0.1;
/// A longer one is a clock that was set anew.
const JUMP: f64 = 600.0;
/// Bytes of a packet of MPEG's transport stream.
const PACKET: usize = 188;
/// No container that is read has sound of a lower rate, in samples a second; a file that says so would be heard for days.
const LOWEST_RATE: u32 = 4_000;
/// So many faults one after the other, and the rest is taken for lost.
const MOST_FAULTS: u32 = 2_000;

/// A recording that is being decoded.
pub struct Recording {
    format: Box<dyn FormatReader>,
    file: File,
    track: u32,
    base: Option<TimeBase>,
    codec: Codec,
    length: Option<Length>,
    /// Up to where any track goes, by the file's clock, and the clocks of all.
    until: f64,
    bases: Vec<(u32, TimeBase)>,
    read: Arc<AtomicU64>,
    bytes: u64,
    resampler: Option<(u32, Resampler)>,
    mono: Vec<f32>,
    /// Seconds of the timeline up to the end of what was decoded, and what the file's own clock is ahead of it.
    heard: f64,
    ahead: f64,
    faults: u32,
    /// Seconds that silence took the place of, behind a fault; whether there was one.
    lost: f64,
    faulty: bool,
    ended: bool,
    broke_off: bool,
}

impl Recording {
    /// Finds out what the file is, and which of its tracks is heard: the default one, else the first that can be.
    pub fn open(file: File) -> Result<Self, NoSound> {
        if is_other(&file) {
            return Err(NoSound::Kind);
        }
        let bytes = file.metadata().map_or(0, |found| found.len());
        let read = Arc::new(AtomicU64::new(0));
        let again = file.try_clone().map_err(|_| NoSound::Damaged)?;
        let probed = probe(file, bytes, &read, true).or_else(|error| match again.try_clone() {
            // Containers are looked up at both ends: of a file that was cut off there is one, and it is read as it comes.
            Ok(cut) if begins_well(&again) => probe(cut, bytes, &read, false),
            Ok(_) | Err(_) => Err(error),
        });
        let format = probed.map_err(|error| match error {
            Error::Unsupported(_) if !begins_well(&again) => NoSound::Kind,
            Error::Unsupported(_) | Error::IoError(_) | Error::DecodeError(_) | Error::LimitError(_) | _ => {
                NoSound::Damaged
            }
        })?;
        let (track, base, codec, length) = choose(&*format, &again)?;
        let bases = format.tracks().iter().filter_map(|track| Some((track.id, track.time_base?))).collect();
        Ok(Self {
            format,
            file: again,
            track,
            base,
            codec,
            length,
            until: 0.0,
            bases,
            read,
            bytes,
            resampler: None,
            mono: Vec::new(),
            heard: 0.0,
            ahead: 0.0,
            faults: 0,
            lost: 0.0,
            faulty: false,
            ended: false,
            broke_off: false,
        })
    }

    /// Its length, where the file says so.
    pub fn seconds(&self) -> Option<f64> {
        self.length.map(|length| length.seconds)
    }

    /// What its file says of it, and how many sound tracks it has.
    pub fn about(&mut self) -> About {
        let tracks = self.format.tracks().iter();
        let tracks = tracks.filter(|track| matches!(track.codec_params, Some(CodecParameters::Audio(_))));
        let mut about = About { tracks: tracks.count(), ..About::default() };
        let mut revisions = self.format.metadata();
        loop {
            let tags = revisions.current().into_iter().flat_map(|revision| &revision.media.tags);
            for tag in tags.filter_map(|tag| tag.std.as_ref()) {
                if let StandardTag::TrackTitle(title) | StandardTag::MovieTitle(title) = tag {
                    about.title = about.title.or_else(|| named(title));
                } else if let StandardTag::Artist(artist) = tag {
                    about.author = about.author.or_else(|| named(artist));
                }
            }
            if revisions.pop().is_none() {
                return about;
            }
        }
    }

    /// Ends it here, where something was heard: its decoder is not to be asked again.
    pub fn stop(&mut self) -> bool {
        (self.ended, self.broke_off) = (true, true);
        self.heard > 0.0
    }

    /// Whether it was ended before its end.
    pub fn broke_off(&self) -> bool {
        self.broke_off
    }

    /// The part of the file that was read, 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share is shown, not counted with")]
    pub fn read(&self) -> f64 {
        (self.read.load(Ordering::Relaxed) as f64 / self.bytes.max(1) as f64).min(1.0)
    }

    /// Seconds that could not be decoded, as far as can be told: those behind faults, and at the end those that are missing of
    /// the length that the file says. (Of MPEG streams without a container that is an estimate, and says nothing.) A film may
    /// be longer than its sound: where the length is the film's, what its other tracks have is not missing.
    pub fn lost(&self) -> f64 {
        let guessed = matches!(self.format.format_info().format, FORMAT_ID_MP3 | FORMAT_ID_ADTS);
        let there = |length: &Length| if length.of_all { self.heard.max(self.until) } else { self.heard };
        let told = self.length.filter(|_| self.ended && !guessed);
        let missing = told.map_or(0.0, |length| length.seconds - there(&length));
        self.lost + missing.max(0.0)
    }

    /// Decodes until `samples` holds `most` or more, or the recording ends.
    pub fn fill(&mut self, samples: &mut Vec<f32>, most: usize) -> Result<(), NoSound> {
        while samples.len() < most && !self.ended {
            match self.format.next_packet() {
                Ok(Some(packet)) if packet.track_id == self.track => self.take(&packet, samples)?,
                Ok(Some(packet)) => self.pass(&packet),
                Ok(None) => self.end(samples),
                // One stream after the other in one file.
                Err(Error::ResetRequired) => self.begin_anew(samples)?,
                Err(Error::DecodeError(_)) if self.faults < MOST_FAULTS => self.fault(),
                // Cut off, or damaged beyond repair: what was heard counts.
                Err(_) if self.heard > 0.0 => self.end(samples),
                Err(_) => return Err(NoSound::Damaged),
            }
        }
        Ok(())
    }

    fn take(&mut self, packet: &Packet, samples: &mut Vec<f32>) -> Result<(), NoSound> {
        let rate = match self.codec.decode(packet, &mut self.mono) {
            Ok(rate) if rate < LOWEST_RATE => return Err(NoSound::Damaged),
            Ok(rate) => rate,
            Err(Fault::Packet) if self.faults < MOST_FAULTS => {
                self.fault();
                return Ok(());
            }
            Err(Fault::Packet | Fault::Track) if self.heard > 0.0 => {
                self.end(samples);
                return Ok(());
            }
            Err(Fault::Packet | Fault::Track) => return Err(NoSound::Damaged),
        };
        self.faults = 0;
        self.keep_time(packet, samples);
        if self.resampler.as_ref().is_none_or(|(from, _)| *from != rate) {
            self.flush(samples);
            self.resampler = Some((rate, Resampler::new(rate, RATE)));
        }
        if let Some((_, resampler)) = &mut self.resampler {
            resampler.push(&self.mono, samples);
        }
        #[expect(clippy::cast_precision_loss, reason = "a packet is short")]
        let length = self.mono.len() as f64 / f64::from(rate);
        self.heard += length;
        Ok(())
    }

    /// A packet of another track.
    fn pass(&mut self, packet: &Packet) {
        if let Some((_, base)) = self.bases.iter().find(|(track, _)| *track == packet.track_id) {
            self.until = self.until.max(seconds(packet.pts.get(), *base));
        }
    }

    /// Puts silence where the file's clock runs ahead of what was decoded.
    fn keep_time(&mut self, packet: &Packet, samples: &mut Vec<f32>) {
        let Some(base) = self.base else { return };
        let at = seconds(packet.pts.get(), base) - self.ahead;
        let gap = at - self.heard;
        if gap.abs() > JUMP {
            self.ahead += gap;
        } else if gap > GAP {
            self.flush(samples);
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the jump")]
            let silence = (gap * f64::from(RATE)).round() as usize;
            samples.resize(samples.len() + silence, 0.0);
            self.heard += gap;
            self.lost += if self.faulty { gap } else { 0.0 };
        }
        self.faulty = false;
    }

    fn fault(&mut self) {
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

    fn begin_anew(&mut self, samples: &mut Vec<f32>) -> Result<(), NoSound> {
        self.flush(samples);
        (self.track, self.base, self.codec, _) = choose(&*self.format, &self.file)?;
        self.ahead = -self.heard;
        Ok(())
    }
}

/// Finds out what a file is, from its beginning on.
fn probe(
    mut file: File,
    bytes: u64,
    read: &Arc<AtomicU64>,
    seekable: bool,
) -> Result<Box<dyn FormatReader>, Error> {
    file.seek(SeekFrom::Start(0))?;
    let counted = Counted { file, bytes, at: 0, read: read.clone(), seekable };
    let stream = MediaSourceStream::new(Box::new(counted), Default::default());
    let (format, about) = (FormatOptions::default(), MetadataOptions::default());
    symphonia::default::get_probe().probe(&Hint::new(), stream, format, about)
}

/// Whether a file is a container that is not read. Within its packets frames of MPEG audio would be found that are no
/// recording.
fn is_other(mut file: &File) -> bool {
    let mut head = [0; 2 * PACKET + 1];
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read(&mut head));
    let stream = [0, PACKET, 2 * PACKET].iter().all(|at| head.get(*at) == Some(&0x47));
    // Flash, MPEG's program stream, the Advanced Systems Format.
    let marks: [&[u8]; 4] =
        [b"FLV\x01", b"\x00\x00\x01\xba", b"\x00\x00\x01\xb3", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11"];
    read.is_ok() && (stream || marks.iter().any(|mark| head.starts_with(mark)))
}

/// Whether a file of which nothing could be made begins like one that is read: the rest is missing, or broken.
fn begins_well(mut file: &File) -> bool {
    let mut head = [0; 12];
    let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read(&mut head));
    let begins = |at: usize, sign: &[u8]| head.get(at..).is_some_and(|rest| rest.starts_with(sign));
    let wave = begins(0, b"RIFF") && begins(8, b"WAVE");
    let signs: [(usize, &[u8]); 4] = [(4, b"ftyp"), (0, b"\x1a\x45\xdf\xa3"), (0, b"OggS"), (0, b"fLaC")];
    read.is_ok() && (wave || signs.into_iter().any(|(at, sign)| begins(at, sign)))
}

/// How long a recording is, as its file says.
#[derive(Clone, Copy)]
struct Length {
    seconds: f64,
    /// Of the whole file, and not of the track.
    of_all: bool,
}

type Chosen = (u32, Option<TimeBase>, Codec, Option<Length>);

fn choose(format: &dyn FormatReader, file: &File) -> Result<Chosen, NoSound> {
    let (mut found, mut film) = (NoSound::Silent, None);
    let usual = format.default_track(TrackType::Audio);
    for track in usual.into_iter().chain(format.tracks()) {
        let Some(CodecParameters::Audio(params)) = &track.codec_params else { continue };
        let unnamed = params.codec == CODEC_ID_NULL_AUDIO;
        let film = if unnamed { film.get_or_insert_with(|| Film::read(file)).as_ref() } else { None };
        let known = film.and_then(|film| recoded(params, film, track.id));
        match Codec::of(known.as_ref().unwrap_or(params), track.time_base) {
            Some(codec) => return Ok((track.id, track.time_base, codec, length(format, track))),
            None => found = NoSound::Codec,
        }
    }
    Err(found)
}

/// A name in one line, if there is something in it.
fn named(tag: &str) -> Option<String> {
    let name = text::cut(&text::one_line(tag), LONGEST);
    Some(name).filter(|name| !name.trim().is_empty())
}

/// What a track is in, where the container's reader did not see it.
fn recoded(params: &AudioCodecParameters, film: &Film, track: u32) -> Option<AudioCodecParameters> {
    let config = film.alac(track)?;
    Some(AudioCodecParameters { codec: CODEC_ID_ALAC, extra_data: Some(config.into()), ..params.clone() })
}

fn length(format: &dyn FormatReader, track: &Track) -> Option<Length> {
    let of = |duration: Option<symphonia::core::units::Duration>, base: Option<TimeBase>| {
        Some(seconds(i64::try_from(duration?.get()).ok()?, base?))
    };
    let about = format.media_info();
    let own = of(track.duration, track.time_base).map(|seconds| Length { seconds, of_all: false });
    let all = || of(about.duration, about.time_base).map(|seconds| Length { seconds, of_all: true });
    own.or_else(all).filter(|told| told.seconds.is_finite() && told.seconds > 0.0)
}

#[expect(clippy::cast_precision_loss, reason = "times of recordings are small")]
fn seconds(ticks: i64, base: TimeBase) -> f64 {
    ticks as f64 * f64::from(base.numer.get()) / f64::from(base.denom.get())
}

/// A file that knows how far it was read.
struct Counted {
    file: File,
    bytes: u64,
    at: u64,
    read: Arc<AtomicU64>,
    seekable: bool,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(into)?;
        self.at += count as u64;
        self.read.store(self.at, Ordering::Relaxed);
        Ok(count)
    }
}

impl Seek for Counted {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.file.seek(to)?;
        Ok(self.at)
    }
}

impl MediaSource for Counted {
    fn is_seekable(&self) -> bool {
        self.seekable
    }

    fn byte_len(&self) -> Option<u64> {
        self.seekable.then_some(self.bytes)
    }
}
