//! Whole PDFs, made here.

use super::sample::{paint_text, pdf};
use super::{PAGE_SEPARATOR, PageSize, PdfError, read_page_layer, read_page_sizes, read_pdf};

#[test]
fn truncated_file_is_an_error() {
    let whole = pdf(&[&paint_text("Words.")], &[]);
    let end = whole.windows(9).rposition(|window| window == b"startxref").unwrap();

    let (metadata, text) = read_pdf(whole[..end].to_vec()).unwrap();
    assert_eq!((metadata.is_truncated, text.as_str()), (true, "Words."));
    assert!(!read_pdf(whole.clone()).unwrap().0.is_truncated);
    for other in [&[0; 5_000][..], b" 2026 objects were 7 0 objective, in 5 object"] {
        assert!(!read_pdf([&whole[..], other].concat()).unwrap().0.is_truncated, "something else behind it");
    }
    assert!(
        read_pdf([&whole[..], b"7 0 obj << /Length 9"].concat()).unwrap().0.is_truncated,
        "another part was begun"
    );
}

#[test]
fn pages_and_metadata_are_read() {
    let (metadata, text) =
        read_pdf(pdf(&[&paint_text("First page."), &paint_text("Second page.")], &[])).unwrap();

    assert_eq!(text, format!("First page.{PAGE_SEPARATOR}Second page."));
    assert_eq!(metadata.title.as_deref(), Some("A paper"));
    assert_eq!(metadata.author.as_deref(), Some("Ü"));
    assert_eq!((metadata.subject.as_deref(), metadata.language.as_deref()), (Some("Ants"), Some("de")));
    assert_eq!(metadata.created_on.as_deref(), Some("2024-05-06"));
}

#[test]
fn image_pages_are_counted() {
    let picture = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\na\nendstream";
    // An image over the whole page, as scanners write it.
    let scan = "q 600 0 0 800 0 0 cm /X Do Q";

    let (metadata, text) =
        read_pdf(pdf(&[&paint_text("Words."), scan, scan, ""], &[(101, picture)])).unwrap();

    assert_eq!((metadata.image_only_pages, metadata.unreadable_pages), (2, 0));
    assert_eq!(text, format!("Words.{PAGE_SEPARATOR}{PAGE_SEPARATOR}{PAGE_SEPARATOR}"));
}

#[test]
fn outline_entries_are_headings() {
    let page = "BT /F 12 Tf 14 TL 50 700 Td (Above) Tj T* (The part) Tj T* (below it) Tj ET";
    let outline = [(100, "<</First 102 0 R>>"), (102, "<</Title(The Part)/Dest[10 0 R/Fit]>>")];

    let (_, text) = read_pdf(pdf(&[page], &outline)).unwrap();

    assert_eq!(text, "Above\n\nThe part\n\nbelow it");
}

#[test]
fn actual_text_replaces_glyphs() {
    let page = "BT /F 12 Tf 50 700 Td (e) Tj /Span<</ActualText(ffi)>>BDC (x) Tj (y) Tj EMC (cient) Tj ET";

    assert_eq!(read_pdf(pdf(&[page], &[])).unwrap().1, "efficient");
}

#[test]
fn text_painted_twice_is_read_once() {
    let page = "BT /F 12 Tf 50 700 Td (bold) Tj ET BT /F 12 Tf 50.3 700 Td (bold) Tj ET";

    assert_eq!(read_pdf(pdf(&[page], &[])).unwrap().1, "bold");
}

#[test]
fn vertical_text_follows_the_rest() {
    let page = format!("BT /F 12 Tf 0 1 -1 0 30 100 Tm (aside) Tj ET {}", paint_text("the main text"));

    assert_eq!(read_pdf(pdf(&[&page], &[])).unwrap().1, "the main text\n\naside");
}

#[test]
fn document_without_text_is_an_error_with_its_reason() {
    assert_eq!(read_pdf(Vec::new()).unwrap_err(), PdfError::Damaged);
    assert_eq!(read_pdf(b"<html>no PDF</html>".to_vec()).unwrap_err(), PdfError::Damaged);
    assert_eq!(read_pdf(pdf(&["0 0 100 100 re f"], &[])).unwrap_err(), PdfError::Empty);
    let picture = "<</Type/XObject/Subtype/Image/Width 1/Height 1/ColorSpace/DeviceGray/BitsPerComponent 8/Length 1>>stream\nA\nendstream";
    assert_eq!(read_pdf(pdf(&["/X Do"], &[(101, picture)])).unwrap_err(), PdfError::ImagesOnly);
}

#[test]
fn layer_has_the_text_of_its_page() {
    let page = "BT /F 12 Tf 14 TL 50 700 Td (An auto-) Tj T* (matic car) Tj ET";
    let file = pdf(&["", page], &[]);

    let (_, text) = read_pdf(file.clone()).unwrap();
    let layer = read_page_layer(file, 2).unwrap().unwrap();

    assert_eq!(layer.text, "An automatic\ncar");
    assert_eq!(text, format!("{PAGE_SEPARATOR}{}", layer.text));
    // The hyphen is not in the text, and the joined word is two runs.
    let found: Vec<_> = layer.runs.iter().map(|run| (run.start, run.chars, run.x, run.y)).collect();
    assert_eq!(found[..2], [(0, 7, 50.0, 100.0), (7, 5, 50.0, 114.0)]);
}

#[test]
fn turned_text_has_its_direction() {
    let page = format!("BT /F 12 Tf 0 1 -1 0 30 100 Tm (aside) Tj ET {}", paint_text("the main text"));

    let layer = read_page_layer(pdf(&[&page], &[]), 1).unwrap().unwrap();

    let [main, aside] = layer.runs.as_slice() else { panic!("two runs") };
    assert_eq!((main.turn, aside.turn), (0.0, -90.0));
    assert!((aside.x - 30.0).abs() < 0.1 && (aside.y - 700.0).abs() < 0.1, "{aside:?}");
}

#[test]
fn sizes_of_all_pages_are_read() {
    let sizes = read_page_sizes(pdf(&["", ""], &[])).unwrap();

    assert_eq!(sizes, [PageSize { width: 600.0, height: 800.0 }; 2]);
}
