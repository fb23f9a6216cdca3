//! Recordings in every container and codec: a tone of one second after half a second of silence.

use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;

use super::{AudioError, Recording, SAMPLE_RATE};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/audio/samples").join(name)
}

fn open(name: &str) -> Result<Recording, AudioError> {
    Recording::open(File::open(path(name)).unwrap())
}

fn open_bytes(bytes: &[u8]) -> Result<Recording, AudioError> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Recording::open(file)
}

fn decode_all(recording: &mut Recording) -> Vec<f32> {
    let mut samples = Vec::new();
    recording.decode(&mut samples, usize::MAX).unwrap();
    samples
}

/// Returns the effective amplitude between two times in seconds; that of a full-scale square wave is 1.
fn loudness(samples: &[f32], from: f64, to: f64) -> f64 {
    let at = |seconds: f64| (seconds * f64::from(SAMPLE_RATE)) as usize;
    let part = &samples[at(from)..at(to)];
    (part.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / part.len() as f64).sqrt()
}

#[test]
fn common_containers_and_codecs_are_decoded() {
    let names = [
        "tone.mp3",
        "tone.m4a",
        "tone-alac.m4a",
        "tone.aac",
        "tone-vorbis.ogg",
        "tone.opus",
        "tone.flac",
        "tone.wav",
        "film.webm",
        "film-vorbis.webm",
        "film.mp4",
        "film.mov",
        "film.mkv",
        "film-opus.mkv",
        // Six channels, ALAC as QuickTime has it, both kinds of high efficiency, two channels of opposite phase.
        "film-surround.mp4",
        "tone-surround.aac",
        "film-alac.mov",
        "tone-he.aac",
        "tone-he2.m4a",
        "tone-turned.flac",
    ];
    for name in names {
        let mut recording = open(name).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(seconds) = recording.duration_seconds() {
            assert!((seconds - 2.0).abs() < 0.15, "{name}: {seconds}");
        }

        let samples = decode_all(&mut recording);

        let seconds = samples.len() as f64 / f64::from(SAMPLE_RATE);
        assert!((seconds - 2.0).abs() < 0.15, "{name}: {seconds} s");
        let (before, tone) = (loudness(&samples, 0.05, 0.4), loudness(&samples, 0.65, 1.35));
        // The mean of two channels of 0.4 and 0.2.
        assert!((0.168..0.26).contains(&tone), "{name}: the tone has {tone}");
        assert!(before < 0.0061, "{name}: before the tone there is {before}");
    }
}

/// A text frame of ID3, version 2.3, in ISO 8859-1.
fn frame(name: &[u8; 4], text: &[u8]) -> Vec<u8> {
    let length = (text.len() as u32 + 1).to_be_bytes();
    [&name[..], &length, b"\0\0\0", text].concat()
}

#[test]
fn title_artist_and_tracks_are_read() {
    let frames = [frame(b"TPE1", b"A. Voice"), frame(b"TIT2", b" Herons\nat night ")].concat();
    let mut bytes = [b"ID3\x03\0\0\0\0\0", &[frames.len() as u8][..], &frames].concat();
    bytes.extend(fs::read(path("tone.mp3")).unwrap());

    let mut recording = open_bytes(&bytes).unwrap();

    let metadata = recording.metadata();
    assert_eq!(
        (metadata.title.as_deref(), metadata.author.as_deref()),
        (Some("Herons at night"), Some("A. Voice"))
    );
    assert_eq!((metadata.tracks, decode_all(&mut recording).len() > SAMPLE_RATE as usize), (1, true));
    let plain = open("film.mkv").unwrap().metadata();
    assert_eq!((plain.title.as_deref(), plain.tracks), (None, 1));
}

#[test]
fn file_without_audio_is_refused_with_its_reason() {
    let text = b"Once upon a time there was no sound at all. ".repeat(2_000);

    for bytes in [&text[..], &[]] {
        let refused = open_bytes(bytes).err();
        assert!(matches!(refused, Some(AudioError::UnknownContainer | AudioError::Damaged)), "{refused:?}");
    }
    let refused = open("silent.mp4").err();
    assert!(matches!(refused, Some(AudioError::NoAudioTrack | AudioError::UnknownCodec)), "{refused:?}");
}
