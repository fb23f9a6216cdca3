//! A page with the places of its words in the text of its document.

use parse::pdf::{PageLayer, PageSize, TextRect, TextRun};

use super::page_spans::StoredPageText;

/// A page with the places of its words.
#[derive(Debug, PartialEq)]
pub struct PlacedPage {
    /// The number of the page, from 1.
    pub number: u32,
    /// Its size as it is shown.
    pub size: PageSize,
    /// The text of the page.
    pub text: String,
    /// The offset of the page's text in the text of the document, in Unicode scalar values.
    pub start: usize,
    /// The runs of its text. Their offsets are those of the document; empty if the stored text is not the one of the file.
    pub runs: Vec<TextRun>,
    /// Whether the stored text is another one than that of the file, as after an update of the server or of the page on the web. Then the
    /// words of the picture cannot be chosen until the document is fetched again.
    pub is_outdated: bool,
}

impl PlacedPage {
    /// Makes it of a layer and of the stored text of the page.
    pub(super) fn new(number: u32, layer: PageLayer, stored: Option<StoredPageText>) -> Self {
        let PageLayer { size, text, mut runs } = layer;
        let (start, is_outdated) = match &stored {
            Some(stored) => (stored.start, stored.text.trim_end() != text),
            None => (0, !text.is_empty()),
        };
        if is_outdated {
            runs.clear();
        }
        for run in &mut runs {
            run.start += start;
        }
        Self { number, size, text, start, runs, is_outdated }
    }

    /// Returns the text of a run, which is one of this page.
    pub fn text_of(&self, run: &TextRun) -> &str {
        let start = run.start.saturating_sub(self.start);
        text::slice_chars(&self.text, start, start + run.chars).unwrap_or_default()
    }

    /// Returns the offset after the last character of the page.
    pub fn end(&self) -> usize {
        self.start + text::char_count(&self.text)
    }

    /// Returns the rectangles of the words from offset `start` up to `end` of the document: one for each run.
    pub fn rects(&self, start: usize, end: usize) -> Vec<TextRect> {
        self.runs.iter().filter_map(|run| run.rect(start, end)).collect()
    }

    /// Returns about how many bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        let runs: usize = self.runs.iter().map(|run| 64 + 8 * run.edges.len()).sum();
        runs + self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> PageLayer {
        let chars = text.chars().count();
        let edges = (0..chars).map(|n| (n as f32, n as f32 + 1.0)).collect();
        let run = TextRun {
            x: 10.0,
            y: 20.0,
            size: 10.0,
            length: chars as f32,
            turn: 0.0,
            is_rtl: false,
            start: 0,
            chars,
            edges,
        };
        PageLayer { size: PageSize { width: 100.0, height: 100.0 }, text: text.to_owned(), runs: vec![run] }
    }

    fn stored(text: &str) -> Option<StoredPageText> {
        Some(StoredPageText { start: 500, text: text.to_owned() })
    }

    #[test]
    fn runs_have_the_offsets_of_the_document() {
        let page = PlacedPage::new(3, layer("Two é words"), stored("Two é words\n\n"));

        assert_eq!((page.runs[0].start, page.end(), page.is_outdated), (500, 511, false));
        assert_eq!(page.text_of(&page.runs[0]), "Two é words");
        let rects = page.rects(504, 505);
        assert_eq!((rects.len(), rects[0].x, rects[0].width), (1, 14.0, 1.0));
        assert!(page.rects(511, 520).is_empty() && page.rects(0, 500).is_empty());
    }

    #[test]
    fn words_of_another_text_have_no_places() {
        let page = PlacedPage::new(3, layer("Two words"), stored("Two word\n\n"));

        assert!(page.is_outdated && page.runs.is_empty());
        assert!(PlacedPage::new(3, layer("Two words"), None).is_outdated);
        assert!(!PlacedPage::new(3, layer(""), None).is_outdated);
    }
}
