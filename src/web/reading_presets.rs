//! The measures of the presets of the reader's type.

use values::kind::ReadingPreset;

/// Returns size, line height and width of a preset, as tokens.css has them on a wide screen.
pub fn measures_of(preset: ReadingPreset) -> (i32, i32, i32) {
    match preset {
        ReadingPreset::Page => (1_250, 162, 33),
        ReadingPreset::Paperback => (1_063, 150, 31),
        ReadingPreset::Large => (1_500, 158, 29),
        ReadingPreset::Plain => (1_125, 162, 34),
        ReadingPreset::Legible => (1_188, 170, 34),
    }
}
