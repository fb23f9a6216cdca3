//! ALAC in films of QuickTime, whose configuration stands in a part of the file that symphonia passes over.
//! (QuickTime File Format: Sound Sample Descriptions, siDecompressionParam)

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// No film has a longer description, in bytes.
const MOST: u64 = 64 << 20;
/// More atoms than any file has on its first level.
const MOST_ATOMS: usize = 10_000;
/// The first bytes of a description of sound: reserved, reference, version, and what all versions have.
const SOUND: usize = 28;
/// What versions 1 and 2 have more.
const VERSION_1: usize = 16;
const VERSION_2: usize = 36;
/// Version and flags in front of the configuration.
const FLAGS: usize = 4;

/// The part of a file that describes its film.
pub struct Film(Vec<u8>);

impl Film {
    /// Reads it, where there is one. The file's place is left as it was found.
    pub fn read(mut file: &File) -> Option<Self> {
        let place = file.stream_position().ok()?;
        let film = film(file);
        file.seek(SeekFrom::Start(place)).ok()?;
        film.map(Self)
    }

    /// The configuration of ALAC of this track, where it is in ALAC.
    pub fn alac(&self, track: u32) -> Option<Vec<u8>> {
        let of_track = |body: &[u8]| within(body, b"tkhd").and_then(track_id) == Some(track);
        let track = atoms(&self.0).find(|(name, body)| name == b"trak" && of_track(body))?.1;
        let path: [&[u8; 4]; 4] = [b"mdia", b"minf", b"stbl", b"stsd"];
        let described = path.into_iter().try_fold(track, |body, name| within(body, name))?;
        let sound = within(described.get(8..)?, b"alac")?;
        let more = match u16::from_be_bytes(sound.get(8..10)?.try_into().ok()?) {
            1 => VERSION_1,
            2 => VERSION_2,
            _ => 0,
        };
        let parts = sound.get(SOUND + more..)?;
        let parts = within(parts, b"wave").unwrap_or(parts);
        Some(within(parts, b"alac")?.get(FLAGS..)?.to_vec())
    }
}

/// The body of the atom that describes the film.
fn film(mut file: &File) -> Option<Vec<u8>> {
    let mut at = 0;
    for _ in 0..MOST_ATOMS {
        file.seek(SeekFrom::Start(at)).ok()?;
        let mut head = [0; 16];
        file.read_exact(head.get_mut(..8)?).ok()?;
        let (short, name) = (head.first_chunk::<4>()?, head.get(4..8)?.to_vec());
        let (size, begins) = match u32::from_be_bytes(*short) {
            1 => {
                file.read_exact(head.get_mut(8..)?).ok()?;
                (u64::from_be_bytes(*head.last_chunk()?), 16)
            }
            // To the end of the file.
            0 => (MOST, 8),
            size => (u64::from(size), 8),
        };
        let body = size.checked_sub(begins)?;
        if name == b"moov" {
            let mut film = Vec::new();
            file.take(body.min(MOST)).read_to_end(&mut film).ok()?;
            return Some(film);
        }
        at = at.checked_add(size)?;
    }
    None
}

/// Names and bodies of the atoms of a body, one after the other.
fn atoms(mut rest: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let size = usize::try_from(u32::from_be_bytes(*rest.first_chunk()?)).ok()?;
        let name = *rest.get(4..)?.first_chunk()?;
        let body = rest.get(8..size)?;
        rest = rest.get(size..)?;
        Some((name, body))
    })
}

fn within<'a>(body: &'a [u8], name: &[u8; 4]) -> Option<&'a [u8]> {
    atoms(body).find(|(found, _)| found == name).map(|(_, body)| body)
}

/// Behind version, flags and two times, which are longer in version 1.
fn track_id(head: &[u8]) -> Option<u32> {
    let times = if *head.first()? == 1 { 16 } else { 8 };
    Some(u32::from_be_bytes(*head.get(FLAGS + times..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_walked_to_their_end(bytes in prop::collection::vec(prop_oneof![0u8..20, any::<u8>()], 0..200)) {
            let long: usize = atoms(&bytes).map(|(_, body)| body.len() + 8).sum();
            prop_assert!(long <= bytes.len());
        }

        #[test]
        fn a_film_that_was_changed_has_a_configuration_or_none(
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        ) {
            let mut film = include_bytes!("samples/film-alac.mov").to_vec();
            for (place, byte) in changes {
                let place = place % film.len();
                film[place] = byte;
            }
            let Some((_, moov)) = atoms(&film).find(|(name, _)| name == b"moov") else { return Ok(()) };
            let film = Film(moov.to_vec());
            for track in 0..4 {
                film.alac(track);
            }
        }
    }

    #[test]
    fn the_configuration_of_the_tracks_sound_is_found() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/src/audio/samples/film-alac.mov");
        let film = Film::read(&File::open(place).unwrap()).unwrap();

        // 4,096 samples a packet, 16 bits, two channels, 44.1 kHz.
        let config = film.alac(2).unwrap();
        assert_eq!((&config[..4], config[5], config[9]), (&[0, 0, 16, 0][..], 16, 2));
        assert_eq!(config[20..24], [0, 0, 0xac, 0x44]);
        assert_eq!((film.alac(1), film.alac(9)), (None, None));
    }
}
