//! The widths in which pages are drawn. Others would fill the cache with pictures that differ by a pixel.

use std::str::FromStr;

/// The width of the picture of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PictureWidth {
    /// A thumbnail.
    W132,
    /// A phone, or half a window.
    W800,
    /// The usual width.
    W1200,
    /// A screen with a high resolution.
    W1600,
    /// A page that is enlarged.
    W2400,
}

impl PictureWidth {
    /// All widths, ascending.
    pub const ALL: [Self; 5] = [Self::W132, Self::W800, Self::W1200, Self::W1600, Self::W2400];

    /// Returns it in pixels.
    pub fn pixels(self) -> u32 {
        match self {
            Self::W132 => 132,
            Self::W800 => 800,
            Self::W1200 => 1200,
            Self::W1600 => 1600,
            Self::W2400 => 2400,
        }
    }
}

impl FromStr for PictureWidth {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|width| width.pixels().to_string() == text).ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_offered_widths_are_parsed() {
        assert_eq!("1600".parse(), Ok(PictureWidth::W1600));
        for other in ["1601", "", "0", "01600", "+132", "auto"] {
            assert_eq!(other.parse::<PictureWidth>(), Err(()), "{other}");
        }
    }
}
