//! Recordings with real children. The containers and codecs are tested with their decoder.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use parse::audio::{AudioError, SAMPLE_RATE};

use super::{AudioReader, PIECE_SAMPLES, is_too_slow};
use crate::tests::{sandbox, sandbox_with};
use crate::{SandboxError, SandboxSettings};

fn sample(name: &str) -> File {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../parse/src/audio/samples");
    File::open(folder.join(name)).unwrap()
}

async fn decode_all(mut reader: AudioReader) -> Vec<i16> {
    let mut samples = Vec::new();
    while let Some(piece) = reader.next_piece().await.unwrap() {
        assert_eq!(piece.count, piece.samples.len());
        samples.extend(piece.samples);
    }
    samples
}

/// Returns a file that can only be read, as the server opens it.
fn read_only_file(bytes: &[u8], length: u64) -> File {
    let mut written = tempfile::NamedTempFile::new().unwrap();
    written.write_all(bytes).unwrap();
    written.as_file().set_len(length).unwrap();
    File::open(written.path()).unwrap()
}

/// Returns a WAV file of silence, with 8,000 samples a second.
fn silent_wav(seconds: u32) -> File {
    let (bytes, mut head) = (seconds * 16_000, Vec::new());
    head.extend(b"RIFF");
    head.extend((bytes + 36).to_le_bytes());
    head.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    head.extend(8_000u32.to_le_bytes());
    head.extend(16_000u32.to_le_bytes());
    head.extend(b"\x02\0\x10\0data");
    head.extend(bytes.to_le_bytes());
    read_only_file(&head, u64::from(bytes) + 44)
}

#[tokio::test]
async fn skipped_piece_does_not_move_the_next() {
    let mut reader = sandbox().open_audio(silent_wav(45)).await.unwrap();

    let passed = reader.skip_piece().await.unwrap().unwrap();
    let rest = reader.next_piece().await.unwrap().unwrap();

    assert_eq!((passed.count, passed.samples.len()), (PIECE_SAMPLES, 0));
    assert_eq!(rest.count, 15 * SAMPLE_RATE as usize);
    assert!(rest.progress > 0.99);
    assert!(reader.next_piece().await.unwrap().is_none());
}

#[tokio::test]
async fn file_without_audio_is_rejected() {
    let text = b"Once upon a time there was no sound at all. ".repeat(2_000);

    for bytes in [&text[..], &[], b"RIFF\x24\0\0\0AVI LIST and so on"] {
        let error = sandbox().open_audio(read_only_file(bytes, bytes.len() as u64)).await.err();
        assert!(
            matches!(error, Some(SandboxError::Audio(AudioError::UnknownContainer | AudioError::Damaged))),
            "{error:?}"
        );
    }
    let error = sandbox().open_audio(sample("silent.mp4")).await.err();
    assert!(
        matches!(error, Some(SandboxError::Audio(AudioError::NoAudioTrack | AudioError::UnknownCodec))),
        "{error:?}"
    );
}

#[tokio::test]
async fn truncated_recording_is_damaged() {
    use std::io::Read;
    for name in ["tone.m4a", "film.mov", "film.webm"] {
        let mut bytes = Vec::new();
        sample(name).read_to_end(&mut bytes).unwrap();
        bytes.truncate(200);

        let error = sandbox().open_audio(read_only_file(&bytes, 200)).await.err();

        assert!(matches!(error, Some(SandboxError::Audio(AudioError::Damaged))), "{name}: {error:?}");
    }
}

#[tokio::test]
async fn start_of_a_truncated_recording_is_decoded() {
    use std::io::Read;
    for name in
        ["film.webm", "film-vorbis.webm", "film.mkv", "film-opus.mkv", "tone.mp3", "tone.aac", "tone.flac"]
    {
        let mut bytes = Vec::new();
        sample(name).read_to_end(&mut bytes).unwrap();
        bytes.truncate(bytes.len() * 85 / 100);

        let cut = sandbox().open_audio(read_only_file(&bytes, bytes.len() as u64)).await;
        let samples = decode_all(cut.unwrap_or_else(|error| panic!("{name}: {error}"))).await;

        let seconds = samples.len() as f64 / f64::from(SAMPLE_RATE);
        assert!((0.9..1.95).contains(&seconds), "{name}: {seconds} s");
    }
}

