//! Inline markup of a line: collected while a page is walked, then divided among its blocks.

use trafilatura::dom::NodeId;

use super::plain_text::is_visible;

/// Maximum nesting depth of inline elements that is kept.
const MAX_DEPTH: usize = 16;

/// The start or end of an inline element, or a picture, with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineMark {
    /// Number of visible characters before it. White space may change during normalisation; visible characters do not.
    pub at: usize,
    /// Whether it is the start or end of an element, or a picture.
    pub what: InlineMarkKind,
}

/// The kind of an [`InlineMark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineMarkKind {
    /// Start of an inline element of the page.
    Open(NodeId),
    /// End of the element that was opened last.
    Close,
    /// A picture within the line, such as a formula.
    Picture(NodeId),
}

/// Builds a line of text with its marks while the page is walked.
#[derive(Debug, Default)]
pub struct LineBuilder {
    text: String,
    seen: usize,
    marks: Vec<InlineMark>,
    /// The elements that were open when the line began.
    around: Vec<NodeId>,
    open: Vec<NodeId>,
}

impl LineBuilder {
    /// Adds text to the line as it is; white space is normalised later.
    pub fn push(&mut self, text: &str) {
        self.seen += text.chars().filter(|c| is_visible(*c)).count();
        self.text.push_str(text);
    }

    /// Opens an element; returns `false` if it is nested too deeply.
    pub fn open(&mut self, element: NodeId) -> bool {
        // The elements that are open are opened again in every part of a line, so their number is bounded.
        let open = self.open.len() < MAX_DEPTH;
        if open {
            self.open.push(element);
            self.mark(InlineMarkKind::Open(element));
        }
        open
    }

    /// Closes the element that was opened last.
    pub fn close(&mut self) {
        if self.open.pop().is_some() {
            self.mark(InlineMarkKind::Close);
        }
    }

    /// Adds a picture at the current position of the line.
    pub fn picture(&mut self, element: NodeId) {
        self.mark(InlineMarkKind::Picture(element));
    }

    fn mark(&mut self, what: InlineMarkKind) {
        self.marks.push(InlineMark { at: self.seen, what });
    }

    /// Ends the line and returns it. Open elements continue in the next line.
    pub fn take(&mut self) -> MarkedLine {
        let next = Self { around: self.open.clone(), open: self.open.clone(), ..Self::default() };
        let Self { text, seen, marks, around, .. } = std::mem::replace(self, next);
        MarkedLine { text, seen, marks, around }
    }
}

/// A line with its marks, which [`MarkedLine::marks_of`] divides among the blocks of the line.
#[derive(Debug)]
pub struct MarkedLine {
    /// Its text, with the white space of the page.
    pub text: String,
    seen: usize,
    marks: Vec<InlineMark>,
    around: Vec<NodeId>,
}

impl MarkedLine {
    /// Returns the pictures of the line.
    pub fn pictures(&self) -> impl Iterator<Item = NodeId> {
        self.marks.iter().filter_map(|mark| match mark.what {
            InlineMarkKind::Picture(element) => Some(element),
            InlineMarkKind::Open(_) | InlineMarkKind::Close => None,
        })
    }

    /// Returns the marks of each of these consecutive parts of the text. Elements that are open at the start of a part are opened in it, and
    /// elements that are open at its end are closed.
    pub fn marks_of(&self, parts: &[&str]) -> Vec<Vec<InlineMark>> {
        let mut rest = self.marks.iter().copied().peekable();
        let (mut open, mut from, mut left) = (self.around.clone(), 0, self.seen);
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let seen = part.chars().filter(|c| is_visible(*c)).count();
            // The last part takes the marks at its end too: no part follows that they could begin.
            left -= seen;
            let (to, last) = (from + seen, left == 0);
            // Marks between two parts belong to neither, but they change which elements are open.
            while let Some(mark) =
                rest.next_if(|mark| mark.at < from || mark.at == from && mark.what == InlineMarkKind::Close)
            {
                follow(&mut open, mark);
            }
            let mut marks: Vec<InlineMark> = open
                .iter()
                .map(|element| InlineMark { at: 0, what: InlineMarkKind::Open(*element) })
                .collect();
            let within = |mark: &InlineMark| {
                mark.at < to || mark.at == to && (last || mark.what == InlineMarkKind::Close)
            };
            while let Some(mark) = rest.next_if(within) {
                follow(&mut open, mark);
                marks.push(InlineMark { at: mark.at - from, ..mark });
            }
            marks.extend(open.iter().map(|_| InlineMark { at: seen, what: InlineMarkKind::Close }));
            all.push(marks);
            from = to;
        }
        all
    }
}

fn follow(open: &mut Vec<NodeId>, mark: InlineMark) {
    match mark.what {
        InlineMarkKind::Open(element) => open.push(element),
        InlineMarkKind::Close => {
            open.pop();
        }
        InlineMarkKind::Picture(_) => {}
    }
}
