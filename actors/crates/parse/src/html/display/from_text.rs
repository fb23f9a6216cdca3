//! The HTML of a text without any.

use super::super::sanitize::START_ATTRIBUTE;
use super::parts::MAX_PART_CHARS;

/// Returns the HTML of a plain text: a paragraph for each group of lines that an empty line ends. A paragraph that is longer than a part is
/// divided.
pub fn text_to_html(text: &str) -> String {
    let (mut html, mut offset) = (String::with_capacity(text.len() + text.len() / 8), 0);
    let mut paragraph = Paragraph::default();
    for line in text.split_inclusive('\n') {
        let words = line.strip_suffix('\n').unwrap_or(line);
        if words.trim().is_empty() {
            paragraph.end(&mut html);
        } else {
            paragraph.add_line(&mut html, words, offset);
        }
        offset += line.chars().count();
    }
    paragraph.end(&mut html);
    html
}

/// The paragraph that is being written.
#[derive(Default)]
struct Paragraph {
    chars: usize,
    is_open: bool,
}

impl Paragraph {
    fn add_line(&mut self, html: &mut String, line: &str, offset: usize) {
        if self.is_open {
            html.push_str("<br>");
        }
        for (index, c) in line.chars().enumerate() {
            if self.chars >= MAX_PART_CHARS {
                self.end(html);
            }
            if !self.is_open {
                html.push_str(&format!("<p {START_ATTRIBUTE}=\"{}\" dir=\"auto\">", offset + index));
                self.is_open = true;
            }
            push_escaped(html, c);
            self.chars += 1;
        }
    }

    fn end(&mut self, html: &mut String) {
        if self.is_open {
            html.push_str("</p>");
        }
        *self = Self::default();
    }
}

fn push_escaped(html: &mut String, c: char) {
    match c {
        '&' => html.push_str("&amp;"),
        '<' => html.push_str("&lt;"),
        '>' => html.push_str("&gt;"),
        // As the sanitiser writes it.
        '\u{a0}' => html.push_str("&nbsp;"),
        other => html.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::sanitize::{sanitize, shows_text};
    use super::*;

    #[test]
    fn empty_line_begins_a_paragraph() {
        assert_eq!(
            text_to_html("Größer <b>\nreeds\n\nAt & last"),
            "<p data-start=\"0\" dir=\"auto\">Größer &lt;b&gt;<br>reeds</p><p data-start=\"18\" dir=\"auto\">At &amp; last</p>"
        );
        assert_eq!(text_to_html(""), "");
    }

    proptest! {
        #[test]
        fn any_text_is_shown_at_its_offsets(text in "[a-cé \n<&\u{301}]{0,60}") {
            let html = text_to_html(&text);

            prop_assert!(shows_text(&html, &text), "{html}");
            prop_assert_eq!(sanitize(&html), html);
        }
    }
}
