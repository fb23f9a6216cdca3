//! Takes from an answer what a page that shows it might act on: saved text may have talked the model into it.
//!
//! Markdown's links, pictures and addresses of references, and HTML's tags, are put out of force by a space; the words
//! stay. So nothing is loaded from elsewhere because an answer is shown (faults-and-threats.md, I1).

/// The answer as plain text. No marker comes or goes.
pub(super) fn plain(answer: &str) -> String {
    let mut out = String::with_capacity(answer.len());
    let mut line = Line::Begins;
    let mut chars = answer.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        line = line.after(c);
        let acts = match (c, chars.peek()) {
            ('<', Some(next)) => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            (']', Some('(')) => true,
            (']', Some(':')) => line == Line::Bracketed,
            ('!', Some('[')) => true,
            (_, Some(_) | None) => false,
        };
        if acts {
            out.push(' ');
        }
    }
    out
}

/// What the line is so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Begins,
    Bracketed,
    Text,
}

impl Line {
    fn after(self, c: char) -> Self {
        match (self, c) {
            (_, '\n' | '\r') => Line::Begins,
            (Line::Begins, c) if c.is_whitespace() || c == '>' => Line::Begins,
            (Line::Begins, '[') => Line::Bracketed,
            (Line::Begins, _) => Line::Text,
            (Line::Bracketed | Line::Text, _) => self,
        }
    }
}
