//! A page as a figure: its picture, and over it the marks and the words.

use actors::operations::pdf::{PdfPage, PdfRect, PdfRun, ReadPdfPageResponse};
use askama::Template;

use crate::web::filters;
use crate::web::reader::side_notes::SideNote;

/// A page as a figure.
#[derive(Template)]
#[template(path = "reader/pdf/figure.html")]
pub struct PdfFigure {
    /// Id of the document.
    pub id: String,
    /// The version of the text; part of the addresses of the pictures.
    pub version: i32,
    /// Number of the page, from 1.
    pub number: usize,
    /// The value of `lang`; empty if the language is not known.
    pub language: String,
    /// Width of the page.
    pub width: f32,
    /// Height of the page.
    pub height: f32,
    /// Highlights and found words.
    pub marks: Vec<MarkRect>,
    /// The place that the address names.
    pub arrival: Vec<MarkRect>,
    /// The words.
    pub words: Vec<WordRun>,
    /// Whether the words of the picture cannot be chosen, because the stored text is another one.
    pub is_outdated: bool,
}

/// A rectangle over the picture.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkRect {
    /// Its classes.
    pub class: String,
    /// Its left edge.
    pub x: f32,
    /// Its upper edge.
    pub y: f32,
    /// Its width.
    pub width: f32,
    /// Its height.
    pub height: f32,
    /// The value of `transform`; empty for upright text.
    pub transform: String,
}

impl MarkRect {
    fn new(class: &str, rect: &PdfRect) -> Self {
        Self {
            class: class.to_owned(),
            x: rect.x,
            y: rect.y,
            width: rect.width,
            height: rect.height,
            transform: turn(rect.turn, rect.turn_x, rect.turn_y),
        }
    }
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub struct WordRun {
    /// Where its text begins: its left end, or the right one of text from right to left.
    pub x: f32,
    /// Height of its base line.
    pub y: f32,
    /// Height of its font.
    pub size: f32,
    /// Length along the base line.
    pub length: f32,
    /// The value of `transform`; empty for upright text.
    pub transform: String,
    /// Whether it is read from right to left.
    pub is_rtl: bool,
    /// Offset of its first character in the text.
    pub start: usize,
    /// Its text.
    pub text: String,
}

impl WordRun {
    fn new(run: PdfRun) -> Self {
        Self {
            x: if run.rtl { run.x + run.length } else { run.x },
            y: run.y,
            size: run.size.max(0.1),
            // A run without a length would be stretched to nothing.
            length: run.length.max(0.1),
            transform: turn(run.turn, run.x, run.y),
            is_rtl: run.rtl,
            start: run.start,
            text: run.text,
        }
    }
}

fn turn(degrees: f32, x: f32, y: f32) -> String {
    if degrees == 0.0 { String::new() } else { format!("rotate({degrees} {x} {y})") }
}

impl PdfFigure {
    /// Makes it of the text layer of a page.
    pub fn new(layer: ReadPdfPageResponse, language: &str) -> Self {
        Self {
            id: layer.document_id.to_string(),
            version: layer.version,
            number: layer.number as usize,
            language: language.to_owned(),
            width: layer.width,
            height: layer.height,
            marks: Vec::new(),
            arrival: Vec::new(),
            is_outdated: layer.outdated,
            words: layer.runs.into_iter().map(WordRun::new).collect(),
        }
    }

    /// Makes it of a page whose words could not be read: its picture may be drawn all the same.
    pub fn without_words(id: &str, version: i32, page: &PdfPage) -> Self {
        Self {
            id: id.to_owned(),
            version,
            number: page.number,
            language: String::new(),
            width: page.width,
            height: page.height,
            marks: Vec::new(),
            arrival: Vec::new(),
            words: Vec::new(),
            is_outdated: false,
        }
    }

    /// Draws a highlight.
    pub fn add_highlight(&mut self, note: &SideNote, rects: &[PdfRect]) {
        self.add(&format!("hl c-{}", note.color), rects);
    }

    /// Marks words that were looked for.
    pub fn add_found(&mut self, rects: &[PdfRect]) {
        self.add("found", rects);
    }

    fn add(&mut self, class: &str, rects: &[PdfRect]) {
        self.marks.extend(rects.iter().map(|rect| MarkRect::new(class, rect)));
    }

    /// Marks the place that the address names, with a bar in front of it.
    pub fn add_arrival(&mut self, rects: &[PdfRect]) {
        self.arrival = rects.iter().map(|rect| MarkRect::new("arrival", rect)).collect();
        let upright = rects.iter().filter(|rect| rect.turn == 0.0);
        let bounds = upright.fold(None, |bounds: Option<(f32, f32, f32)>, rect| {
            let bottom = rect.y + rect.height;
            Some(bounds.map_or((rect.x, rect.y, bottom), |(x, y, lower)| {
                (x.min(rect.x), y.min(rect.y), lower.max(bottom))
            }))
        });
        self.arrival.extend(bounds.map(|(x, y, bottom)| MarkRect {
            class: "arrival-bar".to_owned(),
            x: (x - 6.0).max(0.0),
            y,
            width: 2.0,
            height: bottom - y,
            transform: String::new(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure() -> PdfFigure {
        let page = PdfPage { number: 3, width: 600.0, height: 800.0, start_offset: None, end_offset: None };
        PdfFigure::without_words("d", 1, &page)
    }

    fn rects(turn: f32) -> [PdfRect; 1] {
        [PdfRect { page: 3, x: 50.0, y: 90.0, width: 40.0, height: 12.0, turn, turn_x: 50.0, turn_y: 100.0 }]
    }

    #[test]
    fn place_of_the_address_has_a_bar_in_front() {
        let mut figure = figure();
        figure.add_arrival(&rects(0.0));

        let [words, bar] = figure.arrival.as_slice() else { panic!("two rectangles") };
        assert_eq!(
            (words.class.as_str(), bar.class.as_str(), bar.x, bar.height),
            ("arrival", "arrival-bar", 44.0, 12.0)
        );
    }

    #[test]
    fn place_on_another_page_has_no_mark() {
        let mut figure = figure();
        figure.add_arrival(&[]);

        assert!(figure.arrival.is_empty());
    }

    #[test]
    fn turned_words_have_turned_marks() {
        let mut figure = figure();
        figure.add_found(&rects(-90.0));

        assert_eq!(figure.marks[0].transform, "rotate(-90 50 100)");
    }
}
