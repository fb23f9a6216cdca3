//! Markup within a line of words: what is gathered while a page is walked, and which of it each block gets.

use trafilatura::dom::NodeId;

use super::plain_text::is_visible;

/// Elements within elements of a line that are kept.
const MAX_DEPTH: usize = 16;

/// Where an element of a line begins or ends, or a picture stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineMark {
    /// How many characters that can be seen stand before it. White space may change while a text is made plain; these do not.
    pub at: usize,
    /// What it is.
    pub what: InlineMarkKind,
}

/// What an [`InlineMark`] stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineMarkKind {
    /// An element begins.
    Open(NodeId),
    /// The element that began last ends.
    Close,
    /// A picture.
    Picture(NodeId),
}

/// A line that is being read.
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
    /// Adds words as they are.
    pub fn push(&mut self, text: &str) {
        self.seen += text.chars().filter(|c| is_visible(*c)).count();
        self.text.push_str(text);
    }

    /// Begins an element; `false` where it is too deep within others.
    pub fn open(&mut self, element: NodeId) -> bool {
        let open = self.open.len() < MAX_DEPTH;
        if open {
            self.open.push(element);
            self.mark(InlineMarkKind::Open(element));
        }
        open
    }

    /// Ends the element that began last.
    pub fn close(&mut self) {
        if self.open.pop().is_some() {
            self.mark(InlineMarkKind::Close);
        }
    }

    /// Adds a picture.
    pub fn picture(&mut self, element: NodeId) {
        self.mark(InlineMarkKind::Picture(element));
    }

    fn mark(&mut self, what: InlineMarkKind) {
        self.marks.push(InlineMark { at: self.seen, what });
    }

    /// Ends the line: what was gathered. Elements that are open go on in the next.
    pub fn take(&mut self) -> MarkedLine {
        let next = Self { around: self.open.clone(), open: self.open.clone(), ..Self::default() };
        let Self { text, seen, marks, around, .. } = std::mem::replace(self, next);
        MarkedLine { text, seen, marks, around }
    }
}

/// A line with its marks.
#[derive(Debug)]
pub struct MarkedLine {
    /// Its words.
    pub text: String,
    seen: usize,
    marks: Vec<InlineMark>,
    around: Vec<NodeId>,
}

impl MarkedLine {
    /// The pictures of the line.
    pub fn pictures(&self) -> impl Iterator<Item = NodeId> {
        self.marks.iter().filter_map(|mark| match mark.what {
            InlineMarkKind::Picture(element) => Some(element),
            InlineMarkKind::Open(_) | InlineMarkKind::Close => None,
        })
    }

    /// The marks of each of these parts of the text, which stand in order: what is open where a part begins is opened in it, what is
    /// open where it ends is closed.
    pub fn marks_of(&self, parts: &[&str]) -> Vec<Vec<InlineMark>> {
        let mut rest = self.marks.iter().copied().peekable();
        let (mut open, mut from, mut left) = (self.around.clone(), 0, self.seen);
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let seen = part.chars().filter(|c| is_visible(*c)).count();
            left -= seen;
            let (to, last) = (from + seen, left == 0);
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
