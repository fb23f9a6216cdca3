//! Pictures of web pages: decoded, made smaller, and encoded again, so that nothing but their pixels reaches a browser.

use std::io::Cursor;

use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use serde::{Deserialize, Serialize};
use webp_rust::{ImageBuffer, LossyEncodingConfig, encode_lossy_with_config};

/// The largest side of a picture that is decoded, in pixels.
const MAX_DECODED_SIDE_PIXELS: u32 = 16_384;
/// Memory that a decoder may allocate, in bytes: a picture of 60 million pixels.
const MAX_DECODED_BYTES: u64 = 256 << 20;
/// The width of the pictures that are shown: twice that of the column of a text.
const MAX_SHOWN_WIDTH_PIXELS: u32 = 1_600;
/// The height of the pictures that are shown; a long strip is not made unreadable.
const MAX_SHOWN_HEIGHT_PIXELS: u32 = 8_000;
/// The quality of the pictures, of 100.
const QUALITY: f32 = 82.0;
/// The effort of the encoder, of 6. From 3 on it takes several times as long.
const EFFORT: u8 = 2;

/// A picture as it is shown: a WebP file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownPicture {
    /// The WebP file.
    #[serde(with = "base64_bytes")]
    pub webp: Vec<u8>,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Why a picture is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PictureError {
    /// It is none of PNG, JPEG, GIF and WebP. SVG, which can contain scripts, is none of them.
    #[error("the picture is not a PNG, JPEG, GIF or WebP file")]
    UnknownFormat,
    /// It has too many pixels.
    #[error("the picture has too many pixels")]
    TooLarge,
    /// It cannot be decoded.
    #[error("the picture is damaged")]
    Damaged,
}

/// Bytes in JSON, as the sandbox sends them.
mod base64_bytes {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&STANDARD.encode(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        STANDARD.decode(text).map_err(|_| D::Error::custom("the bytes are not base64"))
    }
}

/// Decodes a picture of a web page and encodes it as WebP, at most 1,600 pixels wide. Of an animation the first picture is left, and nothing
/// of the metadata.
///
/// # Errors
/// A [`PictureError`], which contains nothing of the picture.
pub fn read_picture(bytes: &[u8]) -> Result<ShownPicture, PictureError> {
    let mut reader =
        ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|_| PictureError::Damaged)?;
    match reader.format() {
        Some(ImageFormat::Png | ImageFormat::Jpeg | ImageFormat::Gif | ImageFormat::WebP) => {}
        Some(_) | None => return Err(PictureError::UnknownFormat),
    }
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODED_SIDE_PIXELS);
    limits.max_image_height = Some(MAX_DECODED_SIDE_PIXELS);
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(picture_error)?;
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(PictureError::TooLarge);
    }
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut image = DynamicImage::from_decoder(decoder).map_err(picture_error)?;
    image.apply_orientation(orientation);
    encode(&shrunk(image))
}

fn picture_error(error: image::ImageError) -> PictureError {
    if matches!(error, image::ImageError::Limits(_)) { PictureError::TooLarge } else { PictureError::Damaged }
}

fn shrunk(image: DynamicImage) -> DynamicImage {
    if image.width() <= MAX_SHOWN_WIDTH_PIXELS && image.height() <= MAX_SHOWN_HEIGHT_PIXELS {
        return image;
    }
    image.resize(MAX_SHOWN_WIDTH_PIXELS, MAX_SHOWN_HEIGHT_PIXELS, FilterType::Triangle)
}

fn encode(image: &DynamicImage) -> Result<ShownPicture, PictureError> {
    let rgba = image.to_rgba8();
    let (width, height) = rgba.dimensions();
    let side = |side: u32| usize::try_from(side).unwrap_or_default();
    let buffer = ImageBuffer { width: side(width), height: side(height), rgba: rgba.into_raw() };
    let config = LossyEncodingConfig {
        quality: QUALITY,
        method: EFFORT,
        no_alpha: !image.color().has_alpha(),
        ..LossyEncodingConfig::default()
    };
    let webp = encode_lossy_with_config(&buffer, &config, None).map_err(|_| PictureError::Damaged)?;
    Ok(ShownPicture { webp, width, height })
}

#[cfg(test)]
mod tests {
    use image::RgbImage;

    use super::*;

    fn file(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let picture =
            RgbImage::from_fn(width, height, |x, _| image::Rgb([u8::try_from(x % 256).unwrap(), 40, 90]));
        let mut bytes = Cursor::new(Vec::new());
        picture.write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    #[test]
    fn raster_picture_becomes_webp_of_bounded_width() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP] {
            let small = read_picture(&file(40, 30, format)).unwrap();

            assert_eq!((small.width, small.height), (40, 30), "{format:?}");
            assert_eq!(image::guess_format(&small.webp).ok(), Some(ImageFormat::WebP));
        }
        let wide = read_picture(&file(3_200, 100, ImageFormat::Png)).unwrap();
        assert_eq!((wide.width, wide.height), (1_600, 50));
    }

    #[test]
    fn picture_is_the_same_after_json() {
        let picture = ShownPicture { webp: vec![0, 255, 7], width: 4, height: 3 };

        let json = serde_json::to_string(&picture).unwrap();

        assert_eq!(serde_json::from_str::<ShownPicture>(&json).unwrap(), picture);
    }

    #[test]
    fn other_files_are_refused() {
        let png = file(40, 30, ImageFormat::Png);

        assert_eq!(
            read_picture(b"<svg xmlns='http://www.w3.org/2000/svg'/>"),
            Err(PictureError::UnknownFormat)
        );
        assert_eq!(read_picture(b""), Err(PictureError::UnknownFormat));
        assert_eq!(read_picture(&png[..60]), Err(PictureError::Damaged));
        // The header claims a picture of 30,000 by 30,000 pixels.
        let mut bomb = png.clone();
        bomb[16..24].copy_from_slice(&[0, 0, 0x75, 0x30, 0, 0, 0x75, 0x30]);
        assert!(read_picture(&bomb).is_err());
    }
}