/// Cuts and changes of a real file: each is decoded in part or refused, within its time (row P2).
#[tokio::test]
async fn mutilated_recordings_are_decoded_or_rejected() {
    use std::io::Read;
    let sandbox = sandbox_with(SandboxSettings {
        wall_time: Duration::from_secs(20),
        cpu_seconds: 10,
        ..SandboxSettings::default()
    });
    let mut seed = 7_u32;
    let mut chance = |most: usize| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed as usize % most
    };
    let mut decoded = 0;
    for name in ["tone.mp3", "tone.m4a", "tone-vorbis.ogg", "tone.opus", "tone.flac", "film.webm", "film.mkv"]
    {
        let mut whole = Vec::new();
        sample(name).read_to_end(&mut whole).unwrap();
        for round in 0..4 {
            let mut bytes = whole.clone();
            bytes.truncate(if round == 0 { bytes.len() / 2 } else { bytes.len() });
            for _ in 0..20 * round {
                let position = chance(bytes.len());
                bytes[position] = chance(256) as u8;
            }
            let mut reader = match sandbox.open_audio(read_only_file(&bytes, bytes.len() as u64)).await {
                Ok(reader) => reader,
                Err(SandboxError::Audio(_)) => continue,
                Err(other) => panic!("{name}, round {round}: {other:?}"),
            };
            // The length in a damaged header may be wrong: a day of silence is decoded piece by piece, so the pieces are bounded.
            for piece in 0..100 {
                match reader.next_piece().await {
                    Ok(Some(_)) => decoded += usize::from(piece == 0),
                    Ok(None) | Err(SandboxError::Audio(_)) => break,
                    Err(other) => panic!("{name}, round {round}: {other:?}"),
                }
            }
        }
    }
    assert!(decoded >= 14, "{decoded} of 28 files are decoded in part");
    decode_all(sandbox.open_audio(sample("tone.wav")).await.unwrap()).await;
}

#[tokio::test]
async fn truncated_audio_reports_its_lost_seconds() {
    let sandbox = sandbox();
    let mut strange = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\x01\0".to_vec();
    strange.extend(b"\xff\xff\x01\0\0\0\0\x7d\0\0\x02\0\x10\0data\x80\x84\x1e\0");
    strange.extend((0..2_000_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8));
    let length = strange.len() as u64;
    let decoded = match sandbox.open_audio(read_only_file(&strange, length)).await {
        Ok(mut reader) => reader.next_piece().await.map(drop),
        Err(error) => Err(error),
    };
    assert!(matches!(decoded, Ok(()) | Err(SandboxError::Audio(AudioError::Damaged))), "{decoded:?}");

    let mut whole = Vec::new();
    std::io::Read::read_to_end(&mut sample("tone.flac"), &mut whole).unwrap();
    let half = whole.len() / 2;
    let mut cut = sandbox.open_audio(read_only_file(&whole[..half], half as u64)).await.unwrap();
    while cut.next_piece().await.unwrap().is_some() {}
    assert!(cut.lost_seconds() > 0.3, "{}", cut.lost_seconds());
    let mut reader = sandbox.open_audio(sample("tone.flac")).await.unwrap();
    while reader.next_piece().await.unwrap().is_some() {}
    assert!(reader.lost_seconds() < 0.1, "{}", reader.lost_seconds());
}

/// Covers the threat table (row P2).
#[test]
fn decoding_slower_than_playback_is_aborted() {
    let after = |minutes: usize, seconds| {
        is_too_slow(minutes * 60 * SAMPLE_RATE as usize, Duration::from_secs(seconds))
    };

    assert!(!after(0, 60) && after(0, 61));
    assert!(!after(60, 400) && after(60, 421));
}
