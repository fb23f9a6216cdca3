//! Markup within a line of words: what is gathered while a page is walked, and which of it each block gets.

use trafilatura::dom::NodeId;

use super::prose::is_seen;

/// Elements within elements of a line that are kept.
const DEEPEST: usize = 16;

/// Where an element of a line begins or ends, or a picture stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// How many characters that can be seen stand before it. White space may change while a text is made plain; these do not.
    pub at: usize,
    /// What it is.
    pub what: What,
}

/// What a [`Mark`] says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// An element begins.
    Open(NodeId),
    /// The element that began last ends.
    Close,
    /// A picture.
    Picture(NodeId),
}

/// A line as it is gathered.
#[derive(Debug, Default)]
pub struct Line {
    text: String,
    seen: usize,
    marks: Vec<Mark>,
    /// The elements that were open when the line began.
    around: Vec<NodeId>,
    open: Vec<NodeId>,
}

impl Line {
    /// Adds words as they are.
    pub fn push(&mut self, text: &str) {
        self.seen += text.chars().filter(|c| is_seen(*c)).count();
        self.text.push_str(text);
    }

    /// Begins an element; `false` where it is too deep within others.
    pub fn open(&mut self, element: NodeId) -> bool {
        let open = self.open.len() < DEEPEST;
        if open {
            self.open.push(element);
            self.mark(What::Open(element));
        }
        open
    }

    /// Ends the element that began last.
    pub fn close(&mut self) {
        if self.open.pop().is_some() {
            self.mark(What::Close);
        }
    }

    /// Adds a picture.
    pub fn picture(&mut self, element: NodeId) {
        self.mark(What::Picture(element));
    }

    fn mark(&mut self, what: What) {
        self.marks.push(Mark { at: self.seen, what });
    }

    /// Ends the line: what was gathered. Elements that are open go on in the next.
    pub fn take(&mut self) -> Taken {
        let next = Self { around: self.open.clone(), open: self.open.clone(), ..Self::default() };
        let Self { text, seen, marks, around, .. } = std::mem::replace(self, next);
        Taken { text, seen, marks, around }
    }
}

/// A whole line.
#[derive(Debug)]
pub struct Taken {
    /// Its words.
    pub text: String,
    seen: usize,
    marks: Vec<Mark>,
    around: Vec<NodeId>,
}

impl Taken {
    /// The pictures of the line.
    pub fn pictures(&self) -> impl Iterator<Item = NodeId> {
        self.marks.iter().filter_map(|mark| match mark.what {
            What::Picture(element) => Some(element),
            What::Open(_) | What::Close => None,
        })
    }

    /// The marks of each of these parts of the text, which stand in order: what is open where a part begins is opened in it, what is
    /// open where it ends is closed.
    pub fn marks_of(&self, parts: &[&str]) -> Vec<Vec<Mark>> {
        let mut rest = self.marks.iter().copied().peekable();
        let (mut open, mut from, mut left) = (self.around.clone(), 0, self.seen);
        let mut all = Vec::with_capacity(parts.len());
        for part in parts {
            let seen = part.chars().filter(|c| is_seen(*c)).count();
            left -= seen;
            let (to, last) = (from + seen, left == 0);
            while let Some(mark) =
                rest.next_if(|mark| mark.at < from || mark.at == from && mark.what == What::Close)
            {
                follow(&mut open, mark);
            }
            let mut marks: Vec<Mark> =
                open.iter().map(|element| Mark { at: 0, what: What::Open(*element) }).collect();
            let within = |mark: &Mark| mark.at < to || mark.at == to && (last || mark.what == What::Close);
            while let Some(mark) = rest.next_if(within) {
                follow(&mut open, mark);
                marks.push(Mark { at: mark.at - from, ..mark });
            }
            marks.extend(open.iter().map(|_| Mark { at: seen, what: What::Close }));
            all.push(marks);
            from = to;
        }
        all
    }
}

fn follow(open: &mut Vec<NodeId>, mark: Mark) {
    match mark.what {
        What::Open(element) => open.push(element),
        What::Close => {
            open.pop();
        }
        What::Picture(_) => {}
    }
}
