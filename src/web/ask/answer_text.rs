//! The text of an answer, divided at its markers.

/// A piece of a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPiece {
    /// Words.
    Words(String),
    /// The marker of the citation with this number.
    Marker(usize),
    /// The end of a line within the paragraph.
    LineEnd,
}

/// Divides the text of an answer into paragraphs, and these at the markers `[n]` of `citations` citations. What stands within `“` and `”` is
/// quoted, and keeps brackets as they are.
pub fn divide_answer(answer: &str, citations: usize) -> Vec<Vec<AnswerPiece>> {
    let mut depth = 0_usize;
    let paragraphs = answer.split("\n\n").map(|paragraph| {
        let mut pieces = Vec::new();
        for (number, line) in paragraph.trim_matches('\n').split('\n').enumerate() {
            if number > 0 {
                pieces.push(AnswerPiece::LineEnd);
            }
            divide_line(line, citations, &mut depth, &mut pieces);
        }
        pieces
    });
    paragraphs.filter(|pieces| !pieces.is_empty()).collect()
}

fn divide_line(line: &str, citations: usize, depth: &mut usize, pieces: &mut Vec<AnswerPiece>) {
    let mut words = String::new();
    let mut rest = line;
    while let Some(character) = rest.chars().next() {
        if *depth == 0
            && let Some((number, length)) = marker(rest, citations)
        {
            // The space before a marker belongs to neither.
            push_words(pieces, words.trim_end());
            words.clear();
            pieces.push(AnswerPiece::Marker(number));
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        match character {
            '“' => *depth += 1,
            '”' => *depth = depth.saturating_sub(1),
            _ => {}
        }
        words.push(character);
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    push_words(pieces, &words);
}

fn push_words(pieces: &mut Vec<AnswerPiece>, words: &str) {
    if !words.is_empty() {
        pieces.push(AnswerPiece::Words(words.to_owned()));
    }
}

/// Returns the number of the marker with which a text begins, and its length in bytes.
fn marker(text: &str, citations: usize) -> Option<(usize, usize)> {
    let inner = text.strip_prefix('[')?;
    let (digits, _) = inner.split_once(']')?;
    let number: usize = digits.parse().ok()?;
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && (1..=citations).contains(&number)).then_some((number, digits.len() + 2))
}

#[cfg(test)]
mod tests {
    use super::AnswerPiece::{LineEnd, Marker, Words};
    use super::*;

    fn words(text: &str) -> AnswerPiece {
        Words(text.to_owned())
    }

    #[test]
    fn answer_is_divided_at_paragraphs_lines_and_markers() {
        let pieces = divide_answer("High water is late [1][2].\n\nIt was\nmeasured. [3]", 3);

        assert_eq!(
            pieces,
            [
                vec![words("High water is late"), Marker(1), Marker(2), words(".")],
                vec![words("It was"), LineEnd, words("measured."), Marker(3)],
            ]
        );
    }

    #[test]
    fn brackets_within_a_quotation_are_words() {
        let pieces = divide_answer("“As in [1], “so” [2]” [1]", 2);

        assert_eq!(pieces, [vec![words("“As in [1], “so” [2]”"), Marker(1)]]);
    }

    #[test]
    fn marker_without_a_citation_is_a_word() {
        assert_eq!(divide_answer("a [3] b [x] [+1]", 2), [vec![words("a [3] b [x] [+1]")]]);
        assert!(divide_answer("\n\n", 2).is_empty());
    }
}
