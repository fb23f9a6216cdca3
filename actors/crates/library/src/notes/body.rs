//! The text of a note.

use concurrency::Lane;

use crate::context::CoreContext;
use crate::documents::ChunkedDocument;
use errors::Error;

/// Maximum length of a note, in characters.
pub const MAX_BODY_CHARS: usize = 100_000;
/// Maximum length of a title that is taken from the text, in characters.
const MAX_DERIVED_TITLE_CHARS: usize = 100;

/// Splits the body of a note into passages on a worker thread.
///
/// # Errors
/// [`Error::Internal`] when the splitting panics. There is no timeout: the caller waits until a worker is free.
pub async fn chunk_body_in_worker(core: &CoreContext, body: String) -> Result<ChunkedDocument, Error> {
    // Not on the thread of the request, which serves other requests too: splitting takes time that grows with the text.
    Ok(core.workers.run(Lane::Foreground, move || ChunkedDocument::of_input(&body)).await?)
}

/// Returns the first words of a text as a title, without the Markdown signs of headings, lists and quotations.
pub fn derive_title(body: &str) -> String {
    let is_markup = |c: char| c.is_whitespace() || matches!(c, '#' | '*' | '-' | '>');
    let mut lines = body.lines().map(|line| line.trim_matches(is_markup));
    let line = lines.find(|line| !line.is_empty()).unwrap_or_else(|| body.trim());
    let title = text::cut(text::without_controls(line).trim(), MAX_DERIVED_TITLE_CHARS);
    // Nothing is left of a text without words, or whose first character alone is too long.
    if title.is_empty() { "Note".to_owned() } else { title }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn derived_title_is_the_first_line_without_markup() {
        assert_eq!(derive_title("\n\n## Ants dance\n\nThey do."), "Ants dance");
        assert_eq!(derive_title("- one\n- two"), "one");
        assert_eq!(derive_title("***"), "***");
        assert_eq!(derive_title("Ants\u{1b}dance"), "Ants dance");
        assert_eq!(derive_title(&"ant ".repeat(99)).chars().count(), 100);
    }

    proptest! {
        #[test]
        fn derived_title_is_never_empty_or_too_long(body in any::<String>()) {
            let title = derive_title(&body);
            prop_assert!((1..=MAX_DERIVED_TITLE_CHARS).contains(&title.chars().count()));
        }
    }
}
