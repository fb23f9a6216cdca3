//! Neutralizes markup in an answer on which a page that shows it might act: text that the user saved may have induced the model to
//! write it.
//!
//! Links, images and reference definitions of Markdown, and tags of HTML, are disabled by a space; their words stay. So nothing is
//! loaded from elsewhere because an answer is shown (row I1).

/// Returns the answer as plain text, with the same markers.
pub(super) fn neutralize(answer: &str) -> String {
    let mut out = String::with_capacity(answer.len());
    let mut line = LineState::Start;
    let mut chars = answer.chars().peekable();
    while let Some(c) = chars.next() {
        out.push(c);
        line = line.after(c);
        let is_markup = match (c, chars.peek()) {
            ('<', Some(next)) => next.is_ascii_alphabetic() || matches!(next, '/' | '!' | '?'),
            (']', Some('(')) => true,
            // A reference definition of Markdown begins its line.
            (']', Some(':')) => line == LineState::Bracket,
            ('!', Some('[')) => true,
            (_, Some(_) | None) => false,
        };
        if is_markup {
            out.push(' ');
        }
    }
    out
}

/// The content of the line so far.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineState {
    /// White space and `>`, the sign of a quotation in Markdown.
    Start,
    /// Text that begins with a bracket.
    Bracket,
    /// Text that does not begin with a bracket.
    Text,
}

impl LineState {
    fn after(self, c: char) -> Self {
        match (self, c) {
            (_, '\n' | '\r') => LineState::Start,
            (LineState::Start, c) if c.is_whitespace() || c == '>' => LineState::Start,
            (LineState::Start, '[') => LineState::Bracket,
            (LineState::Start, _) => LineState::Text,
            (LineState::Bracket | LineState::Text, _) => self,
        }
    }
}
