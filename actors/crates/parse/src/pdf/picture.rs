//! Draws a page as a picture (WebP).

use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use hayro_interpret::InterpreterSettings;
use serde::{Deserialize, Serialize};
use webp_rust::{ImageBuffer, LossyEncodingConfig, encode_lossy_with_config};

use super::page_size::PageSize;
use super::{PdfError, open};

/// The maximum number of pixels of a picture: a page of the widest picture in a portrait format of 1 to 2. A longer page is drawn
/// narrower.
const MAX_PIXELS: f32 = 12_000_000.0;
/// The largest side of a picture, in pixels: WebP allows 16,383.
const MAX_SIDE_PIXELS: f32 = 16_000.0;
/// The quality of the pictures, of 100. Lower ones show fringes around small letters.
const QUALITY: f32 = 82.0;
/// The effort of the encoder, of 6. From 3 on it tries many more predictions, which takes several times as long.
const EFFORT: u8 = 2;

/// The picture of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PagePicture {
    /// The width of the picture in pixels.
    pub width: u32,
    /// The height of the picture in pixels.
    pub height: u32,
}

/// Draws a page, counted from 1, in this width in pixels; returns it with its WebP file, or `None` if the document has no such page. A
/// page whose picture would have more than 12 million pixels is drawn narrower.
///
/// # Errors
/// A [`PdfError`] if the file cannot be opened, or the picture cannot be made.
pub fn draw_page(
    bytes: Vec<u8>,
    number: u32,
    width: u32,
) -> Result<Option<(PagePicture, Vec<u8>)>, PdfError> {
    let pdf = open(bytes)?;
    let Some(page) = usize::try_from(number).ok().and_then(|n| pdf.pages().get(n.checked_sub(1)?)) else {
        return Ok(None);
    };
    let scale = scale(PageSize::of(page), width as f32);
    let pixels = PixmapSettings { x_scale: scale, y_scale: scale, bg_color: WHITE };
    // Hinting moves letters to whole pixels, and so away from the words of the text layer.
    let settings = RenderSettings { hinting: false, ..RenderSettings::default() };
    let pixmap = render(page, &RenderCache::new(), &InterpreterSettings::default(), &settings, &pixels);
    let (width, height) = (usize::from(pixmap.width()), usize::from(pixmap.height()));
    let image = ImageBuffer { width, height, rgba: pixmap.data_as_u8_slice().to_vec() };
    drop(pixmap);
    let webp = encode(&image).ok_or(PdfError::Damaged)?;
    let side = |side: usize| u32::try_from(side).unwrap_or(u32::MAX);
    Ok(Some((PagePicture { width: side(width), height: side(height) }, webp)))
}

/// Returns the scale by which a page gets this width, or less if its picture would be too large.
fn scale(size: PageSize, width: f32) -> f32 {
    // The sides are cut to whole pixels, so a width that is a little too small would lose one.
    let of_width = (width + 0.01) / size.width;
    let of_sides = MAX_SIDE_PIXELS / size.width.max(size.height);
    let of_pixels = (MAX_PIXELS / (size.width * size.height)).sqrt();
    of_width.min(of_sides).min(of_pixels)
}

fn encode(image: &ImageBuffer) -> Option<Vec<u8>> {
    let config = LossyEncodingConfig {
        quality: QUALITY,
        method: EFFORT,
        // A page is opaque: it is drawn on white.
        no_alpha: true,
        ..LossyEncodingConfig::default()
    };
    encode_lossy_with_config(image, &config, None).ok()
}

#[cfg(test)]
mod tests {
    use webp_rust::decode;

    use super::super::sample::{paint_text, pdf};
    use super::*;

    #[test]
    fn picture_has_the_width_and_shows_the_ink() {
        let black = "0 0 0 rg 0 0 300 800 re f";

        let (picture, webp) = draw_page(pdf(&[black], &[]), 1, 132).unwrap().unwrap();

        assert_eq!((picture.width, picture.height), (132, 176));
        assert_eq!((&webp[..4], &webp[8..12]), (&b"RIFF"[..], &b"WEBP"[..]));
        let image = decode(&webp).unwrap();
        let red = |x: usize, y: usize| image.rgba[4 * (y * image.width + x)];
        assert!(red(20, 80) < 40 && red(110, 80) > 215, "the left half is black, the right one is white");
    }

    #[test]
    fn unknown_page_has_no_picture() {
        let file = pdf(&[&paint_text("One.")], &[]);

        assert_eq!(draw_page(file.clone(), 0, 132).unwrap(), None);
        assert_eq!(draw_page(file, 2, 132).unwrap(), None);
    }

    #[test]
    fn long_page_is_drawn_narrower() {
        let long = scale(PageSize { width: 100.0, height: 10_000.0 }, 2400.0);

        assert!(long * 10_000.0 <= MAX_SIDE_PIXELS + 1.0);
        assert!((scale(PageSize { width: 595.0, height: 842.0 }, 1200.0) - 1200.0 / 595.0).abs() < 1e-4);
    }
}
