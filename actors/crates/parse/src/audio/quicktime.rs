//! ALAC in QuickTime files, whose configuration is in an atom that symphonia ignores.
//! (QuickTime File Format: Sound Sample Descriptions, siDecompressionParam)

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// The longest `moov` atom, in bytes.
const MAX_MOVIE_BYTES: u64 = 64 << 20;
/// The most atoms on the first level of a file.
const MAX_ATOMS: usize = 10_000;
/// The bytes of a sound sample description that all versions have.
const SAMPLE_ENTRY_BYTES: usize = 28;
/// Additional bytes of versions 1 and 2.
const VERSION_1_EXTRA_BYTES: usize = 16;
const VERSION_2_EXTRA_BYTES: usize = 36;
/// Version and flags before the configuration.
const VERSION_AND_FLAGS_BYTES: usize = 4;

/// The `moov` atom of a file, which describes its tracks.
pub struct MovieAtom(Vec<u8>);

impl MovieAtom {
    /// Reads the atom, if there is one, and restores the position of the file.
    pub fn read(mut file: &File) -> Option<Self> {
        // The container's reader reads from the same open file, so its position must not change.
        let position = file.stream_position().ok()?;
        let movie = read_movie(file);
        file.seek(SeekFrom::Start(position)).ok()?;
        movie.map(Self)
    }

    /// Returns the ALAC configuration of a track; `None` if its codec is not ALAC.
    pub fn alac(&self, track: u32) -> Option<Vec<u8>> {
        let of_track = |body: &[u8]| within(body, b"tkhd").and_then(track_id) == Some(track);
        let track = atoms(&self.0).find(|(name, body)| name == b"trak" && of_track(body))?.1;
        let path: [&[u8; 4]; 4] = [b"mdia", b"minf", b"stbl", b"stsd"];
        let described = path.into_iter().try_fold(track, |body, name| within(body, name))?;
        // Behind version, flags and the number of descriptions.
        let sound = within(described.get(8..)?, b"alac")?;
        let more = match u16::from_be_bytes(sound.get(8..10)?.try_into().ok()?) {
            1 => VERSION_1_EXTRA_BYTES,
            2 => VERSION_2_EXTRA_BYTES,
            _ => 0,
        };
        let parts = sound.get(SAMPLE_ENTRY_BYTES + more..)?;
        // QuickTime puts the configuration into a `wave` atom, MP4 directly behind the description.
        let parts = within(parts, b"wave").unwrap_or(parts);
        Some(within(parts, b"alac")?.get(VERSION_AND_FLAGS_BYTES..)?.to_vec())
    }
}

/// Returns the body of the `moov` atom.
fn read_movie(mut file: &File) -> Option<Vec<u8>> {
    let mut at = 0;
    // A crafted file of tiny atoms would otherwise be read eight bytes at a time to its end.
    for _ in 0..MAX_ATOMS {
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
            0 => (MAX_MOVIE_BYTES, 8),
            size => (u64::from(size), 8),
        };
        // An atom shorter than its own header would keep the loop in its place.
        let body = size.checked_sub(begins)?;
        if name == b"moov" {
            let mut movie = Vec::new();
            file.take(body.min(MAX_MOVIE_BYTES)).read_to_end(&mut movie).ok()?;
            return Some(movie);
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

/// Returns the id of a track, which is behind version, flags and two times. The times are longer in version 1.
fn track_id(head: &[u8]) -> Option<u32> {
    let times = if *head.first()? == 1 { 16 } else { 8 };
    Some(u32::from_be_bytes(*head.get(VERSION_AND_FLAGS_BYTES + times..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parsing_any_bytes_ends(bytes in prop::collection::vec(prop_oneof![0u8..20, any::<u8>()], 0..200)) {
            let long: usize = atoms(&bytes).map(|(_, body)| body.len() + 8).sum();
            prop_assert!(long <= bytes.len());
        }

        #[test]
        fn mutated_movie_has_a_configuration_or_none(
            changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..8),
        ) {
            let mut movie = include_bytes!("samples/film-alac.mov").to_vec();
            for (place, byte) in changes {
                let place = place % movie.len();
                movie[place] = byte;
            }
            let Some((_, moov)) = atoms(&movie).find(|(name, _)| name == b"moov") else { return Ok(()) };
            let movie = MovieAtom(moov.to_vec());
            for track in 0..4 {
                movie.alac(track);
            }
        }
    }

    #[test]
    fn configuration_of_the_audio_track_is_found() {
        let place = concat!(env!("CARGO_MANIFEST_DIR"), "/src/audio/samples/film-alac.mov");
        let movie = MovieAtom::read(&File::open(place).unwrap()).unwrap();

        // 4,096 samples a packet, 16 bits, two channels, 44.1 kHz.
        let config = movie.alac(2).unwrap();
        assert_eq!((&config[..4], config[5], config[9]), (&[0, 0, 16, 0][..], 16, 2));
        assert_eq!(config[20..24], [0, 0, 0xac, 0x44]);
        assert_eq!((movie.alac(1), movie.alac(9)), (None, None));
    }
}
